"""Histories of several clusters that share their pools by one database."""

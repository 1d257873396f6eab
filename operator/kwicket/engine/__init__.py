"""Joins decisions to ports: intake, turns, grants, releases, recovery; knows no framework."""

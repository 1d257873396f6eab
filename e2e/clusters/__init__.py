"""Walks over several planes that share one PostgreSQL."""

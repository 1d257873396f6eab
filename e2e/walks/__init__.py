"""Walks: the operator beside a real cluster, seen from outside."""

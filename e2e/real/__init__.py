"""Kwicket installed for real: its image, in containers, on a real node or a given cluster."""

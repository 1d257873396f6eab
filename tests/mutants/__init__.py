"""Mutants: one-line edits of the core, each a known mistake that the tests have to notice."""

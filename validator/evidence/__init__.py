"""Frozen facts with where each came from: the only thing that a rule sees."""

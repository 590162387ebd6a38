"""Editions of the specification: loaded, composed with profiles, compared."""

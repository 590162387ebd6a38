"""Completion of the command line in shells: one grammar, one module a shell."""

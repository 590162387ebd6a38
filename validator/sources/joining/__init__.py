"""Several files, one plan."""

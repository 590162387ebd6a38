"""The rules: one file judges one clause by evidence alone."""

"""Edits that mend a failure, and a plan under other values."""

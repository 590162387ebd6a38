"""Python files read as syntax: what calls and assignments state, never run."""

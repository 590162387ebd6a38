"""A plan under other values: parsed, re-derived, judged again, compared.

`names` says what a user may write, `assignments` reads it, `overrides` changes the
merged leaves of a plan and drops what no longer follows, `comparison` tells the two
plans apart, and `proposals` tries such changes until what failed holds.
"""

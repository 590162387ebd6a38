"""A document with what it inherits and refers to."""

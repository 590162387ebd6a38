"""A reader for the files of an imagined framework, and a rule of its own."""

"""Readers of live machines: what they see goes into a snapshot, unjudged."""

"""Fixes as edits of texts: worked out, verified, judged again and written."""

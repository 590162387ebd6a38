"""Signatures: canonical JSON, envelopes, Ed25519 keys, and who signs with them."""

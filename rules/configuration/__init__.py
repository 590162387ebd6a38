"""Rules on the files themselves: keys, types, placeholders, contradictions."""

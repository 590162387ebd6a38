"""Rules on micro-batches, accumulation and the global batch."""

"""What was measured under load, and which path the bytes took, as snapshots hold it."""

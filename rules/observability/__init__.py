"""Rules on logs and metrics."""

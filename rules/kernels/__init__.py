"""Rules on attention backends, fused kernels and tile sizes."""

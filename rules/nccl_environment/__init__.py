"""Rules on environment variables of NCCL and the libraries around it."""

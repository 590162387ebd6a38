"""Facts of the field at run time: frameworks, hardware, NCCL variables, metrics."""

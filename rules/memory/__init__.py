"""Rules on memory, sharding and the parallel degrees that cut a model."""

"""Pure functions of numbers, each with bounds and a source: memory, time, failures."""

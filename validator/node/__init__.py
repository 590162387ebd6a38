"""One machine: its names, how it was launched, how its parts are joined, its result."""

"""Rules of the example package."""

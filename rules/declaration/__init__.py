"""Rules on what a certificate says of itself."""

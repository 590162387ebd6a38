"""Rules on credentials, addresses and code that is loaded."""

"""Files as data that remember where each key and value stands."""

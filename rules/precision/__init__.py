"""Rules on number formats and loss scaling."""

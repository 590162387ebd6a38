"""Evidence kits of machines that do not exist."""

"""Rules about adapters, ports and what communication libraries find of them."""

"""What a certificate rests on, and how it comes about."""

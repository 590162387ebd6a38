"""Two certificates, or two reports, beside each other."""

"""What users read: texts, pages and documents for other programs."""

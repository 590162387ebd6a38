"""Certificates of several types of machines in one table."""

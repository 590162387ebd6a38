"""Rules on communication: overlap, algorithms, transports, compression."""

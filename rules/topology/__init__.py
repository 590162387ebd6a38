"""Rules on how parallel groups lie on NVLink and the network."""

"""Rules on what a machine is and how healthy it is."""

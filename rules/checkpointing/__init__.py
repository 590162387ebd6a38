"""Rules on checkpoints: what is saved, when, where, and how many are kept."""

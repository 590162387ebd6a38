"""Rules on recovery: how soon a fault is noticed, and what starts the job again."""

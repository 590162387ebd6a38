"""What the models predict of a plan: memory, time, communication, faults, energy.

A forecast takes a TrainingPlan and gives quantities with bounds; rules judge by them
and `speccheck plan` shows them. It never judges, and it never guesses: a quantity that
lacks a leaf names the leaf.
"""

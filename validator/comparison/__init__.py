"""Nodes of a fleet beside each other: which of them are odd, and how far off.

What rules of fleets share: groups of nodes by what they tell, numbers that lie far from
those of all others, and the words for both. Pure functions.
"""

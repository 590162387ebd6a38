"""Who measures with whom to find a slow node, and what the results say: pure functions.

A set of nodes that measures together is as fast as its slowest member. So a set at full
speed clears all of its members, and a slow one speaks against a member only as far as
the others are cleared: the rules of group testing.
"""

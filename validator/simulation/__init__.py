"""Machines and evidence kits that do not exist, with faults whose truth is known."""

"""Judges evidence: which clauses and rules apply, verdicts, findings, severities."""

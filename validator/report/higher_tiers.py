"""Which clauses a higher tier of preflight would judge: one line of a report."""

from collections.abc import Iterator, Sequence

from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.measurement.cost import COSTS, MEASUREMENTS
from speccheck.validator.evidence.node.node import MEASURED
from speccheck.validator.node.host_names import fold
from speccheck.validator.run.judging import JudgedPlan


def higher_tiers(
    tier: int, plans: Sequence[JudgedPlan], edition: Edition
) -> tuple[str, ...]:
    """The line, where a higher tier would judge anything that was not judged."""
    judged = {one.finding.clause for plan in plans for one in plan.findings}
    parts: list[str] = []
    for higher in sorted({one.tier for one in MEASUREMENTS if one.tier > tier}):
        kinds = {one.kind for one in MEASUREMENTS if one.tier == higher}
        clauses = [*_clauses(edition, kinds, judged)]
        judged.update(clauses)
        if clauses:
            seconds = sum(COSTS[kind].seconds for kind in kinds)
            told = ", ".join(_folded(clauses))
            parts.append(f"--tier {higher} (about {seconds:g} s more) judges {told}")
    return (f"not measured: {'; '.join(parts)}",) if parts else ()


def _clauses(edition: Edition, kinds: set[str], judged: set[str]) -> Iterator[str]:
    """The clauses that such evidence would let be judged."""
    words = {word for kind in kinds for word in MEASURED[kind]}
    for name, clause in edition.clauses.items():
        if name not in judged and words.intersection(clause.evidence):
            yield name


def _folded(clauses: Sequence[str]) -> Iterator[str]:
    """By area: HW-[005,150-152]."""
    for area in dict.fromkeys(name.partition("-")[0] for name in clauses):
        yield fold(name for name in clauses if name.partition("-")[0] == area)

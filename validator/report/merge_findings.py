"""The same fault in forty plans is one finding with forty places."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.plan_judge import JudgedPlan

if TYPE_CHECKING:
    from speccheck.validator.evidence.finding import Proposal


class Shown(Record):
    """A finding as a reader meets it: once, with all its places.

    subjects: the parts of a node of which it is said.
    snapshots: the files of its plan that nobody wrote by hand.
    """

    finding: Finding
    locations: tuple[Location, ...]
    plan_name: str
    plans: int
    repeats: int  # plans without a place of their own that say the same
    proposals: "tuple[Proposal, ...] | None" = ()
    subjects: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()


def shown_findings(plans: Iterable[JudgedPlan]) -> list[Shown]:
    """Failed and broken findings, the same rule and message joined over plans."""
    return _joined(plans, waived=False)


def waived_findings(plans: Iterable[JudgedPlan]) -> list[Shown]:
    """Failures that somebody silenced: a reader meets them, and by whose word."""
    return _joined(plans, waived=True)


def _joined(plans: Iterable[JudgedPlan], *, waived: bool) -> list[Shown]:
    joined: dict[tuple[object, ...], Shown] = {}
    for plan in plans:
        snapshots = tuple(one.path for one in plan.files if one.format == "snapshot")
        for located in plan.findings:
            finding = located.finding
            if finding.outcome not in {"fail", "error"}:
                continue
            if (finding.waiver is not None) is not waived:
                continue
            of_rule = (finding.clause, finding.rule, finding.edition)
            key = (*of_rule, finding.message, finding.waiver)
            known = joined.get(key)
            if known is None:
                name = plan.files[0].path
                joined[key] = Shown(
                    finding,
                    located.locations,
                    name,
                    1,
                    0,
                    located.proposals,
                    (finding.subject,) if finding.subject else (),
                    snapshots,
                )
            elif finding.subject:
                joined[key] = _with_subject(known, finding, located.locations)
            else:
                joined[key] = _with(known, located.locations)
    return list(joined.values())


def _with_subject(
    known: Shown, finding: Finding, locations: tuple[Location, ...]
) -> Shown:
    return known._replace(
        locations=known.locations + locations,
        subjects=(*known.subjects, finding.subject),
    )


def _with(known: Shown, locations: tuple[Location, ...]) -> Shown:
    framed = tuple(location for location in locations if location.line)
    return known._replace(
        locations=known.locations + framed,
        plans=known.plans + 1,
        repeats=known.repeats + (not framed),
    )

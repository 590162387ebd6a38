"""The report on a fleet as JSON: `speccheck-fleet/1`."""

from collections.abc import Iterable, Iterator
from typing import Literal

from speccheck.validator.evidence.finding import Action, ClauseLevel, Level, Outcome
from speccheck.validator.evidence.fleet import Repeated, Unread
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.fleet.days import Changed, Growth, Since
from speccheck.validator.fleet.verdict import FleetVerdict, Reason, State
from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.edition_names import tailoring_of
from speccheck.validator.report.fleet_text import (
    FleetGroup,
    fleet_groups,
    loosened_groups,
)
from speccheck.validator.report.serialise import (
    TOOL,
    TailoredNumber,
    Tool,
    alike,
    document_text,
)


class FleetEdition(Record):
    """The compiled edition that was judged by; tailoring: own numbers in force."""

    id: str
    sha256: str
    tailoring: tuple[TailoredNumber, ...]


class FleetUse(Record):
    """What the nodes are wanted for, and the size class of the job where it has one."""

    use: str
    size: str | None


class FleetNodes(Record):
    """Who reported, who should have, and how many may take part.

    needed, expected: null where nobody says how many. files_not_read: of other kinds.
    """

    reported: int
    fit: int
    needed: int | None
    synthetic: int
    files_not_read: int
    expected: int | None
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    unread: tuple[Unread, ...]
    repeated: tuple[Repeated, ...]


class FleetUnfit(Record):
    """A node that must not take part, or of which that is not known."""

    node: str
    state: State
    reasons: tuple[Reason, ...]


class FleetSpares(Record):
    """Fit nodes beyond those needed, and as many as the failure model wants."""

    at_hand: int
    wanted: float
    wanted_lower: float
    wanted_upper: float
    source: str


class FleetFindingValue(Record):
    """The same said of some nodes; nodes: none for the fleet as a whole."""

    subject: str
    message: str
    measured: str | float | None
    required: str | float | None
    missing: tuple[str, ...]
    places: tuple[str, ...]
    nodes: tuple[str, ...]


class FleetFinding(Record):
    """All that one rule says, what few nodes have first.

    other_messages: nodes whose own words were not kept.
    """

    clause: str
    rule: str
    title: str
    level: Level
    clause_level: ClauseLevel
    outcome: Outcome
    remedy: str
    action: Action | None
    of_job: bool
    nodes: tuple[str, ...]
    other_messages: int
    values: tuple[FleetFindingValue, ...]


class FleetFlip(Record):
    """Nodes whose verdict changed in the same way."""

    before: str
    now: str
    nodes: tuple[str, ...]


class FleetChange(Record):
    """Nodes on which a leaf changed in the same way."""

    leaf: str
    before: str
    now: str
    nodes: tuple[str, ...]


class FleetGrown(Record):
    """A counter that grew beyond the others; usual: growth of most nodes."""

    leaf: str
    is_grave: bool
    usual: float
    of_nodes: int
    nodes: tuple[Growth, ...]


class FleetNotCompared(Record):
    """A leaf that one of the days does not tell, and of how many nodes."""

    leaf: str
    nodes: int


class FleetSince(Record):
    """What changed since another day; hours: the shortest and longest time between."""

    before: str
    nodes_in_both: int
    hours: tuple[float, float] | None
    came: tuple[str, ...]
    went: tuple[str, ...]
    flipped: tuple[FleetFlip, ...]
    changed: tuple[FleetChange, ...]
    not_known_now: tuple[FleetChange, ...]
    grown: tuple[FleetGrown, ...]
    not_compared: tuple[FleetNotCompared, ...]


class FleetDocument(Record):
    """Whether a job may start on a fleet; names of nodes are listed one by one."""

    schema_name: Literal["speccheck-fleet/1"]
    tool: Tool
    edition: FleetEdition
    profile: FleetUse
    verdict: Literal["go", "no-go", "inconclusive", "not complete"]
    exit_code: Literal[0, 1, 3, 4]
    reason: str
    nodes: FleetNodes
    unfit: tuple[FleetUnfit, ...]
    spares: FleetSpares | None
    findings: tuple[FleetFinding, ...]
    unknown: tuple[FleetFinding, ...]
    loosened: tuple[
        FleetFinding, ...
    ]  # held by tailored numbers, and not by the edition's
    since: FleetSince | None


def fleet_json(fleet_context: FleetContext) -> Iterator[str]:
    """Yield the text of the document; names of nodes are listed, not folded."""
    run, verdict = fleet_context.run, fleet_context.verdict
    attendance = run.fleet.attendance
    document = alike(
        FleetDocument,
        verdict,
        schema_name="speccheck-fleet/1",
        tool=TOOL,
        edition=alike(FleetEdition, run.edition, tailoring=tailoring_of(run.edition)),
        profile=alike(FleetUse, run),
        verdict=verdict.word,
        exit_code=verdict.code,
        nodes=alike(
            FleetNodes,
            attendance,
            reported=len({node.name for node in run.nodes}),
            fit=verdict.fit,
            needed=verdict.needed,
            synthetic=len({node.name for node in run.nodes if node.is_synthetic}),
            files_not_read=run.listing.ignored,
            expected=attendance.expected.value,
        ),
        unfit=[alike(FleetUnfit, node, node=node.name) for node in verdict.unfit],
        spares=_spares(verdict),
        findings=_findings(fleet_groups(run, "error", "fail")),
        unknown=_findings(fleet_groups(run, "unknown")),
        loosened=_findings(loosened_groups(run)),
        since=None if fleet_context.since is None else _since(fleet_context.since),
    )
    yield document_text(document, indent=2)


def _spares(verdict: FleetVerdict) -> FleetSpares | None:
    if verdict.spares is None:
        return None
    wanted = verdict.spares.wanted
    return FleetSpares(
        verdict.spares.at_hand, wanted.value, wanted.lower, wanted.upper, wanted.source
    )


def _findings(groups: Iterable[FleetGroup]) -> list[FleetFinding]:
    return [
        alike(
            FleetFinding,
            group,
            clause_level=group.finding.clause_level,
            remedy=group.finding.remedy,
            action=group.finding.action,
            of_job=group.is_of_job,
            nodes=group.hosts,
            other_messages=group.others,
            values=[
                alike(
                    FleetFindingValue,
                    value.finding,
                    subject=value.subject,
                    message=value.message,
                    places=[place.key for place in value.finding.places],
                    nodes=value.hosts,
                )
                for value in group.values
            ],
        )
        for group in groups
    ]


def _since(since: Since) -> FleetSince:
    return alike(
        FleetSince,
        since,
        nodes_in_both=since.both,
        flipped=[alike(FleetFlip, flip, nodes=flip.hosts) for flip in since.flipped],
        changed=_changes(since.changed),
        not_known_now=_changes(since.lost),
        grown=[alike(FleetGrown, grown, of_nodes=grown.of) for grown in since.grown],
        not_compared=[FleetNotCompared(*leaf) for leaf in since.untold],
    )


def _changes(changes: Iterable[Changed]) -> list[FleetChange]:
    return [
        FleetChange(
            change.leaf, hidden(change.before), hidden(change.now), change.hosts
        )
        for change in changes
    ]

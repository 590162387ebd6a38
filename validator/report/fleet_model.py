"""The shape of `speccheck-fleet/1`, for its JSON Schema and for whoever reads one.

Nothing that runs imports this module: fleet_json.py writes plain data, and a test holds
the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.evidence.finding import Action, ClauseLevel, Level, Outcome
from speccheck.validator.report.report_model import TailoredNumber, Tool


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FleetEdition(_Part):
    """The compiled edition that was judged by; tailoring: own numbers in force."""

    id: str
    sha256: str
    tailoring: list[TailoredNumber]


class FleetUse(_Part):
    """What the nodes are wanted for, and the size class of the job where it has one."""

    use: str
    size: str | None


class FleetUnread(_Part):
    """Evidence that could not be read; node: whose it would be, empty if unknown."""

    file: str
    problem: str
    node: str


class FleetRepeated(_Part):
    """A node that reported more than once, or a machine under two names."""

    name: str
    files: list[str]
    problem: str


class FleetNodes(_Part):
    """Who reported, who should have, and how many may take part.

    needed, expected: null where nobody says how many. files_not_read: of other kinds.
    """

    reported: int
    fit: int
    needed: int | None
    synthetic: int
    files_not_read: int
    expected: int | None
    missing: list[str]
    unexpected: list[str]
    unread: list[FleetUnread]
    repeated: list[FleetRepeated]


class FleetReason(_Part):
    """Why a node is not fit; rule: empty where no rule says so."""

    rule: str
    message: str
    action: Action | None


class FleetUnfit(_Part):
    """A node that must not take part, or of which that is not known."""

    node: str
    state: Literal["no-go", "inconclusive", "usage", "bug", "unread", "missing"]
    reasons: list[FleetReason]


class FleetSpares(_Part):
    """Fit nodes beyond those needed, and as many as the failure model wants."""

    at_hand: int
    wanted: float
    wanted_lower: float
    wanted_upper: float
    source: str


class FleetFindingValue(_Part):
    """The same said of some nodes; nodes: none for the fleet as a whole."""

    subject: str
    message: str
    measured: str | float | None
    required: str | float | None
    missing: list[str]
    places: list[str]
    nodes: list[str]


class FleetFinding(_Part):
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
    nodes: list[str]
    other_messages: int
    values: list[FleetFindingValue]


class FleetFlip(_Part):
    """Nodes whose verdict changed in the same way."""

    before: str
    now: str
    nodes: list[str]


class FleetChange(_Part):
    """Nodes on which a leaf changed in the same way."""

    leaf: str
    before: str
    now: str
    nodes: list[str]


class FleetGrowth(_Part):
    """What a counter of a node grew by; began_anew: it was lower than before."""

    node: str
    by: float
    per_hour: float | None
    began_anew: bool


class FleetGrown(_Part):
    """A counter that grew beyond the others; usual: growth of most nodes."""

    leaf: str
    is_grave: bool
    usual: float
    of_nodes: int
    nodes: list[FleetGrowth]


class FleetNotCompared(_Part):
    """A leaf that one of the days does not tell, and of how many nodes."""

    leaf: str
    nodes: int


class FleetSince(_Part):
    """What changed since another day; hours: the shortest and longest time between."""

    before: str
    nodes_in_both: int
    hours: tuple[float, float] | None
    came: list[str]
    went: list[str]
    flipped: list[FleetFlip]
    changed: list[FleetChange]
    not_known_now: list[FleetChange]
    grown: list[FleetGrown]
    not_compared: list[FleetNotCompared]


class FleetDocument(_Part):
    """Whether a job may start on a fleet; names of nodes are listed one by one."""

    schema_name: Literal["speccheck-fleet/1"] = Field(alias="schema")
    tool: Tool
    edition: FleetEdition
    profile: FleetUse
    verdict: Literal["go", "no-go", "inconclusive", "not complete"]
    exit_code: Literal[0, 1, 3, 4]
    reason: str
    nodes: FleetNodes
    unfit: list[FleetUnfit]
    spares: FleetSpares | None
    findings: list[FleetFinding]
    unknown: list[FleetFinding]
    loosened: list[FleetFinding]  # held by tailored numbers, and not by the edition's
    since: FleetSince | None

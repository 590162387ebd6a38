"""The shape of `speccheck-report/1`, for its JSON Schema and for whoever reads one.

Writing a report does not import this module: json_report.py writes plain data, and a
test holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

Level = Literal["error", "warning", "info"]
ClauseLevel = Literal["must", "should", "may"]
Outcome = Literal["pass", "fail", "unknown", "not_applicable", "error"]
Action = Literal["MONITOR", "FIX_CONFIG", "RESET_GPU", "REBOOT", "ISOLATE", "SUPPORT"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tool(_Part):
    """The program that wrote the report."""

    name: Literal["speccheck"]
    version: str


class TailoredNumber(_Part):
    """A number of the edition that somebody replaced; expires: the last day, UTC."""

    clause: str
    number: str
    edition_value: str | int | float | bool | None
    own_value: str | int | float | bool
    unit: str
    reason: str
    owner: str
    expires: str


class CompiledEdition(_Part):
    """A compiled edition: its sha256 is that of its content."""

    id: str
    stage: str
    sha256: str


class EditionName(CompiledEdition):
    """The compiled edition that was judged by; tailoring: own numbers in force."""

    tailoring: list[TailoredNumber]


class SecondEditionName(_Part):
    """An edition of which only warnings come.

    found: failures that the first does not give. unknown, broken: clauses that it could
    not judge, rules of it that broke, and not of the first.
    """

    id: str
    stage: str
    sha256: str
    found: int
    unknown: int
    broken: int


class Profile(_Part):
    """The use that the run was judged for: ci, preflight or certify."""

    use: str


class SwitchedOff(_Part):
    """What a line of settings, or an option, left out of the judgement.

    clauses: by level. rules: of clauses that were judged by other rules alone.
    """

    by: str
    clauses: dict[ClauseLevel, list[str]]
    rules: list[str]


class Totals(_Part):
    """Clauses by level and outcome, failed findings by level, coverage of the musts."""

    clauses: dict[ClauseLevel, dict[str, int]]
    failed: dict[Level, int]
    coverage: float | None
    waived: int  # failures that somebody silenced
    loosened: int  # what fails by the edition's own numbers, and not by tailored ones
    warned: int  # failures by a second edition alone, which `failed` counts as well
    switched_off: list[SwitchedOff]


class SettingsFiles(_Part):
    """The settings files of the run, the closest first; isolated: none was read."""

    files: list[str]
    isolated: bool


class File(_Part):
    """One file of the run and what it was taken for."""

    path: str
    format: str | None
    confidence: float
    status: Literal["judged", "unrecognised", "template", "unreadable", "excluded"]
    message: str | None


class MeasuredPoint(_Part):
    """One size of message; seconds is null where nobody told the time."""

    size_bytes: int
    seconds: float | None
    bus_bytes_per_second: float


class MeasuredPlacement(_Part):
    """One placement of buffers: out_of_place, in_place."""

    placement: str | None
    points: list[MeasuredPoint]


class MeasuredBound(_Part):
    """What messages of one size should reach, bytes per second; null: not known."""

    size_bytes: int
    ceiling: float | None
    warn_below: float | None
    fail_below: float | None


class PublishedReading(_Part):
    """What somebody else published of the same collective on the same machines."""

    size_bytes: int
    bus_bytes_per_second: float
    source: str


class HeldTo(_Part):
    """What is expected; basis: on what it rests, or why nothing is."""

    basis: str | None
    bounds: list[MeasuredBound]
    published: list[PublishedReading]


class Measured(_Part):
    """Runs of one collective over the same ranks: medians over the runs by size."""

    collective: str | None
    ranks: int | None
    nodes: int | None
    hosts: list[str]
    gpu: str | None
    tool: str | None
    runs: int
    unfinished: str | None  # why a run did not end as it should
    peak_bus_bytes_per_second: float | None
    peak_size_bytes: int | None
    half_peak_bytes: float | None  # from this size on half of the peak is reached
    small_message_seconds: float | None  # median of messages of up to 8 KiB
    held_to: HeldTo
    path: str | None  # which way the bytes took, or that nothing proves it
    placed: list[MeasuredPlacement]  # the best first: numbers above are of it


class Rates(_Part):
    """Copies, products or transfers of one kind, over the parts of a machine."""

    title: str
    unit: Literal["bytes_per_second", "bits_per_second", "flops_per_second"]
    parts: int  # how many, or how many pairs of them
    least: float
    median: float
    most: float
    slowest: str


class PathTaken(_Part):
    """Communicators of one kind in the log of NCCL, and which way their bytes took."""

    communicators: int
    ranks: int | None
    nodes: int | None
    nccl_version: str
    network: str
    words: list[str]


class Plan(_Part):
    """One plan: files that were judged together, and why."""

    files: list[str]
    formats: list[str]
    grouping: list[str]
    nodes: int | None
    gpus_per_node: int | None
    world_size: int | None
    size: str | None
    settings: list[str]
    measured: list[Measured]
    rates: list[Rates]
    paths: list[PathTaken]
    synthetic: list[str]  # snapshots of machines that do not exist: no evidence
    summary: Totals


class ReportPlace(_Part):
    """A place in a file; line and column count from 1, null without a position."""

    file: str
    key: str
    line: int | None
    column: int | None
    end_column: int | None


class SettingKey(_Part):
    """A key of a file that holds a value; no file for one that is not set yet."""

    file: str | None
    key: str


class ProposedSetting(_Part):
    """One value to change: a value of the plan, and the keys that state it as it is."""

    name: str
    before: bool | int | float | str | list[str | int | float] | None
    after: bool | int | float | str | list[str | int | float] | None
    keys: list[SettingKey]


class ReportProposal(_Part):
    """Settings that were tried on the plan and judged by all rules.

    verified: the failed rule holds then, and no other error appears. Otherwise nothing
    fails, and `missing` names what would let the rule be judged.
    """

    settings: list[ProposedSetting]
    what_if: list[str]  # the same for speccheck plan --what-if
    verified: bool
    text: str
    because: str | None
    missing: list[str]
    new_errors: list[str]
    new_warnings: list[str]


class ReportWaiver(_Part):
    """What silences a failure; until is the last day on which it does, in UTC."""

    kind: Literal["comment", "waiver", "baseline", "setting"]
    file: str
    key: str
    line: int | None
    reason: str | None
    until: str | None
    owner: str | None
    ticket: str | None


class ReportEdit(_Part):
    """What stands from a place to another, end excluded, becomes `text`.

    Lines and columns count from 1, columns in code points.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class ReportFix(_Part):
    """A change of files that mends a failure: all edits together.

    is_safe: it changes nothing of what the model learns. No edits: the files are
    written in a way that no edit of one place can change.
    """

    says: str
    is_safe: bool
    edits: list[ReportEdit]


class ReportFinding(_Part):
    """What one rule says of one plan, or of one part of a node: the subject."""

    rule: str | None
    clause: str
    title: str
    clause_level: ClauseLevel
    level: Level
    outcome: Outcome
    message: str
    cost: str | None
    remedy: str | None
    subject: str | None
    action: Action | None
    note: str | None
    places: list[ReportPlace]
    measured: str | float | None
    required: str | float | None
    missing: list[str]
    confidence: str
    spec: str  # the edition that gave it
    loosened: bool  # it fails by the edition's own number, as the note says
    waived: bool
    waiver: ReportWaiver | None
    proposals: list[ReportProposal] | None  # null: of too many plans, not sought
    fix: ReportFix | None
    plan: int


class RuleStatistics(_Part):
    """How many findings of one rule, or of a clause decided without one, came out how.

    counts: error, warning, info (failures that count), waived, unknown, broken, pass,
    not_applicable.
    """

    rule: str | None
    clause: str
    clause_level: ClauseLevel
    counts: dict[str, int]


class FindingLine(ReportFinding):
    """A line of `speccheck-report-lines/1`: a finding, with the files of its plan."""

    type: Literal["finding"]
    files: list[str]


class UnreadFile(_Part):
    """A file that was not judged, and why."""

    path: str
    status: Literal["unrecognised", "template", "unreadable", "excluded"]
    message: str | None


class TotalsLine(_Part):
    """The last line of `speccheck-report-lines/1`: what the run comes to."""

    type: Literal["summary"]
    schema_name: Literal["speccheck-report-lines/1"] = Field(alias="schema")
    tool: Tool
    edition: EditionName | None
    second_edition: SecondEditionName | None
    profile: Profile | None
    settings: SettingsFiles
    warnings: list[str]
    verdict: Literal["pass", "fail", "inconclusive", "error"]
    reason: str
    exit_code: int
    summary: Totals
    errors: list[str]
    plans: int
    files: int
    unread: list[UnreadFile]
    statistics: list[RuleStatistics]


class ReportLine(RootModel[FindingLine | TotalsLine]):
    """One line of `--output jsonl`."""


class Report(_Part):
    """The whole document."""

    schema_name: Literal["speccheck-report/1"] = Field(alias="schema")
    tool: Tool
    edition: EditionName | None
    second_edition: SecondEditionName | None
    profile: Profile | None
    settings: SettingsFiles
    warnings: list[str]
    verdict: Literal["pass", "fail", "inconclusive", "error"]
    reason: str
    exit_code: int
    summary: Totals
    errors: list[str]
    files: list[File]
    plans: list[Plan]
    statistics: list[RuleStatistics]  # of all findings, also those not listed
    findings: list[ReportFinding]

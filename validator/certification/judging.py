"""Judges the evidence of a certificate: each machine with the job, then all together.

Each machine is judged as a plan of the files of the job, of what several machines
measured together, and of its own snapshot; rules of scope fleet see all machines.
Without a machine the files are judged alone, and what asks for one is not known.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median

from speccheck.validator.certification.kit import (
    Kit,
    KitFile,
    KitProblem,
    OpenedFile,
    open_kit,
)
from speccheck.validator.editions.compose import ComposedEdition
from speccheck.validator.editions.edition import Clause, Edition
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.evidence import Evidence as EvidenceByKind
from speccheck.validator.evidence.finding import ClauseLevel, Finding
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.reading import listing
from speccheck.validator.fleet.run import FleetWork, judge_fleet
from speccheck.validator.forecast.collective_series import Bound
from speccheck.validator.measurements.measured import (
    MeasuredCurve,
    measured_curves,
    rates_of_parts,
)
from speccheck.validator.models.expectation import OF_ALL_TO_ALL, Floors
from speccheck.validator.rule import Scope, by_clause
from speccheck.validator.run.judging import RunState, judge_plan
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.joining.grouping import PlanFiles, group
from speccheck.validator.sources.joining.one_node import joined
from speccheck.validator.sources.registry import Readers

LEVELS = ("L1", "L2", "L3")
_LEVEL_OF_SCOPE: dict[Scope, str] = {"node": "L2", "fleet": "L2", "measurement": "L3"}


class JudgedKit(Record):
    """A finding, and the machine that it is about; empty for the job or all of them."""

    specimen: str
    finding: Finding


class JudgedClauseResult(Record):
    """One clause with all that was found. outcome: the worst of it, or waived."""

    clause: Clause
    level: ClauseLevel
    outcome: str
    judged: tuple[JudgedKit, ...]


def clause_results(
    edition: Edition, judged: Iterable[JudgedKit], scopes: Mapping[str, Scope]
) -> list[JudgedClauseResult]:
    """Return the clauses of findings, in the order of the edition.

    Args:
        edition: with the clauses.
        judged: all findings.
        scopes: of the rules, by name.

    """
    result: dict[str, list[JudgedKit]] = {}
    for item in judged:
        result.setdefault(item.finding.clause, []).append(item)
    return [
        _result(edition.clauses[clause], result[clause], scopes)
        for clause in edition.clauses
        if clause in result
    ]


def _result(
    clause: Clause, all_judged: list[JudgedKit], scopes: Mapping[str, Scope]
) -> JudgedClauseResult:
    # What files can show needs no machine: a rule that would look at one as well, and
    # has none to look at, leaves the clause to the rules that judge files.
    beyond = [
        judged for judged in all_judged if _is_beyond(clause, judged.finding, scopes)
    ]
    judged = [judged for judged in all_judged if judged not in beyond] or all_judged
    outcome = by_clause(item.finding for item in judged)[0]
    level = judged[0].finding.clause_level
    return JudgedClauseResult(clause, level, outcome.outcome, tuple(judged))


def _is_beyond(clause: Clause, finding: Finding, scopes: Mapping[str, Scope]) -> bool:
    """Return whether a rule lacked evidence of a kind the level does not demand."""
    level = _LEVEL_OF_SCOPE.get(scopes.get(finding.rule, "plan"), LEVELS[0])
    lacks_a_kind = bool(finding.missing) and all(
        "." not in text for text in finding.missing
    )
    is_unknown = finding.outcome == "unknown" and lacks_a_kind
    return is_unknown and level > clause.certification_level


Scalar = str | int | float | bool
SampleConditions = tuple[tuple[str, Scalar], ...]
_LOW = 0.05  # the share of values below the fifth percentile
_FEWEST_FOR_SPREAD = 2


class QuantitySample(Record):
    """Values of one quantity under the same conditions, of one machine or one file.

    specimen: empty for what several machines measured together. floor: below it a
    rule fails; ceiling: what the hardware can reach at most; None: not known.
    """

    name: str
    unit: str
    conditions: SampleConditions
    specimen: str
    values: tuple[float, ...]
    floor: float | None = None
    ceiling: float | None = None


class Distribution(Record):
    """All samples of one quantity.

    spread: between the medians of machines, the largest less the smallest over their
    median; None of fewer than two machines.
    """

    name: str
    unit: str
    conditions: SampleConditions
    readings: int
    specimens: int
    median: float
    p5: float
    least: float
    most: float
    spread: float | None
    floor: float | None
    ceiling: float | None


def samples(
    specimen: str, evidence: EvidenceByKind, floors: Mapping[str, float]
) -> Iterator[QuantitySample]:
    """Yield all that evidence measured: of one machine, or of several together.

    Args:
        specimen: the machine; empty for several.
        evidence: what they measured, and under which conditions.
        floors: by collective, the share of what it can reach that fails it below.

    """
    for rate in rates_of_parts(evidence):
        yield QuantitySample(
            rate.title, rate.unit, (), specimen, tuple(rate.rates.values())
        )
    for curve in measured_curves(evidence):
        yield from _of_curve(specimen, curve, floors.get(curve.collective))


def _of_curve(
    specimen: str, curve: MeasuredCurve, share: float | None
) -> Iterator[QuantitySample]:
    """Yield the bandwidth of the largest message, and the time of the smallest."""
    points = curve.curve.points
    if not points:
        return
    result: dict[str, Scalar | None] = {
        "ranks": curve.ranks,
        "nodes": curve.nodes,
        "gpu": curve.gpu,
        "tool": curve.tool,
        "path": curve.path,
        "placement": curve.placed[0].placement,
        "runs": curve.runs,
    }
    about = tuple(
        (name, item) for name, item in result.items() if item not in {None, ""}
    )
    largest, smallest = points[-1], points[0]
    bound = _bound_at(curve, largest.size_bytes)
    name = curve.collective or "collective"
    yield QuantitySample(
        f"{name} bus bandwidth",
        "bytes_per_second",
        _known(("size_bytes", largest.size_bytes), *about),
        specimen,
        (largest.bus_bytes_per_second,),
        _floor(bound, name, share),
        bound.ceiling if bound else None,
    )
    if smallest.seconds:
        yield QuantitySample(
            f"{name} time",
            "seconds",
            _known(("size_bytes", smallest.size_bytes), *about),
            specimen,
            (smallest.seconds,),
        )


def _floor(bound: Bound | None, collective: str, share: float | None) -> float | None:
    """Return what fails below, by the share of the profiles in force."""
    if bound is None or bound.fail_below is None or share is None:
        return bound.fail_below if bound else None
    usual = OF_ALL_TO_ALL if collective == "all_to_all" else Floors()
    return bound.fail_below / usual.fail * share


def _known(*stated_facts: tuple[str, Scalar | None]) -> SampleConditions:
    return tuple((name, item) for name, item in stated_facts if item is not None)


def _bound_at(curve: MeasuredCurve, size: int) -> Bound | None:
    return next(
        (bound for bound in curve.held_to.bounds if bound.size_bytes == size), None
    )


def distributions(result: Iterable[QuantitySample]) -> list[Distribution]:
    """Return the samples of the same quantity under the same conditions together."""
    groups: dict[tuple[str, str, SampleConditions], list[QuantitySample]] = {}
    for sample in result:
        groups.setdefault((sample.name, sample.unit, sample.conditions), []).append(
            sample
        )
    return [_distribution(group) for group in groups.values()]


def _distribution(group: list[QuantitySample]) -> Distribution:
    first = group[0]
    values = sorted(value for sample in group for value in sample.values)
    machines: dict[str, list[float]] = {}
    for sample in group:
        if sample.specimen:
            machines.setdefault(sample.specimen, []).extend(sample.values)
    medians = [median(of_one) for of_one in machines.values()]
    middle = median(medians) if medians else 0.0
    has_spread = len(medians) >= _FEWEST_FOR_SPREAD and middle > 0
    return Distribution(
        first.name,
        first.unit,
        first.conditions,
        len(values),
        len(machines),
        median(values),
        values[int(_LOW * len(values))],
        values[0],
        values[-1],
        (max(medians) - min(medians)) / middle if has_spread else None,
        first.floor,
        first.ceiling,
    )


# Which clause holds a collective to a floor.
_FLOORS = {
    "COMM-010": ("all_reduce",),
    "COMM-074": ("all_gather", "reduce_scatter"),
    "COMM-076": ("all_to_all",),
}


class JudgedMachine(Record):
    """One machine that was looked at, with its files, the snapshot first."""

    name: str
    files: tuple[ReadFile, ...]


class Subject(Record):
    """What a certificate is asked for.

    job: configurations, scripts, environments. together: what several machines
    measured, and logs. machines: in the order of their names. expected: how many
    machines there should be; None where nobody says.
    """

    job: tuple[ReadFile, ...]
    together: tuple[ReadFile, ...]
    machines: tuple[JudgedMachine, ...]
    expected: int | None = None


class Judgements(Record):
    """All findings, and all that was measured.

    profiles: in force, by name. scopes: of the rules, by name.
    """

    edition: Edition
    profiles: tuple[str, ...]
    scopes: Mapping[str, Scope]
    judged: tuple[JudgedKit, ...]
    samples: tuple[QuantitySample, ...]


def judge_subject(request: Request, subject: Subject, now: float) -> Judgements:
    """Judge a subject.

    Args:
        request: for use certify, without arguments, with its declaration.
        subject: what there is.
        now: seconds since 1970, for evidence that is held to an age.

    Raises what `RunState` raises.

    """
    state = RunState(request, proposes=False)
    judges = state.judges
    # What compares machines is asked once, of all of them.
    of_fleets = {entry.name for entry in judges.entries if entry.scope == "fleet"}

    machines = subject.machines or (JudgedMachine("", ()),)
    by_machine = {
        machine.name: [
            _answered_for(finding.finding._replace(places=()))
            for finding in judge_plan(
                PlanFiles(_files(subject, machine)), state
            ).findings
            if finding.finding.rule not in of_fleets
        ]
        for machine in machines
    }
    first = assemble(_files(subject, machines[0]), request.judging.context)
    profiles = judges.of(first.plan, (), first.scopes, first.measured).composed
    judged = [*_without_repeats(by_machine)]
    judged += (JudgedKit("", finding) for finding in _of_fleet(request, subject, now))
    return Judgements(
        judges.edition,
        tuple(profile.id for profile in profiles.profiles),
        {entry.name: entry.scope for entry in judges.entries},
        tuple(judged),
        tuple(_samples(request, subject, _floors(profiles))),
    )


def _files(subject: Subject, machine: JudgedMachine) -> tuple[ReadFile, ...]:
    return (*subject.job, *subject.together, *machine.files)


def _answered_for(finding: Finding) -> Finding:
    """Return the finding, waived only if the waiver has a reason, a name and an end.

    What holds by an own number alone does not hold by the edition.
    """
    if finding.is_loosened and finding.outcome == "pass":
        message = f"{finding.message}; {finding.note}" if finding.note else ""
        return finding._replace(outcome="fail", message=message or finding.message)
    waiver = finding.waiver
    if waiver is None or (waiver.reason and waiver.owner and waiver.until):
        return finding
    return finding._replace(waiver=None)


def _without_repeats(
    by_machine: Mapping[str, Sequence[Finding]],
) -> Iterator[JudgedKit]:
    """Yield findings of machines; those that all of them share once, without a name."""
    times = Counter(
        finding for findings in by_machine.values() for finding in {*findings}
    )
    seen: set[Finding] = set()
    for name, findings in by_machine.items():
        for finding in findings:
            if times[finding] < len(by_machine):
                yield JudgedKit(name, finding)
            elif finding not in seen:
                seen.add(finding)
                yield JudgedKit("", finding)


def _of_fleet(request: Request, subject: Subject, now: float) -> Iterable[Finding]:
    paths = [machine.files[0].status.path for machine in subject.machines]
    work = FleetWork(request, subject.job, _go)
    expected = Expected(number=subject.expected)
    findings = judge_fleet(work, listing(paths), expected, now=now, cores=1).of_fleet
    return (finding._replace(places=()) for finding in findings)


def _go(_: Sequence[Finding]) -> str:
    """Return go or no-go without the verdicts on single nodes."""
    return "go"


def _floors(composed: ComposedEdition) -> dict[str, float]:
    """Return the share of what a collective can reach that fails it, by collective."""
    result: dict[str, float] = {}
    for clause, collectives in _FLOORS.items():
        if clause in composed.edition.clauses:
            share = composed.numbers(clause).get("floor_fraction")
            if isinstance(share, int | float):
                result |= dict.fromkeys(collectives, float(share))
    return result


def _samples(
    request: Request, subject: Subject, floors: Mapping[str, float]
) -> Iterator[QuantitySample]:
    for machine in subject.machines:
        about = _files(subject, machine)
        yield from _of_files(request, about, machine.name, machine.files, floors)
    about = (*subject.job, *subject.together)
    yield from _of_files(request, about, "", subject.together, floors)


def _of_files(
    request: Request,
    about: Sequence[ReadFile],
    name: str,
    files: Sequence[ReadFile],
    floors: Mapping[str, float],
) -> Iterator[QuantitySample]:
    """Yield what these files alone measured, beside what all the evidence states."""
    nodes = [
        reading.node for file in files for reading in file.readings if reading.node
    ]
    if not nodes:
        return
    measured: Node = joined(nodes)
    known = assemble(about, request.judging.context)
    by_type: dict[type, object] = dict(measured.by_type())
    conditions = known.get(Conditions)
    if conditions is not None:
        by_type[Conditions] = conditions
    yield from samples(name, EvidenceByKind(by_type), floors)


# Clocks of machines and of who judges them may differ by that much.
_CLOCKS_APART = timedelta(minutes=10)


class ExcludedEvidence(Record):
    """A file that is not judged, and why."""

    path: str
    reason: str


class KitEvidence(Record):
    """All that a kit gives.

    kit: all that the folder holds. files: those of it that are judged. files_left_out:
    those that could be and are not, left_out: why. as_of: the time by which the age of
    all of it counts.
    """

    kit: Kit
    files: tuple[KitFile, ...]
    subject: Subject
    files_left_out: tuple[KitFile, ...]
    left_out: tuple[ExcludedEvidence, ...]
    as_of: datetime

    def path_of(self, file: ReadFile) -> str:
        """Return the path of a file below the folder."""
        return os.path.relpath(file.status.path, self.kit.folder).replace(os.sep, "/")


class SeveralJobs(Exception):  # noqa: N818 - a usage error with its own message
    """A kit with the files of more than one job."""


def read_evidence(
    folder: str,
    now: datetime,
    most_days: int | None,
    expected: int | None = None,
    readers: Readers | None = None,
) -> KitEvidence:
    """Read a kit.

    Args:
        folder: that holds it.
        now: when it is judged, UTC.
        most_days: how old evidence may be; None for any age.
        expected: how many machines there should be; None where nobody says.
        readers: of the formats.

    Raises KitError, or SeveralJobs.

    """
    passed_over: list[KitProblem] = []
    opened = [*open_kit(folder, passed_over, readers)]
    as_of = _judged_as_of(opened, now)
    left_out = [*_out_of_time(opened, now, as_of, most_days)]
    unread = {item.path for item in left_out}
    taken = [
        opened_file
        for opened_file in opened
        if opened_file.files and opened_file.file.path not in unread
    ]
    kit = Kit(
        folder,
        tuple(opened_file.file for opened_file in opened),
        tuple(
            KitProblem(opened_file.file.path, opened_file.problem)
            for opened_file in opened
            if opened_file.problem
        ),
        tuple(passed_over),
    )
    return KitEvidence(
        kit,
        tuple(opened_file.file for opened_file in taken),
        _subject(taken, expected),
        tuple(
            opened_file.file
            for opened_file in opened
            if opened_file.file.path in unread
        ),
        tuple(left_out),
        as_of,
    )


def _judged_as_of(opened: Sequence[OpenedFile], now: datetime) -> datetime:
    """Return now, or for synthetic machines the time the last was made up.

    A kit that is made up by the same command is the same on every day, and so is what
    is said of it.
    """
    observed = [
        opened_file.file
        for opened_file in opened
        if opened_file.file.kind != "config" and opened_file.files
    ]
    if not observed or not all(evidence_file.synthetic for evidence_file in observed):
        return now
    times = (
        datetime.fromisoformat(evidence_file.taken)
        for evidence_file in observed
        if evidence_file.taken
    )
    return max((time for time in times if time <= now), default=now)


def _out_of_time(
    opened: Sequence[OpenedFile], now: datetime, as_of: datetime, most_days: int | None
) -> Iterator[ExcludedEvidence]:
    for opened_file in opened:
        taken = opened_file.file.taken
        # A configuration is no observation: it holds as long as it is not changed.
        if not opened_file.files or not taken or opened_file.file.kind == "config":
            continue
        time = datetime.fromisoformat(taken)
        age = as_of - time
        if now - time < -_CLOCKS_APART:
            yield ExcludedEvidence(
                opened_file.file.path, f"taken {taken}, after now: a clock is wrong"
            )
        elif most_days is not None and age > timedelta(days=most_days):
            reason = f"taken {taken}, {age.days} days ago; at most {most_days} may be"
            yield ExcludedEvidence(opened_file.file.path, reason)


def _subject(opened: Sequence[OpenedFile], expected: int | None) -> Subject:
    job = [
        read_file
        for opened_file in opened
        for read_file in opened_file.files
        if opened_file.file.kind == "config"
    ]
    together: list[ReadFile] = []
    machines: dict[str, list[ReadFile]] = {}
    snapshots = {
        opened_file.file.specimen
        for opened_file in opened
        if opened_file.file.kind == "snapshot"
    }
    for opened_file in opened:
        if opened_file.file.kind == "snapshot":
            name = opened_file.file.specimen or opened_file.file.path
            machines.setdefault(name, [])[:0] = opened_file.files
        elif (
            opened_file.file.kind == "measurement"
            and opened_file.file.specimen in snapshots
        ):
            machines.setdefault(opened_file.file.specimen, []).extend(opened_file.files)
        elif opened_file.file.kind != "config":
            together.extend(opened_file.files)
    _demand_one_job(job)
    return Subject(
        tuple(job),
        tuple(together),
        tuple(JudgedMachine(name, tuple(machines[name])) for name in sorted(machines)),
        expected,
    )


def _demand_one_job(job: Sequence[ReadFile]) -> None:
    plans = group(job) if job else []
    if len(plans) > 1:
        text = " and ".join(
            "+".join(os.path.basename(file.status.path) for file in plan.files)
            for plan in plans[:3]
        )
        message = (
            f"the evidence holds the files of {len(plans)} jobs ({text}); "
            "a certificate is of one: keep the files of one"
        )
        raise SeveralJobs(message)


def utc_now() -> datetime:
    """Return the time now, to the second."""
    return datetime.now(UTC).replace(microsecond=0)

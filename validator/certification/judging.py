"""Judges the evidence of a certificate: each machine with the job, then all together.

Each machine is judged as a plan of the files of the job, of what several machines
measured together, and of its own snapshot; rules of scope fleet see all machines.
Without a machine the files are judged alone, and what asks for one is not known.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccheck.validator.certification.distributions import Sample, samples
from speccheck.validator.certification.results import Judged
from speccheck.validator.editions.compose import ComposedEdition
from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.listing import listing
from speccheck.validator.fleet.run import judge_fleet
from speccheck.validator.fleet.work import Work
from speccheck.validator.rule import Scope
from speccheck.validator.run.judging import RunState, judge_plan
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.sources.joining.one_node import joined

# Which clause holds a collective to a floor.
_FLOORS = {
    "COMM-010": ("all_reduce",),
    "COMM-074": ("all_gather", "reduce_scatter"),
    "COMM-076": ("all_to_all",),
}


class Machine(Record):
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
    machines: tuple[Machine, ...]
    expected: int | None = None


class Judgements(Record):
    """All findings, and all that was measured.

    profiles: in force, by name. scopes: of the rules, by name.
    """

    edition: Edition
    profiles: tuple[str, ...]
    scopes: Mapping[str, Scope]
    judged: tuple[Judged, ...]
    samples: tuple[Sample, ...]


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
    of_fleets = {one.name for one in judges.entries if one.scope == "fleet"}

    machines = subject.machines or (Machine("", ()),)
    by_machine = {
        machine.name: [
            _answered_for(one.finding._replace(places=()))
            for one in judge_plan(PlanFiles(_files(subject, machine)), state).findings
            if one.finding.rule not in of_fleets
        ]
        for machine in machines
    }
    first = assemble(_files(subject, machines[0]), request.judging.context)
    profiles = judges.of(first.plan, (), first.scopes, first.measured).composed
    judged = [*_told_once(by_machine)]
    judged += (Judged("", one) for one in _of_fleet(request, subject, now))
    return Judgements(
        judges.edition,
        tuple(one.id for one in profiles.profiles),
        {one.name: one.scope for one in judges.entries},
        tuple(judged),
        tuple(_samples(request, subject, _floors(profiles))),
    )


def _files(subject: Subject, machine: Machine) -> tuple[ReadFile, ...]:
    return (*subject.job, *subject.together, *machine.files)


def _answered_for(finding: Finding) -> Finding:
    """A waiver counts where somebody gives a reason, a name and an end for it.

    What holds by an own number alone does not hold by the edition.
    """
    if finding.is_loosened and finding.outcome == "pass":
        message = f"{finding.message}; {finding.note}" if finding.note else ""
        return finding._replace(outcome="fail", message=message or finding.message)
    waiver = finding.waiver
    if waiver is None or (waiver.reason and waiver.owner and waiver.until):
        return finding
    return finding._replace(waiver=None)


def _told_once(by_machine: Mapping[str, Sequence[Finding]]) -> Iterator[Judged]:
    """Findings of machines; what is found on all of them once, without a name."""
    times = Counter(one for found in by_machine.values() for one in {*found})
    seen: set[Finding] = set()
    for name, found in by_machine.items():
        for one in found:
            if times[one] < len(by_machine):
                yield Judged(name, one)
            elif one not in seen:
                seen.add(one)
                yield Judged("", one)


def _of_fleet(request: Request, subject: Subject, now: float) -> Iterable[Finding]:
    paths = [one.files[0].status.path for one in subject.machines]
    work = Work(request, subject.job, _go)
    expected = Expected(number=subject.expected)
    found = judge_fleet(work, listing(paths), expected, now=now, cores=1).of_fleet
    return (one._replace(places=()) for one in found)


def _go(_: Sequence[Finding]) -> str:
    """Verdicts on single nodes are not asked for."""
    return "go"


def _floors(composed: ComposedEdition) -> dict[str, float]:
    """The share of what a collective can reach that fails it below, by collective."""
    found: dict[str, float] = {}
    for clause, collectives in _FLOORS.items():
        if clause in composed.edition.clauses:
            share = composed.numbers(clause).get("floor_fraction")
            if isinstance(share, int | float):
                found |= dict.fromkeys(collectives, float(share))
    return found


def _samples(
    request: Request, subject: Subject, floors: Mapping[str, float]
) -> Iterator[Sample]:
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
) -> Iterator[Sample]:
    """What these files alone measured, held to what is known of all that is judged."""
    nodes = [one.node for file in files for one in file.readings if one.node]
    if not nodes:
        return
    measured: Node = joined(nodes)
    known = assemble(about, request.judging.context)
    by_type: dict[type, object] = dict(measured.by_type())
    conditions = known.get(Conditions)
    if conditions is not None:
        by_type[Conditions] = conditions
    yield from samples(name, Evidence(by_type), floors)

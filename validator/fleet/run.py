"""A fleet: evidence in, verdicts on nodes and on all of them together out."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.applicability import plan_size_class
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.judges import OF_FLEETS
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.fleet import Fleet, FleetNode, Unread
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.attendance import Expected, attendance
from speccheck.validator.fleet.node_judge import ANY_NODE, NodeJudge, without_secrets
from speccheck.validator.fleet.own_profile import OwnResult, own_result
from speccheck.validator.fleet.reading import Chunk, HostReport, Listing, reports
from speccheck.validator.fleet.shard import (
    CounterStore,
    NodeFindings,
    Portion,
    launch_message,
)
from speccheck.validator.node.host_names import natural
from speccheck.validator.rule import OF_FILES
from speccheck.validator.run.judging import RunState
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.formats.snapshot import SCHEMA, node_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from speccheck.validator.fleet.node_judge import VerdictOf


# Below it a second process costs more than it saves: half a second to load the rules.
FEWEST_FOR_SEVERAL = 1000
_MOST_PROCESSES = 32
_USUAL_BYTES = 80_000  # of the snapshot of a node with eight GPUs
_MOST_NAME = 255


class FleetWork(Record):
    """How the nodes of a fleet are judged.

    job: the files of the job that is to run on them. verdict_of: what the findings of
    a node come to. progress: told how many nodes more are done. counts: whether
    counters are kept.
    """

    request: Request
    job: tuple[ReadFile, ...]
    verdict_of: "VerdictOf"
    progress: Callable[[int], None] = lambda _: None
    counts: bool = False


def judged(
    work: FleetWork, chunks: Sequence[Chunk], nodes: int, cores: int = 0
) -> Portion:
    """Return all nodes as one portion.

    Args:
        work: how.
        chunks: what there is to read.
        nodes: how many files of one node there are.
        cores: to judge on; 0 for all that there are.

    """
    nodes += sum(chunk.size for chunk in chunks if chunk.is_lines) // _USUAL_BYTES
    cores = min(cores or _cores(), _MOST_PROCESSES, len(chunks))
    whole = Portion(counts=work.counts)
    if cores < 2 or nodes < FEWEST_FOR_SEVERAL:  # noqa: PLR2004 - one core
        worker = _Worker(work)
        for chunk in chunks:
            worker.add(chunk, whole, work.progress)
        return whole
    for portion in _by_several(work, chunks, cores):
        whole.take(portion)
        work.progress(len(portion.nodes) + len(portion.unread))
    return whole


class _Worker:
    """Judges chunk after chunk; what was judged once is known for the next."""

    def __init__(self, work: FleetWork) -> None:
        judges = RunState(work.request).judges
        self._judge = NodeJudge(judges, work.verdict_of, work.job)
        self.counts = work.counts

    def add(
        self, chunk: Chunk, portion: Portion, progress: Callable[[int], None]
    ) -> None:
        """Judge a chunk into a portion."""
        for report in reports(chunk):
            progress(1)
            if isinstance(report, Unread):
                portion.unread.append(report)
            elif report.is_result:
                portion.add_launch(report.content)
                portion.results.append(own_result(report))
            else:
                self._add_snapshot(report, portion)

    def _add_snapshot(self, report: HostReport, portion: Portion) -> None:
        try:
            judged_node = self._judge(report.content)
        except ReadError as error:
            portion.unread.append(Unread(report.file, error.problem, report.name))
            return
        node = _node(report, judged_node.verdict)
        number = portion.add(node, report.content, judged_node.profile)
        portion.of_job.add(judged_node.job)
        for finding in judged_node.findings:
            portion.findings.note(finding, number)


def _node(report: HostReport, verdict: str) -> FleetNode:
    content = report.content
    tool = content.get("tool")
    version = tool.get("version") if isinstance(tool, dict) else None
    return FleetNode(
        name=report.name[:_MOST_NAME],
        file=report.file,
        taken=report.taken,
        verdict=verdict,
        is_synthetic="synthetic" in content,
        release=version if isinstance(version, str) else "",
    )


# Of a process that judges chunks for another one.
_WORKER: list[_Worker] = []


def _begin(work: FleetWork) -> None:
    import gc  # noqa: PLC0415 - of the processes alone

    gc.disable()
    _WORKER[:] = [_Worker(work)]


def _portion(chunk: Chunk) -> Portion:
    portion = Portion(counts=_WORKER[0].counts)
    _WORKER[0].add(chunk, portion, lambda _: None)
    return portion


def _by_several(
    work: FleetWork, chunks: Sequence[Chunk], cores: int
) -> Iterator[Portion]:
    """Yield the portions in the order of the chunks, a few of them waiting at most."""
    from concurrent.futures import (  # noqa: PLC0415 - for large fleets alone
        ProcessPoolExecutor,
    )
    from multiprocessing import get_context  # noqa: PLC0415

    alone = work._replace(progress=_silent)
    with ProcessPoolExecutor(
        cores, get_context(), initializer=_begin, initargs=(alone,)
    ) as pool:
        waiting: list[Future[Portion]] = []
        for chunk in chunks:
            waiting.append(pool.submit(_portion, chunk))
            if len(waiting) > 2 * cores:
                yield waiting.pop(0).result()
        for item in waiting:
            yield item.result()


def _silent(_: int) -> None:
    """Report to nobody."""


def _cores() -> int:
    return len(os.sched_getaffinity(0))


# The worse of two verdicts on a node counts: a node is fit by both or by none.
_WORST = ("bug", "no-go", "usage", "inconclusive", "go")


class FleetRun(Record):
    """The result of judging a fleet.

    found: findings of nodes. more: by rule and outcome, nodes with findings that differ
    from those which are kept. of_fleet: findings of all nodes beside each other.
    own: nodes whose own pre-flight said worse than their snapshot, with its reason.
    counters: of nodes, where somebody compares days. with_variables: nodes that list
    their variables. jobs: that engines started on the nodes, by name. job: the files of
    the job, job_nodes: how many it takes. of_job: the words of the verdicts on these.
    job_rules: that judge files.
    """

    edition: Edition
    use: str
    plan: TrainingPlan
    fleet: Fleet
    findings: tuple[NodeFindings, ...]
    more: Mapping[tuple[str, str], Sequence[int]]
    of_fleet: tuple[Finding, ...]
    listing: Listing
    own: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    counters: CounterStore = CounterStore()
    with_variables: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    job: tuple[ReadFile, ...] = ()
    job_nodes: int | None = None
    of_job: frozenset[str] = frozenset()
    job_rules: frozenset[str] = frozenset()

    def is_of_job(self, item: NodeFindings) -> bool:
        """Return whether the files of the job are to blame, and no node.

        What is found on all nodes and stands in none of their snapshots is of the job;
        what some nodes have and others do not is of these nodes.
        """
        if not self.job or any(place.file == ANY_NODE for place in item.finding.places):
            return False
        rule = item.finding.rule
        stands_in_files = item.finding.places or not rule or rule in self.job_rules
        names = {self.nodes[number].name for number in item.nodes}
        return bool(stands_in_files) and len(names) == len(
            {node.name for node in self.nodes}
        )

    @property
    def size(self) -> str | None:
        """The size class of the job."""
        return plan_size_class(self.plan)

    @property
    def gpus(self) -> int:
        """GPUs of all nodes that list them."""
        shared = self.fleet.shared.get("gpus")
        groups = shared.groups if shared else ()
        return sum(
            int(group.value) * len({*group.hosts})
            for group in groups
            if group.value.isdecimal()
        )

    @property
    def nodes(self) -> tuple[FleetNode, ...]:
        """The nodes that reported, in the order of the numbers of `found`."""
        return self.fleet.nodes


def judge_fleet(
    work: FleetWork,
    listing: Listing,
    expected: Expected,
    *,
    now: float,
    cores: int = 0,
) -> FleetRun:
    """Judge all nodes, each by itself and beside the others.

    Args:
        work: how a node is judged.
        listing: the evidence.
        expected: what the user or the job expects.
        now: seconds since 1970.
        cores: to judge on; 0 for all that there are.

    Raises what `RunState` raises.
    """
    stated = assemble(work.job, work.request.judging.context).plan.value(
        "cluster.nodes"
    )
    job_nodes = stated.value if work.job else None
    work = _sized(work, listing, expected)
    portion = judged(work, listing.chunks, listing.snapshots, cores)
    portion.unread += listing.unread
    own = _with_results(portion)
    fleet = Fleet(
        tuple(portion.nodes),
        attendance(portion, expected, job_nodes),
        shared={
            shared.leaf: shared
            for shared in portion.distributions.shared(_names(portion))
        },
        samples={
            samples.leaf: samples for samples in portion.samples.over(_names(portion))
        },
        runs=_runs(portion.runs),
        started=_judged_at(portion.nodes, now),
    )
    judges = RunState(work.request).judges
    evidence = assemble(work.job, work.request.judging.context)
    judge = judges.of(evidence.plan, scopes=OF_FLEETS)
    of_fleet = judge(evidence.and_also(fleet))
    return FleetRun(
        edition=judges.edition,
        use=work.request.use,
        plan=evidence.plan,
        fleet=fleet,
        findings=tuple(portion.findings.each()),
        more=portion.findings.more,
        of_fleet=tuple(map(without_secrets, of_fleet)),
        listing=listing,
        own=own,
        warnings=judges.warnings,
        counters=portion.counters or CounterStore(),
        with_variables=_with_variables(portion),
        jobs=tuple(sorted({item.job for item in portion.messages if item.job})),
        job=work.job,
        job_nodes=job_nodes,
        of_job=frozenset(portion.of_job - {""}),
        job_rules=frozenset(
            entry.name for entry in judges.entries if entry.scope in OF_FILES
        ),
    )


def _judged_at(nodes: Sequence[FleetNode], now: float) -> float:
    """Return the time of judging: now; made-up nodes as soon as the last was made up.

    Synthetic fleets tell a day of their own: the same command writes the same bytes.
    """
    taken = [node.taken for node in nodes if node.taken is not None]
    if taken and all(node.is_synthetic for node in nodes):
        return max(taken)
    return now


def _sized(work: FleetWork, listing: Listing, expected: Expected) -> FleetWork:
    """Return the work with the number of nodes, for a job that does not state it.

    Every node is judged as one of so many: what is asked of a job depends on its size.
    """
    context = work.request.judging.context
    stated = assemble(work.job, context).plan.value("cluster.nodes")
    if stated.is_known:
        return work
    count = expected.number or _announced_nodes(listing) or listing.snapshots
    if not count:
        return work
    request = work.request._replace(
        judging=work.request.judging._replace(context=context._replace(nodes=count))
    )
    return work._replace(request=request)


def _announced_nodes(listing: Listing) -> int | None:
    """Return how many nodes the run has, by the engine of the first that is read."""
    for chunk in listing.chunks[:1]:
        with closing(reports(chunk)) as some:  # it holds a file of lines open
            for report in some:
                if isinstance(report, HostReport):
                    launch = report.content.get("launch")
                    result = launch_message(
                        report.content if report.is_result else launch
                    )
                    return result.nodes if result else None
    return None


def _with_variables(portion: Portion) -> tuple[str, ...]:
    numbers = portion.distributions.with_variables
    return tuple(sorted({portion.nodes[number].name for number in numbers}))


def _names(portion: Portion) -> list[str]:
    return [node.name for node in portion.nodes]


def _with_results(portion: Portion) -> tuple[tuple[str, str], ...]:
    """Lay result lines beside the snapshots of their nodes.

    A node without a snapshot is known by its line alone. Returns the nodes whose own
    verdict is the worse one, with what they said of it.
    """
    numbers: dict[str, int] = {}
    for number, node in enumerate(portion.nodes):
        numbers.setdefault(node.name, number)
    worse: list[tuple[str, str]] = []
    for own in sorted(portion.results, key=lambda result: natural(result.node.name)):
        number = numbers.get(own.node.name, -1)
        if number < 0:
            portion.add_own(own)
            continue
        node = portion.nodes[number]
        verdict = min(node.verdict, own.node.verdict, key=_WORST.index)
        if verdict != node.verdict:
            portion.nodes[number] = node._replace(verdict=verdict)
            worse.append((node.name, _said(own)))
    return tuple(worse)


def _said(own: OwnResult) -> str:
    first = own.findings[0] if own.findings else None
    text = f"{first.rule}: {first.message}" if first else own.reason
    return f"its own pre-flight said {own.node.verdict}" + (f": {text}" if text else "")


def _runs(
    text_lists: Sequence[tuple[str, Mapping[str, Any]]],
) -> tuple[CollectiveRun, ...]:
    """Return the runs of collectives that nodes measured."""
    return tuple(
        run
        for file, content in text_lists
        for run in node_of({**content, "schema": SCHEMA}, file)
        .several(CollectiveRuns)
        .shown
    )

"""What to run for a certificate: on how many nodes, in which order, for how long.

Each step gives evidence of some kinds, and these settle clauses. The steps of a level
are those whose evidence its clauses want.
"""

import json
import shlex
from collections.abc import Callable, Iterator
from typing import Literal

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.catalogue.hardware import resolve_instance
from speccheck.validator.certification.needs import (
    DRILL,
    FILES,
    NODE,
    LevelRequest,
    clauses_by_source,
    counted_levels,
)
from speccheck.validator.editions.compose import JudgedClause
from speccheck.validator.editions.edition import DEFAULT_EDITION
from speccheck.validator.evidence.measurement.cost import BUDGET_SECONDS, COSTS, READING
from speccheck.validator.evidence.record import Record

Engine = Literal["slurm", "mpi", "torchrun"]
ENGINES: tuple[Engine, ...] = ("slurm", "mpi", "torchrun")


class Layout(Record):
    """On how many nodes commands run, with how many processes on each."""

    engine: Engine
    nodes: int
    gpus: int


def on_all_gpus(layout: Layout, command: str, variables: str = "") -> str:
    """Return a command in one process a GPU of all nodes.

    variables: of the environment, `NAME=value` and so on.
    """
    return _LAUNCHERS[layout.engine](layout, layout.gpus, command, variables)


def once_a_node(layout: Layout, command: str) -> str:
    """Return a command in one process a node."""
    return _LAUNCHERS[layout.engine](layout, 1, command, "")


def _srun(layout: Layout, per_node: int, command: str, variables: str) -> str:
    gpus = f" --gpus-per-node={layout.gpus}"
    launch = f"srun --nodes={layout.nodes} --ntasks-per-node={per_node}{gpus}"
    before = f"{variables} " if variables else ""
    return f"{before}{launch} {command}"


def _mpirun(layout: Layout, per_node: int, command: str, variables: str) -> str:
    ranks = layout.nodes * per_node
    names = "".join(f" -x {part}" for part in variables.split())
    hosts = "--hostfile hosts.txt"
    launch = f"mpirun -np {ranks} {hosts} --map-by ppr:{per_node}:node{names}"
    return f"{launch} {command}"


def _torchrun(layout: Layout, per_node: int, command: str, variables: str) -> str:
    before = f"{variables} " if variables else ""
    return (
        f"{before}torchrun --nnodes={layout.nodes} --nproc-per-node={per_node} "
        f"--rdzv-backend=c10d --rdzv-endpoint=$FIRST_NODE:29400 --no-python {command}"
    )


_LAUNCHERS: dict[Engine, Callable[[Layout, int, str, str], str]] = {
    "slurm": _srun,
    "mpi": _mpirun,
    "torchrun": _torchrun,
}
# What is to be known of each before its commands run.
NOTES: dict[Engine, str] = {
    "slurm": "in one allocation of these nodes, with the folder where all see it",
    "mpi": (
        "hosts.txt names the nodes, a line each with slots=GPUS; -x and --map-by are "
        "Open MPI's"
    ),
    "torchrun": (
        "the same command on every node, by whatever starts it there; FIRST_NODE is "
        "the name of one of them, the same everywhere"
    ),
}

_CLAUSE, _LIMIT, _PERCENTILE = "FT-009", "recovery_p95", "percentile"
_RUNS = 5
# The events of one drill, in order; seconds since the first, by way of example.
EVENTS = (
    ("run.failure_injected", 0.0, {"reason": "worker process killed"}),
    ("run.failure_detected", 6.0, {"reason": "process ended"}),
    ("run.node_replaced", 21.0, {"reason": "spare takes its place"}),
    ("run.restore", 44.0, {"step": 400, "seconds": 14.0}),
    ("run.resumed", 61.0, {"step": 401}),
)
_MINUTE = 10
DRILL_COMMANDS = (
    "pkill --signal KILL --newest --full train.py   # on one node, during training",
    "cp drill.jsonl evidence/logs/",
    "speccheck telemetry evidence/logs/drill.jsonl",
)


def drill_words(result: LevelRequest) -> tuple[str, ...]:
    """Return what to do; the limit is the edition's."""
    numbers = result.composed.numbers(_CLAUSE)
    limit, percentile = numbers[_LIMIT], numbers[_PERCENTILE]
    return (
        (
            "While it trains: end one worker, or take a node away as the scheduler "
            "would; let the job recover as it would by itself - notice, put another "
            "node in its place, load the last checkpoint, make the next step - and "
            "write down when each of these was. Another node each time."
        ),
        (
            f"{percentile} of the time from the failure to the first step after it "
            f"must be at most {limit} s; all drills count, those that went badly too."
        ),
        "One line an event, all lines of a drill with its name:",
        *drill_example(),
    )


def drill_example(
    name: str = "drill-1", edition: str = DEFAULT_EDITION
) -> tuple[str, ...]:
    """Return the log of one drill, line by line, in the form that is read."""
    lines = []
    for event, seconds, more in EVENTS:
        record = {
            "time": f"2026-11-21T20:{_MINUTE + int(seconds) // 60:02d}"
            f":{int(seconds) % 60:02d}Z",
            "event": event,
            "drill": name,
            "run": "certify-1",
            "edition": edition,
            "node": "node0002",
            "rank": 8,
            **more,
        }
        lines.append(json.dumps(record))
    return tuple(lines)


FOLDER = "evidence"
_USUAL_GPUS = 8
_ALL_ADAPTERS = "$(ls /sys/class/infiniband)"
_VERBS = frozenset({"infiniband", "roce", "efa"})  # networks of perftest
_OF_ADAPTERS = "each adapter by itself, between two nodes"
_REPEATED_SECONDS = 40  # all-reduce of three sizes, with its start
_LEAST_RUN_SECONDS = 3600  # of a log: latency between nodes is sampled hourly
_DRILL_SECONDS = 300  # of one: 90 s at most to recover, and steps before and after
_DIAGNOSIS_SECONDS = 1200  # dcgmi diag -r 3 on eight GPUs; engineering default
_TRANSFER_SECONDS = 15  # of one adapter: some seconds of writes, twice started
_SHORT = ("COMM-013", "runs", 10)
_ONE_MINUTE = 60


class Settles(Record):
    """What a step settles of a track at a level."""

    track: str
    level: str
    musts: int
    shoulds: int
    clauses: tuple[str, ...]


class PlannedStep(Record):
    """One thing to do.

    kinds: of the evidence that it gives. nodes: that it takes at once. seconds: what it
    usually takes, without waiting for nodes. commands: in order. words: what people
    must do, or know.
    """

    name: str
    title: str
    kinds: tuple[str, ...]
    nodes: int
    seconds: float
    commands: tuple[str, ...]
    settles: tuple[Settles, ...] = ()
    words: tuple[str, ...] = ()


class RunPlan(Record):
    """All steps for a level."""

    request: LevelRequest
    engine: Engine
    nodes: int
    gpus: int
    steps: tuple[PlannedStep, ...]
    note: str

    @property
    def seconds(self) -> float:
        """What all steps take, one after the other."""
        return sum(step.seconds for step in self.steps)


def run_plan(result: LevelRequest, engine: Engine, nodes: int | None = None) -> RunPlan:
    """Return what to run for a level of a type of machine.

    Args:
        result: the clauses of the level.
        engine: that starts processes.
        nodes: to run on; else as many as speak for a type, and two at least.

    """
    least = result.terms.least_specimens or 1
    layout = Layout(engine, nodes or max(least, 2), _gpus_of(result))
    clauses = clauses_by_source(result)
    steps = [
        step._replace(settles=tuple(_settled(step, clauses)))
        for make in _STEPS
        for step in make(result, layout)
    ]
    kept = tuple(step for step in steps if step.settles or not step.kinds)
    return RunPlan(result, engine, layout.nodes, layout.gpus, kept, NOTES[engine])


def _gpus_of(result: LevelRequest) -> int:
    if not result.instance_type:
        return _USUAL_GPUS
    return resolve_instance(result.instance_type).gpus_per_node


def _settled(
    step: PlannedStep, by_source: dict[str, tuple[JudgedClause, ...]]
) -> Iterator[Settles]:
    result: dict[tuple[str, str], list[JudgedClause]] = {}
    for kind in step.kinds:
        for judged_clause in by_source.get(kind, ()):
            for track in judged_clause.clause.tracks:
                key = track, judged_clause.clause.certification_level
                result.setdefault(key, []).append(judged_clause)
    for (track, level), clauses in sorted(result.items(), key=lambda row: row[0][::-1]):
        musts, shoulds = counted_levels(clauses)
        names = tuple(clause.clause.id for clause in clauses)
        yield Settles(track, level, musts, shoulds, names)


def _files(_: LevelRequest, __: Layout) -> Iterator[PlannedStep]:
    yield PlannedStep(
        "files",
        "the files of the job, as it will run",
        (FILES,),
        0,
        0,
        (
            f"mkdir -p {FOLDER}/job {FOLDER}/nodes {FOLDER}/measured {FOLDER}/logs",
            f"cp train.sbatch config.yaml {FOLDER}/job/",
            f"speccheck {FOLDER}/job --profile certify",
        ),
        words=(
            "Configurations, launch scripts and what they include; no credentials.",
        ),
    )


def _machines(result: LevelRequest, layout: Layout) -> Iterator[PlannedStep]:
    tier = 3 if result.level == "L3" else 0
    kinds: tuple[str, ...] = (NODE, "fleet")
    seconds = READING.seconds
    if tier:
        measured = ("copy_tests", "matrix_products", "collective_runs")
        seconds += sum(COSTS[kind].seconds for kind in measured)
        seconds += COSTS["collective_runs"].seconds  # once more, over all nodes
        kinds = (*kinds, "bench.memcpy", "bench.gemm")
    command = (
        f"speccheck preflight --tier {tier} --budget {BUDGET_SECONDS[tier]} "
        f"--out {FOLDER}/nodes/ --result results/ --exit-zero"
    )
    start = on_all_gpus if tier else once_a_node
    yield PlannedStep(
        "machines",
        "each machine, idle" + (", with its copies and products" if tier else ""),
        kinds,
        layout.nodes,
        seconds,
        (
            "export SPECCHECK_SALT=$(openssl rand -hex 16)",
            start(layout, command),
            f"speccheck fleet {FOLDER}/nodes",
        ),
        words=(
            (
                f"At most {BUDGET_SECONDS[tier]} s; a snapshot of each machine in "
                f"{FOLDER}/nodes. With one salt for all, digests of serial numbers "
                "can be compared."
            ),
        ),
    )


def _collectives(result: LevelRequest, layout: Layout) -> Iterator[PlannedStep]:
    where = f"{FOLDER}/measured"
    log = f"{FOLDER}/logs/nccl.log"
    proving = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV,TUNING"
    proven = on_all_gpus(
        layout,
        f"speccheck bench all-reduce --min-size 8 --out {where}/all-reduce.json",
        proving,
    )
    others = tuple(
        on_all_gpus(layout, f"speccheck bench {name} --out {where}/{name}.json")
        for name in ("all-gather", "reduce-scatter", "all-to-all")
    )
    runs = _runs(result)
    again = on_all_gpus(
        layout,
        "speccheck bench all-reduce --min-size 1GiB "
        f"--out {where}/all-reduce-again-$number.json",
    )
    seconds = COSTS["collective_runs"].seconds * 4 + _REPEATED_SECONDS * runs
    yield PlannedStep(
        "collectives",
        "collectives over all GPUs, with the path that NCCL took",
        ("bench.allreduce", "bench.collectives", "log.nccl"),
        layout.nodes,
        seconds,
        (
            f"{proven} > {log} 2>&1",
            *others,
            f"for number in $(seq {runs}); do {again}; done",
        ),
        words=(
            (
                f"The last line repeats all-reduce {runs} times, which shows that it "
                "is steady."
            ),
        ),
    )


def _runs(result: LevelRequest) -> int:
    clause, name, usual = _SHORT
    number = result.composed.edition.clauses[clause].numbers[name].value
    return int(number) if isinstance(number, int | float) else usual


def _adapters(result: LevelRequest, layout: Layout) -> Iterator[PlannedStep]:
    names, count, network = _network(result)
    if network not in _VERBS:
        words = "perftest does not run over this network: the clauses stay open."
        yield PlannedStep(
            "adapters", _OF_ADAPTERS, ("bench.fabric",), 2, 0, (), words=(words,)
        )
        return
    kind = "-c SRD " if network == "efa" else ""
    shared = f"$((number * {layout.gpus} / {count}))"
    gpu = "$number" if layout.gpus == count else shared
    write = (
        f"ib_write_bw --report_gbits -s 8388608 -D 5 {kind}-d $adapter --use_cuda={gpu}"
    )
    begin = f"number=0; for adapter in {names}; do"
    end = "number=$((number + 1)); done"
    text = f"{FOLDER}/measured/writes.txt"
    yield PlannedStep(
        "adapters",
        _OF_ADAPTERS,
        ("bench.fabric",),
        2,
        _TRANSFER_SECONDS * count,
        (
            f"{begin} {write}; {end}   # on the first node",
            f"{begin} {write} $FIRST_NODE; {end} > {text}   # on the second",
        ),
        words=(
            (
                "perftest with CUDA support, on EFA built for it; each adapter with "
                "a GPU beside it, as far as they count alike."
            ),
        ),
    )


def _network(entry: LevelRequest) -> tuple[str, int, str]:
    """Return a machine's adapters as words of a shell, their number, and their kind."""
    known = read_compiled("node_profiles")["instances"].get(entry.instance_type)
    if known is None:
        return _ALL_ADAPTERS, _USUAL_GPUS, "infiniband"
    outcome = {
        text: result[0]  # a conflict of sources is no list
        for text in ("names", "adapters", "kind")
        if isinstance(result := known.get(f"network_{text}"), list)
    }
    names: list[str] = outcome.get("names", [])
    is_explicit = bool(names) and not any("*" in name for name in names)
    shown = " ".join(names) if is_explicit else _ALL_ADAPTERS
    return shown, outcome.get("adapters", 1), outcome.get("kind", "")


def _diagnosis(_: LevelRequest, layout: Layout) -> Iterator[PlannedStep]:
    inner = f"dcgmi diag -r 3 -j > {FOLDER}/measured/diagnosis-$(hostname).json"
    yield PlannedStep(
        "diagnosis",
        "the diagnosis of the vendor",
        ("bench.diagnosis",),
        layout.nodes,
        _DIAGNOSIS_SECONDS,
        (once_a_node(layout, f"sh -c {shlex.quote(inner)}"),),
        words=("DCGM, with its host engine running; the node must be idle.",),
    )


def _run(_: LevelRequest, layout: Layout) -> Iterator[PlannedStep]:
    yield PlannedStep(
        "run",
        "a run of the job, logged",
        ("log.metrics", "log.events", "bench.storage"),
        layout.nodes,
        _LEAST_RUN_SECONDS,
        (
            f"cp run.jsonl exporter.jsonl {FOLDER}/logs/",
            f"speccheck telemetry {FOLDER}/logs/run.jsonl {FOLDER}/logs/exporter.jsonl",
        ),
        words=(
            (
                "An hour or more, with one checkpoint at least. JSONL, CSV, MLLOG or "
                "Prometheus text; each series with run, edition, node, rank and UTC; "
                "what must be in it: speccheck spec show OBS-001 and OBS-006."
            ),
            (
                "What the store writes in a second stands in the configuration, or "
                "follows from the size of a checkpoint and the time to save it."
            ),
        ),
    )


def _drill(result: LevelRequest, layout: Layout) -> Iterator[PlannedStep]:
    yield PlannedStep(
        "drill",
        "a drill of recovery, five times",
        (DRILL,),
        layout.nodes,
        _DRILL_SECONDS * 5,
        DRILL_COMMANDS,
        words=drill_words(result),
    )


def _certificate(result: LevelRequest, layout: Layout) -> Iterator[PlannedStep]:
    profile = (
        f" --profile instance/{result.instance_type}" if result.instance_type else ""
    )
    level = f" --level {result.level}"
    edition = f" --spec {result.composed.edition.id}"
    expected = "" if result.level == "L1" else f" --expect {layout.nodes}"
    yield PlannedStep(
        "certificate",
        "the kit, and the certificate",
        (),
        0,
        0,
        (
            f"speccheck evidence pack {FOLDER}{profile}{level}{expected}",
            "speccheck keygen --out key.pem",
            (
                f"speccheck certify{profile}{edition} --evidence {FOLDER}{level} "
                "--key key.pem --out cert.json"
            ),
        ),
    )


_STEPS: tuple[Callable[[LevelRequest, Layout], Iterator[PlannedStep]], ...] = (
    _files,
    _machines,
    _collectives,
    _adapters,
    _diagnosis,
    _run,
    _drill,
    _certificate,
)

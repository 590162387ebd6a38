"""Which engine started this process, on which node and as which rank.

Engines nest, and two questions have two answers:

- Whose is the node? Of whoever can take it out of service: Slurm, else Kubernetes;
  Ray, MPI and torchrun own none. So `srun torchrun`, and `mpirun` in a job of Slurm,
  are of the engine slurm, and the node is called as Slurm drains it.
- Which rank is this? That of the innermost launcher, which started this very process:
  its variables are set anew for each process, those of an outer one are the same for
  all that it started inside of one of its tasks. `srun torchrun` has SLURM_PROCID of
  the agent in all its workers, `mpirun` that of its daemon.

Where two launchers count alike and tell different ranks, one of them is left over from
elsewhere, and the rank is not known: nobody guesses which. What is no number, and a
rank that is not below the number of ranks, is not known either; the reason is kept.

Sources: srun(1), output environment variables; Slurm, Prolog and Epilog Guide (neither
a prolog nor HealthCheckProgram has a rank; both have SLURMD_NODENAME); mpirun(1) of
Open MPI; torchrun, Environment Variables; Kubernetes, Indexed Job and the downward
API; Kubeflow training-operator (PET_NNODES); Ray src/ray/common/constants.h.
"""

from collections.abc import Iterable, Mapping

from speccheck.validator.evidence.node.node import (
    MOST_NUMBER,
    NAME,
    ProcessLaunch,
    wrong,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.node.host_names import HostNamesError, unfold

# Set by people, or by a manifest that knows what its engine does not tell: they count
# before all others.
HOST, JOB, RANKS, ATTEMPT = (
    f"SPECCHECK_{name}" for name in ("HOST", "JOB", "RANKS", "ATTEMPT")
)  # RANKS: completions of an Indexed Job
_MOST_DIGITS = len(str(MOST_NUMBER))
_MOST_SHOWN = 40
_NODE_OF_POD = "NODE_NAME"  # spec.nodeName, by the downward API


class _Teller(Record):
    """The variables by which one launcher tells; of several the first that is set.

    marks: one of them is set where the others are to be believed; empty for always.
    is_sure: the launcher sets them for each process itself, so that nobody else's
        rank counts; else they may be left over from elsewhere.
    """

    name: str
    rank: tuple[str, ...]
    ranks: tuple[str, ...]
    local_rank: tuple[str, ...] = ()
    local_ranks: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    is_sure: bool = True


_ELASTIC = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
_TORCH = ("RANK",), ("WORLD_SIZE",), ("LOCAL_RANK",), ("LOCAL_WORLD_SIZE",)
_IN_POD = ("KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX")
_IN_STEP = ("SLURM_STEP_NODELIST", "SLURM_STEP_ID")
# The innermost first.
_TELLERS = (
    _Teller("torchrun", *_TORCH, ("GROUP_WORLD_SIZE",), _ELASTIC),
    _Teller(
        "mpi",
        ("OMPI_COMM_WORLD_RANK",),
        ("OMPI_COMM_WORLD_SIZE",),
        ("OMPI_COMM_WORLD_LOCAL_RANK",),
        ("OMPI_COMM_WORLD_LOCAL_SIZE",),
        ("OMPI_MCA_orte_num_nodes", "PRTE_NUM_NODES"),
    ),
    _Teller("torchrun", *_TORCH, marks=("LOCAL_RANK",), is_sure=False),
    _Teller(
        "mpi",
        ("PMI_RANK", "PMIX_RANK"),
        ("PMI_SIZE",),
        ("MPI_LOCALRANKID", "PMI_LOCAL_RANK"),
        ("MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"),
        is_sure=False,
    ),
    _Teller(
        "slurm",
        ("SLURM_PROCID",),
        ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        ("SLURM_LOCALID",),
        nodes=("SLURM_STEP_NUM_NODES", "SLURM_NNODES"),
        marks=_IN_STEP,
    ),
    # A pod is a node of torchrun, whose workers do not run yet.
    _Teller("kubernetes", ("PET_NODE_RANK",), ("PET_NNODES",), marks=_IN_POD),
    _Teller("kubernetes", ("JOB_COMPLETION_INDEX",), (RANKS,)),
    _Teller("kubernetes", ("RANK",), ("WORLD_SIZE",), marks=_IN_POD),
)
# By engine, the first whose variables are there: whose the node is.
_OWNERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("slurm", ("SLURMD_NODENAME", "SLURM_JOB_ID", "SLURM_JOBID")),
    ("kubernetes", _IN_POD),
    ("ray", ("RAY_JOB_ID", "RAY_RAYLET_PID")),
    ("mpi", ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")),
    ("torchrun", (*_ELASTIC, "LOCAL_RANK")),
)
_JOBS = {
    "slurm": ("SLURM_JOB_ID", "SLURM_JOBID"),
    "mpi": ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"),
    "torchrun": ("TORCHELASTIC_RUN_ID",),
    "ray": ("RAY_JOB_ID",),
}
_ATTEMPTS = {
    "slurm": ("SLURM_RESTART_COUNT", "SLURM_JOB_RESTART_COUNT"),
    "torchrun": ("TORCHELASTIC_RESTART_COUNT",),
    "kubernetes": ("JOBSET_RESTART_ATTEMPT",),
}
_NO_RUN_ID = "none"  # what torchrun calls a run that nobody named


class _LauncherVariables:
    """The variables, and what was wrong with those that were asked for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.unknown: dict[str, str] = {}

    def has(self, names: Iterable[str]) -> bool:
        return any(self.environ.get(name) for name in names)

    def first(self, names: Iterable[str]) -> tuple[str, str]:
        """Return the first variable that is set, and its value; empty for none."""
        name = next((name for name in names if self.environ.get(name)), "")
        return name, self.environ[name] if name else ""

    def number(self, field: str, names: Iterable[str]) -> int | None:
        name, text = self.first(names)
        if not name:
            return None
        is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
        number = int(text) if is_number else -1
        return number if self._fits(field, name, text, number) else None

    def text(self, field: str, names: Iterable[str]) -> str | None:
        name, text = self.first(names)
        return text if name and self._fits(field, name, text, text) else None

    def _fits(self, field: str, name: str, text: str, result: object) -> bool:
        problem = wrong(field, result)
        if problem:
            self.unknown[field] = f"{name}={_shown(text)}: {problem}"
        return not problem


class _Ranks(Record):
    """What one teller says."""

    teller: _Teller
    variable: str
    rank: int | None
    ranks: int | None


def launch_of(environ: Mapping[str, str], host: str = "") -> ProcessLaunch:
    """Return how the process of these variables was started on that machine."""
    result = _LauncherVariables(environ)
    engine = next((name for name, marks in _OWNERS if result.has(marks)), "none")
    ranks = _ranks(result)
    rank, size = _counted(result, ranks)
    local_rank, local_ranks = _local(result, ranks)
    launch = ProcessLaunch(
        engine=engine,
        node=_node(result, engine, host),
        job=result.text("job", (JOB,)) or _job(result, engine),
        attempt=_attempt(result, engine),
        rank=rank,
        ranks=size,
        local_rank=local_rank,
        local_ranks=local_ranks,
        rank_from=ranks[0].variable if ranks and rank is not None else "",
    )
    nodes, node_list = _nodes(result, engine, ranks)
    return launch._replace(nodes=nodes, node_list=node_list, unknown=result.unknown)


def name_of(launch: ProcessLaunch, host: str) -> str:
    """Return the node's name in files and lines: by its engine, else by itself."""
    return launch.node or (host if NAME.fullmatch(host) else "node")


def _ranks(result: _LauncherVariables) -> list[_Ranks]:
    """Return what the launchers say that count: the innermost, and those beside it."""
    rank_lists: list[_Ranks] = []
    for teller in _TELLERS:
        variable, _ = result.first(teller.rank)
        if not variable or (teller.marks and not result.has(teller.marks)):
            continue
        # Each by itself: what is wrong with an outer one does not matter.
        own = _LauncherVariables(result.environ)
        rank = own.number("rank", teller.rank)
        ranks = own.number("ranks", teller.ranks)
        if not rank_lists:
            result.unknown.update(own.unknown)
        rank_lists.append(_Ranks(teller, variable, rank, ranks))
        if teller.is_sure:
            break
    return rank_lists


def _counted(
    result: _LauncherVariables, ranks: list[_Ranks]
) -> tuple[int | None, int | None]:
    """Return rank and number of ranks, as far as nothing speaks against them."""
    if not ranks:
        return None, None
    first, *others = ranks
    rank, size = first.rank, first.ranks
    for other in others:
        if rank is None or other.rank is None or (size and size != other.ranks):
            continue
        size = size or other.ranks  # PMIx tells no number of ranks
        if rank != other.rank:
            result.unknown["rank"] = (
                f"{first.variable} tells rank {rank}, {other.variable} rank "
                f"{other.rank}, "
                "of as many ranks: one of them is not of this process"
            )
            return None, size
    if rank is not None and size is not None and rank >= size:
        text = f"{first.variable}={rank} of {size} ranks: ranks count from 0"
        result.unknown.update(rank=text, ranks=text)
        return None, None
    return rank, size


def _local(
    result: _LauncherVariables, ranks: list[_Ranks]
) -> tuple[int | None, int | None]:
    """Return the rank on this node; not known where the rank itself is in doubt."""
    if not ranks:
        return None, None
    if "rank" in result.unknown:
        result.unknown["local_rank"] = result.unknown["rank"]
        return None, None
    first = ranks[0]
    for rank in ranks:
        if first.ranks is not None and rank.ranks != first.ranks:
            continue  # of another world than this process
        local = result.number("local_rank", rank.teller.local_rank)
        size = result.number("local_ranks", rank.teller.local_ranks)
        if local is None:
            continue
        if size is not None and local >= size:
            variable, _ = result.first(rank.teller.local_rank)
            text = f"{variable}={local} of {size} ranks here: ranks count from 0"
            result.unknown.update(local_rank=text, local_ranks=text)
            return None, None
        return local, size
    return None, None


def _node(result: _LauncherVariables, engine: str, host: str) -> str | None:
    """Return the name of the node, as its engine has it."""
    if result.has((HOST,)):
        return result.text("node", (HOST,))
    if engine == "slurm":
        return _node_of_slurm(result, host)
    if engine == "kubernetes":
        if not result.has((_NODE_OF_POD,)):
            result.unknown["node"] = (
                f"a pod is not told its node: set {_NODE_OF_POD} from spec.nodeName"
            )
        return result.text("node", (_NODE_OF_POD,))
    if engine == "none" or not host:
        return None
    return host if NAME.fullmatch(host) else None


def _node_of_slurm(result: _LauncherVariables, host: str) -> str | None:
    """Return SLURMD_NODENAME, unless it was carried here from another node of the job.

    MPICH's mpiexec gives its own environment to the processes of all nodes. Where
    several slurmd share a machine, its name is that of none of them.
    """
    if not result.has(("SLURMD_NODENAME",)):
        result.unknown["node"] = "SLURMD_NODENAME is not set: no slurmd started this"
        return None
    name = result.text("node", ("SLURMD_NODENAME",))
    short = host.partition(".")[0]
    if name is None or not short or short == name.partition(".")[0]:
        return name
    _, text = result.first(("SLURM_JOB_NODELIST", "SLURM_NODELIST"))
    try:
        others = {item.partition(".")[0] for item in unfold(text)} if text else set()
    except HostNamesError:
        others = set()
    if short in others:
        result.unknown["node"] = (
            f"SLURMD_NODENAME={name}, and this machine is {short}, another node of the "
            "job: the variable was carried here"
        )
        return None
    return name


def _job(result: _LauncherVariables, engine: str) -> str | None:
    text = result.text("job", _JOBS.get(engine, ()))
    return None if engine == "torchrun" and text == _NO_RUN_ID else text


def _attempt(entry: _LauncherVariables, engine: str) -> int | None:
    names = (ATTEMPT, *_ATTEMPTS.get(engine, ()))
    result = entry.number("attempt", names)
    if result is None and engine == "slurm" and not entry.has(names):
        # A prolog has SLURM_JOB_RESTART_COUNT; what a job starts has the other, and
        # only from the first restart on.
        return 0 if entry.has(("SLURM_PROCID",)) else None
    return result


def _nodes(
    result: _LauncherVariables, engine: str, ranks: list[_Ranks]
) -> tuple[int | None, str | None]:
    """Return how many nodes there are, and which.

    The step of Slurm in which mpirun runs is that of its daemons: it lacks the first
    node, and the job counts.
    """
    teller = ranks[0].teller if ranks else None
    of_step = any(rank.teller.name == "slurm" for rank in ranks) or (
        teller is not None and teller.name == "torchrun" and result.has(_IN_STEP)
    )
    if engine != "slurm":
        names = teller.nodes if teller else ()
        return result.number("nodes", names), None
    counts: tuple[str, ...] = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
    lists: tuple[str, ...] = ("SLURM_JOB_NODELIST", "SLURM_NODELIST")
    if of_step:
        counts = ("SLURM_STEP_NUM_NODES", *counts)
        lists = ("SLURM_STEP_NODELIST", *lists)
    elif teller is not None and teller.name == "mpi":
        counts = (*teller.nodes, *counts)
    return result.number("nodes", counts), result.text("node_list", lists)


def _shown(text: str) -> str:
    short = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    return short if short.isprintable() else ascii(short)

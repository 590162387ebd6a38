"""What starts a command of a script on the nodes of its job, and what it hands on.

Sources: srun(1) and sbatch(1) of Slurm 25.11; Open MPI mpirun(1) of 4.1 and 5.0, whose
daemons start by ssh outside of Slurm; sudoers(5), env_reset.
"""

from collections.abc import Callable, Iterator, Sequence

from speccheck.validator.evidence.launch import LostVariable
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.formats.batch_systems import (
    BatchRequest,
    RankStarter,
    rank_starter,
)
from speccheck.validator.sources.formats.hostfile import (
    ListedHost,
    host_places,
    hosts_of,
)
from speccheck.validator.sources.formats.slurm import (
    SlurmRequest,
    count_of,
    gpu_counts,
    gres_counts,
    step_request,
    tasks_of,
    total_of,
)
from speccheck.validator.sources.launching import (
    HOROVODRUN,
    HOST_FILES,
    MpiRun,
    ProcessCount,
    base_name,
    in_working_folder,
    is_sure,
    last_options,
    mpi_run_of,
    with_outer,
    word_place,
)
from speccheck.validator.sources.reader import Source
from speccheck.validator.sources.shell.script import (
    Option,
    ShellAssignment,
    ShellCommand,
    ShellWord,
    options,
)

_REMOTE = frozenset({"ssh", "pdsh", "clush", "pssh", "parallel-ssh", "parallel"})
_OF_MPI = ("mpirun", "mpiexec", "orterun", "prterun", HOROVODRUN)
_SPREADER, _NODES, _TASKS = "launch.spreader", "launch.nodes_started", "launch.tasks"
_RANKS = "launch.world"
_OF, _GPUS = "launch.allocated_nodes", "launch.allocated_gpus"
_MATTERS = ("NCCL_", "TORCH_NCCL_", "UCX_", "FI_", "GLOO_", "RCCL_")
_OPEN_MPI = frozenset({"-x", "-mca", "--mca", "--allow-run-as-root", "--oversubscribe"})


class Spread(Record):
    """Where a command starts, and how often.

    spreader: srun, mpirun, ssh or batch. nodes: on which it starts the command. tasks:
    of each node. ranks: in all, where mpirun says so itself. is_shared: other jobs may
    run on the nodes.
    """

    spreader: Value[str] = Value(_SPREADER)
    nodes: Value[int] = Value(_NODES)
    tasks: Value[int] = Value(_TASKS)
    ranks: Value[int] = Value(_RANKS)
    allocated_nodes: Value[int] = Value("launch.allocated_nodes")
    allocated_gpus: Value[int] = Value("launch.allocated_gpus")
    is_shared: Value[bool] = Value("launch.is_shared")


def spread_of(
    source: Source,
    command: ShellCommand,
    job: SlurmRequest,
    batch: BatchRequest = BatchRequest(),  # noqa: B008 - it is frozen
) -> Spread:
    """Return what starts a command on the nodes of its job: of Slurm, or another."""
    starter = rank_starter(source, command)
    if starter is not None or not (job.job or job.step):
        others = _spread_of_others(source, command, starter, batch)
        if others is not None:
            return others
    step = step_request(source, command, job)
    request = step or job
    spreader = _spreader(source, command)
    spread = Spread(
        spreader,
        allocated_nodes=_option_value(
            request, "--nodes", count_of, "launch.allocated_nodes"
        ),
        allocated_gpus=_allocated_gpus(request),
        is_shared=_is_shared(request),
    )
    mpi_run = mpi_run_in(source, command)
    if spreader.value == "batch":
        return spread._replace(
            nodes=Value(_NODES, 1, "derived", (), spreader.note),
            tasks=Value(_TASKS, 1, "derived", (), spreader.note),
        )
    if spreader.value == "mpirun" and mpi_run is not None:
        return spread._replace(
            nodes=_nodes_of_mpi(source, mpi_run),
            tasks=_tasks_of_mpi(source, mpi_run),
            ranks=_counted(_RANKS, source, mpi_run.ranks),
        )
    if spreader.value == "srun" and step is not None:
        return spread._replace(nodes=_nodes_of_step(step), tasks=_tasks_of_step(step))
    return spread


def _spread_of_others(
    source: Source,
    command: ShellCommand,
    starter: RankStarter | None,
    request: BatchRequest,
) -> Spread | None:
    """Return what jsrun, flux run, or MPI in a job of PBS or LSF, starts; or None."""
    nodes = request.nodes._replace(name="launch.allocated_nodes")
    gpus = request.gpus._replace(name="launch.allocated_gpus")
    if starter is not None:
        own = starter.request
        return Spread(
            Value(_SPREADER, starter.name, "stated", (starter.at,)),
            own.nodes._replace(name=_NODES),
            own.tasks._replace(name=_TASKS),
            allocated_nodes=nodes if nodes.is_known else own.nodes._replace(name=_OF),
            allocated_gpus=gpus if gpus.is_known else own.gpus._replace(name=_GPUS),
        )
    mpi_run = mpi_run_in(source, command)
    if mpi_run is None or not nodes.is_known:
        return None
    started = _nodes_of_mpi(source, mpi_run)
    tasks = _tasks_of_mpi(source, mpi_run)
    if not mpi_run.tells_count and not tasks.is_known:
        tasks = request.tasks._replace(name=_TASKS)
    return Spread(
        _spreader(source, command),
        started if started.is_known else nodes._replace(name=_NODES),
        tasks,
        _counted(_RANKS, source, mpi_run.ranks),
        nodes,
        gpus,
    )


def spreading_command(command: ShellCommand) -> ShellCommand | None:
    """Return the command with srun or mpirun in it: itself, or one that holds it."""
    for item in with_outer(command):
        names = {base_name(word) for word in item.words}
        if "srun" in names or mpi_run_of(item._replace(outer=None)) is not None:
            return item
    return None


def _spreader(source: Source, command: ShellCommand) -> Value[str]:
    for item in with_outer(command):
        for word in item.words:
            kind = _kind(base_name(word))
            if kind:
                place = word_place(source.name, word.text, word)
                return Value(_SPREADER, kind, "stated", (place,))
    if any(line.name in {"-N", "--nodes"} for line in source.script.directives):
        note = "sbatch runs it on the first node"
        return Value(_SPREADER, "batch", "derived", (), note)
    return Value(_SPREADER)


def _kind(name: str) -> str:
    if name in _REMOTE:
        return "ssh"
    if name.startswith(_OF_MPI):
        return "mpirun"
    return "srun" if name == "srun" else ""


def _nodes_of_step(request: SlurmRequest) -> Value[int]:
    """Return the nodes of a step: with fewer tasks than nodes, one for each task."""
    nodes = _option_value(request, "--nodes", count_of, _NODES)
    tasks = request.step.get("--ntasks")
    if tasks is None or "--nodes" in request.step:
        return nodes
    number = count_of(tasks.text)
    if number is None or not nodes.value:
        return Value(_NODES)
    if number >= nodes.value:
        return nodes
    return Value(_NODES, number, "derived", (tasks.place,), f"{number} tasks")


def _tasks_of_step(request: SlurmRequest) -> Value[int]:
    """Return the tasks of a step on a node; its own number in all wins."""
    share = "--ntasks-per-node"
    if "--ntasks" in request.step and share not in request.step:
        job = {name: item for name, item in request.job.items() if name != share}
        request = request._replace(job=job)
    tasks, stated = tasks_of(request), request.find(share)
    if tasks is None or stated is not None:
        return _option_value(request, share, lambda _: tasks, _TASKS)
    total, nodes = request.find("--ntasks"), request.find("--nodes")
    places = tuple(item.place for item in (total, nodes) if item is not None)
    if total is not None:
        return Value(_TASKS, tasks, "derived", places, "tasks over all nodes")
    note = "Slurm starts one task on a node unless it is asked for more"
    return Value(_TASKS, tasks, "default", (), note)


def _nodes_of_mpi(source: Source, mpi_run: MpiRun) -> Value[int]:
    """Return the hosts of a list, or processes in all over those of a node."""
    if mpi_run.hosts and mpi_run.hosts_word is not None:
        place = word_place(source.name, mpi_run.name, mpi_run.hosts_word)
        number = len(mpi_run.hosts)
        return Value(_NODES, number, "derived", (place,), f"{number} hosts")
    total = _counted(_RANKS, source, mpi_run.ranks)
    each = _counted(_TASKS, source, mpi_run.ranks_per_node)
    if not total.value or not each.value:
        return Value(_NODES)
    number = -(-total.value // each.value)
    note = f"{total.value} processes / {each.value} a node = {number}"
    return Value(_NODES, number, "derived", (*total.places, *each.places), note)


def _tasks_of_mpi(source: Source, mpi_run: MpiRun) -> Value[int]:
    """Return the processes of a node, as stated or as the slots of each host."""
    counts = {*mpi_run.hosts.values()}
    if mpi_run.ranks_per_node or len(counts) != 1 or mpi_run.hosts_word is None:
        return _counted(_TASKS, source, mpi_run.ranks_per_node)
    place = word_place(source.name, mpi_run.name, mpi_run.hosts_word)
    return Value(_TASKS, counts.pop(), "derived", (place,), "slots of each host")


def capacity_of(
    source: Source, command: ShellCommand, host_file: Option | None
) -> tuple[Value[int], Value[int]]:
    """Return the machines that a launch has by its hosts, and the ranks they take.

    Open MPI and Horovod start no more ranks than there are slots; Hydra begins again
    at the first host.
    """
    hosts, slots = Value[int]("launch.hosts"), Value[int]("launch.slots")
    if host_file is not None:
        machines, places = machines_of(source, host_file)
        if machines:
            hosts = _stated_hosts(len(machines), places)
        return hosts, slots
    mpi_run = mpi_run_in(source, command)
    if mpi_run is None or mpi_run.is_elastic or mpi_run.hosts_word is None:
        return hosts, slots
    given = _host_file(mpi_run_of(command), command)
    machines, places = machines_of(source, given) if given else ((), ())
    places = places or (word_place(source.name, mpi_run.name, mpi_run.hosts_word),)
    number, total = len(mpi_run.hosts), sum(mpi_run.hosts.values())
    states_slots = machines or ":" in mpi_run.hosts_word.text
    if states_slots and _keeps_to_slots(source, mpi_run, command):
        note = f"slots of {number} hosts"
        slots = Value("launch.slots", total, "derived", places, note)
    return _stated_hosts(number, places), slots


def mpi_run_in(source: Source, command: ShellCommand) -> MpiRun | None:
    """Return how MPI starts what a command runs, with the hosts of its hostfile."""
    mpi_run = mpi_run_of(command)
    option = _host_file(mpi_run, command)
    if mpi_run is None or option is None:
        return mpi_run
    machines, _ = machines_of(source, option)
    counts = {host.name: host.slots for host in machines if host.slots is not None}
    if not counts or len(counts) < len(machines):
        return mpi_run
    return mpi_run._replace(hosts=counts, hosts_word=option[1][0])


def _host_file(mpi_run: MpiRun | None, command: ShellCommand) -> Option | None:
    """Return the option that names the hostfile of MPI, where no list is given."""
    if mpi_run is None or mpi_run.hosts or mpi_run.is_elastic:
        return None
    words = [word for item in with_outer(command) for word in item.words]
    if not any(word.text.partition("=")[0] in HOST_FILES for word in words):
        return None
    named = last_options(options(words))
    return next((named[flag] for flag in named if flag in HOST_FILES), None)


def _stated_hosts(number: int, places: tuple[Place, ...]) -> Value[int]:
    return Value("launch.hosts", number, "derived", places, f"{number} hosts")


def machines_of(
    source: Source, option: Option
) -> tuple[tuple[ListedHost, ...], tuple[Place, ...]]:
    """Return the machines of the file that an option names, and where they stand."""
    flag, values, _ = option
    is_known = is_sure(option) and values and values[0].resolved
    taken = source.find(in_working_folder(values[0].text)) if is_known else None
    machines = hosts_of(taken.text) if taken is not None else ()
    if taken is None or not machines:
        return (), ()
    place = word_place(source.name, flag, values[0])
    return machines, (place, *host_places(taken.path, machines))


def _keeps_to_slots(source: Source, mpi_run: MpiRun, command: ShellCommand) -> bool:
    """Return whether a starter refuses more ranks than its hosts have slots."""
    if mpi_run.name == HOROVODRUN:
        return True
    texts = {word.text for item in with_outer(command) for word in item.words}
    if any("oversubscribe" in text.lower() for text in texts):
        return False
    if any("oversubscribe" in name.lower() for name in source.script.exports):
        return False
    is_open_mpi = mpi_run.name in {"orterun", "prterun"}
    return is_open_mpi or not texts.isdisjoint({*_OPEN_MPI, "--hostfile", "-hostfile"})


def _counted(name: str, source: Source, count: ProcessCount | None) -> Value[int]:
    if count is None:
        return Value(name)
    place = word_place(source.name, count.flag, count.word)
    if count.number is None:
        return Value(name, None, "unknown", (place,), "known only when the job runs")
    return Value(name, count.number, "stated", (place,))


def _option_value(
    request: SlurmRequest, flag: str, convert: Callable[[str], int | None], name: str
) -> Value[int]:
    requested = None if request.has_components else request.find(flag)
    if requested is None:
        return Value(name)
    number = convert(requested.text)
    if number is None:
        note = f"{requested.text[:40]} is no number"
        return Value(name, None, "unknown", (requested.place,), note)
    return Value(name, number, "stated", (requested.place,))


def _allocated_gpus(request: SlurmRequest) -> Value[int]:
    name = "launch.allocated_gpus"
    each = _option_value(request, "--gpus-per-node", _gpus, name)
    return each if each.is_known else _option_value(request, "--gres", _gres, name)


def _gpus(text: str) -> int | None:
    return total_of(gpu_counts(text))


def _gres(text: str) -> int | None:
    return total_of(gres_counts(text))


def _is_shared(request: SlurmRequest) -> Value[bool]:
    name = "launch.is_shared"
    shared = request.job.get("--oversubscribe")
    if shared is not None and "--exclusive" not in request.job:
        return Value(name, value=True, status="stated", places=(shared.place,))
    return Value(name)


def exports_of_fabric(source: Source) -> tuple[ShellAssignment, ...]:
    """Return the exported variables of NCCL and the fabric."""
    return tuple(
        item
        for item in source.script.exports.values()
        if item.name.startswith(_MATTERS) and not item.conditional
    )


def lost_variables(
    source: Source, command: ShellCommand, exports: Sequence[ShellAssignment]
) -> Iterator[LostVariable]:
    """Yield the exported variables that the ranks of a command do not get."""
    if not exports:
        return
    handed_on = {item.name for item in command.environment}
    for why, remedy, place, kept in _borders(source, command):
        for item in exports:
            if item.name not in kept and item.name not in handed_on:
                at = Place(
                    item.value.file or source.name,
                    item.name,
                    span=word_place(source.name, item.name, item.value).span,
                )
                yield LostVariable(item.name, at, place, why, remedy)
        return


def _borders(
    source: Source, command: ShellCommand
) -> Iterator[tuple[str, str, Place, frozenset[str]]]:
    """Yield what hands on a part of the environment: why, how else, where, which."""
    for item in with_outer(command):
        words = item.words
        for position, word in enumerate(words):
            base = base_name(word)
            place = word_place(source.name, word.text, word)
            if base == "srun":
                yield from _of_srun(source, words[position + 1 :])
                return
            if base == "sudo" and position == 0:
                own = [following.text for following in words[1:3]]
                if not any(text.startswith(("-E", "--preserve")) for text in own):
                    why = "sudo starts with an environment of its own"
                    yield why, "Give sudo -E, or leave it out.", place, frozenset()
                return
            if base in {"mpirun", "mpiexec", "orterun", "prterun"}:
                yield from _of_open_mpi(source, command, words[position + 1 :], place)
                return


def _of_srun(
    source: Source, words: Sequence[ShellWord]
) -> Iterator[tuple[str, str, Place, frozenset[str]]]:
    for flag, values, word in options(words):
        if flag != "--export" or not values or not values[0].resolved:
            continue
        parts = values[0].text.split(",")
        if "ALL" not in parts:
            kept = frozenset(part.partition("=")[0] for part in parts)
            why = f"srun {flag}={values[0].text[:40]} hands on what it lists"
            place = word_place(source.name, flag, word)
            yield why, "Write --export=ALL, and the list behind it.", place, kept


def _of_open_mpi(
    source: Source, command: ShellCommand, words: Sequence[ShellWord], place: Place
) -> Iterator[tuple[str, str, Place, frozenset[str]]]:
    """Open MPI starts other nodes by ssh, which hands on what -x names.

    Within a job of Slurm its daemons start by srun, and take all.
    """
    mpi_run = mpi_run_of(command)
    given = options(words)
    flags = {flag for flag, _, _ in given}
    hosts = len(mpi_run.hosts) if mpi_run is not None else 0
    if source.script.directives or flags.isdisjoint(_OPEN_MPI):
        return
    if hosts <= 1 and flags.isdisjoint(HOST_FILES):
        return
    text = " ".join(word.text for word in words)
    if "env_list" in text or any("$" in word.text for word in words[:_FIRST]):
        return
    kept = frozenset(
        values[0].text.partition("=")[0]
        for flag, values, _ in given
        if flag == "-x" and values
    )
    why = "mpirun hands on to other nodes what -x names"
    yield why, "Give mpirun -x NAME for each of them.", place, kept


_FIRST = 40  # words of mpirun itself, of which one may be a list of options

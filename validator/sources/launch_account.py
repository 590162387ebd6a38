"""The launches of a script: each link of the chain as its command states it.

Sources: torch.distributed.run, accelerate launch, deepspeed.launcher.runner and the
composer launcher as schemas/catalogues/frameworks/launchers.yaml has them; srun(1) and
sbatch(1) of Slurm 25.11; Open MPI mpirun(1) of 4.1 and 5.0; LLaMA-Factory launcher.py,
ms-swift swift/cli/main.py and ColossalAI cli/launcher for what they take of the
environment.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from speccheck.validator.evidence.launch import (
    Launch,
    LostVariable,
    NodeRank,
    Rendezvous,
    Shell,
)
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.formats.slurm import (
    Requested,
    SlurmRequest,
    count_of,
    gres_counts,
    gpu_counts,
    request_of,
    step_request,
    tasks_of,
    total_of,
)
from speccheck.validator.sources.launching import (
    ACCELERATE,
    DEEPSPEED,
    FT_LAUNCHER,
    TORCHRUN,
    LaunchCommand,
    base_name,
    is_sure,
    last_options,
    launch_of,
    mentions_only,
    mpi_run_of,
    python_program,
    unresolved,
    with_outer,
    word_place,
)
from speccheck.validator.sources.reader import Source
from speccheck.validator.sources.shell.script import (
    Option,
    ShellCommand,
    ShellWord,
    options,
)

_T = TypeVar("_T")
_COMPOSER, _COLOSSALAI, _PYTHON = "composer", "colossalai", "python"
_FRONT_ENDS = frozenset({"llamafactory-cli", "lmf", "swift", "xtuner"})
_TRAINS = frozenset({"train", "sft", "pt", "rlhf", "dpo", "rm", "run"})
_REMOTE = frozenset({"ssh", "pdsh", "clush", "pssh", "parallel-ssh", "parallel"})


class Flags(Record):
    """The options of a launcher, each by all its names; also names of variables."""

    nodes: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    world: tuple[str, ...] = ()
    rank: tuple[str, ...] = ()
    address: tuple[str, ...] = ()
    port: tuple[str, ...] = ()
    endpoint: tuple[str, ...] = ()
    backend: tuple[str, ...] = ()


_RUN = Flags(
    nodes=("--nnodes",),
    processes=("--nproc-per-node",),
    rank=("--node-rank",),
    address=("--master-addr",),
    port=("--master-port",),
    endpoint=("--rdzv-endpoint",),
    backend=("--rdzv-backend",),
)
_FLAGS: Mapping[str, Flags] = {
    TORCHRUN: _RUN,
    FT_LAUNCHER: _RUN,
    ACCELERATE: Flags(
        nodes=("--num_machines",),
        world=("--num_processes",),
        rank=("--machine_rank",),
        address=("--main_process_ip",),
        port=("--main_process_port",),
        backend=("--rdzv_backend",),
    ),
    DEEPSPEED: Flags(
        nodes=("--num_nodes",),
        processes=("--num_gpus", "--num_accelerators"),
        rank=("--node_rank",),
        address=("--master_addr",),
        port=("--master_port",),
    ),
    _COMPOSER: Flags(
        processes=("-n", "--nproc"),
        world=("--world_size",),
        rank=("--node_rank",),
        address=("--master_addr",),
        port=("--master_port",),
    ),
    _COLOSSALAI: Flags(
        nodes=("--num_nodes",),
        processes=("--nproc_per_node",),
        address=("--master_addr",),
        port=("--master_port",),
    ),
}
# Front ends that start torchrun by what the environment says.
_VARIABLES = Flags(
    nodes=("NNODES",),
    processes=("NPROC_PER_NODE",),
    rank=("NODE_RANK",),
    address=("MASTER_ADDR",),
    port=("MASTER_PORT",),
)
# Ranks come from these alone; torchrun and accelerate hand them out under c10d.
_ALWAYS_STATIC = frozenset({_COMPOSER})
_NUMBERED = lazy_pattern(r"\$\{?([A-Z_]+)\}?$")
_RANK_VARIABLES = frozenset(
    {
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_RANK",
        "PMIX_RANK",
        "PMI_RANK",
        "SLURM_LOCALID",
        "SLURM_NODEID",
        "SLURM_PROCID",
    }
)
_OWN_PORT = lazy_pattern(r":(\d+)$")
_MATTERS = ("NCCL_", "TORCH_NCCL_", "UCX_", "FI_", "GLOO_", "RCCL_")
_OPEN_MPI = frozenset({"-x", "-mca", "--mca", "--allow-run-as-root", "--oversubscribe"})
_HOST_FILES = frozenset({"-hostfile", "--hostfile", "-machinefile", "--machinefile"})


class _Command(Record):
    """A launch as written: its launcher, options by their own spelling, program."""

    launcher: str
    word: ShellWord
    given: Mapping[str, Option]
    program: tuple[ShellWord, ...]
    command: ShellCommand
    hidden: str = ""


def launch_accounts(source: Source) -> tuple[Launch, ...]:
    """Return the account of each launch of a script, in its order."""
    commands = source.script.commands
    holding = {id(command.outer) for command in commands}
    return tuple(
        _account(source, written)
        for command in commands
        if id(command) not in holding
        and (written := _written(source, command)) is not None
    )


def _written(source: Source, command: ShellCommand) -> _Command | None:
    """Return a command as a launch; None for one that trains nothing."""
    if mentions_only(command):
        return None
    launch = launch_of(command)
    if launch is not None:
        return _by_launcher(launch)
    words = command.words
    for position, word in enumerate(words[:-1]):
        name, following = base_name(word), words[position + 1].text
        if name == _COMPOSER or (name == _COLOSSALAI and following == "run"):
            end = next(
                (at for at, item in enumerate(words) if item.text.endswith(".py")), 0
            )
            if not end:
                return None
            own = words[position + 1 : end]
            given = last_options(options(own))
            return _Command(name, word, given, words[end:], command, _hidden(own))
        if name in _FRONT_ENDS and following in _TRAINS:
            given = _of_environment(source, command)
            return _Command(name, word, given, words[position + 1 :], command)
    program = python_program(command)
    if program is None or " " in program.text:
        return None
    at = words.index(program)
    return _Command(_PYTHON, program, {}, words[at:], command)


def _by_launcher(launch: LaunchCommand) -> _Command:
    given = last_options(
        (_spelling(flag, launch.launcher), values, word)
        for flag, values, word in options(launch.options)
    )
    return _Command(
        launch.launcher,
        launch.word,
        given,
        launch.program,
        launch.command,
        launch.hidden,
    )


def _spelling(flag: str, launcher: str) -> str:
    if launcher == ACCELERATE and flag.startswith("--"):
        return f"--{flag[2:].replace('-', '_')}"
    return flag.replace("_", "-") if launcher in {TORCHRUN, FT_LAUNCHER} else flag


def _hidden(words: Sequence[ShellWord]) -> str:
    return next((word.text for word in words if not word.resolved), "")


def _of_environment(source: Source, command: ShellCommand) -> dict[str, Option]:
    """Return the variables that a command sees as options without a flag."""
    exports = [*source.script.exports.values(), *command.environment]
    return {item.name: (item.name, (item.value,), item.value) for item in exports}


def _account(source: Source, written: _Command) -> Launch:
    file = source.name
    flags = _FLAGS.get(written.launcher, _VARIABLES)
    spreader = _spreader(source, written)
    read = _Options(file, written.given)
    request = step_request(source, written.command)
    asked = request or request_of(source)
    world = read.count("launch.world", flags.world)
    processes = read.count("launch.processes", flags.processes)
    nodes, least = _nodes(read, flags, written)
    if not processes.places and written.launcher == TORCHRUN and not written.hidden:
        note = "--nproc-per-node defaults to 1"
        processes = Value("launch.processes", 1, "default", (), note)
    tasks = _tasks(source, written, spreader, request)
    if written.launcher == _PYTHON and spreader.value in {"srun", "mpirun"}:
        note = "srun and mpirun start the program itself"
        processes = Value("launch.processes", 1, "derived", (), note)
    mpi_run = mpi_run_of(written.command)
    if written.launcher == _PYTHON and mpi_run and mpi_run.ranks is not None:
        place = word_place(file, mpi_run.ranks.flag, mpi_run.ranks.word)
        number = mpi_run.ranks.number
        status = "stated" if number else "unknown"
        world = Value("launch.world", number, status, (place,))
    return Launch(
        Value(
            "launch.launcher",
            written.launcher,
            "stated",
            (word_place(file, written.word.text, written.word),),
        ),
        spreader,
        nodes,
        _nodes_started(source, written, spreader, request),
        _asked(asked, "--nodes", count_of, "launch.allocated_nodes"),
        _allocated_gpus(asked),
        tasks,
        processes,
        world,
        least,
        _node_rank(source, read, flags, written),
        _rendezvous(read, flags, written),
        tuple(word.text for word in written.program),
        _is_shared(asked),
        tuple(_lost(source, written)),
        written.launcher == DEEPSPEED and "--no_local_rank" not in written.given,
    )


class _Options:
    """The options of one command as values with their places."""

    def __init__(self, file: str, given: Mapping[str, Option]) -> None:
        self.file = file
        self.given = given

    def option(self, names: Sequence[str]) -> Option | None:
        return next((self.given[name] for name in names if name in self.given), None)

    def count(self, name: str, names: Sequence[str]) -> Value[int]:
        return self.value(name, names, count_of)

    def text(self, name: str, names: Sequence[str]) -> Value[str]:
        return self.value(name, names, str)

    def value(
        self, name: str, names: Sequence[str], convert: Callable[[str], _T | None]
    ) -> Value[_T]:
        """Return what an option states; unknown where a shell or the job decides."""
        option = self.option(names)
        if option is None:
            return Value(name)
        flag, values, word = option
        written = values[0] if values else word
        place = word_place(self.file, flag, written)
        if not values or not is_sure(option):
            return Value(name, None, "unknown", (place,), "given under a condition")
        if not written.resolved:
            return Value(name, None, "unknown", (place,), unresolved(written))
        number = convert(written.text)
        if number is None:
            note = f"{written.text[:40]} is no number"
            return Value(name, None, "unknown", (place,), note)
        status = "fallback" if place.only_if else "stated"
        return Value(name, number, status, (place,))


def _nodes(
    read: _Options, flags: Flags, written: _Command
) -> tuple[Value[int], Value[int]]:
    """Return the nodes of a launch, and the least of them where it is elastic."""
    option = read.option(flags.nodes)
    name, least_name = "launch.nodes", "launch.elastic_from"
    if option is not None and option[1] and ":" in option[1][0].text:
        least, _, most = option[1][0].text.partition(":")
        if option[1][0].resolved and count_of(least) and count_of(most):
            place = word_place(read.file, option[0], option[1][0])
            low, high = count_of(least), count_of(most)
            full = Value(name, high, "stated", (place,))
            return full, Value(least_name, low, "stated", (place,))
    nodes = read.count(name, flags.nodes)
    if not nodes.places and not written.hidden and written.launcher == TORCHRUN:
        nodes = Value(name, 1, "default", (), "--nnodes defaults to 1")
    if not nodes.places and written.launcher == _COMPOSER:
        world = read.count("launch.world", flags.world)
        each = read.count("launch.processes", flags.processes)
        if world.value and each.value and world.value % each.value == 0:
            number = world.value // each.value
            note = f"{world.value} ranks / {each.value} a node = {number}"
            nodes = Value(name, number, "derived", (*world.places, *each.places), note)
    return nodes, Value(least_name)


def _spreader(source: Source, written: _Command) -> Value[str]:
    """Return what starts a command on the nodes of its job."""
    name = "launch.spreader"
    for command in with_outer(written.command):
        for word in command.words:
            base = base_name(word)
            kind = (
                "srun"
                if base == "srun"
                else "ssh"
                if base in _REMOTE
                else "mpirun"
                if mpi_run_of(command) and base.startswith(("mpi", "orte", "prte"))
                else ""
            )
            if kind:
                place = word_place(source.name, word.text, word)
                return Value(name, kind, "stated", (place,))
    nodes = next(
        (item for item in source.script.directives if item.name in {"-N", "--nodes"}),
        None,
    )
    if nodes is not None:
        return Value(name, "batch", "derived", (), "sbatch runs it on the first node")
    return Value(name)


def _nodes_started(
    source: Source,
    written: _Command,
    spreader: Value[str],
    request: SlurmRequest | None,
) -> Value[int]:
    """Return on how many nodes the spreader starts a command."""
    name = "launch.nodes_started"
    if spreader.value == "batch":
        return Value(name, 1, "derived", (), spreader.note)
    if spreader.value == "srun" and request is not None:
        nodes = _asked(request, "--nodes", count_of, name)
        tasks = request.step.get("--ntasks")
        number = count_of(tasks.text) if tasks else None
        if tasks is None or number is None or not nodes.value:
            return Value(name) if tasks is not None and number is None else nodes
        if number >= nodes.value:
            return nodes
        return Value(name, number, "derived", (tasks.place,), f"{number} tasks")
    mpi_run = mpi_run_of(written.command)
    if spreader.value == "mpirun" and mpi_run is not None:
        if mpi_run.hosts and mpi_run.hosts_word is not None:
            place = word_place(source.name, mpi_run.name, mpi_run.hosts_word)
            number = len(mpi_run.hosts)
            return Value(name, number, "derived", (place,), f"{number} hosts")
        total, each = mpi_run.ranks, mpi_run.ranks_per_node
        if total and each and total.number and each.number:
            number = -(-total.number // each.number)
            places = tuple(
                word_place(source.name, item.flag, item.word) for item in (total, each)
            )
            note = f"{total.number} processes / {each.number} a node = {number}"
            return Value(name, number, "derived", places, note)
    return Value(name)


def _tasks(
    source: Source,
    written: _Command,
    spreader: Value[str],
    request: SlurmRequest | None,
) -> Value[int]:
    """Return how often a command starts on each node."""
    name = "launch.tasks"
    if spreader.value == "batch":
        return Value(name, 1, "derived", (), spreader.note)
    if spreader.value == "mpirun":
        mpi_run = mpi_run_of(written.command)
        each = mpi_run.ranks_per_node if mpi_run is not None else None
        if each is not None:
            place = word_place(source.name, each.flag, each.word)
            status = "stated" if each.number else "unknown"
            return Value(name, each.number, status, (place,))
        counts = {*mpi_run.hosts.values()} if mpi_run is not None else set()
        if mpi_run is not None and len(counts) == 1 and mpi_run.hosts_word is not None:
            place = word_place(source.name, mpi_run.name, mpi_run.hosts_word)
            return Value(name, counts.pop(), "derived", (place,), "slots of each host")
        return Value(name)
    if request is None or spreader.value != "srun" or "--ntasks" in request.step:
        return Value(name)
    tasks = tasks_of(request)
    given = [
        item
        for item in map(request.find, ("--ntasks-per-node", "--ntasks", "--nodes"))
        if item
    ]
    if tasks is None:
        return Value(name)
    if given and request.find("--ntasks-per-node") is given[0]:
        return Value(name, tasks, "stated", (given[0].place,))
    if request.find("--ntasks") is not None:
        places = tuple(item.place for item in given)
        return Value(name, tasks, "derived", places, "tasks over all nodes")
    note = "Slurm starts one task on a node unless it is asked for more"
    return Value(name, tasks, "default", (), note)


def _asked(
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
    gres = _asked(request, "--gres", lambda text: total_of(gres_counts(text)), name)
    each = _asked(
        request, "--gpus-per-node", lambda text: total_of(gpu_counts(text)), name
    )
    return each if each.is_known else gres


def _is_shared(request: SlurmRequest) -> Value[bool]:
    name = "launch.is_shared"
    shared: Requested | None = request.job.get("--oversubscribe")
    if shared is not None and "--exclusive" not in request.job:
        return Value(name, True, "stated", (shared.place,))  # noqa: FBT003 - a leaf
    return Value(name)


def _node_rank(
    source: Source, read: _Options, flags: Flags, written: _Command
) -> NodeRank:
    """Return the number of the node, who states it and where that is expanded."""
    name = "launch.node_rank"
    option = read.option(flags.rank)
    if option is None:
        if written.launcher in {TORCHRUN, FT_LAUNCHER} and not written.hidden:
            note = "--node-rank defaults to 0"
            return NodeRank(Value(name, 0, "default", (), note))
        return NodeRank()
    number = read.value(name, flags.rank, _whole_number)
    word = option[1][0] if option[1] else option[2]
    match = _NUMBERED.match(word.text)
    if number.is_known or match is None or match[1] not in _RANK_VARIABLES:
        return NodeRank(number)
    return NodeRank(number, match[1], _expanding_shell(source, written, word, match[1]))


def _whole_number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _expanding_shell(
    source: Source, written: _Command, word: ShellWord, name: str
) -> Shell:
    """Return which shell replaces a variable of the scheduler in a word.

    What srun starts is an argument of it: a variable that stands there literally is
    replaced in the task, all others before srun starts. Empty where a text with quotes
    of both kinds does not tell.
    """
    spreader = next(
        (
            command
            for command in with_outer(written.command)
            if any(base_name(item) == "srun" for item in command.words)
            or mpi_run_of(command._replace(outer=None)) is not None
        ),
        None,
    )
    if spreader is None:
        return ""
    if spreader is written.command:
        return "script"
    plain, braced = f"${name}", f"${{{name}}}"
    holding = [item for item in spreader.words if name in item.text]
    if not holding:
        return "script" if _is_assigned_before(source, spreader, word) else ""
    if any(item.resolved for item in holding) or word.raw.startswith("\\"):
        return "task"
    text = holding[0].text
    if plain in text:
        return "task"
    if word.raw.startswith(plain) and braced in text:
        return "script"
    if braced in text and _is_assigned_before(source, spreader, word):
        return "script"
    quoted = holding[0].raw
    is_plain = quoted.startswith('"') and f"\\{braced}" not in quoted
    return "script" if is_plain and braced in quoted else ""


def _is_assigned_before(source: Source, spreader: ShellCommand, word: ShellWord) -> bool:
    """Return whether a line before srun states the word, or the variable in it."""
    name = word.raw.strip("\"${}")
    return any(
        (
            item.name == name
            or (item.value.line, item.value.column) == (word.line, word.column)
        )
        and item.exported
        and not item.conditional
        and item.line < spreader.line
        for item in source.script.variables.values()
    )


def _rendezvous(read: _Options, flags: Flags, written: _Command) -> Rendezvous:
    backend = read.text("launch.rendezvous_backend", flags.backend)
    address = read.text("launch.rendezvous_address", flags.address)
    port = read.count("launch.rendezvous_port", flags.port)
    endpoint = read.option(flags.endpoint)
    if endpoint is not None and endpoint[1]:
        address = read.text("launch.rendezvous_address", flags.endpoint)
        match = _OWN_PORT.search(endpoint[1][0].text)
        place = word_place(read.file, endpoint[0], endpoint[1][0])
        if match is not None:
            port = Value("launch.rendezvous_port", int(match[1]), "stated", (place,))
    return Rendezvous(address, port, backend, _is_static(backend, written))


def _is_static(backend: Value[str], written: _Command) -> bool:
    """Whether ranks are those that launchers take; false where that is not sure."""
    launcher, given = written.launcher, written.given
    if launcher in _ALWAYS_STATIC or launcher in _FRONT_ENDS:
        return True
    if launcher == DEEPSPEED:
        return "--no_ssh" in given
    if launcher not in {TORCHRUN, FT_LAUNCHER, ACCELERATE} or written.hidden:
        return False
    if backend.places:
        return (backend.value or "").lower() == "static"
    return "--standalone" not in given


def _lost(source: Source, written: _Command) -> Iterator[LostVariable]:
    """Yield the exported variables of NCCL and the fabric that do not reach the ranks."""
    exports = [
        item
        for item in source.script.exports.values()
        if item.name.startswith(_MATTERS) and not item.conditional
    ]
    if not exports:
        return
    handed_on = {item.name for item in written.command.environment}
    for why, remedy, place, kept in _borders(source, written):
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
    source: Source, written: _Command
) -> Iterator[tuple[str, str, Place, frozenset[str]]]:
    """Yield what hands on a part of the environment: why, how else, where, which."""
    for command in with_outer(written.command):
        words = command.words
        for position, word in enumerate(words):
            base = base_name(word)
            place = word_place(source.name, word.text, word)
            if base == "srun":
                yield from _of_srun(source, words[position + 1 :])
                return
            if base == "sudo" and position == 0:
                own = [item.text for item in words[1:3]]
                if not any(text.startswith(("-E", "--preserve")) for text in own):
                    why = "sudo starts with an environment of its own"
                    yield why, "Give sudo -E, or leave it out.", place, frozenset()
                return
            if base in {"mpirun", "mpiexec", "orterun", "prterun"}:
                yield from _of_open_mpi(source, written, words[position + 1 :], place)
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
    source: Source, written: _Command, words: Sequence[ShellWord], place: Place
) -> Iterator[tuple[str, str, Place, frozenset[str]]]:
    """Open MPI starts other nodes by ssh, which hands on what -x names.

    Within a job of Slurm its daemons start by srun, and take all.
    """
    mpi_run = mpi_run_of(written.command)
    given = options(words)
    flags = {flag for flag, _, _ in given}
    hosts = len(mpi_run.hosts) if mpi_run is not None else 0
    if source.script.directives or flags.isdisjoint(_OPEN_MPI):
        return
    if hosts <= 1 and flags.isdisjoint(_HOST_FILES):
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

"""The launches of a script: each link of the chain as its command states it.

Sources: torch.distributed.run, accelerate launch, deepspeed.launcher.runner and the
composer launcher as schemas/catalogues/frameworks/launchers.yaml has them;
LLaMA-Factory launcher.py, ms-swift swift/cli/main.py and ColossalAI cli/launcher for
what they take of the environment.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from speccheck.validator.evidence.launch import (
    SCRIPT,
    Launch,
    NodeRank,
    Rendezvous,
    Shell,
)
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.formats.batch_systems import (
    BatchRequest,
    batch_request,
)
from speccheck.validator.sources.formats.slurm import (
    SlurmRequest,
    count_of,
    request_of,
)
from speccheck.validator.sources.launch_spread import (
    capacity_of,
    exports_of_fabric,
    lost_variables,
    spread_of,
    spreading_command,
)
from speccheck.validator.sources.launching import (
    ACCELERATE,
    DEEPSPEED,
    FT_LAUNCHER,
    TORCHRUN,
    LaunchCommand,
    base_name,
    called_script,
    is_sure,
    last_options,
    launch_of,
    mentions_only,
    python_program,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import whole_number
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


class LauncherOptions(Record):
    """The options of a launcher, each by all its names; also names of variables."""

    nodes: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    world: tuple[str, ...] = ()
    rank: tuple[str, ...] = ()
    address: tuple[str, ...] = ()
    port: tuple[str, ...] = ()
    endpoint: tuple[str, ...] = ()
    backend: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    host_file: tuple[str, ...] = ()


_RUN = LauncherOptions(
    nodes=("--nnodes",),
    processes=("--nproc-per-node",),
    rank=("--node-rank",),
    address=("--master-addr",),
    port=("--master-port",),
    endpoint=("--rdzv-endpoint",),
    backend=("--rdzv-backend",),
)
_FLAGS: Mapping[str, LauncherOptions] = {
    TORCHRUN: _RUN,
    FT_LAUNCHER: _RUN,
    ACCELERATE: LauncherOptions(
        nodes=("--num_machines",),
        world=("--num_processes",),
        rank=("--machine_rank",),
        address=("--main_process_ip",),
        port=("--main_process_port",),
        backend=("--rdzv_backend",),
    ),
    DEEPSPEED: LauncherOptions(
        nodes=("--num_nodes",),
        processes=("--num_gpus", "--num_accelerators"),
        rank=("--node_rank",),
        address=("--master_addr",),
        port=("--master_port",),
        host_file=("-H", "--hostfile"),
    ),
    _COMPOSER: LauncherOptions(
        processes=("-n", "--nproc"),
        world=("--world_size",),
        rank=("--node_rank",),
        address=("--master_addr",),
        port=("--master_port",),
    ),
    _COLOSSALAI: LauncherOptions(
        nodes=("--num_nodes",),
        processes=("--nproc_per_node",),
        address=("--master_addr",),
        port=("--master_port",),
        hosts=("-H", "--host"),
        host_file=("--hostfile",),
    ),
}
# Front ends that start torchrun by what the environment says.
_VARIABLES = LauncherOptions(
    nodes=("NNODES",),
    processes=("NPROC_PER_NODE",),
    rank=("NODE_RANK",),
    address=("MASTER_ADDR", "ADDR"),  # the second as xtuner has it
    port=("MASTER_PORT", "PORT"),
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
# A static rendezvous of these is at this port, unless another is given.
_DEFAULT_PORT = "29500"
_AT_DEFAULT_PORT = frozenset({TORCHRUN, DEEPSPEED})
_BEHIND = lazy_pattern(r"(?<![&>])&[ \t]*(?:#.*)?$")
_OWN_PORT = lazy_pattern(r":(\d+)$")


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
    # In a pod the operator states in variables what no option does.
    job, batch = request_of(source), batch_request(source)
    hidden = "" if source.own_text == source.text else "the environment of the pod"
    exports = exports_of_fabric(source)
    return tuple(
        _account(
            source, written._replace(hidden=written.hidden or hidden), job, batch
        )._replace(
            lost=tuple(lost_variables(source, command, exports)),
            side_by_side=_side_by_side(source, command),
        )
        for command in commands
        if id(command) not in holding
        and (written := _written(source, command)) is not None
    )


def _side_by_side(source: Source, command: ShellCommand) -> int:
    """Return which set of commands in the background it is in; 0 for none.

    A `wait` ends a set.
    """
    if command.outer is not None or command.conditional:
        return 0
    number = command.line
    while source.line(number).endswith("\\"):
        number += 1
    if not _BEHIND.search(source.line(number)):
        return 0
    others = source.script.commands
    waits = [item for item in others if item.words[0].text == "wait"]
    return 1 + sum(item.line < command.line for item in waits)


def _written(source: Source, command: ShellCommand) -> _Command | None:
    """Return a command as a launch; None for one that trains nothing."""
    if mentions_only(command):
        return None
    launch = launch_of(command)
    if launch is not None:
        return _by_launcher(launch)
    front_end = _by_front_end(source, command)
    if front_end is not None:
        return front_end
    program = python_program(command)
    kind = _PYTHON
    if program is None:
        program, kind = called_script(command), SCRIPT
    if program is None or " " in program.text:
        return None
    at = command.words.index(program)
    return _Command(kind, program, {}, command.words[at:], command)


def _by_front_end(source: Source, command: ShellCommand) -> _Command | None:
    """Return a launch by composer, colossalai, or what reads the environment."""
    words = command.words
    for position, word in enumerate(words[:-1]):
        name, following = base_name(word), words[position + 1].text
        if name == _COMPOSER or (name == _COLOSSALAI and following == "run"):
            programs = (
                at for at, item in enumerate(words) if item.text.endswith(".py")
            )
            end = next(programs, len(words))
            own = words[position + 1 : end]
            hidden = next((item.text for item in own if not item.resolved), "")
            given = last_options(options(own))
            return _Command(name, word, given, words[end:], command, hidden)
        if name in _FRONT_ENDS and following in _TRAINS:
            given = _of_environment(source, command)
            return _Command(name, word, given, words[position + 1 :], command)
    return None


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


def _of_environment(source: Source, command: ShellCommand) -> dict[str, Option]:
    """Return the variables that a command sees as options without a flag."""
    exports = source.script.exports
    names = (name for option in _VARIABLES for name in option)
    known = [exports[name] for name in names if name in exports]
    return {
        item.name: (item.name, (item.value,), item.value)
        for item in (*known, *command.environment)
    }


def _account(
    source: Source, written: _Command, job: SlurmRequest, batch: BatchRequest
) -> Launch:
    flags = _FLAGS.get(written.launcher, _VARIABLES)
    spread = spread_of(source, written.command, job, batch)
    read = _Options(source.name, written.given)
    nodes, least = _nodes(read, flags, written)
    place = word_place(source.name, written.word.text, written.word)
    world = read.count("launch.world", flags.world)
    is_program = written.launcher == _PYTHON
    hosts, slots = capacity_of(source, written.command, read.option(flags.host_file))
    return Launch(
        Value("launch.launcher", written.launcher, "stated", (place,)),
        spread.spreader,
        nodes,
        spread.nodes,
        spread.allocated_nodes,
        spread.allocated_gpus,
        spread.tasks,
        _processes(read, flags, written, spread.spreader),
        _ranks_of_program(source, spread.ranks) if is_program else world,
        least,
        _node_rank(source, read, flags, written),
        _rendezvous(read, flags, written),
        tuple(word.text for word in written.program),
        spread.is_shared,
        adds_local_rank=written.launcher == DEEPSPEED
        and "--no_local_rank" not in written.given,
        hosts=hosts,
        slots=slots,
    )


def _ranks_of_program(source: Source, started: Value[int]) -> Value[int]:
    """Return the ranks of a program: as started, or what WORLD_SIZE says to it."""
    exported = source.script.exports.get("WORLD_SIZE")
    if started.places or exported is None or exported.conditional:
        return started
    number = count_of(exported.value.text) if exported.value.resolved else None
    if number is None:
        return started
    place = word_place(source.name, exported.name, exported.value)
    return Value("launch.world", number, "stated", (place,))


def _processes(
    read: "_Options", flags: LauncherOptions, written: _Command, spreader: Value[str]
) -> Value[int]:
    """Return the ranks that each launcher starts; srun starts a program itself."""
    name = "launch.processes"
    if written.launcher == _PYTHON:
        if spreader.value not in {"flux", "jsrun", "mpirun", "srun"}:
            return Value(name)
        return Value(name, 1, "derived", (), "each task is one process")
    processes = read.count(name, flags.processes)
    if processes.places or written.hidden or written.launcher != TORCHRUN:
        return processes
    return Value(name, 1, "default", (), "--nproc-per-node defaults to 1")


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
        return Value(name, number, "fallback" if place.only_if else "stated", (place,))


def _nodes(
    read: _Options, flags: LauncherOptions, written: _Command
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
    if not nodes.places and (hosts := read.text(name, flags.hosts)).value:
        number = len({*hosts.value.split(",")})
        nodes = Value(name, number, "derived", hosts.places, f"{number} hosts")
    if not nodes.places and written.launcher == _COMPOSER:
        world = read.count("launch.world", flags.world)
        each = read.count("launch.processes", flags.processes)
        if world.value and each.value and world.value % each.value == 0:
            number = world.value // each.value
            note = f"{world.value} ranks / {each.value} a node = {number}"
            nodes = Value(name, number, "derived", (*world.places, *each.places), note)
    return nodes, Value(least_name)


def _node_rank(
    source: Source, read: _Options, flags: LauncherOptions, written: _Command
) -> NodeRank:
    """Return the number of the node, who states it and where that is expanded."""
    name = "launch.node_rank"
    option = read.option(flags.rank)
    if option is None:
        if written.launcher in {TORCHRUN, FT_LAUNCHER} and not written.hidden:
            note = "--node-rank defaults to 0"
            return NodeRank(Value(name, 0, "default", (), note))
        return NodeRank()
    number = read.value(name, flags.rank, whole_number)
    word = option[1][0] if option[1] else option[2]
    match = _NUMBERED.match(word.text)
    if number.is_known or match is None or match[1] not in _RANK_VARIABLES:
        return NodeRank(number)
    return NodeRank(number, match[1], _expanding_shell(source, written, word, match[1]))


def _expanding_shell(
    source: Source, written: _Command, word: ShellWord, name: str
) -> Shell:
    """Return which shell replaces a variable of the scheduler in a word.

    What srun starts is an argument of it: a variable that stands there literally is
    replaced in the task, all others before srun starts. Empty where a text with quotes
    of both kinds does not tell.
    """
    spreader = spreading_command(written.command)
    if spreader is None:
        return ""
    if spreader is written.command:
        return "script"
    holding = [item for item in spreader.words if name in item.text]
    is_early = _is_assigned_before(source, spreader, word)
    if not holding:
        return "script" if is_early else ""
    plain, braced = f"${name}", f"${{{name}}}"
    text, quoted = holding[0].text, holding[0].raw
    if any(item.resolved for item in holding) or word.raw.startswith("\\"):
        return "task"
    if plain in text or braced not in text:
        return "task" if plain in text else ""
    is_plain = quoted.startswith('"') and f"\\{braced}" not in quoted
    is_early = is_early or word.raw.startswith(plain) or (is_plain and braced in quoted)
    return "script" if is_early else ""


def _is_assigned_before(
    source: Source, spreader: ShellCommand, word: ShellWord
) -> bool:
    """Return whether a line before srun states the word, or the variable in it."""
    name = word.raw.strip('"${}')
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


def _rendezvous(
    read: _Options, flags: LauncherOptions, written: _Command
) -> Rendezvous:
    backend = read.text("launch.rendezvous_backend", flags.backend)
    address = read.text("launch.rendezvous_address", flags.address)
    port = read.text("launch.rendezvous_port", flags.port)
    endpoint = read.option(flags.endpoint)
    if endpoint is not None and endpoint[1]:
        address = read.text("launch.rendezvous_address", flags.endpoint)
        match = _OWN_PORT.search(endpoint[1][0].text)
        place = word_place(read.file, endpoint[0], endpoint[1][0])
        if match is not None:
            port = Value("launch.rendezvous_port", match[1], "stated", (place,))
    is_static = _is_static(backend, written)
    is_open = port.places or written.hidden or written.launcher not in _AT_DEFAULT_PORT
    if is_static and not is_open:
        note = f"the port of {written.launcher} unless another is given"
        port = Value("launch.rendezvous_port", _DEFAULT_PORT, "default", (), note)
    return Rendezvous(address, port, backend, is_static)


def _is_static(backend: Value[str], written: _Command) -> bool:
    """Return whether ranks are those that launchers take; false if not sure."""
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

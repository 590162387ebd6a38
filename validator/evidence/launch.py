"""Launches: who starts how many processes where, and how their ranks meet.

A launch is a chain: an allocation, what spreads over its nodes (srun, mpirun, or none),
what multiplies on a node (torchrun, accelerate, or none), and the program. Each number
is a value with its places, so that what two links of the chain say can be set beside
each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Value

_T = TypeVar("_T")
_ACCELERATE = "accelerate"
Shell = Literal["", "script", "task"]
_STARTS = {"batch": "the batch script starts"} | {
    name: f"{name} starts" for name in ("flux", "jsrun", "mpirun", "srun", "ssh")
}
SCRIPT = "script"  # the launcher of a command that starts another script


class NodeRank(Record):
    """The number of a node as a launcher takes it.

    number: as written, or a default.
    variable: where the scheduler states it, such as SLURM_NODEID; empty for a number.
    expanded: the shell that replaces the variable: that of the script, once for all
        nodes, or that of each task; empty where the text does not tell.
    """

    number: Value[int] = Value("launch.node_rank")
    variable: str = ""
    expanded: Shell = ""

    @property
    def is_stated(self) -> bool:
        """Whether a flag or a variable gives it."""
        return bool(self.number.places)


class Rendezvous(Record):
    """Where the launchers of a job meet, and how.

    is_static: ranks are those that the launchers take, and not handed out there.
    """

    address: Value[str] = Value("launch.rendezvous_address")
    port: Value[str] = Value("launch.rendezvous_port")
    backend: Value[str] = Value("launch.rendezvous_backend")
    is_static: bool = False


class LostVariable(Record):
    """A variable that a script exports and that does not reach the ranks."""

    name: str
    set_at: Place
    lost_at: Place
    why: str
    remedy: str


class Launch(Record):
    """A command that starts a training.

    launcher: what multiplies on a node, `python`, or SCRIPT.
    spreader: what starts it on the nodes: srun, mpirun, ssh; `batch` for a batch script
        that starts it on its first node alone; empty for a caller that is not seen.
    nodes: on how many the launcher expects itself.
    nodes_started: on how many the spreader starts it.
    allocated_nodes, allocated_gpus: what the job asks for; GPUs of one node.
    tasks: how often it starts on a node.
    processes: ranks that each of them starts.
    world: ranks in all, as a flag states them.
    elastic_from: the least nodes of an elastic launch.
    program: the words of the program, as far as they are known.
    is_shared: other jobs may run on its nodes.
    lost: variables of the script that do not reach the ranks.
    adds_local_rank: the launcher puts --local_rank before the arguments of the program.
    hosts: machines of its list or file of hosts.
    slots: ranks that these take, of a launcher that starts no more.
    is_file: a file of accelerate states it, which a command may take.
    side_by_side: the set of commands that run at the same time; 0 for none.
    """

    launcher: Value[str]
    spreader: Value[str] = Value("launch.spreader")
    nodes: Value[int] = Value("launch.nodes")
    nodes_started: Value[int] = Value("launch.nodes_started")
    allocated_nodes: Value[int] = Value("launch.allocated_nodes")
    allocated_gpus: Value[int] = Value("launch.allocated_gpus")
    tasks: Value[int] = Value("launch.tasks")
    processes: Value[int] = Value("launch.processes")
    world: Value[int] = Value("launch.world")
    elastic_from: Value[int] = Value("launch.elastic_from")
    node_rank: NodeRank = NodeRank()
    rendezvous: Rendezvous = Rendezvous()
    program: tuple[str, ...] = ()
    is_shared: Value[bool] = Value("launch.is_shared")
    lost: tuple[LostVariable, ...] = ()
    adds_local_rank: bool = False
    hosts: Value[int] = Value("launch.hosts")
    slots: Value[int] = Value("launch.slots")
    side_by_side: int = 0
    is_file: bool = False

    @property
    def processes_of_task(self) -> Value[int]:
        """Ranks that one launcher starts: as stated, or all ranks over all nodes."""
        nodes, world = self.nodes, self.world
        if self.processes.is_known or not nodes.value or not world.value:
            return self.processes
        if world.value % nodes.value:
            return self.processes
        number = world.value // nodes.value
        note = f"{world.value:,} ranks / {nodes.value:,} nodes = {number:,}"
        return _derived("launch.processes", number, note, world, nodes)

    @property
    def processes_per_node(self) -> Value[int]:
        """Ranks on a node: tasks x processes of a task."""
        tasks, each = self.tasks, self.processes_of_task
        if tasks.value is None or each.value is None:
            return each
        note = f"{tasks.value} x {each.value} = {tasks.value * each.value}"
        name = "launch.processes_per_node"
        return _derived(name, tasks.value * each.value, note, tasks, each)

    @property
    def ranks(self) -> Value[int]:
        """Ranks in all: nodes x ranks on a node."""
        nodes, each = self.nodes, self.processes_per_node
        if nodes.value is None or each.value is None:
            return self.world
        number = nodes.value * each.value
        note = f"{_of_nodes(nodes.value)} x {each.value:,} ranks = {number:,}"
        return _derived("launch.world", number, note, nodes, each)

    @property
    def devices(self) -> Value[int]:
        """GPUs in all: nodes x GPUs that the job asks for on each."""
        nodes, each = self.allocated_nodes, self.allocated_gpus
        if nodes.value is None or each.value is None:
            return Value("launch.devices")
        number = nodes.value * each.value
        note = f"{_of_nodes(nodes.value)} x {each.value:,} GPUs = {number:,}"
        return _derived("launch.devices", number, note, nodes, each)

    def in_words(self) -> str:
        """Return who starts how many processes where, as a sentence."""
        spreader, name = self.spreader.value, self.launcher.value
        start = f"{_STARTS.get(spreader, spreader)} " if spreader else ""
        nodes, each = self.nodes.value, self.processes_per_node.value
        if nodes is None and self.launcher.value == "python":
            nodes = self.nodes_started.value
        parts = [f"{start}{name}"]
        parts.append(f"on {_counted(nodes, 'node')}" if nodes else "nodes not known")
        parts.append(f"{_counted(each, 'rank')} a node" if each else "ranks not known")
        ranks, devices = self.ranks.value, self.devices.value
        if ranks:
            parts.append(f"{_counted(ranks, 'rank')} in all")
        if devices:
            parts.append(f"{_counted(devices, 'GPU')} allocated")
        address, port, backend = self.rendezvous[:3]
        if address.value:
            is_whole = not port.value or address.value.endswith(f":{port.value}")
            at = address.value if is_whole else f"{address.value}:{port.value}"
            by = f" by {backend.value}" if backend.value else ""
            parts.append(f"meeting at {at}{by}")
        return ", ".join(parts)

    def account(self) -> tuple[Value[Any], ...]:
        """Return what is known of it, from the allocation to the ranks."""
        number, variable, expanded = self.node_rank
        if variable:
            by = {"script": "the batch script, once", "task": "each task"}
            note = f"${variable}, expanded by {by.get(expanded, 'an unknown shell')}"
            number = number._replace(note=note)
        values = (
            self.spreader,
            self.allocated_nodes,
            self.allocated_gpus,
            self.nodes_started,
            self.hosts,
            self.slots,
            self.nodes,
            self.tasks,
            self.processes_of_task,
            self.processes_per_node,
            self.ranks,
            self.devices,
            number,
            self.rendezvous.address,
            self.rendezvous.port,
            self.rendezvous.backend,
        )
        return tuple(value for value in values if value.is_known or value.places)


class Launches(Record):
    """All launches of a plan, in the order of its files."""

    launches: tuple[Launch, ...]

    def on_several_nodes(self) -> Iterator[Launch]:
        """Yield the launches that expect themselves on more than one node."""
        return (launch for launch in self.launches if launch.nodes.or_else(1) > 1)


def joined(launches: Iterable[Launch]) -> Launches:
    """Return the launches of a plan, each by what starts the script that it stands in.

    A script that several commands start is none of them for sure, and stays as it is.
    """
    known = tuple(launches)
    starts = [launch for launch in known if launch.launcher.value == SCRIPT]
    files = [launch for launch in known if launch.is_file]
    commands = tuple(
        _completed(_started(launch, starts) if starts else launch, files)
        for launch in known
        if launch.launcher.value != SCRIPT and not launch.is_file
    )
    is_started = any(_takes_file(launch) for launch in commands)
    return Launches(commands if is_started else (*commands, *files))


def _takes_file(launch: Launch) -> bool:
    return launch.launcher.value == _ACCELERATE


def _completed(launch: Launch, files: Sequence[Launch]) -> Launch:
    """Return a command of accelerate with what its file says beside the flags."""
    if len(files) != 1 or not _takes_file(launch):
        return launch
    (file,), own = files, launch.rendezvous
    return launch._replace(
        nodes=_first(launch.nodes, file.nodes),
        world=_first(launch.world, file.world),
        node_rank=launch.node_rank if launch.node_rank.is_stated else file.node_rank,
        rendezvous=own._replace(
            address=_first(own.address, file.rendezvous.address),
            port=_first(own.port, file.rendezvous.port),
        ),
    )


def _first(own: Value[_T], other: Value[_T]) -> Value[_T]:
    return own if own.is_known or own.places else other


def _started(launch: Launch, starts: Iterable[Launch]) -> Launch:
    name = _base(launch.launcher.places[0].file)
    callers = [start for start in starts if _base(start.program[0]) == name]
    if launch.spreader.is_known or len(callers) != 1:
        return launch
    caller, rank = callers[0], launch.node_rank
    if rank.variable and caller.spreader.value in {"srun", "mpirun"}:
        rank = rank._replace(expanded="task")
    return launch._replace(
        spreader=caller.spreader,
        nodes_started=caller.nodes_started,
        allocated_nodes=caller.allocated_nodes,
        allocated_gpus=caller.allocated_gpus,
        tasks=caller.tasks,
        is_shared=caller.is_shared,
        node_rank=rank,
        lost=(*launch.lost, *caller.lost),
    )


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def is_certain(value: Value[Any]) -> bool:
    """Return whether a value is stated in any case: no fallback or condition."""
    return (
        value.is_known and value.status in {"stated", "derived"} and not value.only_if
    )


def _of_nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


def _derived(name: str, number: int, note: str, *of: Value[int]) -> Value[int]:
    places = dict.fromkeys(place for value in of for place in value.places)
    return Value(name, number, "derived", tuple(places), note)

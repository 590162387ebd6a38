"""Commands that start a program under MPI: how many processes, and where.

Sources: Open MPI mpirun(1) of 4.1 and 5.0, the Hydra launcher of MPICH and Intel MPI
(mpiexec -help), horovod/runner/launch.py at v0.28.1.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.launching.launch_commands import base_name
from speccheck.validator.sources.launching.script_options import is_sure, last_options
from speccheck.validator.sources.scripts.shell import Command, Option, Word, options

HOROVODRUN = "horovodrun"
_STARTERS = frozenset(
    {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", HOROVODRUN}
)
_RANKS = frozenset({"-n", "-np", "--n", "--np", "--num-proc", "-c"})
_RANKS_PER_NODE = frozenset(
    {"-N", "-npernode", "--npernode", "-ppn", "--ppn", "-perhost"}
)
_MAPPINGS = frozenset({"--map-by", "-map-by", "-rmaps_base_mapping_policy"})
_HOSTS = frozenset({"-H", "-host", "--host", "-hosts", "--hosts"})
_ELASTIC = frozenset({"--host-discovery-script"})
_PER_NODE = lazy_pattern(r"ppr:(\d+):node(?::|$)")
_PROGRAMS = ("python", "bash", "sh", "torchrun", "deepspeed", "accelerate")
_WRAPPERS = 8  # words in front of mpirun: `time nohup env A=1 B=2 mpirun ...`


class Count(Record):
    """A number that a flag gives; None where only the job knows it."""

    number: int | None
    flag: str
    word: Word


class MpiRun(Record):
    """A command that starts processes under MPI.

    hosts: processes on each host by name, of a list of hosts; empty without one.
    is_elastic: hosts come and go.
    """

    name: str
    word: Word
    ranks: Count | None
    ranks_per_node: Count | None
    hosts: dict[str, int]
    hosts_word: Word | None
    is_elastic: bool

    @property
    def tells_count(self) -> bool:
        """Whether it says itself how many processes it starts."""
        return self.ranks is not None or self.ranks_per_node is not None


def mpi_run_of(command: Command | None) -> MpiRun | None:
    """How MPI starts what a command runs, itself or a command that holds it."""
    while command is not None:
        for position, word in enumerate(command.words[:_WRAPPERS]):
            if base_name(word) in _STARTERS:
                return _read(word, command.words[position + 1 :])
        command = command.outer
    return None


def _read(word: Word, words: Sequence[Word]) -> MpiRun:
    given = last_options(options([*_own_words(words)]))
    hosts: dict[str, int] = {}
    hosts_word: Word | None = None
    ranks = per_node = None
    for flag, option in given.items():
        if flag in _RANKS:
            ranks = _count(option)
        elif flag in _RANKS_PER_NODE:
            per_node = _count(option)
        elif flag in _MAPPINGS:
            per_node = _mapped(option) or per_node
        elif flag in _HOSTS and option[1] and option[1][0].resolved:
            hosts_word = option[1][0]
            hosts = _host_counts(hosts_word.text)
    is_elastic = not _ELASTIC.isdisjoint(given)
    name = base_name(word)
    return MpiRun(name, word, ranks, per_node, hosts, hosts_word, is_elastic)


def _own_words(words: Sequence[Word]) -> Iterator[Word]:
    """The words of the starter itself, up to the program that it starts."""
    for word in words:
        name = base_name(word)
        if name.startswith(_PROGRAMS) or name.endswith((".py", ".sh")):
            return
        yield word


def _count(option: Option) -> Count | None:
    flag, values, word = option
    if not is_sure(option):
        return Count(None, flag, word)
    if not values:
        return None
    text = values[0].text
    is_number = values[0].resolved and text.isdecimal() and int(text) > 0
    return Count(int(text) if is_number else None, flag, values[0])


def _mapped(option: Option) -> Count | None:
    """`ppr:8:node`; other mappings do not tell the processes of a node."""
    flag, values, _ = option
    found = _PER_NODE.match(values[0].text) if values else None
    return Count(int(found[1]), flag, values[0]) if found is not None else None


def _host_counts(text: str) -> dict[str, int]:
    """`a:8,b:8`, and names without a number, each for one process."""
    counts: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition(":")
        if not name or (number and not number.isdecimal()):
            return {}
        counts[name] = counts.get(name, 0) + int(number or 1)
    return counts

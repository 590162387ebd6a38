"""Who is meant by a line: the ranks of communicators, by what their threads said last.

A thread that begins a communicator names it, by its address in the process and, since
NCCL 2.16, by a number that all ranks share. What the thread says afterwards is of that
one. Before 2.18 it names the communicator at the end only: what it said before waits.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.nccl_log.lines import Writer

Found = Hashable
Process = tuple[str, int]


class Facts:
    """By name what was said, each thing once, and where it was said first."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        """Start without any."""
        self._said: dict[str, dict[Found, Span]] = {}

    def note(self, name: str, value: Found, span: Span) -> None:
        """Put down something that was said."""
        self._said.setdefault(name, {}).setdefault(value, span)

    def of(self, name: str) -> dict[Found, Span]:
        """All that was said under a name, in its order."""
        return self._said.get(name, {})

    def all(self) -> Iterable[dict[Found, Span]]:
        """All that was said, by name."""
        return self._said.values()

    def add(self, others: "Facts") -> None:
        """Take over what others hold."""
        for name, values in others._said.items():  # noqa: SLF001 - of this class
            mine = self._said.setdefault(name, {})
            for value, span in values.items():
                mine.setdefault(value, span)

    def __bool__(self) -> bool:
        """Whether anything was said."""
        return bool(self._said)


@dataclass(slots=True, eq=False)
class Member:
    """One rank of one communicator, as far as it is told which."""

    writer: Writer
    span: Span
    address: str = ""
    id: str = ""
    rank: int = -1
    ranks: int = 0
    has_begun: bool = False
    is_complete: bool = False
    facts: Facts = field(default_factory=Facts)

    @property
    def is_named(self) -> bool:
        """Whether it is told of which communicator it is."""
        return bool(self.address)


@dataclass(slots=True, eq=False)
class Group:
    """One communicator: its members in the order in which the log names them."""

    id: str
    ranks: int
    members: list[Member] = field(default_factory=list)


class Members:
    """All of a log."""

    def __init__(self) -> None:
        """Start without any."""
        self.all: list[Member] = []
        self._of_thread: dict[Writer, Member] = {}
        self._of_address: dict[tuple[Process, str], Member] = {}
        self._of_device: dict[tuple[Process, int], Member] = {}
        self._of_process: dict[Process, list[Member]] = {}
        self._starters: set[Process] = set()

    def named(self, writer: Writer, address: str, span: Span) -> Member:
        """The member with an address, which the thread speaks of from now on."""
        key = writer.of_process, address
        found = self._of_address.get(key)
        if found is None:
            waiting = self._of_thread.get(writer)
            if waiting is not None and not waiting.is_named:
                found = waiting
            else:
                found = self._made(writer, span)
            found.address = address
            self._put(key, found)
        self._of_thread[writer] = found
        return found

    def begun(self, writer: Writer, address: str, id_: str, span: Span) -> Member:
        """A member that begins; addresses of gone communicators are used again."""
        self._starters.add(writer.of_process)
        found = self._of_address.get((writer.of_process, address))
        if found is not None and (found.is_complete or (found.id and found.id != id_)):
            del self._of_address[writer.of_process, address]
            self._of_thread.pop(writer, None)
        return self.named(writer, address, span)

    def at(self, writer: Writer, address: str) -> Member | None:
        """The member that a line names by its address."""
        return self._of_address.get((writer.of_process, address))

    def speaking(self, writer: Writer, span: Span) -> Member:
        """The member that a thread speaks of without naming it."""
        found = self._of_thread.get(writer)
        if found is not None:
            return found
        process = writer.of_process
        if process in self._starters:
            found = self._of_device.get((process, writer.device))
            if found is None:
                found = self._of_process[process][-1]
            return found
        found = self._of_thread[writer] = self._made(writer, span)
        return found

    def building(self, writer: Writer) -> None:
        """A thread begins another communicator without naming it yet."""
        found = self._of_thread.get(writer)
        is_old = writer.of_process not in self._starters
        if found is not None and found.is_complete and is_old:
            del self._of_thread[writer]

    def of_process(self, writer: Writer) -> Iterable[Member]:
        """The members of a process that are named."""
        return self._of_process.get(writer.of_process, ())

    def _made(self, writer: Writer, span: Span) -> Member:
        made = Member(writer, span)
        self.all.append(made)
        return made

    def _put(self, key: tuple[Process, str], member: Member) -> None:
        process, device = key[0], member.writer.device
        self._of_address[key] = member
        self._of_device[process, device] = member
        self._of_process.setdefault(process, []).append(member)


def grouped(members: Iterable[Member]) -> list[Group]:
    """The members of each communicator, in the order of the log.

    Without a number that they share, the first of each device are taken for one
    communicator, the second for another, as far as their ranks fit.
    """
    groups: dict[object, Group] = {}
    turns: dict[object, int] = {}
    times: dict[object, int] = {}
    unnamed: list[Member] = []
    for one in members:
        if not one.is_named:
            unnamed.append(one)
            continue
        key: tuple[object, ...] = one.id, one.ranks
        if not one.id:
            of_device = (*one.writer.of_process, one.writer.device)
            turn = turns[of_device] = turns.get(of_device, -1) + 1
            key = turn, one.ranks
        if one.rank >= 0:  # the same rank again is one of another communicator
            again = times[*key, one.rank] = times.get((*key, one.rank), -1) + 1
            key = (*key, again)
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group(one.id, one.ranks)
        group.members.append(one)
    found = [*groups.values()]
    loose = [one for one in unnamed if one.facts]
    if loose:
        found.append(Group("", 0, loose))
    return found

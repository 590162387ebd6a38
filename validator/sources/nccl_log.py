"""The log of NCCL, of all ranks and communicators in one text, as evidence.

A line is a message of a thread; threads speak of a communicator by its address, or
without naming it. Listener takes the messages in their order, Members says which rank
of which communicator each concerns, and the leaves of each communicator are made last.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.collective import (
    IGNORED_MULTIPATH,
    MULTIPATH_OF_VERBS,
    Communicator,
    VariableInForce,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import secret_kind
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import Capture, CapturedValue, line_span

# Level VERSION writes no more than this, and rank 0 writes it without its name.
VERSION = lazy_pattern(
    r"(?<![A-Z])NCCL version (\d+\.\d+\.\d+)\S*?"
    r"(?:(?:\+cuda| compiled with CUDA )([\d.]{1,12}))?\s*$"
)
_SAID = ("NCCL INFO ", "NCCL WARN ")
_WRITER = lazy_pattern(r":(\d{1,10}):(\d{1,10}) \[(-?\d{1,5})\] ?(?:\S{1,200} )?$")
_OF_HOSTS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-<>"
_LEFT_OUT = "[repeated "
_COLOUR = lazy_pattern(r"\x1b\[[0-9;]{0,20}m")
_DEVICE = lazy_pattern(r"\[(-?\d{1,5})\] ?$")
_MOST_BEFORE = 600  # letters of a line that may tell who writes it
_MOST_OF_LINE = 1000  # messages that share a line
_MOST_MESSAGE = 20_000  # letters that are read of it: a list of adapters is long


class Writer(Record):
    """The thread that wrote a line; a text without names has one process for all."""

    host: str = ""
    process: int = 0
    thread: int = 0
    device: int = -1

    @property
    def of_process(self) -> tuple[str, int]:
        """What all threads of the process share."""
        return self.host, self.process


class LogLine(Record):
    """One message, and where the line stands on which it begins.

    stands_for_more: Ray leaves out lines that are alike, and says how many.
    """

    writer: Writer
    is_warning: bool
    text: str
    span: Span
    stands_for_more: bool = False


NOBODY = Writer()


def lines_of(log: str) -> Iterator[LogLine]:
    """Yield all messages of NCCL, in their order; threads may share a line."""
    writers = _Writers()
    for number, whole in enumerate(log.splitlines(), 1):
        if "NCCL " not in whole:
            continue
        line = _COLOUR.sub("", whole) if "\x1b" in whole else whole
        starts = _starts(line)
        if not starts:
            if VERSION.search(line):
                span = line_span(number, whole)
                yield LogLine(NOBODY, is_warning=False, text=line.strip(), span=span)
            continue
        span = line_span(number, whole)
        begin = 0
        for (start, is_warning), (end, _) in pairwise([*starts, (len(line), False)]):
            writer, _ = writers.of(line[max(begin, start - _MOST_BEFORE) : start])
            begin = start + len(_SAID[0])
            result = line[begin : min(end, begin + _MOST_MESSAGE)]
            if end < len(line):
                _, length = writers.of(result[-_MOST_BEFORE:])
                result = result[: len(result) - length]
            text, *left_out = result.split(_LEFT_OUT, 1)
            yield LogLine(writer, is_warning, text.strip(), span, bool(left_out))


def _starts(line: str) -> list[tuple[int, bool]]:
    """Return where the messages of a line begin, and which of them are warnings."""
    number_lists: list[tuple[int, bool]] = []
    at = line.find("NCCL ")
    while at >= 0 and len(number_lists) < _MOST_OF_LINE:
        if line.startswith(_SAID, at):
            number_lists.append((at, line.startswith(_SAID[1], at)))
        at = line.find("NCCL ", at + 1)
    return number_lists


class _Writers:
    """Who wrote what stands behind a text, and how much of the text says so."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Writer, int]] = {}
        self._hosts: dict[tuple[str, str], str] = {}

    def of(self, head: str) -> tuple[Writer, int]:
        writers = self._known.get(head)
        if writers is None:
            writers = self._known[head] = self._read(head)
        return writers

    def _read(self, head: str) -> tuple[Writer, int]:
        match = _WRITER.search(head)
        if match is None:
            device = _DEVICE.search(head)
            if device is None:
                return NOBODY, 0
            return Writer(device=int(device[1])), len(device[0])
        before = head[: match.start()]
        host = before[len(before.rstrip(_OF_HOSTS)) :]
        # Where a message broke into another, its end stands before the name.
        known = self._hosts.setdefault((match[1], match[2]), host)
        if known and host.endswith(known):
            host = known
        writer = Writer(host, int(match[1]), int(match[2]), int(match[3]))
        return writer, len(match[0]) + len(host)


_TAKEN = lazy_pattern(
    r"(?:[A-Z]{2,10}/Plugin: )?([A-Z][A-Z0-9_]{2,80}) set (?:by environment )?to "
    r"(.{0,4096})$"
)
_ADDED = lazy_pattern(
    r"NET/OFI Adding ([A-Z][A-Z0-9_]{2,80})=(.{0,4096}?) to environment"
)
_SET_BY_PLUGIN = lazy_pattern(
    r"NET/OFI .{0,200}?Setting ([A-Z][A-Z0-9_]{2,80}) (?:environment variable )?to "
    r"(.{0,4096})$"
)
_KNOWN = lazy_pattern(r"(?:NCCL|RCCL|OFI|FI|UCX|SHARP|RDMAV|IBV|MLX5|CUDA)_\w+")
_SECRET = lazy_pattern(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|APIKEY|PRIVATE|COOKIE|JWT"
    r"|(?:^|_)(?:KEYS?|PASS|AUTH)(?:_|$)"
)
_MOST_SETTINGS = 4096  # different settings of a log
BY_USER = "environment"
BY_PLUGIN = "plugin"


class LoggedSettings:
    """Name, value and who set it, each once, with the line that said it first."""

    def __init__(self) -> None:
        """Start without any."""
        self.taken: dict[tuple[str, str | None, str], Span] = {}

    def hear(self, line: LogLine) -> bool:
        """Put down a line that tells of a variable."""
        text = line.text
        if " to " not in text:
            return False
        who = BY_USER
        match = _TAKEN.match(text)
        if match is None and text.startswith("NET/OFI"):
            who = BY_PLUGIN
            match = _ADDED.match(text) or _SET_BY_PLUGIN.match(text)
        if match is None or _KNOWN.fullmatch(match[1]) is None:
            return False
        if len(self.taken) < _MOST_SETTINGS:
            name, value = match[1], _shown(match[1], match[2].strip())
            self.taken.setdefault((name, value, who), line.span)
        return True


def _shown(name: str, value: str) -> str | None:
    """Return the value; None for what may be a credential."""
    if _SECRET.search(name) or secret_kind(name, value):
        return None
    # Behind a number NCCL writes the full stop of the sentence.
    bare = value.removesuffix(".")
    return bare if bare.lstrip("-").isdecimal() else value


LogValue = Hashable
Process = tuple[str, int]


class Facts:
    """By name what was said, each thing once, and where it was said first."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        """Start without any."""
        self._said: dict[str, dict[LogValue, Span]] = {}

    def note(self, name: str, value: LogValue, span: Span) -> None:
        """Put down something that was said."""
        self._said.setdefault(name, {}).setdefault(value, span)

    def of(self, name: str) -> dict[LogValue, Span]:
        """Return all that was said under a name, in its order."""
        return self._said.get(name, {})

    def all(self) -> Iterable[dict[LogValue, Span]]:
        """Return all that was said, by name."""
        return self._said.values()

    def add(self, others: "Facts") -> None:
        """Take over what others hold."""
        for name, values in others._said.items():  # noqa: SLF001 - of this class
            mine = self._said.setdefault(name, {})
            for value, span in values.items():
                mine.setdefault(value, span)

    def __bool__(self) -> bool:
        """Return whether anything was said."""
        return bool(self._said)


@dataclass(slots=True, eq=False)
class CommunicatorMember:
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
class RankGroup:
    """One communicator: its members in the order in which the log names them."""

    id: str
    ranks: int
    members: list[CommunicatorMember] = field(default_factory=list)


class Members:
    """All of a log."""

    def __init__(self) -> None:
        """Start without any."""
        self.all: list[CommunicatorMember] = []
        self._of_thread: dict[Writer, CommunicatorMember] = {}
        self._of_address: dict[tuple[Process, str], CommunicatorMember] = {}
        self._of_device: dict[tuple[Process, int], CommunicatorMember] = {}
        self._of_process: dict[Process, list[CommunicatorMember]] = {}
        self._starters: set[Process] = set()

    def named(self, writer: Writer, address: str, span: Span) -> CommunicatorMember:
        """Return the member with an address, which the thread speaks of from now on."""
        key = writer.of_process, address
        member = self._of_address.get(key)
        if member is None:
            waiting = self._of_thread.get(writer)
            if waiting is not None and not waiting.is_named:
                member = waiting
            else:
                member = self._made(writer, span)
            member.address = address
            self._put(key, member)
        self._of_thread[writer] = member
        return member

    def begun(
        self, writer: Writer, address: str, id_: str, span: Span
    ) -> CommunicatorMember:
        """Return a member that begins.

        Addresses of gone communicators are used again.
        """
        self._starters.add(writer.of_process)
        member = self._of_address.get((writer.of_process, address))
        if member is not None and (
            member.is_complete or (member.id and member.id != id_)
        ):
            del self._of_address[writer.of_process, address]
            self._of_thread.pop(writer, None)
        return self.named(writer, address, span)

    def at(self, writer: Writer, address: str) -> CommunicatorMember | None:
        """Return the member that a line names by its address."""
        return self._of_address.get((writer.of_process, address))

    def speaking(self, writer: Writer, span: Span) -> CommunicatorMember:
        """Return the member that a thread speaks of without naming it."""
        member = self._of_thread.get(writer)
        if member is not None:
            return member
        process = writer.of_process
        if process in self._starters:
            member = self._of_device.get((process, writer.device))
            if member is None:
                member = self._of_process[process][-1]
            return member
        member = self._of_thread[writer] = self._made(writer, span)
        return member

    def building(self, writer: Writer) -> None:
        """Note that a thread begins another communicator without naming it yet."""
        member = self._of_thread.get(writer)
        is_old = writer.of_process not in self._starters
        if member is not None and member.is_complete and is_old:
            del self._of_thread[writer]

    def of_process(self, writer: Writer) -> Iterable[CommunicatorMember]:
        """Return the members of a process that are named."""
        return self._of_process.get(writer.of_process, ())

    def _made(self, writer: Writer, span: Span) -> CommunicatorMember:
        made = CommunicatorMember(writer, span)
        self.all.append(made)
        return made

    def _put(self, key: tuple[Process, str], member: CommunicatorMember) -> None:
        process, device = key[0], member.writer.device
        self._of_address[key] = member
        self._of_device[process, device] = member
        self._of_process.setdefault(process, []).append(member)


def grouped(members: Iterable[CommunicatorMember]) -> list[RankGroup]:
    """Return the members of each communicator, in the order of the log.

    Without a number that they share, the first of each device are taken for one
    communicator, the second for another, as far as their ranks fit.
    """
    groups: dict[object, RankGroup] = {}
    turns: dict[object, int] = {}
    times: dict[object, int] = {}
    unnamed: list[CommunicatorMember] = []
    for member in members:
        if not member.is_named:
            unnamed.append(member)
            continue
        key: tuple[object, ...] = member.id, member.ranks
        if not member.id:
            of_device = (*member.writer.of_process, member.writer.device)
            turn = turns[of_device] = turns.get(of_device, -1) + 1
            key = turn, member.ranks
        if member.rank >= 0:  # the same rank again is one of another communicator
            again = times[*key, member.rank] = times.get((*key, member.rank), -1) + 1
            key = (*key, again)
        group = groups.get(key)
        if group is None:
            group = groups[key] = RankGroup(member.id, member.ranks)
        group.members.append(member)
    result = [*groups.values()]
    loose = [member for member in unnamed if member.facts]
    if loose:
        result.append(RankGroup("", 0, loose))
    return result


_COMM = lazy_pattern(
    r"\bcomm (0x[0-9a-fA-F]{1,16}) rank (\d{1,9}) n[rR]anks (\d{1,9})\b"
)
_COMM_ID = lazy_pattern(r"\bcommId (0x[0-9a-fA-F]{1,16})")
# Parts of a communicator have no number of their own before 2.31.
_PART = lazy_pattern(
    r" parent \S+ (?:(?:split|child)Count (\d{1,9}) )?color (-?\d{1,10})"
)
_NODES = lazy_pattern(r"\bnNodes (\d{1,9}) localRanks (\d{1,9})(?:.*?\bMNNVL (\d))?")
_LINK = lazy_pattern(
    r"(?:Channel|Ring|Tree|Coll|CollNet) [\d/]{1,12} ?: .{1,80}? via "
    r"(P2P|SHM|NET|COLLNET|direct shared memory)(?:/([^/]{1,80}))?"
)
_LINK_OF = lazy_pattern(r" comm (0x[0-9a-fA-F]{1,16}) n[rR]anks (\d{1,9})$")
_MULTICAST = lazy_pattern(
    r"NVLS multicast support is (not )?available on (?:dev|GPU) ?(\d{1,5})?"
)
_CHANNELS = lazy_pattern(r"(\d{1,6}) (coll|collnet|nvls|p2p) channels( per peer)?")
_RINGS = lazy_pattern(r"use ring PXN (\d) GDR (\d)")
_TIMINGS = lazy_pattern(r"rank (\d{1,9}) n[rR]anks (\d{1,9}) total (\d{1,9}\.?\d{0,9})")
_CLIQUE = lazy_pattern(
    r"fabric UUID ([0-9a-fA-F]{1,16}\.[0-9a-fA-F]{1,16}) cliqueId (0x[0-9a-fA-F]{1,8})"
)
_TUNED_LINE = lazy_pattern(
    r"(?:(\w{1,40}): )?(\d{1,18}) Bytes -> Algo (\w{1,40}) proto (\w{1,40})"
)
_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE")
_PROTOCOLS = ("LL", "LL128", "SIMPLE")

_BOOTSTRAP = lazy_pattern(r"Bootstrap ?: Using (?:\[\d{1,3}\])?([^\s:]{1,64})")
_NETWORK = lazy_pattern(r"Using network (\S.{0,80})$")
_ASSIGNED = lazy_pattern(r"Assigned NET plugin (\S.{0,80}?) to comm")
_LOADED = lazy_pattern(
    r"(?:(\w{1,20})/Plugin: )?Successfully loaded external (?:(\w{1,20}) )?plugin (\S+)"
)
_MISSING = lazy_pattern(
    r"(NET|TUNER)/Plugin ?: Could not find: (\S.{0,400}?)(?:\. Using.*|\.)?$"
)
_MISSING_OLD = lazy_pattern(
    r"NET/Plugin ?: .{0,400}?(?:No plugin found|Plugin load) \((\S{1,200}?)\)"
)
_TUNER = lazy_pattern(r"TUNER/Plugin: Using (?:tuner plugin )?(\S.{0,80})$")
_ADAPTER = lazy_pattern(r"\[\d{1,3}\] ?([\w.+-]{1,80}:\d{1,3}/(?:IB|RoCE))")
_INTERFACE = lazy_pattern(r"NET/(IB|Socket) : Using \[0\]")
_ADAPTER_REACH = lazy_pattern(
    r"GPU Direct RDMA (Enabled|Disabled) for HCA \d{1,4} '([^']{1,80})'"
)
_PAIR_REACH = lazy_pattern(
    r"GPU Direct RDMA (Enabled|Disabled) for GPU (\S{1,40}) / HCA (\S{1,20})"
)
_LIBFABRIC = lazy_pattern(
    r"Selected [Pp]rovider is ([\w;-]{1,40}).{0,80}?\(found (\d{1,4}) nics\)"
)
# MRC inside the RDMA plugin: src/nccl_doca_verbs.c of nccl-rdma-sharp-plugins.
_MULTIPATH_OF_VERBS = lazy_pattern(
    r"NET/IB: (?:(MRC enabled on|libMrc data path enabled on)"
    r"|(NCCL_IB_MRC=1|NCCL_USE_LIBMRC=1) but plugin was built without)"
)
_MULTIPATH = lazy_pattern(r"\b(mrc_v\d{1,3})\b")
BUILT_IN = ("IB", "Socket")
MOST_OF_PROCESS = 512  # of one thing that a process says


class Listener:
    """Takes the lines in their order."""

    def __init__(self) -> None:
        """Start without any."""
        self.members = Members()
        self.processes: dict[Process, Facts] = {}
        self.settings = LoggedSettings()
        self.has_heard = False
        self.is_summary = False  # not all lines are there

    def hear(self, line: LogLine) -> None:
        """Put down what a line says."""
        text = line.text
        self.is_summary |= line.stands_for_more
        if line.is_warning:
            self._of_process(line, "warnings", (line.span.line, text))
            self._failure(line)
            self._multipath(line)
            return
        if " via " in text and self._link(line):
            return
        if (match := _COMM.search(text)) is not None:
            self._communicator(line, match[1], int(match[2]), int(match[3]))
        elif self.settings.hear(line) or self._of_rank(line) or self._network(line):
            self.has_heard = True
        elif text.startswith(("Trees [", "Setting affinity")):
            self.members.building(line.writer)

    def _of_process(self, line: LogLine, name: str, value: Hashable) -> None:
        process = line.writer.of_process
        facts = self.processes.get(process)
        if facts is None:
            facts = self.processes[process] = Facts()
        if len(facts.of(name)) < MOST_OF_PROCESS:
            facts.note(name, value, line.span)
        self.has_heard = True

    def _communicator(self, line: LogLine, address: str, rank: int, ranks: int) -> None:
        text, writer = line.text, line.writer
        id_ = _id(text)
        if "Destroy" in text or "Abort" in text:
            return
        if "Init START" in text:
            member = self.members.begun(writer, address, id_, line.span)
        else:
            member = self.members.named(writer, address, line.span)
        member.rank, member.ranks = rank, ranks
        member.id = member.id or id_
        member.has_begun = True
        member.is_complete |= "Init COMPLETE" in text
        self.has_heard = True
        if (match := _NODES.search(text)) is not None:
            member.facts.note("nodes", int(match[1]), line.span)
            member.facts.note("ranks_per_node", int(match[2]), line.span)
            if match[3]:
                member.facts.note("is_mnnvl", match[3] != "0", line.span)

    def _link(self, line: LogLine) -> bool:
        match = _LINK.match(line.text)
        if match is None:
            return False
        text = line.text
        named = _LINK_OF.search(text)
        if named is not None:
            member = self.members.at(line.writer, named[1])
            if member is None:
                member = self.members.named(line.writer, named[1], line.span)
                member.ranks = int(named[2])
            text = text[: named.start()]
        else:
            member = self.members.speaking(line.writer, line.span)
        way, name = match[1], match[2] or ""
        kind = _WAYS[way]
        link = (*line.writer.of_process, text)
        member.facts.note(kind, link, line.span)
        if kind == "links_by_network":
            if "/GDRDMA" in text:
                member.facts.note("links_by_gpudirect", link, line.span)
            if name == "Socket":
                member.facts.note("socket_links", link, line.span)
            self._multipath(line)
            self._of_process(line, "link_network", name)
        self.has_heard = True
        return True

    def _of_rank(self, line: LogLine) -> bool:
        """Note what a rank says of its communicator without naming it."""
        text = line.text
        if "Bytes -> Algo" in text:
            return self._tuned(line)
        if "NVLS multicast support" in text:
            match = _MULTICAST.search(text)
            name = "without" if match and match[1] else "with"
            device = match[2] if match else None
            gpu = (*line.writer.of_process, device or line.writer.device)
            self._speaking(line).note(f"gpus_{name}_multicast", gpu, line.span)
        elif "coll channels" in text:
            for count, kind, per_peer in _CHANNELS.findall(text):
                name = f"{kind}_channels{per_peer.replace(' ', '_')}"
                self._speaking(line).note(name, int(count), line.span)
        elif text.startswith("Connected "):
            return self._connected(line)
        elif "Init timings" in text:
            match = _TIMINGS.search(text)
            if match is None:
                return False
            self._speaking(line).note("init_seconds", float(match[3]), line.span)
        elif text.startswith("MNNVL busId"):
            match = _CLIQUE.search(text)
            if match is None:
                return False
            has_fabric = match[1].strip("0.") != ""
            clique = (match[1], match[2]) if has_fabric else ()
            self._speaking(line).note("nvlink_cliques", clique, line.span)
        else:
            return False
        return True

    def _connected(self, line: LogLine) -> bool:
        text, facts = line.text, self._speaking(line)
        for words, name in _CONNECTED.items():
            if text.startswith(words):
                facts.note(name, True, line.span)  # noqa: FBT003
                if (match := _RINGS.search(text)) is not None:
                    facts.note("ring_has_pxn", match[1] != "0", line.span)
                    facts.note("ring_has_gpudirect", match[2] != "0", line.span)
                return True
        return False

    def _speaking(self, line: LogLine) -> Facts:
        return self.members.speaking(line.writer, line.span).facts

    def _tuned(self, line: LogLine) -> bool:
        """Note what rank 0 took for a size; nothing where it is rank 0 of several."""
        match = _TUNED_LINE.search(line.text)
        if match is None:
            return False
        named = self.members.of_process(line.writer)
        first = [member for member in named if member.rank == 0]
        if len(first) > 1:
            return True
        facts = first[0].facts if first else self._speaking(line)
        algorithm = _by_number(_ALGORITHMS, match[3])
        protocol = _by_number(_PROTOCOLS, match[4])
        choice = match[1], int(match[2]), algorithm, protocol
        facts.note("tuned", choice, line.span)
        return True

    def _network(self, line: LogLine) -> bool:
        """Note what a process says of its libraries, plugins and adapters."""
        text = line.text
        if line.writer == NOBODY or "version" in text:
            self._version(line)
        if text.startswith("GPU Direct RDMA") or ": GPU Direct RDMA" in text:
            return self._reach(line)
        for pattern, name in _SINGLE:
            if (match := pattern.search(text)) is not None:
                self._of_process(line, name, match[1])
                self._multipath(line)
                return True
        if (match := _LOADED.match(text)) is not None:
            self._of_process(line, "loaded_plugins", match[3])
            if "tuner" in {match[2], (match[1] or "").lower()}:
                self._of_process(line, "tuner_plugin", match[3])
            return True
        if "/Plugin" in text:
            return self._plugin(line)
        if text.startswith("NET/"):
            return self._adapters(line)
        return self._failure(line) or text.startswith("DMA-BUF is available")

    def _version(self, line: LogLine) -> None:
        if (match := VERSION.search(line.text)) is not None:
            self._of_process(line, "nccl_version", match[1])
            if match[2]:
                self._of_process(line, "cuda_version", match[2])

    def _reach(self, line: LogLine) -> bool:
        if (match := _ADAPTER_REACH.search(line.text)) is not None:
            name = "gpudirect_adapters" if match[1] == "Enabled" else _OUT_OF_REACH
            self._of_process(line, name, match[2])
        elif (match := _PAIR_REACH.search(line.text)) is not None:
            start = "" if match[1] == "Enabled" else "no_"
            pair = (*line.writer.of_process, match[2], match[3])
            self._of_process(line, f"{start}gpudirect_pairs", pair)
        return match is not None

    def _plugin(self, line: LogLine) -> bool:
        text = line.text
        if "sing internal" in text or "No plugin found" in text:
            name = "tuner_plugin" if text.startswith("TUNER") else "internal_network"
            self._of_process(line, name, "internal")
        if (match := _MISSING.search(text)) is not None:
            name = "missing_plugin" if match[1] == "NET" else "missing_tuner"
            self._of_process(line, name, match[2])
        elif (match := _MISSING_OLD.search(text)) is not None:
            self._of_process(line, "missing_plugin", match[1])
        self._multipath(line)
        return True

    def _adapters(self, line: LogLine) -> bool:
        text = line.text
        if (match := _INTERFACE.match(text)) is not None:
            self._of_process(line, f"has_{match[1]}", match[1])
        if text.startswith("NET/IB : Using"):
            for adapter in _ADAPTER.findall(text):
                self._of_process(line, "adapters", adapter)
        elif (match := _LIBFABRIC.search(text)) is not None:
            self._of_process(line, "libfabric_provider", match[1])
            self._of_process(line, "libfabric_adapters", int(match[2]))
        self._multipath(line)
        return self._failure(line) or match is not None or "adapters" in text

    def _failure(self, line: LogLine) -> bool:
        for words, failure in _FAILURES.items():
            if words in line.text:
                self._of_process(line, "verbs_failure", failure)
                return True
        return False

    def _multipath(self, line: LogLine) -> None:
        if (match := _MULTIPATH.search(line.text)) is not None:
            self._of_process(line, "mrc_version", match[1])
        elif (match := _MULTIPATH_OF_VERBS.search(line.text)) is not None:
            what = IGNORED_MULTIPATH if match[2] else MULTIPATH_OF_VERBS
            self._of_process(line, "mrc_version", what)


def _id(text: str) -> str:
    """Return what all ranks of a communicator tell alike; empty before 2.16."""
    if (match := _COMM_ID.search(text)) is not None:
        return match[1]
    match = _PART.search(text)
    return f"part {match[1] or 0} color {match[2]}" if match else ""


def _by_number(names: tuple[str, ...], text: str) -> str:
    """Return the name of an algorithm or protocol; until 2.22 NCCL wrote its number."""
    if not text.isdecimal():
        return text.upper()
    return names[int(text)] if len(text) == 1 and int(text) < len(names) else text


_WAYS = {
    "P2P": "links_by_pointer",
    "SHM": "links_by_host_memory",
    "direct shared memory": "links_by_host_memory",
    "NET": "links_by_network",
    "COLLNET": "links_by_collnet",
}
_CONNECTED = {
    "Connected all rings": "has_rings",
    "Connected all trees": "has_trees",
    "Connected NVLS tree": "has_nvls_tree",
}
_SINGLE = (
    (_BOOTSTRAP, "bootstrap_interface"),
    (_NETWORK, "network"),
    (_ASSIGNED, "assigned"),
    (_TUNER, "tuner_plugin"),
)
_FAILURES = {
    "NET/IB : No device found": "no device found",
    "Failed to open libibverbs.so": "libibverbs.so cannot be opened",
    "Failed to load libibverbs": "libibverbs.so cannot be opened",
}
_OUT_OF_REACH = "no_gpudirect_adapters"

_KIND = Communicator.kind
_MOST_COMMUNICATORS = 1000  # communicators of one log
_NOT_KEPT = "its name or its value is that of a credential"
Part = tuple[str, int]

# By how the sayings of ranks and processes make one leaf.
_TEXTS = (
    "nccl_version",
    "cuda_version",
    "bootstrap_interface",
    "network",
    "network_plugin",
    "missing_plugin",
    "tuner_plugin",
    "missing_tuner",
    "mrc_version",
    "verbs_failure",
    "libfabric_provider",
)
_LISTS = ("adapters", "gpudirect_adapters", "no_gpudirect_adapters", "loaded_plugins")
_COUNTS = (
    "gpus_with_multicast",
    "gpus_without_multicast",
    "gpudirect_pairs",
    "no_gpudirect_pairs",
    "warnings",
)
_LINKS = (
    "links_by_pointer",
    "links_by_host_memory",
    "links_by_network",
    "links_by_gpudirect",
    "links_by_collnet",
    "socket_links",
)
_LEAST = (
    "nodes",
    "ranks_per_node",
    "coll_channels",
    "nvls_channels",
    "collnet_channels",
    "p2p_channels",
    "p2p_channels_per_peer",
    "libfabric_adapters",
    "ring_has_gpudirect",  # all of its ranks
)
# Of each choice of the tuner, in this order.
_TUNED = ("tuned_collective", "tuned_bytes", "tuned_algorithm", "tuned_protocol")
_MOST_OF = (
    "init_seconds",
    "is_mnnvl",
    "has_nvls_tree",
    "has_rings",
    "has_trees",
    "ring_has_pxn",
)


def add_communicators(capture: Capture, text: str) -> bool:
    """Add the communicators and variables of a text; whether it tells of any."""
    listener = Listener()
    for line in lines_of(text):
        listener.hear(line)
    groups = grouped(listener.members.all)
    if not groups and listener.processes:
        groups = [RankGroup("", 0)]  # NCCL spoke, and of no communicator
    for number, group in enumerate(islice(groups, _MOST_COMMUNICATORS), 1):
        _Leaves(capture, listener, group, number).put()
    for (name, value, who), span in listener.settings.taken.items():
        part = VariableInForce.kind, capture.add(VariableInForce.kind, span)
        shown: CapturedValue = value or ""
        if value is None:
            shown = {"status": "absent", "message": _NOT_KEPT}
        capture.put_at(part, "name", name, span)
        capture.put_at(part, "value", shown, span)
        capture.put_at(part, "set_by", who, span)
    if reason := _gap(listener, groups):
        capture.partial(_KIND, reason)
    return bool(groups or listener.settings.taken)


def has_lines(text: str) -> bool:
    """Return whether NCCL says anything in a text that is known."""
    listener = Listener()
    for line in lines_of(text):
        listener.hear(line)
        if listener.has_heard:
            return True
    return False


def _gap(listener: Listener, groups: list[RankGroup]) -> str:
    """Return why the log may not tell of all: empty for one that is whole."""
    if len(groups) > _MOST_COMMUNICATORS:
        most = f"{_MOST_COMMUNICATORS:,} were read"
        return f"the log has {len(groups):,} communicators; {most}"
    if listener.is_summary:
        return "the launcher left out lines that are alike"
    if any(process.of("warnings") for process in listener.processes.values()):
        return "NCCL warned: the log may break off before the end"
    for group in groups:
        finished = {member.rank for member in group.members if member.is_complete}
        if len(finished) < group.ranks:
            return (
                f"{len(finished)} of {group.ranks} ranks of a communicator told Init "
                "COMPLETE: lines of the others, or the end, are missing"
            )
    return ""


class _Leaves:
    """The leaves of one communicator."""

    def __init__(
        self, capture: Capture, listener: Listener, group: RankGroup, number: int
    ) -> None:
        self._capture = capture
        self._group = group
        self._number = number
        self._is_summary = listener.is_summary
        self._facts = _facts_of(group, listener)
        self._part: Part = ("", 0)
        self._first = Span(1, 1, 1)

    def put(self) -> None:
        """Add the communicator."""
        spans = [member.span for member in self._group.members]
        spans += [span for item in self._facts.all() for span in item.values()][:1]
        self._first = min(spans) if spans else self._first
        self._part = _KIND, self._capture.add(_KIND, self._first)
        self._put("id", self._group.id or f"communicator {self._number}", self._first)
        self._ranks()
        _add_network(self._facts)
        for name in _TEXTS:
            if result := self._facts.of(name):
                texts = [str(item) for item in result]
                self._put(name, _one_text(name, texts), next(iter(result.values())))
        for name in _LISTS:
            if result := self._facts.of(name):
                several: CapturedValue = [str(item) for item in result]
                self._put(name, several, next(iter(result.values())))
        for name in _COUNTS:
            self._count(name)
        has_links = any(self._facts.of(name) for name in _LINKS)
        for name in _LINKS if has_links else ():
            self._count(name, or_none=True)
        for names, choose in ((_LEAST, min), (_MOST_OF, max)):
            for name in names:
                if result := self._facts.of(name):
                    value: CapturedValue = choose(result)  # type: ignore[type-var, assignment]
                    self._put(name, value, result[value])  # type: ignore[index]
        self._cliques()
        self._tuned()

    def _put(self, name: str, value: CapturedValue, span: Span) -> None:
        self._capture.put_at(self._part, name, value, span)

    def _count(self, name: str, *, or_none: bool = False) -> None:
        result = self._facts.of(name)
        if result or or_none:
            self._put(name, len(result), next(iter(result.values()), self._first))

    def _ranks(self) -> None:
        """State how many there are, and how far each of them came."""
        group = self._group
        named = [member for member in group.members if member.rank >= 0]
        if group.ranks:
            self._put("ranks", group.ranks, self._first)
        if not named:
            return
        finished = sorted({member.rank for member in named if member.is_complete})
        begun = sorted({member.rank for member in named}.difference(finished))
        self._put("ranks_seen", len(finished) + len(begun), self._first)
        self._put("finished_ranks", [*finished], self._first)
        if not self._is_summary or len(finished) == group.ranks:
            self._put("unfinished_ranks", [*begun], self._first)
            self._put("is_complete", len(finished) == group.ranks, self._first)
        hosts = {member.writer.host for member in named}
        is_whole = len(finished) + len(begun) == group.ranks and "" not in hosts
        is_plain = len(hosts) > 1 or not self._facts.of("links_by_network")
        if is_whole and is_plain and not self._facts.of("nodes"):
            self._put("nodes", len(hosts), self._first)

    def _cliques(self) -> None:
        result = self._facts.of("nvlink_cliques")
        if result:
            count = len([clique for clique in result if clique != ()])
            self._put("nvlink_cliques", count, next(iter(result.values())))

    def _tuned(self) -> None:
        result = self._facts.of("tuned")
        if not result:
            return
        span = next(iter(result.values()))
        rows = [item for item in result if isinstance(item, tuple)]
        for at, name in enumerate(_TUNED):
            column: CapturedValue = [row[at] for row in rows]
            self._put(name, column, span)


def _facts_of(group: RankGroup, listener: Listener) -> Facts:
    """Return what its ranks say of it, and their processes of themselves."""
    facts = Facts()
    for member in group.members:
        facts.add(member.facts)
    processes = {member.writer.of_process: None for member in group.members}
    for process in processes or listener.processes:
        result = listener.processes.get(process)
        if result is not None:
            facts.add(result)
    if not facts.of("nccl_version"):  # rank 0 alone writes it, and without its name
        for name in ("nccl_version", "cuda_version"):
            _add_one(facts, name, listener.processes.values())
    if NOBODY.of_process in listener.processes and not facts.of("network"):
        facts.add(listener.processes[NOBODY.of_process])
    return facts


def _add_one(facts: Facts, name: str, others: Iterable[Facts]) -> None:
    result = {value: span for other in others for value, span in other.of(name).items()}
    if len(result) == 1:
        ((value, span),) = result.items()
        facts.note(name, value, span)


def _add_network(facts: Facts) -> None:
    """Add the network and its plugin, as far as other lines state them."""
    if not facts.of("network"):
        names = ("assigned", "link_network", "has_IB", "has_Socket")
        result = next((facts.of(name) for name in names if facts.of(name)), {})
        for value, span in result.items():
            facts.note("network", value, span)
    for value, span in facts.of("network").items():
        plugin = "internal" if value in BUILT_IN else value
        facts.note("network_plugin", plugin, span)
    for span in [*facts.of("internal_network").values()][:1]:
        if not facts.of("network_plugin"):
            facts.note("network_plugin", "internal", span)


def _one_text(name: str, texts: list[str]) -> CapturedValue:
    """Return a text; several are joined, but differing releases are none."""
    if len(texts) > 1 and name.endswith("_version"):
        return {"status": "failed", "message": f"ranks differ: {', '.join(texts)}"}
    return ", ".join(dict.fromkeys(texts))

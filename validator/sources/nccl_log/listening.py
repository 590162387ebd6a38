"""What each line of the log says, and of whom.

The words are those of NVIDIA/nccl 2.4 to 2.30 (src/init.cc, src/enqueue.cc,
src/graph/paths.cc, src/plugin, src/transport, src/misc/param.cc) and of
aws/aws-ofi-nccl. That DMA-BUF is available says nothing of what is used.
"""

from collections.abc import Hashable

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.nccl_log.lines import NOBODY, VERSION, Line
from speccheck.validator.sources.nccl_log.members import Facts, Members, Process
from speccheck.validator.sources.nccl_log.settings import Settings

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
_TUNED = lazy_pattern(
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
_MULTIPATH = lazy_pattern(r"\b(mrc_v\d{1,3})\b")
BUILT_IN = ("IB", "Socket")
MOST_OF_PROCESS = 512  # of one thing that a process says


class Listener:
    """Takes the lines in their order."""

    def __init__(self) -> None:
        """Start without any."""
        self.members = Members()
        self.processes: dict[Process, Facts] = {}
        self.settings = Settings()
        self.has_heard = False
        self.is_summary = False  # not all lines are there

    def hear(self, line: Line) -> None:
        """Put down what a line says."""
        text = line.text
        self.is_summary |= line.stands_for_more
        if line.is_warning:
            self._of_process(line, "warnings", (line.span.line, text))
            self._failure(line)
            return
        if " via " in text and self._link(line):
            return
        if (match := _COMM.search(text)) is not None:
            self._communicator(line, match[1], int(match[2]), int(match[3]))
        elif self.settings.hear(line) or self._of_rank(line) or self._network(line):
            self.has_heard = True
        elif text.startswith(("Trees [", "Setting affinity")):
            self.members.building(line.writer)

    def _of_process(self, line: Line, name: str, value: Hashable) -> None:
        process = line.writer.of_process
        facts = self.processes.get(process)
        if facts is None:
            facts = self.processes[process] = Facts()
        if len(facts.of(name)) < MOST_OF_PROCESS:
            facts.note(name, value, line.span)
        self.has_heard = True

    def _communicator(self, line: Line, address: str, rank: int, ranks: int) -> None:
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

    def _link(self, line: Line) -> bool:
        match = _LINK.match(line.text)
        if match is None:
            return False
        said = line.text
        named = _LINK_OF.search(said)
        if named is not None:
            member = self.members.at(line.writer, named[1])
            if member is None:
                member = self.members.named(line.writer, named[1], line.span)
                member.ranks = int(named[2])
            said = said[: named.start()]
        else:
            member = self.members.speaking(line.writer, line.span)
        way, name = match[1], match[2] or ""
        kind = _WAYS[way]
        link = (*line.writer.of_process, said)
        member.facts.note(kind, link, line.span)
        if kind == "links_by_network":
            if "/GDRDMA" in said:
                member.facts.note("links_by_gpudirect", link, line.span)
            if name == "Socket":
                member.facts.note("socket_links", link, line.span)
            self._multipath(line)
            self._of_process(line, "link_network", name)
        self.has_heard = True
        return True

    def _of_rank(self, line: Line) -> bool:
        """What a rank says of its communicator, without naming it."""
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

    def _connected(self, line: Line) -> bool:
        text, facts = line.text, self._speaking(line)
        for words, name in _CONNECTED.items():
            if text.startswith(words):
                facts.note(name, True, line.span)  # noqa: FBT003
                if (match := _RINGS.search(text)) is not None:
                    facts.note("ring_has_pxn", match[1] != "0", line.span)
                    facts.note("ring_has_gpudirect", match[2] != "0", line.span)
                return True
        return False

    def _speaking(self, line: Line) -> Facts:
        return self.members.speaking(line.writer, line.span).facts

    def _tuned(self, line: Line) -> bool:
        """What rank 0 took for a size; nothing where it is rank 0 of several."""
        match = _TUNED.search(line.text)
        if match is None:
            return False
        named = self.members.of_process(line.writer)
        first = [one for one in named if one.rank == 0]
        if len(first) > 1:
            return True
        facts = first[0].facts if first else self._speaking(line)
        algorithm = _by_number(_ALGORITHMS, match[3])
        protocol = _by_number(_PROTOCOLS, match[4])
        choice = match[1], int(match[2]), algorithm, protocol
        facts.note("tuned", choice, line.span)
        return True

    def _network(self, line: Line) -> bool:
        """What a process says of its libraries, plugins and adapters."""
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

    def _version(self, line: Line) -> None:
        if (match := VERSION.search(line.text)) is not None:
            self._of_process(line, "nccl_version", match[1])
            if match[2]:
                self._of_process(line, "cuda_version", match[2])

    def _reach(self, line: Line) -> bool:
        if (match := _ADAPTER_REACH.search(line.text)) is not None:
            name = "gpudirect_adapters" if match[1] == "Enabled" else _OUT_OF_REACH
            self._of_process(line, name, match[2])
        elif (match := _PAIR_REACH.search(line.text)) is not None:
            start = "" if match[1] == "Enabled" else "no_"
            pair = (*line.writer.of_process, match[2], match[3])
            self._of_process(line, f"{start}gpudirect_pairs", pair)
        return match is not None

    def _plugin(self, line: Line) -> bool:
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

    def _adapters(self, line: Line) -> bool:
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

    def _failure(self, line: Line) -> bool:
        for words, failure in _FAILURES.items():
            if words in line.text:
                self._of_process(line, "verbs_failure", failure)
                return True
        return False

    def _multipath(self, line: Line) -> None:
        if (match := _MULTIPATH.search(line.text)) is not None:
            self._of_process(line, "mrc_version", match[1])


def _id(text: str) -> str:
    """What all ranks of a communicator tell alike; empty before 2.16."""
    if (match := _COMM_ID.search(text)) is not None:
        return match[1]
    match = _PART.search(text)
    return f"part {match[1] or 0} color {match[2]}" if match else ""


def _by_number(names: tuple[str, ...], told: str) -> str:
    """The name of an algorithm or protocol; until 2.22 NCCL wrote its number."""
    if not told.isdecimal():
        return told.upper()
    return names[int(told)] if len(told) == 1 and int(told) < len(names) else told


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

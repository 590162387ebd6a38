"""From what was heard to the parts of the evidence."""

from collections.abc import Iterable
from itertools import islice

from speccheck.validator.evidence.measurement.communicator import (
    Communicator,
    VariableInForce,
)
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import Capture, Found
from speccheck.validator.sources.nccl_log.lines import NOBODY, lines_of
from speccheck.validator.sources.nccl_log.listening import BUILT_IN, Listener
from speccheck.validator.sources.nccl_log.members import Facts, Group, grouped

_KIND = Communicator.kind
_MOST = 1000  # communicators of one log
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
    listener = _heard(text)
    groups = grouped(listener.members.all)
    if not groups and listener.processes:
        groups = [Group("", 0)]  # NCCL spoke, and of no communicator
    for number, group in enumerate(islice(groups, _MOST), 1):
        _Leaves(capture, listener, group, number).put()
    for (name, value, who), span in listener.settings.taken.items():
        part = VariableInForce.kind, capture.add(VariableInForce.kind, span)
        shown: Found = value or ""
        if value is None:
            shown = {"status": "absent", "message": _NOT_KEPT}
        capture.put_at(part, "name", name, span)
        capture.put_at(part, "value", shown, span)
        capture.put_at(part, "set_by", who, span)
    if reason := _gap(listener, groups):
        capture.partial(_KIND, reason)
    return bool(groups or listener.settings.taken)


def has_lines(text: str) -> bool:
    """Whether NCCL says anything in a text that is known."""
    listener = Listener()
    for line in lines_of(text):
        listener.hear(line)
        if listener.has_heard:
            return True
    return False


def _heard(text: str) -> Listener:
    listener = Listener()
    for line in lines_of(text):
        listener.hear(line)
    return listener


def _gap(listener: Listener, groups: list[Group]) -> str:
    """Why the log may not tell of all: empty for one that is whole."""
    if len(groups) > _MOST:
        return f"the log has {len(groups):,} communicators; {_MOST:,} were read"
    if listener.is_summary:
        return "the launcher left out lines that are alike"
    if any(one.of("warnings") for one in listener.processes.values()):
        return "NCCL warned: the log may break off before the end"
    for group in groups:
        finished = {one.rank for one in group.members if one.is_complete}
        if len(finished) < group.ranks:
            return (
                f"{len(finished)} of {group.ranks} ranks of a communicator told Init "
                "COMPLETE: lines of the others, or the end, are missing"
            )
    return ""


class _Leaves:
    """The leaves of one communicator."""

    def __init__(
        self, capture: Capture, listener: Listener, group: Group, number: int
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
        spans = [one.span for one in self._group.members]
        spans += [span for one in self._facts.all() for span in one.values()][:1]
        self._first = min(spans) if spans else self._first
        self._part = _KIND, self._capture.add(_KIND, self._first)
        self._put("id", self._group.id or f"communicator {self._number}", self._first)
        self._ranks()
        _add_network(self._facts)
        for name in _TEXTS:
            if found := self._facts.of(name):
                told = [str(one) for one in found]
                self._put(name, _one_text(name, told), next(iter(found.values())))
        for name in _LISTS:
            if found := self._facts.of(name):
                several: Found = [str(one) for one in found]
                self._put(name, several, next(iter(found.values())))
        for name in _COUNTS:
            self._count(name)
        has_links = any(self._facts.of(name) for name in _LINKS)
        for name in _LINKS if has_links else ():
            self._count(name, or_none=True)
        for names, choose in ((_LEAST, min), (_MOST_OF, max)):
            for name in names:
                if found := self._facts.of(name):
                    value: Found = choose(found)  # type: ignore[type-var, assignment]
                    self._put(name, value, found[value])  # type: ignore[index]
        self._cliques()
        self._tuned()

    def _put(self, name: str, value: Found, span: Span) -> None:
        self._capture.put_at(self._part, name, value, span)

    def _count(self, name: str, *, or_none: bool = False) -> None:
        found = self._facts.of(name)
        if found or or_none:
            self._put(name, len(found), next(iter(found.values()), self._first))

    def _ranks(self) -> None:
        """How many there are, and how far each of them came."""
        group = self._group
        named = [one for one in group.members if one.rank >= 0]
        if group.ranks:
            self._put("ranks", group.ranks, self._first)
        if not named:
            return
        finished = sorted({one.rank for one in named if one.is_complete})
        begun = sorted({one.rank for one in named}.difference(finished))
        self._put("ranks_seen", len(finished) + len(begun), self._first)
        self._put("finished_ranks", [*finished], self._first)
        if not self._is_summary or len(finished) == group.ranks:
            self._put("unfinished_ranks", [*begun], self._first)
            self._put("is_complete", len(finished) == group.ranks, self._first)
        hosts = {one.writer.host for one in named}
        is_whole = len(finished) + len(begun) == group.ranks and "" not in hosts
        is_plain = len(hosts) > 1 or not self._facts.of("links_by_network")
        if is_whole and is_plain and not self._facts.of("nodes"):
            self._put("nodes", len(hosts), self._first)

    def _cliques(self) -> None:
        found = self._facts.of("nvlink_cliques")
        if found:
            count = len([clique for clique in found if clique != ()])
            self._put("nvlink_cliques", count, next(iter(found.values())))

    def _tuned(self) -> None:
        found = self._facts.of("tuned")
        if not found:
            return
        span = next(iter(found.values()))
        rows = [one for one in found if isinstance(one, tuple)]
        for at, name in enumerate(_TUNED):
            column: Found = [row[at] for row in rows]
            self._put(name, column, span)


def _facts_of(group: Group, listener: Listener) -> Facts:
    """What its ranks say of it, and their processes of themselves."""
    facts = Facts()
    for member in group.members:
        facts.add(member.facts)
    processes = {one.writer.of_process: None for one in group.members}
    for process in processes or listener.processes:
        said = listener.processes.get(process)
        if said is not None:
            facts.add(said)
    if not facts.of("nccl_version"):  # rank 0 alone writes it, and without its name
        for name in ("nccl_version", "cuda_version"):
            _add_one(facts, name, listener.processes.values())
    if NOBODY.of_process in listener.processes and not facts.of("network"):
        facts.add(listener.processes[NOBODY.of_process])
    return facts


def _add_one(facts: Facts, name: str, others: Iterable[Facts]) -> None:
    told = {value: span for one in others for value, span in one.of(name).items()}
    if len(told) == 1:
        ((value, span),) = told.items()
        facts.note(name, value, span)


def _add_network(facts: Facts) -> None:
    """The network and its plugin, as far as they are told in other words."""
    if not facts.of("network"):
        names = ("assigned", "link_network", "has_IB", "has_Socket")
        told = next((facts.of(name) for name in names if facts.of(name)), {})
        for value, span in told.items():
            facts.note("network", value, span)
    for value, span in facts.of("network").items():
        plugin = "internal" if value in BUILT_IN else value
        facts.note("network_plugin", plugin, span)
    for span in [*facts.of("internal_network").values()][:1]:
        if not facts.of("network_plugin"):
            facts.note("network_plugin", "internal", span)


def _one_text(name: str, told: list[str]) -> Found:
    """A text; of several all, but no release that is none."""
    if len(told) > 1 and name.endswith("_version"):
        return {"status": "failed", "message": f"ranks differ: {', '.join(told)}"}
    return ", ".join(dict.fromkeys(told))

"""Two snapshots leaf by leaf: two machines, or one machine on two days."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from speccheck.validator.evidence.node.changes import (
    COUNTERS,
    GROUPS,
    Counter,
    Group,
    group_of,
)
from speccheck.validator.evidence.node.node import KINDS, MEASURED, PART_KEYS, SPECIMENS
from speccheck.validator.evidence.node.part import NOT_IN_SNAPSHOT
from speccheck.validator.evidence.record import Record

Content = Mapping[str, Any]
_DEFINITE = {"absent": "absent", "not_supported": "not supported"}


class SnapshotSide(Record):
    """A snapshot.

    name: of the node, as far as the snapshot or its file tells it. taken: in seconds
    since 1970. release: of what took it. is_synthetic: no machine was looked at.
    """

    file: str
    name: str
    content: Content
    taken: float | None = None
    release: str = ""
    is_synthetic: bool = False


class NoValue(Record):
    """A leaf that has none, and why. is_known: it is certain that there is none."""

    reason: str
    is_known: bool = False


def side_of(content: Content, file: str) -> SnapshotSide:
    """Return a side of the content of a snapshot."""
    launch, tool = content.get("launch"), content.get("tool")
    node = launch.get("node") if isinstance(launch, dict) else None
    stem = file.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    release = tool.get("version") if isinstance(tool, dict) else None
    return SnapshotSide(
        file,
        node if isinstance(node, str) and node else stem,
        content,
        seconds_of(content.get("taken")),
        release if isinstance(release, str) else "",
        isinstance(content.get("synthetic"), dict),
    )


def seconds_of(taken: object) -> float | None:
    """Return a time of a snapshot in seconds since 1970; None for what is none."""
    if not isinstance(taken, str):
        return None
    try:
        moment = datetime.fromisoformat(taken)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def leaf_of(content: Content, kind: str, part: Content, leaf: str) -> object:
    """Return a leaf of a part; `NoValue` where it has none."""
    if leaf not in part:
        return missing(content, kind)
    result = part[leaf]
    return no_value(result) if isinstance(result, dict) else result


def missing(content: Content, kind: str) -> NoValue:
    """Return why a kind is not in a snapshot, or a leaf of it."""
    cut_short = content.get("cut_short")
    reason = cut_short.get(kind) if isinstance(cut_short, dict) else None
    return NoValue(str(reason) if reason else NOT_IN_SNAPSHOT)


def no_value(result: Content) -> NoValue:
    """Return why there is no value, as the snapshot says it."""
    status = str(result.get("status"))
    if status in _DEFINITE:
        return NoValue(_DEFINITE[status], is_known=True)
    message = result.get("message")
    return NoValue(status.replace("_", " ") + (f": {message}" if message else ""))


Answer = Literal["one", "two", "not_known"]
_DIGEST = "hashed:"
_UNSET = re.compile(r"[0:.\-]*")
_GIVE_ONE_SALT = "take both with one --salt, or say --one-machine"


class MachineIdentity(Record):
    """The answer and on what it rests. has_one_salt: digests can be compared."""

    answer: Answer
    reason: str
    has_one_salt: bool


def machine_of(
    a: SnapshotSide, b: SnapshotSide, *, is_stated: bool = False
) -> MachineIdentity:
    """Return whether both are of one machine; is_stated: the user says so."""
    has_one_salt = bool(_digests(a.content) & _digests(b.content))
    if is_stated:
        return MachineIdentity("one", "as --one-machine says", has_one_salt)
    texts = (
        _by_gpus(a, b, has_one_salt=has_one_salt)
        or _by_name(a, b, has_one_salt=has_one_salt)
        or _by_launch(a, b)
        or ("not_known", _unknown(a, b))
    )
    return MachineIdentity(*texts, has_one_salt)


def _by_gpus(
    a: SnapshotSide, b: SnapshotSide, *, has_one_salt: bool
) -> tuple[Answer, str] | None:
    pair = _pair(a, b, "gpus", "uuid", has_one_salt=has_one_salt)
    if pair is None:
        return None
    both = len(pair[0] & pair[1])
    if not both:
        return "two", "no GPU is in both"
    return "one", f"{both} of its GPUs {'is' if both == 1 else 'are'} in both"


def _by_name(
    a: SnapshotSide, b: SnapshotSide, *, has_one_salt: bool
) -> tuple[Answer, str] | None:
    pair = _pair(a, b, "host", "name", has_one_salt=has_one_salt)
    if pair is None:
        return None
    if pair[0] == pair[1]:
        return "one", "it has one name in both"
    return "two", "they have different names"


def _by_launch(a: SnapshotSide, b: SnapshotSide) -> tuple[Answer, str] | None:
    names = _launched(a.content), _launched(b.content)
    if not all(names):
        return None
    if names[0] == names[1]:
        return "one", "the engine has one name for it"
    return "two", "the engine has different names for them"


def is_comparable(text: str, other: str, *, has_one_salt: bool) -> bool:
    """Return whether it follows from two specimens being unequal that they are two."""
    if is_digest(text) and is_digest(other):
        return has_one_salt
    if is_digest(text) or is_digest(other):
        # What is not set never becomes a digest.
        return bool(_UNSET.fullmatch(text) or _UNSET.fullmatch(other))
    return True


def is_digest(text: str) -> bool:
    """Return whether it stands for a serial number, a UUID, an address or a name."""
    return text.startswith(_DIGEST)


def _unknown(a: SnapshotSide, b: SnapshotSide) -> str:
    if _digests(a.content) and _digests(b.content):
        return f"no digest of one stands in the other: another salt; {_GIVE_ONE_SALT}"
    return f"nothing that names a specimen is in both; {_GIVE_ONE_SALT}"


def _launched(content: Content) -> str:
    launch = content.get("launch")
    node = launch.get("node") if isinstance(launch, dict) else None
    return node if isinstance(node, str) else ""


def _pair(
    a: SnapshotSide, b: SnapshotSide, kind: str, leaf: str, *, has_one_salt: bool
) -> tuple[set[str], set[str]] | None:
    """Return what both have of a specimen's leaf, where the two can be compared."""
    mine, other = (
        {
            text
            for text in _texts(side.content, kind, leaf)
            if not _UNSET.fullmatch(text)
        }
        for side in (a, b)
    )
    if not mine or not other:
        return None
    forms = {is_digest(text) for text in (*mine, *other)}
    if forms == {False} or (forms == {True} and has_one_salt):
        return mine, other
    return None


def _digests(content: Content) -> set[str]:
    return {
        text
        for name in SPECIMENS
        for text in _texts(content, *name.split("."))
        if is_digest(text)
    }


def _texts(content: Content, kind: str, leaf: str) -> Iterator[str]:
    result = content.get(kind)
    for part in result if isinstance(result, list) else [result]:
        value = part.get(leaf) if isinstance(part, dict) else None
        if isinstance(value, str):
            yield value


# changed: two values. came, went: a part of a list. grew, fell: a counter of one
# machine. not_known: one of the two has no value, and says why.
Change = Literal["changed", "came", "went", "grew", "fell", "not_known"]


class LeafDifference(Record):
    """One leaf, or one part that only one of the two has.

    part: of several of a kind. a, b: the values as in the snapshots; of one that has
    none, why. by: of numbers, how much more the second is. per_hour: of counters.
    note: what follows, or a reason.
    """

    group: Group
    leaf: str
    part: str
    change: Change
    a: object
    b: object
    by: float | None = None
    per_hour: float | None = None
    note: str = ""


class NotCompared(Record):
    """A leaf of both snapshots whose difference means nothing, and why.

    parts: how many parts have it.
    """

    leaf: str
    reason: str
    parts: int


class Comparison(Record):
    """Two snapshots, side by side.

    hours: from the first to the second, where both say when they were taken.
    was_restarted: whether the machine was, in between; None where that is not known.
    compared: how many leaves have a value in both.
    """

    a: SnapshotSide
    b: SnapshotSide
    machine: MachineIdentity
    hours: float | None
    was_restarted: bool | None
    differences: tuple[LeafDifference, ...]
    not_compared: tuple[NotCompared, ...]
    compared: int

    @property
    def notable(self) -> tuple[LeafDifference, ...]:
        """All but what is never the same twice, by what matters most."""
        result = (
            difference
            for difference in self.differences
            if difference.group != "varying"
        )
        return tuple(
            sorted(result, key=lambda difference: GROUPS.index(difference.group))
        )

    @property
    def varying(self) -> tuple[LeafDifference, ...]:
        """What is never the same twice."""
        return tuple(
            difference
            for difference in self.differences
            if difference.group == "varying"
        )

    @property
    def verdict(self) -> Literal["same", "differs", "nothing_compared"]:
        """In one word."""
        if self.notable:
            return "differs"
        return "same" if self.compared else "nothing_compared"


# What two measurements on one healthy machine may differ by; engineering default, that
# of SuperBench as well.
USUAL_SHARE = 0.05
_LIFE = "the board was made"
# How noisy a measurement was: never the same twice.
_NOISE = ("spread", "variation", "p99_seconds", "repeats", "init_seconds")
_RATE = "_per_second"
_ROUNDING = 1e-9
_MOST = 1e300


class Pair(Record):
    """The values of one leaf in two snapshots; `NoValue` where it has none."""

    a: object
    b: object


class Counted(Record):
    """How a counter changed between two snapshots of one machine.

    by: the difference.
    per_hour: None where the time between the snapshots is unknown.
    note: why a counter fell.
    """

    change: Literal["grew", "fell"]
    by: float
    per_hour: float | None
    note: str


def are_same(a: object, b: object) -> bool:
    """Return whether they are equal: true is no 1, and an unknown list item no value.

    A list that knows a value where the other knows none says nothing different.
    """
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(
            _is_unknown(item) or _is_unknown(other) or are_same(item, other)
            for item, other in zip(a, b, strict=True)
        )
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return a == b


def counted(
    pair: Pair, counter: Counter, hours: float | None, *, was_restarted: bool | None
) -> Counted | None:
    """Return by how much a counter grew; None for what does not count, or backwards."""
    steps = [*_steps(pair)]
    if not steps or (hours is not None and hours < 0):
        return None
    since = f"counts anew: since {counter.since}"
    begins_anew = was_restarted is True and counter.since != _LIFE
    if begins_anew or any(value > other for value, other in steps):
        now = sum(other for _, other in steps)
        before = sum(value for value, _ in steps)
        change: Literal["grew", "fell"] = "grew" if now > before else "fell"
        return Counted(change, now - before, None, since)
    grown = sum(other - value for value, other in steps)
    per_hour = grown / hours if hours is not None and hours > 0 else None
    return Counted("grew", grown, per_hour, "")


def measured(leaf: str, title: str, pair: Pair) -> LeafDifference:
    """Return the difference between two results of one measurement."""
    name = leaf.rpartition(".")[2]
    steps = [*_steps(pair)]
    if not steps or not (name in _NOISE or name.endswith((_RATE, "seconds"))):
        return LeafDifference("measurements", leaf, title, "changed", *pair)
    shares = [other / value - 1 for value, other in steps if value]
    most = max(shares, key=abs, default=0.0)
    if name in _NOISE or abs(most) <= USUAL_SHARE + _ROUNDING:
        return LeafDifference("varying", leaf, title, "changed", *pair, by=most)
    return LeafDifference("measurements", leaf, title, "changed", *pair, by=most)


def _steps(pair: Pair) -> Iterator[tuple[float, float]]:
    """Yield the numbers of both, of lists one after another.

    None if any is no number.
    """
    a, b = pair
    pairs = [(a, b)]
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return
        pairs = [*zip(a, b, strict=True)]
    for item, other in pairs:
        if _is_number(item) and _is_number(other):
            yield float(item), float(other)  # type: ignore[arg-type]


def _is_unknown(element: object) -> bool:
    """Return whether an element of a list has no value, or says why it has none."""
    return element is None or isinstance(element, dict)


def _is_number(result: object) -> bool:
    """Return whether it is one, and neither NaN nor beyond what a float holds."""
    is_number = isinstance(result, int | float) and not isinstance(result, bool)
    return is_number and -_MOST < result < _MOST  # type: ignore[operator]


Leaves = Mapping[str, object]
_KEYS: dict[str, tuple[str, ...]] = {
    **PART_KEYS,
    "kernel_events": ("event", "code", "pci_address", "device"),
    "collective_runs": (
        "collective",
        "backend",
        "placement",
        "ranks",
        "nodes",
        "round",
    ),
    "copy_tests": (
        "name",
        "direction",
        "method",
        "operation",
        "size_bytes",
        "is_bidirectional",
        "is_all_at_once",
    ),
    "matrix_products": ("gpu_index", "data_type", "rows", "columns", "depth"),
    "rdma_transfers": ("device", "name", "operation", "memory", "is_bidirectional"),
    "diagnostic_results": ("category", "name", "gpu_index"),
    "communicators": ("ranks", "nodes"),
    "variables_in_force": ("name",),
}
_WORDS = {"gpus": "GPU "}


class Paired(Record):
    """A part of either snapshot, or of one of them alone; title: for people."""

    title: str
    a: Leaves | None
    b: Leaves | None


def paired(kind: str, mine: Sequence[Leaves], other: Sequence[Leaves]) -> list[Paired]:
    """Return the parts of both lists; of equal keys, the first goes with the first."""
    left, right = _by_key(kind, mine), _by_key(kind, other)
    return [
        Paired(_title(kind, key), left.get(key), right.get(key))
        for key in dict.fromkeys((*left, *right))
    ]


def keys_of(kind: str) -> tuple[str, ...]:
    """Return the leaves by which a part of that kind is known again."""
    return _KEYS.get(kind, ())


def _by_key(kind: str, listed: Sequence[Leaves]) -> dict[tuple[str, ...], Leaves]:
    result: dict[tuple[str, ...], Leaves] = {}
    counts: dict[tuple[str, ...], int] = {}
    for leaves in listed:
        key = tuple(_word(name, leaves.get(name)) for name in keys_of(kind))
        count = counts[key] = counts.get(key, 0) + 1
        result[(*key, "" if count == 1 else f"#{count}")] = leaves
    return result


def _word(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else ""
    return str(value) if isinstance(value, str | int | float) else ""


def _title(kind: str, key: tuple[str, ...]) -> str:
    if kind == "variables":
        return key[0]  # the name is that of the leaf
    words = [text for text in key if text]
    if kind == "kernel_events":
        words = words[1:]  # the event is that of the leaf
    elif kind == "rdma_ports":
        words.insert(1, "port")
    if not words:
        return "" if kind == "kernel_events" else f"{kind} without a name"
    return _WORDS.get(kind, "") + " ".join(words)


_SINGLES = frozenset(kind for kind, part in KINDS.items() if part.is_single)
_HOUR = 3600.0
# Between two looks at a clock and an uptime: less is no restart.
_UPTIME_SLACK_SECONDS = 120.0
_MOST_SECONDS = 1e12
_OTHER_SALT = "digests of another salt, or of one only: neither equal nor different"
# What stands for a part that only one of the two has; else its title.
_VALUES_OF_PARTS = {"variables": "value", "kernel_events": "count"}


def compare(
    a: SnapshotSide, b: SnapshotSide, *, is_one_machine: bool = False
) -> Comparison:
    """Lay two snapshots side by side.

    is_one_machine: the user says that both are of one, whatever they tell.
    """
    machine = machine_of(a, b, is_stated=is_one_machine)
    hours = None
    if a.taken is not None and b.taken is not None:
        hours = (b.taken - a.taken) / _HOUR
    run = _Run(a, b, machine, hours)
    differences = [difference for kind in KINDS for difference in run.of_kind(kind)]
    not_compared = (
        NotCompared(leaf, reason, parts)
        for (leaf, reason), parts in run.not_compared.items()
    )
    return Comparison(
        a,
        b,
        machine,
        hours,
        run.was_restarted,
        tuple(differences),
        tuple(not_compared),
        run.compared,
    )


class _Run:
    """What is known of the two, and what is counted while they are compared."""

    def __init__(
        self,
        a: SnapshotSide,
        b: SnapshotSide,
        machine: MachineIdentity,
        hours: float | None,
    ) -> None:
        self.a, self.b, self.machine, self.hours = a, b, machine, hours
        self.was_restarted = _was_restarted(a, b, machine, hours)
        self.compared = 0
        self.not_compared: dict[tuple[str, str], int] = {}

    def of_kind(self, kind: str) -> Iterator[LeafDifference]:
        mine, other = (side.content.get(kind) for side in (self.a, self.b))
        if kind in _SINGLES:
            result = [
                item if isinstance(item, dict) else None for item in (mine, other)
            ]
            if result[0] is None and result[1] is None:
                return
            if result[0] is None or result[1] is None:
                yield self._one_sided(kind, *result)
                return
            yield from self._of_parts(kind, "", result[0], result[1])
            return
        lists = _listed(mine), _listed(other)
        if lists[0] is None and lists[1] is None:
            return
        if lists[0] is None or lists[1] is None:
            yield self._one_sided(kind, mine, other)
            return
        for pair in paired(kind, lists[0], lists[1]):
            if pair.a is None or pair.b is None:
                yield from self._alone(kind, pair.title, pair.a, pair.b)
            else:
                yield from self._of_parts(kind, pair.title, pair.a, pair.b)

    def _one_sided(self, kind: str, mine: object, other: object) -> LeafDifference:
        """Return the difference of a kind that one of the two does not know."""
        group: Group = "measurements" if kind in MEASURED else "identity"
        a = self._stated(self.a.content, kind, mine)
        b = self._stated(self.b.content, kind, other)
        return LeafDifference(group, kind, "", "not_known", a, b)

    def _stated(self, content: Leaves, kind: str, result: object) -> object:
        if isinstance(result, list):
            return len(result)
        if result is None:
            return missing(content, kind)
        if isinstance(result, dict) and kind not in _SINGLES:
            return no_value(result)
        return "known"

    def _alone(
        self, kind: str, title: str, a: Leaves | None, b: Leaves | None
    ) -> Iterator[LeafDifference]:
        """Yield the difference of a part that one of the two has."""
        side = self.a if a is None else self.b
        leaves: Leaves = (b if a is None else a) or {}
        value = leaves.get(_VALUES_OF_PARTS.get(kind, ""), title)
        value = no_value(value) if isinstance(value, dict) else value
        nothing, note = NoValue("absent", is_known=True), ""
        change: Change = "came" if a is None else "went"
        partly = side.content.get("partly_listed")
        if isinstance(partly, list) and kind in partly:
            change, nothing = "not_known", NoValue("the list may lack some")
        elif kind == "variables":
            change, nothing = "changed", NoValue("not set", is_known=True)
        elif kind == "kernel_events" and a is not None:
            note = "the log does not hold it any more"
        pair = Pair(nothing, value) if a is None else Pair(value, nothing)
        leaf, group = _called(kind, leaves), _group_of_part(kind)
        yield LeafDifference(group, leaf, title, change, pair.a, pair.b, note=note)

    def _of_parts(
        self, kind: str, title: str, a: Leaves, b: Leaves
    ) -> Iterator[LeafDifference]:
        known = KINDS[kind].__annotations__
        names = [text for text in known if text in a or text in b]
        for name in names:
            if name in keys_of(kind):
                continue
            leaf = f"{kind}.{name}"
            pair = Pair(
                leaf_of(self.a.content, kind, a, name),
                leaf_of(self.b.content, kind, b, name),
            )
            difference = self._of_leaf(leaf, title, pair)
            if difference is not None:
                is_called = kind in {"variables", "kernel_events"}
                called = _called(kind, a)
                yield difference._replace(leaf=called) if is_called else difference

    def _of_leaf(self, leaf: str, title: str, pair: Pair) -> LeafDifference | None:
        a, b = pair
        unknown = [isinstance(item, NoValue) and not item.is_known for item in pair]
        if all(unknown):
            return None
        if any(unknown):
            return LeafDifference(group_of(leaf), leaf, title, "not_known", a, b)
        if leaf in SPECIMENS and isinstance(a, str) and isinstance(b, str) and a != b:
            return self._of_specimen(leaf, title, a, b)
        self.compared += 1
        return None if are_same(a, b) else self._of_values(leaf, title, pair)

    def _of_values(self, leaf: str, title: str, pair: Pair) -> LeafDifference:
        group = group_of(leaf)
        if group == "measurements":
            return measured(leaf, title, pair)
        counter = COUNTERS.get(leaf)
        if counter is not None and self.machine.answer == "one":
            is_new = self.was_restarted
            result = counted(pair, counter, self.hours, was_restarted=is_new)
            if result is not None:
                return LeafDifference(
                    group,
                    leaf,
                    title,
                    result.change,
                    *pair,
                    by=result.by,
                    per_hour=result.per_hour,
                    note=result.note,
                )
        if counter is not None and self.machine.answer == "two":
            # What one machine has been through says nothing of another one.
            group = group if counter.is_grave else "varying"
        return LeafDifference(group, leaf, title, "changed", *pair)

    def _of_specimen(
        self, leaf: str, title: str, a: str, b: str
    ) -> LeafDifference | None:
        if self.machine.answer == "two":
            return LeafDifference("varying", leaf, title, "changed", a, b)
        if not is_comparable(a, b, has_one_salt=self.machine.has_one_salt):
            key = leaf, _OTHER_SALT
            self.not_compared[key] = self.not_compared.get(key, 0) + 1
            return None
        self.compared += 1
        if self.machine.answer == "one":
            note = "another specimen"
            return LeafDifference(
                group_of(leaf), leaf, title, "changed", a, b, note=note
            )
        return LeafDifference("varying", leaf, title, "changed", a, b)


def _called(kind: str, leaves: Leaves) -> str:
    """Return what a part is called among leaves: variables, events by name."""
    name = {"variables": "name", "kernel_events": "event"}.get(kind)
    result = leaves.get(name) if name else None
    return f"{kind}.{result}" if isinstance(result, str) else kind


def _group_of_part(kind: str) -> Group:
    if kind in MEASURED:
        return "measurements"
    special: dict[str, Group] = {
        "variables": "identity",
        "kernel_events": "health",
        "job_paths": "settings",
    }
    return special.get(kind, "topology")


def _listed(result: object) -> list[Leaves] | None:
    """Return the parts; none where it is certain that there are none."""
    if isinstance(result, list):
        return [item for item in result if isinstance(item, dict)]
    if isinstance(result, dict) and no_value(result).is_known:
        return []
    return None


def _was_restarted(
    a: SnapshotSide, b: SnapshotSide, machine: MachineIdentity, hours: float | None
) -> bool | None:
    """Return whether the machine is up for less than it was and has been since."""
    if machine.answer != "one" or hours is None or hours < 0:
        return None
    mine, other = (_uptime(side) for side in (a, b))
    if mine is None or other is None:
        return None
    return other + _UPTIME_SLACK_SECONDS < mine + hours * _HOUR


def _uptime(side: SnapshotSide) -> float | None:
    host = side.content.get("host")
    result = host.get("uptime_seconds") if isinstance(host, dict) else None
    if isinstance(result, bool) or not isinstance(result, int | float):
        return None
    return float(result) if 0 <= result < _MOST_SECONDS else None

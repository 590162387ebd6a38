"""What a snapshot says of the leaves that all nodes of a fleet should share.

One text a leaf, read from the content of a snapshot as it lies there: this runs for
each of ten thousand nodes.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.fleet import (
    SHARED,
    VARIABLES,
    NodeGroup,
    Shared,
    SharedField,
)
from speccheck.validator.evidence.node.part import NOT_IN_SNAPSHOT

Content = Mapping[str, Any]
# Each leaf with its text and whether that is a value; whether variables are listed.
Profile = tuple[tuple[tuple[str, str, bool], ...], bool]
# Where a profile comes from, by kind of part and leaf.
SHARED_LEAVES = frozenset(
    {
        (shared_leaf.kind, name)
        for shared_leaf in SHARED
        for name in (shared_leaf.field, shared_leaf.key)
        if name
    }
    | {("variables", name) for name in ("name", "value", "layer")}
)
# What is definitely so, and may differ from node to node like any other value.
_DEFINITE = {"absent": "absent", "not_supported": "not supported"}
_VARIABLE_PREFIXES = ("NCCL_", "OFI_", "FI_", "UCX_", "RDMAV_", "MLX5_", "TORCH_NCCL_")
_MOST_TEXT = 200


class Unseen(str):
    """Why a leaf is not known; no value of it."""

    __slots__ = ()


def shared_values(content: Content) -> Iterator[tuple[str, str]]:
    """Yield each leaf of the table with its text, or why it is `Unseen`."""
    for leaf, read in _READERS:
        yield leaf.name, read(content)


def shared_profile(content: Content) -> Profile:
    """Return all that a node says of what nodes should share."""
    text_lists = [
        (leaf, text, not isinstance(text, Unseen))
        for leaf, text in shared_values(content)
    ]
    text_lists += ((leaf, text, True) for leaf, text in variables(content))
    return tuple(text_lists), knows_variables(content)


def result_facts(content: Content) -> dict[str, str]:
    """Return the leaves that a result line tells, as far as they are known."""
    result: dict[str, str] = {}
    for leaf, read in _READERS:
        if leaf.is_stated and not isinstance(text := read(content), Unseen):
            result[leaf.name] = text
    return result


def variables(content: Content) -> Iterator[tuple[str, str]]:
    """Yield variables of NCCL and of its plugins that a node sets, each with its value.

    Those of the process that took the snapshot win over those of files, as in NCCL.
    """
    listed = content.get("variables")
    if not isinstance(listed, list):
        return
    result: dict[str, str] = {}
    for item in listed:
        name, value = (
            (item.get("name"), item.get("value"))
            if isinstance(item, dict)
            else ("", "")
        )
        if not isinstance(name, str) or not name.startswith(_VARIABLE_PREFIXES):
            continue
        is_near = item.get("layer") == "environment"
        if isinstance(value, str) and (is_near or name not in result):
            result[name] = value
    for name, value in result.items():
        yield f"{VARIABLES}{name}", value[:_MOST_TEXT]


def knows_variables(content: Content) -> bool:
    """Return whether it lists the node's variables, so others are not set."""
    return isinstance(content.get("variables"), list)


def _text(result: object) -> str:
    """Return a value as people read it; `Unseen` for one that is not known."""
    if isinstance(result, str):
        return result
    if isinstance(result, bool):
        return "yes" if result else "no"
    if isinstance(result, int | float):
        return str(result) if isinstance(result, int) else f"{result:.12g}"
    if isinstance(result, list):
        texts = [_text(item) for item in result]
        unseen = next((text for text in texts if isinstance(text, Unseen)), None)
        return ", ".join(texts) if unseen is None else unseen
    if isinstance(result, dict):
        status = str(result.get("status"))
        return _DEFINITE.get(status) or Unseen(status.replace("_", " "))
    return Unseen("not known")


def _missing(content: Content, kind: str) -> Unseen:
    cut_short = content.get("cut_short")
    reason = cut_short.get(kind) if isinstance(cut_short, dict) else None
    return Unseen(str(reason) if reason else NOT_IN_SNAPSHOT)


def _single(leaf: SharedField) -> Callable[[Content], str]:
    kind, field = leaf.kind, leaf.field

    def read(content: Content) -> str:
        part = content.get(kind)
        if not isinstance(part, dict) or field not in part:
            return _missing(content, kind)
        return _text(part[field])

    return read


def _of_all(
    leaf: SharedField, result: Callable[[list[dict[str, Any]]], str]
) -> Callable[[Content], str]:
    kind = leaf.kind

    def read(content: Content) -> str:
        listed = content.get(kind)
        if isinstance(listed, dict):
            return _text(listed)
        if not isinstance(listed, list):
            return _missing(content, kind)
        partly = content.get("partly_listed")
        if isinstance(partly, list) and kind in partly:
            return Unseen("the list may lack some")
        return result(listed)

    return read


def _distinct(field: str) -> Callable[[list[dict[str, Any]]], str]:
    def text_of(listed: list[dict[str, Any]]) -> str:
        result = [item.get(field) for item in listed]
        first = result[:1]
        if first and result.count(first[0]) == len(result):  # most often, and quickly
            return _text(first[0])
        texts = {_text(item): None for item in result}
        unseen = next((text for text in texts if isinstance(text, Unseen)), None)
        return " and ".join(sorted(texts)) if unseen is None else unseen

    return text_of


def _in_order(field: str) -> Callable[[list[dict[str, Any]]], str]:
    return lambda listed: _text([item.get(field) for item in listed])


def _keyed(field: str, key: str) -> Callable[[list[dict[str, Any]]], str]:
    """Return the values by their keys; where all have the same, that value once."""

    def text_of(listed: list[dict[str, Any]]) -> str:
        text_lists = {(_text(item.get(key)), _text(item.get(field))) for item in listed}
        unseen = next(
            (text for _, text in text_lists if isinstance(text, Unseen)), None
        )
        if unseen is not None:
            return unseen
        values = {value for _, value in text_lists}
        if len(values) == 1 and key != "name":
            return values.pop()
        return ", ".join(f"{name} {value}" for name, value in sorted(text_lists))

    return text_of


def _reader(leaf: SharedField) -> Callable[[Content], str]:
    if leaf.form == "one":
        return _single(leaf)
    if leaf.form == "count":
        return _of_all(leaf, lambda listed: str(len(listed)))
    if leaf.form == "distinct":
        return _of_all(leaf, _distinct(leaf.field))
    if leaf.form == "in_order":
        return _of_all(leaf, _in_order(leaf.field))
    return _of_all(leaf, _keyed(leaf.field, leaf.key))


_READERS = tuple((leaf, _reader(leaf)) for leaf in SHARED)

NOT_SET = "not set"
_ByText = dict[str, "array[int]"]


class Distributions:
    """The numbers of the nodes by all that they say of what they should share.

    Most nodes of a fleet say the same, and are one row here.
    """

    def __init__(self) -> None:
        """Begin without a node."""
        self.alike: dict[Profile, array[int]] = {}

    def add(self, number: int, profile: Profile) -> None:
        """Take what a node says."""
        numbers = self.alike.get(profile)
        if numbers is None:
            numbers = self.alike[profile] = array("I")
        numbers.append(number)

    def add_facts(self, number: int, facts: Mapping[str, str]) -> None:
        """Take what a result line says of a node."""
        text_lists = tuple((leaf, text, True) for leaf, text in facts.items())
        self.add(number, (text_lists, False))

    def take(self, other: "Distributions", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for profile, numbers in other.alike.items():
            self.alike.setdefault(profile, array("I")).extend(moved(numbers, base))

    @property
    def with_variables(self) -> list[int]:
        """The nodes that list their variables: one that is not there is not set."""
        return [
            number
            for (_, knows_variables), numbers in self.alike.items()
            if knows_variables
            for number in numbers
        ]

    def shared(self, names: Sequence[str]) -> Iterator[Shared]:
        """Yield each leaf over all nodes, whose names these are."""
        known: dict[str, _ByText] = {}
        unseen: dict[str, _ByText] = {}
        with_variables = self.with_variables
        for (leaves, _), numbers in self.alike.items():
            for leaf, text, is_known in leaves:
                values = (known if is_known else unseen).setdefault(leaf, {})
                values.setdefault(text, array("I")).extend(numbers)
        for leaf in dict.fromkeys((*known, *unseen)):
            values = known.get(leaf, {})
            if leaf.startswith(VARIABLES):
                setters = {number for value in values.values() for number in value}
                without = [
                    with_variable
                    for with_variable in with_variables
                    if with_variable not in setters
                ]
                if without:
                    values[NOT_SET] = array("I", without)
            yield Shared(
                leaf, _groups(values, names), _groups(unseen.get(leaf, {}), names)
            )


def moved(numbers: "array[int]", base: int) -> "array[int]":
    """Return the same nodes, numbered behind others."""
    return array("I", [number + base for number in numbers])


def _groups(values: _ByText, names: Sequence[str]) -> tuple[NodeGroup, ...]:
    """Return the largest first; of two alike, the one that comes first by its text."""
    groups = (
        NodeGroup(text, tuple(sorted(names[number] for number in numbers)))
        for text, numbers in values.items()
    )
    return tuple(sorted(groups, key=lambda group: (-len(group.hosts), group.value)))

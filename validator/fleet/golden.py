"""Each node of a fleet against one machine that is as it should be.

Its leaves are those that all nodes share, and the variables; what is another one on
every machine, such as a serial number, is none of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.fleet import VARIABLES, NodeGroup, Samples, Shared
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.shared_values import (
    NOT_SET,
    Unseen,
    knows_variables,
    shared_values,
    variables,
)
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents, read_text
from speccheck.validator.sources.formats.snapshot import is_snapshot, node_of

if TYPE_CHECKING:
    from pydantic import ValidationError

RULE = "golden"
_MOST_SHOWN = 80  # characters of a value in a message
_MAKE_ANEW = "make it anew with speccheck fleet --baseline, or mend this line"


class Range(Record):
    """The numbers that are normal; None: no bound on that side."""

    least: float | None
    most: float | None


class Golden(Record):
    """What every node should be.

    name: of the file. values: by leaf. unknown: leaves that it does not know, and why.
    knows_variables: a variable that it does not list is not set. ranges: of numbers.
    what: how messages call it. free: leaves that may be anything.
    """

    name: str
    values: Mapping[str, str]
    unknown: tuple[tuple[str, str], ...] = ()
    knows_variables: bool = False
    ranges: Mapping[str, Range] = MappingProxyType({})
    what: str = "the golden snapshot"
    free: frozenset[str] = frozenset()


class Deviation(Record):
    """Nodes on which a leaf differs from the golden machine in the same way."""

    leaf: str
    wanted: str
    found: str
    hosts: tuple[str, ...]


class Outside(Record):
    """Nodes with a number outside its normal range.

    worst: the value that lies farthest outside.
    """

    leaf: str
    normal: Range
    worst: float
    hosts: tuple[str, ...]


class Against(Record):
    """A fleet compared with a golden machine.

    nodes: how many nodes were compared.
    deviations: leaves with other values.
    outside: numbers outside their normal range.
    unseen: leaf, and the nodes for which its value is unknown.
    skipped: leaf that the golden machine does not know, and why.
    compared: how many values were compared.
    """

    golden: Golden
    nodes: int
    deviations: tuple[Deviation, ...]
    outside: tuple[Outside, ...]
    unseen: tuple[tuple[str, NodeGroup], ...]
    skipped: tuple[tuple[str, str], ...]
    compared: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """The nodes that are otherwise in anything."""
        texts = {name for deviation in self.deviations for name in deviation.hosts}
        texts.update(name for outside in self.outside for name in outside.hosts)
        return tuple(sorted(texts))


def golden_of(content: Mapping[str, Any], name: str) -> Golden:
    """Return the golden machine of a snapshot's content."""
    values: dict[str, str] = {}
    unknown: list[tuple[str, str]] = []
    for leaf, text in shared_values(content):
        if isinstance(text, Unseen):
            unknown.append((leaf, str(text)))
        else:
            values[leaf] = text
    values.update(variables(content))
    return Golden(name, values, tuple(unknown), knows_variables(content))


def against_golden(
    golden: Golden,
    nodes: Sequence[str],
    shared: Mapping[str, Shared],
    with_variables: Sequence[str],
    samples: Iterable[Samples] = (),
) -> Against:
    """Lay the nodes of a fleet beside the golden machine.

    Args:
        golden: as they should be.
        nodes: the names of all, by number.
        shared: leaves over all nodes.
        with_variables: nodes that list their variables.
        samples: numbers over all nodes.

    """
    deviations: list[Deviation] = []
    unseen: list[tuple[str, NodeGroup]] = []
    compared = 0
    for leaf, wanted in _wanted(golden, shared):
        result = shared.get(leaf) or _set_nowhere(leaf, with_variables)
        seen = {name for group in result.groups for name in group.hosts}
        compared += len(seen)
        deviations += (
            Deviation(leaf, wanted, group.value, group.hosts)
            for group in result.groups
            if group.value != wanted
        )
        unseen += ((leaf, group) for group in result.unseen)
        seen.update(name for group in result.unseen for name in group.hosts)
        if untold := tuple(sorted(set(nodes) - seen)):
            unseen.append((leaf, NodeGroup("its evidence does not tell it", untold)))
    outside = tuple(_outside(golden, samples, nodes))
    return Against(
        golden,
        len(set(nodes)),
        tuple(
            sorted(
                deviations,
                key=lambda deviation: (
                    len(deviation.hosts),
                    deviation.leaf,
                    deviation.found,
                ),
            )
        ),
        outside,
        tuple(unseen),
        golden.unknown,
        compared,
    )


def _wanted(golden: Golden, shared: Mapping[str, Shared]) -> Iterator[tuple[str, str]]:
    """Yield what each leaf should be.

    A variable that is not listed is not to be set.
    """
    yield from golden.values.items()
    if golden.knows_variables:
        for leaf in shared:
            is_held = leaf.startswith(VARIABLES) and leaf not in golden.free
            if is_held and leaf not in golden.values:
                yield leaf, NOT_SET


def _set_nowhere(leaf: str, with_variables: Sequence[str]) -> Shared:
    """Return a leaf that no node states: a variable as one set on none."""
    if not leaf.startswith(VARIABLES) or not with_variables:
        return Shared(leaf, ())
    return Shared(leaf, (NodeGroup(NOT_SET, tuple(sorted(with_variables))),))


def _outside(
    golden: Golden, samples: Iterable[Samples], nodes: Sequence[str]
) -> Iterator[Outside]:
    for sample in samples:
        normal = golden.ranges.get(sample.leaf)
        if normal is None:
            continue
        low = float("-inf") if normal.least is None else normal.least
        high = float("inf") if normal.most is None else normal.most
        number_lists = [
            (max(low - value, value - high), value, nodes[number])
            for number, value in zip(sample.nodes, sample.values, strict=True)
            if not low <= value <= high
        ]
        if number_lists:
            worst = max(number_lists)[1]
            hosts = tuple(sorted({name for _, _, name in number_lists}))
            yield Outside(sample.leaf, normal, worst, hosts)


def golden_findings(against: Against) -> Iterator[Finding]:
    """Yield what is otherwise, as warnings: they count with `--fail-on warning`.

    And what could not be compared, as unknown; where nothing could, as a must.
    """
    what = against.golden.what
    alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for deviation in against.deviations:
        alike.setdefault(
            (deviation.found, deviation.wanted, deviation.hosts), []
        ).append(deviation.leaf)
    for (item, wanted, hosts), leaves in alike.items():
        text = f"{_shown(item)}; should be {_shown(wanted)}, as in {what}"
        if len(leaves) > 1:
            text = f"{', '.join(leaves)}: {text}"
        yield _finding(leaves[0], text, hosts)._replace(measured=item, required=wanted)
    for out in against.outside:
        text = f"{out.worst:,.6g}; {range_words(out.normal)} is normal by {what}"
        yield _finding(out.leaf, text, out.hosts)._replace(measured=out.worst)
    for leaf, group in against.unseen:
        yield _finding(leaf, f"not compared: {group.value}", group.hosts)._replace(
            outcome="unknown", missing=(leaf,)
        )
    if not against.compared:
        text = f"no node tells anything that {what} knows"
        yield _finding("", text, ())._replace(
            outcome="unknown", clause_level="must", missing=(RULE,)
        )


def range_words(normal: Range) -> str:
    """Return `41 to 57`, or the one bound that there is."""
    if normal.least is None:
        return f"up to {normal.most:,.6g}"
    if normal.most is None:
        return f"{normal.least:,.6g} and more"
    return f"{normal.least:,.6g} to {normal.most:,.6g}"


def _shown(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def _finding(leaf: str, message: str, hosts: tuple[str, ...]) -> Finding:
    return Finding(
        clause="",
        title=f"{leaf} is otherwise",
        clause_level="should",
        rule=f"{RULE} {leaf}".strip(),
        level="warning",
        outcome="fail",
        message=message,
        hosts=hosts,
    )


def golden_file(path: str) -> Golden:
    """Return the golden machine that a file describes; raises ReadError."""
    text = read_text(path)
    documents = load_documents(path, text)
    data = documents[0].data if len(documents) == 1 else None
    if isinstance(data, dict) and is_snapshot(data):
        node_of(data, path)  # that its parts are parts
        return golden_of(data, path)
    if len(documents) == 1 and _says_profile(data):
        return _golden_profile(documents[0])
    problem = "neither a snapshot nor a profile of a fleet"
    remedy = "give what speccheck probe --out or speccheck fleet --baseline wrote"
    raise ReadError(path, "syntax", problem, remedy)


def _says_profile(data: object) -> bool:
    """Return whether a document calls itself a fleet's profile, of any version."""
    text = data.get("schema") if isinstance(data, dict) else None
    return isinstance(text, str) and text.startswith("speccheck-fleet-profile/")


def _golden_profile(document: Document) -> Golden:
    """Return the golden machine of a profile; raises ReadError with line and column."""
    from pydantic import ValidationError  # noqa: PLC0415 - where wanted

    from speccheck.validator.fleet.own_profile_model import FleetProfile  # noqa: PLC0415

    if document.duplicates:
        again = document.duplicates[0]
        at = again.again.line, again.again.column
        problem = f"{again.path[-1]} stands there twice"
        raise ReadError(document.name, "syntax", problem, _MAKE_ANEW, at)
    try:
        profile = FleetProfile.model_validate(document.data)
    except ValidationError as error:
        raise _refused(document, error) from error
    values = {leaf: value.value for leaf, value in profile.values.items()}
    ranges = {
        leaf: Range(number.least, number.most)
        for leaf, number in profile.numbers.items()
    }
    left_out = frozenset(
        profile_left_out.what for profile_left_out in profile.leaves_left_out
    )
    what = f"the profile of {profile.nodes:,} nodes"
    return Golden(
        document.name,
        values,
        knows_variables=profile.variables_known,
        ranges=ranges,
        what=what,
        free=left_out,
    )


def _refused(document: Document, error: "ValidationError") -> ReadError:
    first = error.errors(include_url=False)[0]
    path = tuple(item for item in first["loc"] if item != "schema_name")
    at = None
    for end in range(len(path), 0, -1):
        span = document.span(path[:end])
        if span is not None:
            at = span.line, span.column
            break
    key = ".".join(map(str, path))
    problem = f"{key}: {first['msg']}" if key else str(first["msg"])
    more = error.error_count() - 1
    if more:
        problem += f" ({more} more like it)" if more > 1 else " (one more like it)"
    return ReadError(document.name, "syntax", problem, _MAKE_ANEW, at)

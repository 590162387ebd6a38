"""What is usual in one's own fleet, as numbers and values that others are held to.

What a catalogue cannot know: the settings of a site, and what its machines reach. Of
each leaf the value of more than half of the nodes; of each number the range around its
median that is normal, once outliers are omitted again and again until none is left.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from sys import intern
from typing import Any, Literal, get_args

from speccheck.validator import VERSION
from speccheck.validator.evidence.finding import Action, Finding, Level
from speccheck.validator.evidence.fleet import (
    RATES,
    VARIABLES,
    FleetNode,
    Samples,
    Shared,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.fleet.golden import Range
from speccheck.validator.fleet.reading import HostReport
from speccheck.validator.node.host_names import fold

SCHEMA = "speccheck-fleet-profile/1"
LEAST_NODES = 8
# The range is so many deviations wide, and at least so wide a share of the median.
# Engineering defaults; what one measurement differs from the next by is 5 %.
_DEVIATIONS = 6.0
_LEAST_SHARE = 0.05
_TO_SIGMA = 1.4826  # of the median absolute deviation of a normal distribution
_MOST_NAMED = 3  # leaves in a refusal

Bad = Literal["high", "low", "both"]


class JudgedProfile(Record):
    """How the normal range of a number is drawn around its median.

    bad: the side on which a value is bad.
    least_width: the least distance from the median that is normal.
    """

    bad: Bad
    least_width: float = 0.0


# Engineering defaults. Counters are no state: they are for days side by side.
_NUMBERS: dict[str, JudgedProfile] = {
    "gpus.temperature_celsius": JudgedProfile("high", 5.0),
    "gpus.memory_temperature_celsius": JudgedProfile("high", 5.0),
    "gpus.power_watts": JudgedProfile("high", 25.0),
    "gpus.memory_used_bytes": JudgedProfile("high", 2.0**30),
    "host.clock_offset_milliseconds": JudgedProfile("both", 1.0),
    "host.memory_available_bytes": JudgedProfile("low"),
    "host.load_one_minute": JudgedProfile("high", 4.0),
}
_RATE = JudgedProfile("low")


class NoProfile(Exception):  # noqa: N818 - of a fleet, not of the program
    """A fleet of which no profile can be made; the message says why."""


class UsualValue(Record):
    """The value of a leaf that more than half of the nodes share.

    nodes: how many nodes have the value.
    of: how many nodes state the leaf.
    """

    leaf: str
    value: str
    nodes: int
    of: int


class UsualNumber(Record):
    """A number over nodes, without its outliers.

    deviation: the median absolute one. nodes, values: that made it. outliers: the nodes
    whose values were omitted.
    """

    leaf: str
    median: float
    deviation: float
    normal: Range
    nodes: int
    values: int
    outliers: tuple[str, ...]


class OmittedValue(Record):
    """A node or a leaf that a profile does not use, and why."""

    what: str
    why: str


class OwnProfile(Record):
    """The usual values and numbers of one's own fleet.

    nodes: how many nodes it rests on.
    knows_variables: whether any of them lists its variables.
    synthetic: how many of the nodes do not exist.
    values, numbers: what is usual, by leaf.
    nodes_left_out, leaves_left_out: nodes and leaves that are not used, and why.
    """

    nodes: int
    knows_variables: bool
    synthetic: int
    values: tuple[UsualValue, ...]
    numbers: tuple[UsualNumber, ...]
    nodes_left_out: tuple[OmittedValue, ...]
    leaves_left_out: tuple[OmittedValue, ...]


def own_profile(
    names: Sequence[str],
    left_out: Mapping[str, str],
    shared: Mapping[str, Shared],
    samples: Iterable[Samples],
    *,
    knows_variables: bool = True,
    synthetic: int = 0,
) -> OwnProfile:
    """Make the profile; raises NoProfile.

    Args:
        names: of all nodes, by number.
        left_out: nodes that are not fit, and why.
        shared: leaves over all nodes.
        samples: numbers over all nodes.
        knows_variables: whether any node lists its variables.
        synthetic: how many nodes are no machines.

    """
    kept = frozenset(names) - left_out.keys()
    if len(kept) < LEAST_NODES:
        fit = f"{len(kept)} of {len(set(names))} nodes are fit"
        message = f"no profile made: {fit}, and one takes {LEAST_NODES}"
        raise NoProfile(message)
    skipped: list[OmittedValue] = []
    values = tuple(_values(shared, kept, skipped))
    numbers = tuple(_numbers(samples, names, kept, skipped))
    gone = (
        OmittedValue(name, why) for name, why in left_out.items() if name in set(names)
    )
    return OwnProfile(
        len(kept),
        knows_variables,
        synthetic,
        values,
        numbers,
        tuple(gone),
        tuple(skipped),
    )


def _values(
    shared: Mapping[str, Shared], kept: frozenset[str], skipped: list[OmittedValue]
) -> Iterator[UsualValue]:
    split: list[str] = []
    for leaf, item in shared.items():
        counts = [(len(kept & set(group.hosts)), group.value) for group in item.groups]
        counts = sorted((count for count in counts if count[0]), reverse=True)
        number = sum(count for count, _ in counts)
        if number < LEAST_NODES:
            why = (
                item.unseen[0].value
                if item.unseen and not number
                else "too few tell it"
            )
            skipped.append(OmittedValue(leaf, f"known of {number} nodes: {why}"))
            continue
        most, value = counts[0]
        if 2 * most > number:
            yield UsualValue(leaf, value, most, number)
        elif leaf.startswith(VARIABLES):
            why = f"{len(counts)} values, and none on more than half of the nodes"
            skipped.append(OmittedValue(leaf, why))
        else:
            split.append(_split(leaf, counts))
    if split:
        more = len(split) - _MOST_NAMED
        named = "; ".join(split[:_MOST_NAMED]) + (f"; {more} more" if more > 0 else "")
        message = (
            "no profile made: what is usual has no majority, so this is not one fleet: "
            f"{named}; give the nodes of one kind alone"
        )
        raise NoProfile(message)


def _split(leaf: str, counts: Sequence[tuple[int, str]]) -> str:
    text = " and ".join(f"{value} on {count}" for count, value in counts[:2])
    return f"{leaf} is {text}" + (" and others" if len(counts) > 2 else "")  # noqa: PLR2004


def _numbers(
    samples: Iterable[Samples],
    names: Sequence[str],
    kept: frozenset[str],
    skipped: list[OmittedValue],
) -> Iterator[UsualNumber]:
    for sample in samples:
        judged = _NUMBERS.get(sample.leaf)
        if judged is None and sample.leaf.startswith(RATES):
            judged = _RATE
        if judged is None:
            continue
        pairs = [
            (names[number], value)
            for number, value in zip(sample.nodes, sample.values, strict=True)
            if names[number] in kept
        ]
        if len({name for name, _ in pairs}) < LEAST_NODES:
            number = len({name for name, _ in pairs})
            skipped.append(OmittedValue(sample.leaf, f"known of {number} nodes"))
            continue
        yield _number(sample.leaf, pairs, judged)


def _number(
    leaf: str, pairs: Sequence[tuple[str, float]], judged: JudgedProfile
) -> UsualNumber:
    """Return the range of a number; what lies outside of it makes no part of it."""
    inside: list[tuple[str, float]] = []
    left = list(pairs)
    centre = deviation = width = 0.0
    while len(left) != len(inside):
        inside = left
        centre, deviation, width = _spread([value for _, value in inside], judged)
        left = [pair for pair in inside if abs(pair[1] - centre) <= width]
    least = None if judged.bad == "high" else centre - width
    most = None if judged.bad == "low" else centre + width
    names = {name for name, _ in inside}
    outliers = {name for name, value in pairs if abs(value - centre) > width}
    return UsualNumber(
        leaf,
        centre,
        deviation,
        Range(least, most),
        len(names),
        len(inside),
        tuple(sorted(outliers)),
    )


def _spread(
    values: Sequence[float], judged: JudgedProfile
) -> tuple[float, float, float]:
    """Return the median, median absolute deviation, and how far from it is normal."""
    centre = median(values)
    deviation = median(abs(value - centre) for value in values)
    width = max(
        _DEVIATIONS * _TO_SIGMA * deviation,
        _LEAST_SHARE * abs(centre),
        judged.least_width,
    )
    return centre, deviation, width


def profile_text(
    profile: OwnProfile, evidence: Sequence[str], now: float
) -> Iterator[str]:
    """Yield the file; evidence: what it is made of, now: seconds since 1970."""
    made = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    yield "# What is usual in a fleet: speccheck fleet FOLDER --golden FILE holds\n"
    yield "# others to it. Made by speccheck fleet --baseline; may be edited.\n"
    if profile.synthetic:
        yield "# SYNTHETIC: made of nodes that are no machines.\n"
    yield f"schema: {SCHEMA}\n"
    yield f"made: {_quoted(made)}\n"
    yield f"tool: {{name: speccheck, version: {_quoted(VERSION)}}}\n"
    yield f"evidence: [{', '.join(map(_quoted, evidence))}]\n"
    yield f"nodes: {profile.nodes}\n"
    yield f"variables_known: {json.dumps(profile.knows_variables)}\n"
    yield f"synthetic: {profile.synthetic}\n"
    yield from _mapping("values", _file_values(profile))
    yield from _mapping("numbers", _file_numbers(profile))
    yield from _list("nodes_left_out", _by_reason(profile.nodes_left_out))
    yield from _list("leaves_left_out", profile.leaves_left_out)


def _file_values(profile: OwnProfile) -> Iterator[str]:
    for value in profile.values:
        text = f"nodes: {value.nodes}, of: {value.of}"
        yield f"  {_quoted(value.leaf)}: {{value: {_quoted(value.value)}, {text}}}\n"


def _file_numbers(profile: OwnProfile) -> Iterator[str]:
    for number in profile.numbers:
        yield f"  {_quoted(number.leaf)}:\n"
        yield f"    median: {json.dumps(number.median)}\n"
        yield f"    mad: {json.dumps(number.deviation)}\n"
        yield f"    least: {json.dumps(number.normal.least)}\n"
        yield f"    most: {json.dumps(number.normal.most)}\n"
        yield f"    nodes: {number.nodes}\n"
        yield f"    values: {number.values}\n"
        if number.outliers:
            yield f"    outliers: {_quoted(fold(number.outliers))}\n"


def _mapping(name: str, lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    yield f"{name}:\n" if first is not None else f"{name}: {{}}\n"
    if first is not None:
        yield first
        yield from lines


def _list(name: str, left_outs: Sequence[OmittedValue]) -> Iterator[str]:
    yield f"{name}:\n" if left_outs else f"{name}: []\n"
    for left_out in left_outs:
        yield f"  - {{what: {_quoted(left_out.what)}, why: {_quoted(left_out.why)}}}\n"


def _by_reason(left_outs: Sequence[OmittedValue]) -> list[OmittedValue]:
    """Return the nodes with one reason as a folded list."""
    names: dict[str, list[str]] = {}
    for left_out in left_outs:
        names.setdefault(left_out.why, []).append(left_out.what)
    return [OmittedValue(fold(several), why) for why, several in names.items()]


def _quoted(text: str) -> str:
    """Return a text as both JSON and YAML have it, without secrets."""
    return json.dumps(hidden(text))


VERDICTS = ("go", "no-go", "inconclusive", "usage", "bug")
_LEVELS = get_args(Level)
_ACTIONS = get_args(Action)
_MOST_FINDINGS = 200
_MOST_FACTS = 200
_MOST_TEXT = 500


class OwnResult(Record):
    """A node by its own word.

    facts: what all nodes should share. reason: why its verdict is what it is.
    """

    node: FleetNode
    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    reason: str = ""


def own_result(report: HostReport) -> OwnResult:
    """Return the result of a line; of a verdict that nobody knows it is a bug."""
    content = report.content
    text = content.get("verdict")
    verdict = text if isinstance(text, str) and text in VERDICTS else "bug"
    node = FleetNode(
        name=report.name,
        file=report.file,
        taken=report.taken,
        verdict=verdict,
        is_whole=False,
        is_synthetic="synthetic" in content,
        release=_text(content.get("tool"), "version"),
    )
    facts = content.get("facts")
    return OwnResult(
        node,
        tuple(_facts(facts)) if isinstance(facts, dict) else (),
        tuple(_findings(content.get("findings"))),
        _text(content, "reason"),
    )


def _facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for leaf, value in [*facts.items()][:_MOST_FACTS]:
        if isinstance(value, str):
            yield intern(leaf[:_MOST_TEXT]), intern(value[:_MOST_TEXT])


def _findings(result: object) -> Iterator[Finding]:
    if not isinstance(result, list):
        return
    for item in result[:_MOST_FINDINGS]:
        level, action = _text(item, "level"), _text(item, "action")
        if level not in _LEVELS:
            continue
        yield Finding(
            clause=intern(_text(item, "clause")),
            title="",
            clause_level={"error": "must", "warning": "should"}.get(level, "may"),  # type: ignore[arg-type]
            rule=intern(_text(item, "rule")),
            level=level,  # type: ignore[arg-type]
            outcome="fail",
            message=_text(item, "message"),
            subject=_text(item, "subject"),
            action=action if action in _ACTIONS else None,  # type: ignore[arg-type]
        )


def _text(result: object, name: str) -> str:
    value = result.get(name) if isinstance(result, dict) else None
    return value[:_MOST_TEXT] if isinstance(value, str) else ""

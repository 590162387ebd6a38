"""Writes the profile of a fleet as YAML, and reads it as a golden machine."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from speccheck.validator import VERSION
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.fleet.golden import Golden, Range
from speccheck.validator.fleet.own_profile import SCHEMA, LeftOut, OwnProfile
from speccheck.validator.fleet.own_profile_model import FleetProfile
from speccheck.validator.node.host_names import fold
from speccheck.validator.sources.documents.document import Document, ReadError

_MAKE_ANEW = "make it anew with speccheck fleet --baseline, or mend this line"


def profile_text(
    profile: OwnProfile, evidence: Sequence[str], now: float
) -> Iterator[str]:
    """The file. evidence: what it is made of. now: seconds since 1970."""
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
    yield from _mapping("values", _values(profile))
    yield from _mapping("numbers", _numbers(profile))
    yield from _list("nodes_left_out", _by_reason(profile.nodes_left_out))
    yield from _list("leaves_left_out", profile.leaves_left_out)


def _values(profile: OwnProfile) -> Iterator[str]:
    for one in profile.values:
        told = f"nodes: {one.nodes}, of: {one.of}"
        yield f"  {_quoted(one.leaf)}: {{value: {_quoted(one.value)}, {told}}}\n"


def _numbers(profile: OwnProfile) -> Iterator[str]:
    for one in profile.numbers:
        yield f"  {_quoted(one.leaf)}:\n"
        yield f"    median: {json.dumps(one.median)}\n"
        yield f"    mad: {json.dumps(one.deviation)}\n"
        yield f"    least: {json.dumps(one.normal.least)}\n"
        yield f"    most: {json.dumps(one.normal.most)}\n"
        yield f"    nodes: {one.nodes}\n"
        yield f"    values: {one.values}\n"
        if one.outliers:
            yield f"    outliers: {_quoted(fold(one.outliers))}\n"


def _mapping(name: str, lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    yield f"{name}:\n" if first is not None else f"{name}: {{}}\n"
    if first is not None:
        yield first
        yield from lines


def _list(name: str, found: Sequence[LeftOut]) -> Iterator[str]:
    yield f"{name}:\n" if found else f"{name}: []\n"
    for one in found:
        yield f"  - {{what: {_quoted(one.what)}, why: {_quoted(one.why)}}}\n"


def _by_reason(found: Sequence[LeftOut]) -> list[LeftOut]:
    """Nodes with one reason as a folded list."""
    names: dict[str, list[str]] = {}
    for one in found:
        names.setdefault(one.why, []).append(one.what)
    return [LeftOut(fold(several), why) for why, several in names.items()]


def _quoted(text: str) -> str:
    """A text as both JSON and YAML have it, without secrets."""
    return json.dumps(hidden(text))


def golden_profile(document: Document) -> Golden:
    """The golden machine of a profile; raises ReadError with line and column."""
    if document.duplicates:
        again = document.duplicates[0]
        at = again.again.line, again.again.column
        problem = f"{again.path[-1]} stands there twice"
        raise ReadError(document.name, "syntax", problem, _MAKE_ANEW, at)
    try:
        profile = FleetProfile.model_validate(document.data)
    except ValidationError as error:
        raise _refused(document, error) from error
    values = {leaf: one.value for leaf, one in profile.values.items()}
    ranges = {leaf: Range(one.least, one.most) for leaf, one in profile.numbers.items()}
    left_out = frozenset(one.what for one in profile.leaves_left_out)
    what = f"the profile of {profile.nodes:,} nodes"
    return Golden(
        document.name,
        values,
        knows_variables=profile.variables_known,
        ranges=ranges,
        what=what,
        free=left_out,
    )


def _refused(document: Document, error: ValidationError) -> ReadError:
    first = error.errors(include_url=False)[0]
    path = tuple(one for one in first["loc"] if one != "schema_name")
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

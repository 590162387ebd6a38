"""The relations of the key tables, and what an oracle says of their examples."""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from compile_key_relations import FOLDER, RelationFile, path_of
from oracles.asking import Answer, Case
from oracles.registry import Oracle
from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.framework_keys import FrameworkVersion, parse_version

REFUSING = ("refused", "removed")
WORLD = "plan.cluster.world_size"
_LAUNCHERS = "launchers-"
WORLD_FILE = "world_size"  # beside a case: how many processes it has


class Example(NamedTuple):
    """A relation of a table, with both of its examples as cases.

    Attributes:
        id: of the relation.
        kind: what the table says that the framework does.
        text: its reason.
        reason: why the oracle is not asked; empty where it is.
        cases: the example and its mended twin.
        argument: why it may say another thing; empty where nothing is known.

    """

    id: str
    kind: str
    text: str
    reason: str = ""
    cases: tuple[Case, ...] = ()
    argument: str = ""


class ExampleResult(NamedTuple):
    """What an oracle says of the example of a relation, and of its mended twin."""

    oracle: str
    id: str
    kind: str
    text: str
    reason: str = ""
    example: Answer | None = None
    mended: Answer | None = None
    argument: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the oracle does with both what the table says."""
        return self.example_agrees and self.mended_agrees

    @property
    def is_askable(self) -> bool:
        """Whether the oracle had an answer to both."""
        return not self.reason

    @property
    def is_refusal(self) -> bool:
        """Whether the table says that the framework stops."""
        return self.kind in REFUSING

    @property
    def example_agrees(self) -> bool:
        """Whether the oracle does with the example what the table says.

        A refusal in the words with which the mended twin is refused, too, is of
        something else.
        """
        if self.example is None or self.mended is None:
            return False
        if self.example.accepted or not self.is_refusal:
            return bool(self.example.accepted) != self.is_refusal
        return self.example.message != self.mended.message

    @property
    def mended_agrees(self) -> bool:
        """Whether the oracle accepts the mended twin."""
        return self.mended is not None and bool(self.mended.accepted)

    @property
    def is_heard(self) -> bool:
        """Whether it warns of the example and not of the mended twin."""
        if self.example is None or self.mended is None:
            return False
        return bool(set(self.example.said) - set(self.mended.said))


def examples(oracle: Oracle, folder: Path = FOLDER) -> list[Example]:
    """Return the relations of the table of an oracle."""
    return [
        _example(oracle, row)
        for path in sorted(folder.glob(f"{oracle.table}*.yaml"))
        if path.name.split(".")[0] == oracle.table
        for row in RelationFile(path).rows
    ]


def _example(oracle: Oracle, row: Mapping[str, Any]) -> Example:
    argument = oracle.argued.get(row["id"], "") or _argument(oracle, row)
    known = Example(row["id"], row["kind"], row["reason"], argument=argument)
    reason = _reason(oracle, row)
    if reason:
        return known._replace(reason=reason)
    cases = tuple(_case(oracle, row, name) for name in ("example", "mended"))
    return known._replace(cases=cases)


def _case(oracle: Oracle, row: Mapping[str, Any], name: str) -> Case:
    keys = dict(row[name])
    processes = keys.pop(WORLD, oracle.processes.get(row["id"]))
    beside = {} if processes is None else {WORLD_FILE: str(processes)}
    document = configured(based(oracle, row), keys)
    whole = completed(document, oracle.items) if oracle.items else document
    return Case(f"{row['id']}/{name}", {}, whole, beside)


def _reason(oracle: Oracle, row: Mapping[str, Any]) -> str:
    """Return why a row is no case, or an empty text."""
    elsewhere = [
        name
        for example in (row["example"], row["mended"])
        for name in example
        if (name.startswith("plan.") and not _is_given(oracle, name)) or ":" in name
    ]
    if elsewhere:
        return f"speaks of {elsewhere[0]}, which stands in no file of the framework"
    if reason := _first(oracle.elsewhere, f"{row['id']} {row['source']}"):
        return reason
    since, until = row.get("since"), row.get("until")
    if since is not None:
        bound = parse_version(str(since))
        if not _release(oracle, bound).at_least(bound):
            return f"holds from {since} on"
    if until is not None:
        bound = parse_version(str(until))
        if not _release(oracle, bound).surely_before(bound):
            return f"held until {until}"
    return _absent(oracle, row)


def _is_given(oracle: Oracle, name: str) -> bool:
    """Return whether a driver is handed a field of the plan."""
    return name == WORLD and oracle.counts_processes


def _releases(oracle: Oracle) -> list[FrameworkVersion]:
    """Return the releases that a driver has, that of its table first."""
    return [parse_version(text) for text in (oracle.counted_by, oracle.release) if text]


def _release(oracle: Oracle, bound: FrameworkVersion) -> FrameworkVersion:
    """Return the release of the package that a bound counts by."""
    first, *others = _releases(oracle)
    own = [each for each in others if each.framework == bound.framework]
    return own[0] if own and bound.framework else first


def _first(reasons: Mapping[str, str], source: str) -> str:
    """Return the reason whose pattern a source holds, or an empty text."""
    fitting = (text for where, text in reasons.items() if re.search(where, source))
    return next(fitting, "")


def _argument(oracle: Oracle, row: Mapping[str, Any]) -> str:
    """Return what runs after the oracle and refuses a row, or an empty text."""
    return _first(oracle.later, str(row["source"]))


def _absent(oracle: Oracle, row: Mapping[str, Any]) -> str:
    """Return which key of an example the release does not have, or an empty text."""
    if oracle.table.startswith(_LAUNCHERS):  # whose keys have no releases
        return ""
    table = load_framework(oracle.table)
    for name in row["example"]:
        path = path_of(name)
        for release in _releases(oracle):
            if table.too_new(path, release):
                return f"speaks of {name}, which newer releases have"
            if row["kind"] in {"refused", "warned"} and table.removed(path, release):
                return f"speaks of {name}, which older releases have"
    return ""


def based(oracle: Oracle, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration below both examples of a row."""
    result = dict(oracle.base)
    for key, more in oracle.where.items():
        if any(name == key or name.startswith(f"{key}.") for name in row["example"]):
            result = configured(result, more)
    own = oracle.rows.get(row["id"], {})
    result = configured(result, own)
    for name in (name for name, value in own.items() if value is None):
        *above, last = path_of(name)
        block: Any = result
        for part in above:
            block = block[part]
        del block[last]
    return result


def configured(base: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return a base configuration with dotted keys over it."""
    result = deepcopy(dict(base))
    for name, value in keys.items():
        place: Any = result
        path = path_of(name)
        for part, following in pairwise(path):
            place = _below(place, part, [] if isinstance(following, int) else {})
        _put(place, path[-1], deepcopy(value))
    return result


def completed(value: Any, items: Mapping[str, Any], name: str = "") -> Any:  # noqa: ANN401
    """Return a document whose lists have items of the form that their names ask for."""
    if isinstance(value, dict):
        return {key: completed(item, items, key) for key, item in value.items()}
    if not isinstance(value, list) or name not in items:
        return value
    form = items[name]
    return [
        completed({**form, **(item if isinstance(item, dict) else {})}, items)
        for item in value
    ]


def _below(place: Any, part: str | int, empty: Any) -> Any:  # noqa: ANN401
    """Return the block or list at a part of a path, made where there is none."""
    if isinstance(part, int):
        while len(place) <= part:
            place.append(deepcopy(empty))
        return place[part]
    if not isinstance(place.get(part), dict | list):
        place[part] = deepcopy(empty)
    return place[part]


def _put(place: Any, part: str | int, value: object) -> None:  # noqa: ANN401
    if isinstance(part, int):
        place[part:] = [*place[part:part], value]
    else:
        place[part] = value


def example_cases(rows: Iterable[Example]) -> Iterator[Case]:
    """Yield the cases of rows, in order."""
    for row in rows:
        yield from row.cases


def example_results(
    oracle: Oracle, rows: Iterable[Example], given: Iterable[Answer]
) -> Iterator[ExampleResult]:
    """Yield each row with its answers."""
    by_id = {answer.id: answer for answer in given}
    for row in rows:
        result = ExampleResult(
            oracle.name, row.id, row.kind, row.text, row.reason, argument=row.argument
        )
        if row.reason:
            yield result
            continue
        example, mended = (by_id[case.id] for case in row.cases)
        open_ = [each for each in (example, mended) if each.accepted is None]
        reason = open_[0].message if open_ else ""
        yield result._replace(reason=reason, example=example, mended=mended)

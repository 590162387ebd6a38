"""Writes constraints as relation rows, with values that break them and that hold."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from compile_key_relations import (
    LONGEST_REASON,
    RelationFault,
    RelationFile,
    compile_file,
    faults,
    shown_by,
)
from constraints.conditions import (
    Condition,
    Group,
    Test,
    as_text,
    names_of,
    parts_of,
    written,
)
from constraints.keys import bounds
from constraints.table import KeyTable, Row
from constraints.validators import Constraint
from speccheck.validator.evidence.key_relations import OF_NUMBERS, PLAN, KeyRelation

MOST_TRIALS = 3000
_SIGNS = {">": "above", ">=": "at_least", "<": "below", "<=": "at_most"}
_NUMBERS = (1, 2, 3, 8, 0)
_DELETED = object()


class Proposal(NamedTuple):
    """A row, and whether an example of it stands."""

    row: dict[str, Any]
    is_shown: bool
    fault: str = ""


class ProposedFile(RelationFile):
    """Rows that stand in no file yet."""

    def __init__(self, table: KeyTable, rows: Sequence[Row]) -> None:
        """Take rows as if a file of the table held them."""
        self.path = Path(f"{table.framework}.proposed.yaml")
        self.framework = table.framework
        self.section = table.section
        self.format = ""
        self.rows = rows
        self._lines = {}
        self._catalogue = table.catalogue

    @property
    def catalogue(self) -> Any:  # noqa: ANN401 - as the base class
        """The table that the rows are of."""
        return self._catalogue


def propose(constraint: Constraint, table: KeyTable) -> Proposal:
    """Return the row of a constraint that is expressible, with an example if any."""
    when, needs = constraint.split()
    row: dict[str, Any] = {
        "id": _id(constraint, when),
        "kind": constraint.kind,
        "when": written(when),
    }
    if needs is not None:
        row["needs"] = written(needs)
    if constraint.loses:
        row["loses"] = [constraint.loses]
    row["reason"] = _reason(constraint)
    row["remedy"] = _remedy(when, needs, constraint.loses)
    row["source"] = constraint.source
    draft = {**row, "example": {"-": 0}, "mended": {"-": 0}}
    try:
        compiled = compile_file(ProposedFile(table, [draft]))
    except RelationFault as fault:
        return Proposal(row, is_shown=False, fault=str(fault).split(": ", 1)[-1])
    relation = KeyRelation(**compiled[0])
    conditions = [when, *([needs] if needs is not None else [])]
    for example in _examples(conditions, table):
        if not _shows(draft, relation, example, table):
            continue
        for mended in _twins(example, conditions, table):
            solved = {**row, "example": example, "mended": mended}
            if _shows(draft, relation, mended, table):
                continue
            if not [*faults(ProposedFile(table, [solved]))]:
                return Proposal(solved, is_shown=True)
    return Proposal(row, is_shown=False, fault="no example in a small search")


def _shows(
    row: Row, relation: KeyRelation, example: Mapping[str, Any], table: KeyTable
) -> bool:
    try:
        file = ProposedFile(table, [row])
        return bool(shown_by(file, relation, example, row))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return False


def _candidates(  # noqa: C901 - a step for each type
    name: str, tests: Iterable[Test], table: KeyTable
) -> list[Any]:
    """Return values worth a trial, those that a test names first."""
    row = table.rows.get(name, {})
    kind = str(row.get("type", "int" if name.startswith(PLAN) else "any"))
    values: list[Any] = []
    for test in tests:
        operand = test.operand
        if test.test in {"contains", "every_in", "some_in"} and "list" in kind:
            values.append(operand)
        elif isinstance(operand, list):
            values += operand
        elif type(operand) in {int, float}:
            values += [operand, operand + 1, operand - 1]
        elif test.test.startswith("length"):
            values += [["a"] * (operand + 1), "a"]
    values += row.get("choices", ())
    if "flag" in kind:
        return [True, _DELETED]
    if any(word in kind for word in ("bool", "any")):
        values += [True, False]
    if any(word in kind for word in ("int", "float", "any")):
        values += _NUMBERS
    if "float" in kind:
        values += [0.5]
    if any(word in kind for word in ("str", "path", "any", "enum")):
        values += ["a", "b", "none"]
    values += [["a"]] * ("list" in kind) + [{"a": 1}] * ("map" in kind)
    unique: list[Any] = []
    for value in [*values, _DELETED]:
        if not any(value is other or _same(value, other) for other in unique):
            unique.append(value)
    return [value for value in unique if _is_taken(value, kind, str(row.get("range")))]


def _is_taken(value: object, kind: str, written_range: str) -> bool:
    """Return whether a value is of the type and range of its row."""
    if isinstance(value, bool):
        return any(word in kind for word in ("bool", "any", "flag", "object"))
    if not isinstance(value, int | float):
        return value is not None
    return all(
        OF_NUMBERS[_SIGNS[sign]](value, limit) for sign, limit in bounds(written_range)
    )


def _same(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


def _tests(condition: Condition) -> Iterator[Test]:
    if isinstance(condition, Group):
        for part in parts_of(condition) if condition.head == "all" else condition.parts:
            yield from _tests(part)
    elif isinstance(condition, Test):
        yield condition


def _choices(conditions: Sequence[Condition], table: KeyTable) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for part in conditions for name in names_of(part))
    tests = [test for part in conditions for test in _tests(part)]
    return {
        name: _candidates(name, [test for test in tests if name in test.name], table)
        for name in names
    }


def _examples(
    conditions: Sequence[Condition], table: KeyTable
) -> Iterator[dict[str, Any]]:
    """Yield values of all keys together, those that are worth most first."""
    choices = _choices(conditions, table)
    width = max(3, int(MOST_TRIALS ** (1 / max(1, len(choices)))))
    lists = [
        [*values[: width - 1], _DELETED] if len(values) > width else values
        for values in choices.values()
    ]
    trials = itertools.islice(itertools.product(*lists), MOST_TRIALS)
    for values in sorted(trials, key=lambda trial: -sum(v is _DELETED for v in trial)):
        example = dict(zip(choices, values, strict=True))
        stated = {name: v for name, v in example.items() if v is not _DELETED}
        if stated:
            yield stated


def _twins(
    example: Mapping[str, Any], conditions: Sequence[Condition], table: KeyTable
) -> Iterator[dict[str, Any]]:
    """Yield the example with a key changed, added or deleted: what is needed first."""
    choices = _choices(conditions, table)
    order = [*reversed(choices)]
    for name in order:
        for value in choices[name]:
            if value is not _DELETED and value != example.get(name):
                yield {**example, name: value}
        if name in example and len(example) > 1:
            yield {key: value for key, value in example.items() if key != name}


def _id(constraint: Constraint, when: Condition) -> str:
    names = list(dict.fromkeys([*names_of(when), *constraint.names]))[:4]
    text = "-".join(names + ([constraint.kind] if len(names) == 1 else []))
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _reason(constraint: Constraint) -> str:
    text = re.split(r"(?<!e\.g)(?<!i\.e)\. (?=[A-Z])", constraint.message)[0].rstrip(
        " .!\n"
    )
    text = text or f"not both: {as_text(constraint.condition)}"
    if len(text) > LONGEST_REASON:
        text = text[:LONGEST_REASON].rpartition(" ")[0]
    return text.rstrip(" .")


def _remedy(when: Condition, needs: Condition | None, loses: str) -> str:
    if loses:
        return f"Remove {loses}."
    if needs is not None:
        return f"See that {as_text(needs)}."
    return f"Change {' or '.join(names_of(when))}."

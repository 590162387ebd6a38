"""Compiles what the keys of a framework do together: YAML with sources to JSON.

    python tools/compile_key_relations.py            write the compiled relations
    python tools/compile_key_relations.py --check FILE...   say what is wrong with files

A row whose example is not found, or whose mended twin is, is refused with its file and
line: so is one that names no key, or asks a test that there is not.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml

from speccheck.validator.catalogue.files import CATALOGUES, compiled_path
from speccheck.validator.catalogue.frameworks import (
    FRAMEWORK_OF_FORMAT,
    load_framework,
    relations_name,
)
from speccheck.validator.evidence.accepted_values import value_fault
from speccheck.validator.evidence.framework_keys import FrameworkKeys, parse_version
from speccheck.validator.evidence.key_forms import FORMS, MEASURES
from speccheck.validator.evidence.key_relations import (
    ITEM_TESTS,
    NAME_TESTS,
    NUMBER_TESTS,
    PLAN,
    POOL_TESTS,
    PRODUCT,
    TESTS,
    WHOLE_LIST_TESTS,
    Condition,
    KeyRelation,
    KeyRelations,
    Kind,
    factors_of,
    names_in,
)
from speccheck.validator.evidence.plan import (
    TrainingPlan,
    leaf_names,
    plan_evidence,
)
from speccheck.validator.evidence.related_keys import (
    KeyRelationMatch,
    holds_unstated,
    related_matches,
)
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.evidence.value import KeyPath, Place, dotted
from speccheck.validator.sources.joining.merge import derive, merge
from speccheck.validator.sources.reader import Fact

Row = Mapping[str, Any]

FOLDER = Path(CATALOGUES, "relations")
KINDS = get_args(Kind)
CARRIED = (
    *("id", "kind", "reason", "remedy", "loses", "fix"),
    *("since", "until"),
)
# For tests and readers: what it shows, what it leaves alone, where it was read.
UNCARRIED = ("when", "needs", "example", "mended", "source", "confidence", "note")
REQUIRED = ("id", "kind", "when", "reason", "remedy", "source", "example", "mended")
HEAD = ("framework", "section", "format", "relations")
_GROUPS = ("all", "any", "not")
_LISTS = frozenset(
    {
        *("is", "is_not", "word", "not_word", "begins", "ends", "contains", "lacks"),
        *("every_in", "some_in", "anywhere", "nowhere"),
    }
)
_COUNTS = frozenset({"length_above", "length_below", "count_above", "count_below"})
_KINDS_OF_VALUE = ("text", "integer", "number", "list", "block", "boolean")
LONGEST_REASON = 160
_LAST_LIST = re.compile(r"(\[\]|\*+)[^\[\]*]*$")


class RelationFault(ValueError):  # noqa: N818 - a fault of the file
    """What is wrong with a row; its text begins with the file and line."""


class RelationFile:
    """The relations of one table, as they are written."""

    def __init__(self, path: Path) -> None:
        """Read a file; raises RelationFault where it is malformed."""
        self.path = path
        text = path.read_text(encoding="utf-8")
        try:
            document = yaml.load(text, yaml.CSafeLoader)
        except yaml.YAMLError as error:
            message = f"{path.name}: not YAML: {error}"
            raise RelationFault(message) from None
        unknown = document.keys() - set(HEAD)
        if unknown:
            message = f"{path.name}: unknown {sorted(unknown)}"
            raise RelationFault(message)
        self.framework: str = document["framework"]
        self.section: str = document.get("section", "")
        self.format: str = document.get("format", "")
        self.rows: Sequence[Row] = document["relations"] or ()
        self._lines = {
            match[1]: text.count("\n", 0, match.start()) + 1
            for match in re.finditer(r"^ *- id: *(\S+)", text, re.MULTILINE)
        }

    def fault(self, row: Row, text: str) -> RelationFault:
        """Return a fault of a row, with its place."""
        id_ = str(row.get("id"))
        return RelationFault(
            f"{self.path.name}:{self._lines.get(id_, 0)} {id_}: {text}"
        )

    @property
    def catalogue(self) -> FrameworkKeys:
        """The key table that the relations belong to."""
        return load_framework(self.framework, self.section)

    @property
    def compiled_name(self) -> str:
        """The name of the compiled file."""
        return relations_name(self.framework, self.section)


def relation_files(paths: Sequence[Path] = ()) -> list[RelationFile]:
    """Return the files of the catalogue, or those that are named."""
    return [RelationFile(path) for path in paths or sorted(FOLDER.glob("*.yaml"))]


def compile_file(file: RelationFile) -> list[dict[str, Any]]:
    """Return what a run needs of a file; raises RelationFault."""
    ids = [row.get("id") for row in file.rows]
    for row in file.rows:
        if ids.count(row.get("id")) > 1:
            raise file.fault(row, "tabulated twice")
    return [_Compiler(file, row).compiled() for row in file.rows]


class _Compiler:
    """One row on its way."""

    def __init__(self, file: RelationFile, row: Row) -> None:
        self._file = file
        self._row = row
        self._names: dict[str, None] = {}

    def compiled(self) -> dict[str, Any]:
        row = self._row
        unknown = row.keys() - {*CARRIED, *UNCARRIED}
        missing = [name for name in REQUIRED if row.get(name) in (None, "", [])]
        if unknown or missing:
            self._refuse(f"unknown {sorted(unknown)}, missing {missing}")
        if row["kind"] not in KINDS:
            self._refuse(f"kind {row['kind']} is none of {', '.join(KINDS)}")
        if len(row["reason"]) > LONGEST_REASON or row["reason"].rstrip().endswith("."):
            self._refuse(f"reason: no full stop, at most {LONGEST_REASON} characters")
        result = {name: row[name] for name in CARRIED if name in row}
        for name in ("since", "until"):
            if name in row:
                result[name] = str(row[name])
                parse_version(result[name])
        result["when"] = self._condition(row["when"])
        if "needs" in row:
            result["needs"] = self._condition(row["needs"])
        for name in (*row.get("loses", ()), *row.get("fix", {})):
            self._name(name)
        result["names"] = list(self._names)
        triggers = sorted(self._triggers(result["when"]), key=len)
        result["triggers"] = triggers or [result["names"]]
        together = {*taken_together(result["when"])}
        together |= {*taken_together(result.get("needs", ()))}
        by_item = {*_by_item(result["when"]), *_by_item(result.get("needs", ()))}
        within = shared_prefix(
            _LAST_LIST.sub("", name) if name in together else name
            for name in self._names
            if name in by_item or name in row.get("loses", ())
        )
        if within:
            result["within"] = within
        return result

    def _triggers(self, condition: Condition) -> list[list[str]]:
        """Return groups of names, of each of which a file must state one.

        Of a test that holds by defaults in some tabulated release there is none.
        """
        head = condition[0]
        if head in {"all", "any"}:
            parts = [self._triggers(part) for part in condition[1:]]
            if head == "all":
                return [group for part in parts for group in part]
            names = [name for part in parts if part for name in part[0]]
            return [[*dict.fromkeys(names)]] if all(parts) else []
        catalogue = self._file.catalogue
        releases = (None, *map(parse_version, catalogue.versions))
        if any(holds_unstated(condition, catalogue, release) for release in releases):
            return []
        names = [*dict.fromkeys(_names_of(condition))]
        is_own = not any(name.startswith(PLAN) or ":" in name for name in names)
        return [names] if is_own else []

    def _refuse(self, text: str) -> None:
        raise self._file.fault(self._row, text)

    def _condition(self, written: object) -> Condition:
        if isinstance(written, list):
            return self._joined("all", [self._condition(part) for part in written])
        if not isinstance(written, dict) or not written:
            self._refuse(f"no condition: {written!r}")
            return ()
        parts: list[Condition] = []
        for name, test in written.items():
            if name in {"all", "any"}:
                if not isinstance(test, list):
                    self._refuse(f"{name} takes a list")
                inner = [self._condition(part) for part in test]
                parts.append(self._joined(name, inner))
            elif name == "not":
                parts.append(["not", self._condition(test)])
            else:
                parts += self._tests(str(name), test)
        return self._joined("all", parts)

    @staticmethod
    def _joined(head: str, parts: list[Condition]) -> Condition:
        return parts[0] if len(parts) == 1 else [head, *parts]

    def _tests(self, name: str, written: object) -> Iterator[Condition]:
        if written != {"stated": False}:  # of a fork's own key no table knows
            self._sum(name)
        self._names.update(dict.fromkeys(names_in(name)))
        is_reckoned = names_in(name) != [name]
        if not isinstance(written, dict):
            if is_reckoned:
                self._refuse(f"{name} is reckoned: ask for equals, above, ...")
            yield [name, "is", written if isinstance(written, list) else [written]]
            return
        for test, operand in written.items():
            if test not in TESTS:
                self._refuse(f"no such test: {test}")
            if is_reckoned and test not in NUMBER_TESTS:
                self._refuse(f"{name} is reckoned, and {test} is no test of numbers")
            yield [name, test, self._operand(test, operand)]

    def _operand(self, test: str, operand: object) -> object:
        if test in _LISTS:
            return operand if isinstance(operand, list) else [operand]
        if test in NUMBER_TESTS | NAME_TESTS | POOL_TESTS:
            if isinstance(operand, list):
                operand = PRODUCT.join(str(item) for item in operand)
            if isinstance(operand, str):
                self._sum(operand)
            elif isinstance(operand, bool) or not isinstance(operand, int | float):
                self._refuse(f"{test} takes a number or names, not {operand!r}")
            elif test not in NUMBER_TESTS:
                self._refuse(f"{test} takes a name")
            return operand
        is_right = {
            "form": operand in FORMS,
            "malformed": operand in FORMS,
            "is_a": operand in _KINDS_OF_VALUE,
            "is_not_a": operand in _KINDS_OF_VALUE,
            "matches": isinstance(operand, str),
        }.get(test, isinstance(operand, int if test in _COUNTS else bool))
        if not is_right:
            self._refuse(f"{test} does not take {operand!r}")
        return operand

    def _sum(self, text: str) -> None:
        """Take a sum of products of names that there are."""
        for factor in factors_of(text):
            if factor.measure and factor.measure not in MEASURES:
                self._refuse(f"no such measure: {factor.measure}")
            if not factor.is_literal:
                self._name(factor.name)

    def _name(self, name: str) -> None:
        """Take a name that a key table or the plan has."""
        self._names[name] = None
        if name.startswith(PLAN):
            if name.removeprefix(PLAN) not in leaf_names():
                self._refuse(f"no such field of the plan: {name}")
            return
        table, bare = table_of(self._file.catalogue, name)
        path = tuple(bare.split("."))
        if table is None or not table.is_known(path):
            self._refuse(f"no such key: {name}")
        elif (row := table.lookup(path)) is not None and row.path != bare:
            is_free = "*" in row.path or row.path.endswith("**")
            if not is_free:
                self._refuse(f"{name} is an alias of {row.path}: use that")


def _names_of(condition: Condition) -> Iterator[str]:
    """Yield the names of a condition, each as a table has it."""
    head = condition[0]
    if head in _GROUPS:
        for part in condition[1:]:
            yield from _names_of(part)
        return
    name, test, operand = condition
    texts = [name]
    if test in NUMBER_TESTS | NAME_TESTS and isinstance(operand, str):
        texts.append(operand)
    for text in texts:
        yield from names_in(text)


def taken_together(condition: Condition) -> Iterator[str]:
    """Yield the names whose last list a test looks at as a whole."""
    if not condition or condition[0] in _GROUPS:
        for part in condition[1:]:
            yield from taken_together(part)
        return
    name, test, operand = condition
    if test in ITEM_TESTS:
        yield name
    for text in (name, operand if test in NUMBER_TESTS else ""):
        if isinstance(text, str):
            yield from (part.name for part in factors_of(text) if part.takes_items)


def _by_item(condition: Condition) -> Iterator[str]:
    """Yield the names that a test looks at item by item, not in the whole file."""
    if not condition or condition[0] in _GROUPS:
        for part in condition[1:]:
            yield from _by_item(part)
    elif condition[1] not in WHOLE_LIST_TESTS:
        yield from _names_of(condition)


def shared_prefix(names: Iterable[str]) -> str:
    """Return the list or free block that all names with one stand below; else empty."""
    prefixes = []
    for name in names:
        ends = [match.end() for match in re.finditer(r"\[\]|(?<![\w*])\*+", name)]
        if ends:
            prefixes.append([name[:end] for end in ends])
    if not prefixes:
        return ""
    common = [text for text in prefixes[0] if all(text in item for item in prefixes)]
    return common[-1] if common else ""


def table_of(own: FrameworkKeys, name: str) -> tuple[FrameworkKeys | None, str]:
    """Return the table that a name is of, and the name within it."""
    framework, colon, rest = name.partition(":")
    if not colon:
        return own, name
    known = {table.framework for table in FRAMEWORK_OF_FORMAT.values()}
    return (load_framework(framework) if framework in known else None), rest


def _wrong_examples(file: RelationFile) -> Iterator[str]:
    """Yield what is wrong with the examples of a file whose rows compile."""
    for compiled, row in zip(compile_file(file), file.rows, strict=True):
        relation = KeyRelation(**compiled)
        for name, is_bad in (("example", True), ("mended", False)):
            try:
                matches = shown_by(file, relation, row[name], row)
            except (ValueError, TypeError, KeyError, IndexError) as error:
                yield str(file.fault(row, f"{name}: {error!r}"))
                continue
            if is_bad and not matches:
                yield str(file.fault(row, "the example is not found"))
            if not is_bad and matches:
                yield str(
                    file.fault(row, f"the mended twin is found: {matches[0].text}")
                )
            if not is_bad:
                yield from _refused_values(file, row, row[name])


def shown_by(
    file: RelationFile, relation: KeyRelation, example: Row, row: Row
) -> list[KeyRelationMatch]:
    """Return where an example shows a relation; what cannot be judged is not."""
    stated, plan = evidence_of(file, example, str(row.get("since", "")))
    own = file.catalogue._replace(relations=lambda: KeyRelations([relation._asdict()]))
    files = [
        part._replace(catalogue=own) if part.catalogue is file.catalogue else part
        for part in stated.files
    ]
    matches = related_matches(StatedKeys(tuple(files)), plan)
    return [match for match in matches if not match.missing]


def _refused_values(file: RelationFile, row: Row, example: Row) -> Iterator[str]:
    """Yield values of a mended twin that their own rows refuse."""
    stated, _ = evidence_of(file, example, "")
    for part in stated.files:
        for key in part.keys:
            table = part.catalogue
            taken = table.accepted(key.path, part.format) if table else None
            if taken and (fault := value_fault(taken, key.value)):
                text = (
                    f"{dotted(key.path)} {key.value!r}: the table takes {fault.takes}"
                )
                yield str(file.fault(row, f"mended: {text}"))


def evidence_of(
    file: RelationFile, example: Row, since: str
) -> tuple[StatedKeys, TrainingPlan]:
    """Return the evidence of an example: keys by name, fields of the plan as well."""
    facts = []
    by_table: dict[FrameworkKeys, list[StatedKey]] = {file.catalogue: []}
    for name, value in example.items():
        if name.startswith(PLAN):
            place = Place("example", name, (name,))
            facts.append(Fact(name.removeprefix(PLAN), value, "stated", (place,)))
            continue
        table, bare = table_of(file.catalogue, name)
        if table is None:
            message = f"no such table: {name}"
            raise ValueError(message)
        by_table.setdefault(table, []).extend(_keys(path_of(bare), value, table))
    version = parse_version(since) if since else None
    files = tuple(
        KeyedFile("example", format_of(table, file.format), tuple(keys), table, version)
        for table, keys in by_table.items()
    )
    plan, _ = plan_evidence(derive(merge(facts)))
    return StatedKeys(files), plan


def format_of(table: FrameworkKeys, preferred: str) -> str:
    """Return the format that an example of a table is in."""
    if preferred in table.loaders or not table.loaders:
        return preferred or table.framework
    return next(iter(table.loaders))


def path_of(name: str) -> KeyPath:
    """Return the path of `datasets[0].type`; the first item where none is named."""
    path: list[str | int] = []
    for part in name.split("."):
        bare, *items = re.split(r"\[(\d*)\]", part)
        path.append(bare)
        path += [int(item or 0) for item in items[::2]]
    return tuple(path)


def _keys(path: KeyPath, value: object, table: FrameworkKeys) -> Iterator[StatedKey]:
    """Yield the key of a value, and those below it."""
    row = table.lookup(path)
    if row is not None and row.type == "flag" and value is True:
        value = []
    is_block = isinstance(value, dict | list) and bool(value)
    place = Place("example", dotted(path), path)
    yield StatedKey(path, value, place, is_block)
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _keys((*path, name), child, table)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            if isinstance(child, dict):
                for name, inner in child.items():
                    yield from _keys((*path, index, name), inner, table)


def compiled_relations() -> Iterator[tuple[str, str]]:
    """Yield each compiled file with the text that it must have.

    Several files of one table, as `megatron-lm.core.yaml`, make one compiled file.
    """
    by_name: dict[str, list[dict[str, Any]]] = {}
    for file in relation_files():
        rows = by_name.setdefault(file.compiled_name, [])
        known = {row["id"] for row in rows}
        for row in compile_file(file):
            if row["id"] in known:
                raise file.fault(row, "tabulated twice, in another file of the table")
            rows.append(row)
    for name, rows in by_name.items():
        lines = [
            json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows
        ]
        yield compiled_path(name), "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> int:
    """Write the compiled relations, or say what is wrong with some files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.check is None:
        for path, text in compiled_relations():
            Path(path).write_text(text, encoding="utf-8")
        return 0
    wrong = 0
    for path in options.check:
        try:
            file = RelationFile(path)
            texts = [*faults(file)]
        except RelationFault as fault:
            texts = [str(fault)]
            file = None
        for text in texts:
            print(text)
        wrong += len(texts)
        count = len(file.rows) if file else 0
        print(f"{path.name}: {count} relations, {len(texts)} faults", file=sys.stderr)
    return int(wrong > 0)


def faults(file: RelationFile) -> Iterator[str]:
    """Yield the faults of all rows, also where one does not compile."""
    good: list[Row] = []
    for row in file.rows:
        try:
            _Compiler(file, row).compiled()
        except RelationFault as fault:
            yield str(fault)
        else:
            good.append(row)
    ids = [row["id"] for row in file.rows]
    for id_ in sorted({id_ for id_ in ids if ids.count(id_) > 1}):
        yield f"{file.path.name}: {id_} is tabulated twice"
    file.rows = [row for row in good if ids.count(row["id"]) == 1]
    yield from _wrong_examples(file)


if __name__ == "__main__":
    sys.exit(main())

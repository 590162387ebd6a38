"""Compiles the relations between variables: YAML with sources to JSON for the run.

`python tools/compile_relations.py` writes it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from speccheck.validator.catalogue.files import CATALOGUES, compiled_path
from speccheck.validator.evidence.plan import leaf_names
from speccheck.validator.evidence.variable_relations import DROPPED, FORMS, TESTS

Row = Mapping[str, Any]

KINDS = (
    *("refused", "unusable", "no_effect", "other_release", "hurts", "advice"),
    *("ignored_text", "mrc_off", "mrc_no_effect", "mrc_advice"),
)
CARRIED = (
    *("id", "kind", "when", "where", "drops", "drops_but", "drops_unless"),
    *("unless_set", "since", "until", "reason", "remedy", "fix"),
)
# For the tests and the reader: what the relation tells, what it leaves alone, and why.
UNCARRIED = ("source", "confidence", "example", "mended", "context", "plan", "in")
REQUIRED = ("id", "kind", "when", "reason", "remedy", "source", "example", "mended")
OF_VARIABLES = frozenset({"unset", "lacks", "above_variable", "product_above"})


def relation_rows() -> Sequence[Row]:
    """Return the rows of the YAML file."""
    path = Path(CATALOGUES, "nccl", "relations.yaml")
    rows: Sequence[Row] = yaml.load(path.read_bytes(), yaml.CSafeLoader)["relations"]
    return rows


def compile_relations(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what a run needs; raises ValueError for a row that is malformed."""
    ids = [row["id"] for row in rows]
    twice = sorted({id_ for id_ in ids if ids.count(id_) > 1})
    if twice:
        message = f"tabulated twice: {', '.join(twice)}"
        raise ValueError(message)
    return [_compile_row(row) for row in rows]


def _compile_row(row: Row) -> dict[str, Any]:
    unknown = row.keys() - {*CARRIED, *UNCARRIED}
    missing = [name for name in REQUIRED if not row.get(name)]
    if unknown or missing or row["kind"] not in KINDS:
        message = f"{row['id']}: unknown {sorted(unknown)}, missing {missing}, or kind"
        raise ValueError(message)
    compiled = {name: row[name] for name in CARRIED if name in row}
    compiled["when"] = {name: _test(row, test) for name, test in row["when"].items()}
    if "where" in row:
        lost = row["where"].keys() - set(leaf_names())
        if lost:
            message = f"{row['id']}: no such leaf: {sorted(lost)}"
            raise ValueError(message)
        compiled["where"] = {
            name: _test(row, test) for name, test in row["where"].items()
        }
    for name in ("since", "until"):
        if name in row:
            compiled[name] = str(row[name])
    _hold_fix(row)
    return compiled


def _hold_fix(row: Row) -> None:
    """Hold a fix to what it may change: the tests' variables, or dropped ones."""
    named = {*row["when"], *row.get("drops", ())}
    for name, value in row.get("fix", {}).items():
        is_dropped = name == DROPPED and value is None and row.get("drops")
        if (not is_dropped and name not in named) or not isinstance(value, str | None):
            message = f"{row['id']}: no such change: {name} {value!r}"
            raise ValueError(message)


def _test(row: Row, test: Row) -> list[Any]:
    """Return the name and operand of the single test."""
    ((word, operand),) = test.items()
    is_form = word != "malformed" or operand in FORMS
    if (word not in TESTS and word not in OF_VARIABLES) or not is_form:
        message = f"{row['id']}: no such test: {word} {operand}"
        raise ValueError(message)
    return [word, operand]


def compiled_text() -> str:
    """Return the text that the compiled relations must have."""
    rows = compile_relations(relation_rows())
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> None:
    """Write the compiled relations."""
    Path(compiled_path("nccl_relations")).write_text(compiled_text(), encoding="utf-8")


if __name__ == "__main__":
    main()

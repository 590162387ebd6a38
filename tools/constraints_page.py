"""Writes docs/constraints.md: what frameworks enforce, and how much of it is judged.

Run `python tools/constraints_page.py` in a checkout; a test holds the page equal to
docs/constraints/coverage.tsv, whose rows people sorted.
"""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from compile_key_relations import relation_files

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "docs" / "constraints" / "coverage.tsv"
PAGE = ROOT / "docs" / "constraints.md"
JUDGED = ("relation", "row", "rule", "same")
STATUSES = (*JUDGED, "open", "not-by-file", "default", "not-sorted")
KINDS = ("error", "warn", "override", "deprecated")

_INTRODUCTION = """\
# What the frameworks enforce, and what is judged before the start

The frameworks, schedulers and operators stop, warn or override by rules of their own.
[constraints/coverage.tsv](constraints/coverage.tsv) lists {count:,} such places in
their sources, with repository, file, line and commit, and what became of each: a
`relation` between keys (schemas/catalogues/relations), a `row` of a key table (a type,
a choice, a range), a hand-written `rule`, the `same` check as another place, or `open`:
a file can break it, and nothing says so. More than files decides about `not-by-file` (a
loaded model, a GPU, another program) and `default` (the framework fills in what nobody
stated); `not-sorted` was not looked at. The page is written by `make generate`.

Relations in the tables: {relations:,}.
"""


class Constraint(NamedTuple):
    """One place in a source where a framework enforces something."""

    framework: str
    source: str
    commit: str
    kind: str
    status: str
    where: str


def constraints() -> list[Constraint]:
    """Return the rows of the list."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter="\t")
        next(reader)
        return [Constraint(*row) for row in reader]


def unknown_relations(rows: list[Constraint]) -> Iterator[str]:
    """Yield the rows that name no relation of the tables."""
    ids = {row["id"] for file in relation_files() for row in file.rows}
    for row in rows:
        named = [name.strip() for name in row.where.split(",")]
        if row.status == "relation" and not ids.intersection(named):
            yield f"{row.source}: {row.where}"


def page(rows: list[Constraint]) -> str:
    """Return the text that the page must have."""
    relations = sum(len(file.rows) for file in relation_files())
    lines = [_INTRODUCTION.format(count=len(rows), relations=relations)]
    lines += [
        "| kind | a file can break | judged | share |",
        "| --- | --- | --- | --- |",
    ]
    for kind in KINDS:
        lines.append(_shares(kind, Counter(r.status for r in rows if r.kind == kind)))
    lines += [
        "",
        f"| framework | {' | '.join(STATUSES)} | judged of what a file can break |",
    ]
    lines.append("| --- " * (len(STATUSES) + 2) + "|")
    by_framework: Mapping[str, Counter[str]] = _by_framework(rows)
    for name, counts in sorted(by_framework.items()):
        cells = " | ".join(str(counts[status]) for status in STATUSES)
        lines.append(f"| {name} | {cells} | {_share(counts)} |")
    return "\n".join(lines) + "\n"


def _by_framework(rows: list[Constraint]) -> dict[str, Counter[str]]:
    result: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        result[row.framework][row.status] += 1
    return result


def _shares(kind: str, counts: Counter[str]) -> str:
    judged = sum(counts[status] for status in JUDGED)
    return f"| {kind} | {judged + counts['open']:,} | {judged:,} | {_share(counts)} |"


def _share(counts: Counter[str]) -> str:
    judged = sum(counts[status] for status in JUDGED)
    breakable = judged + counts["open"]
    return f"{judged / breakable:.0%}" if breakable else "-"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(constraints()), encoding="utf-8")


if __name__ == "__main__":
    main()

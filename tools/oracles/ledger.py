"""What frameworks enforce on files alone, framework by framework, for docs/oracles.md.

The places in their sources are those of docs/constraints/coverage.tsv; rows that were
drawn of them and broken by hand are in draws.yaml.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from constraints_page import JUDGED, Constraint
from oracles.examples import ExampleResult

DRAWS = Path(__file__).with_name("draws.yaml")
_BROKEN = (*JUDGED, "open")


class Draw(NamedTuple):
    """Rows drawn at random, and what speccheck said of files that break them.

    Attributes:
        seed: of the draw.
        rows: how many were drawn.
        broken: how many a file alone can break, of those.
        first: told at first, before anything was mended; files as first written.
        mended: told after that, and after mistakes in the files were corrected.
        with_release: the same, where the newest release is stated.
        open: what is left, in words.

    """

    seed: int
    rows: int
    broken: int
    first: str
    mended: int
    with_release: int
    open: str


def draws(path: Path = DRAWS) -> list[Draw]:
    """Return the draws."""
    return [Draw(**row) for row in yaml.safe_load(path.read_text(encoding="utf-8"))]


def ledger_lines(
    rows: Sequence[Constraint],
    results: Iterable[ExampleResult],
    drawn: Sequence[Draw],
) -> Iterator[str]:
    """Yield the section, in Markdown."""
    confirmed = {result.id for result in results if result.agrees}
    breakable = [row for row in rows if row.status in _BROKEN]
    yield "## What a file alone can break"
    yield ""
    yield (
        "Places in the frameworks' sources that stop, warn or override by what files "
        "state (docs/constraints/coverage.tsv). *Told*: by a relation, whose example "
        "and mended twin tests hold to key and level, by a row of a key table, or by a "
        "rule. *Confirmed*: relations whose example and twin an oracle judged alike."
    )
    yield ""
    yield (
        "| framework | a file can break | errors | told | others | told "
        "| by relations | confirmed | not told |"
    )
    yield "| --- |" + " ---: |" * 8
    for framework in sorted({row.framework for row in breakable}):
        own = [row for row in breakable if row.framework == framework]
        yield _framework_row(framework, own, confirmed)
    yield _framework_row("all", breakable, confirmed)
    yield ""
    yield "| not told | kind | why |"
    yield "| --- | --- | --- |"
    missing = (row for row in breakable if row.status == "open")
    by_reason = Counter((row.framework, row.kind, row.where) for row in missing)
    for (framework, kind, reason), count in sorted(by_reason.items()):
        times = f" ({count} places)" if count > 1 else ""
        yield f"| {framework}{times} | {kind} | {_cell(reason)} |"
    yield ""
    yield "## Rows drawn at random"
    yield ""
    yield (
        "Drawn from all places, read in the source, and broken by hand in a published "
        "or a realistic file; told is a new error or warning that names the key."
    )
    yield ""
    yield (
        "| seed | rows | a file can break | told at first | told now "
        "| with a release stated | not told |"
    )
    yield "| --- |" + " ---: |" * 5 + " --- |"
    for draw in drawn:
        shares = (
            _share(draw.mended, draw.broken),
            _share(draw.with_release, draw.broken),
        )
        cells = (draw.seed, draw.rows, draw.broken, draw.first, *shares, draw.open)
        yield f"| {' | '.join(map(str, cells))} |"


def _framework_row(name: str, rows: Sequence[Constraint], confirmed: set[str]) -> str:
    errors = [row for row in rows if row.kind == "error"]
    others = [row for row in rows if row.kind != "error"]
    relations = [row for row in rows if row.status == "relation"]
    cells = (
        len(rows),
        len(errors),
        _share_judged(errors),
        len(others),
        _share_judged(others),
        len(relations),
        sum(any(id_ in confirmed for id_ in _ids(row)) for row in relations),
        sum(row.status == "open" for row in rows),
    )
    return f"| {name} | {' | '.join(map(str, cells))} |"


def _ids(row: Constraint) -> list[str]:
    return [part.strip() for part in row.where.split(",")]


def _share_judged(rows: Sequence[Constraint]) -> str:
    judged = sum(row.status in JUDGED for row in rows)
    return f"{judged / len(rows):.0%}" if rows else "-"


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

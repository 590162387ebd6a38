"""The coverage of an edition on a terminal: `speccheck spec coverage`."""

from collections.abc import Iterator

from speccheck.validator.report.coverage import (
    Coverage,
    CoveredArea,
    CoveredClause,
    FixtureCounts,
    Gap,
    totals,
)
from speccheck.validator.report.style import wrap

_WIDTH = 80
_SHORT_DIGEST = 12
_NAME = 54
_HEADINGS = ("pass", "fail", "unknown", "n/a")
_CELLS = (5, 5, 8, 5)
# What nobody has done yet, before what files cannot show.
_ORDER = ("no_rule", "needs_live_evidence", "of_certification")


def coverage_text(coverage: Coverage) -> str:
    """The open musts first, then each area, then the sums."""
    lines = [*_head(coverage), *_open_musts(coverage)]
    for area in coverage.areas:
        lines.extend(_area(area))
    lines.extend(_sums(coverage))
    return "\n".join(lines) + "\n"


def _head(coverage: Coverage) -> Iterator[str]:
    edition = coverage.edition
    digest = edition.sha256[:_SHORT_DIGEST]
    yield f"What the rules cover of edition {edition.id} ({edition.stage}, {digest})"
    yield ""
    yield from (wrap(one, _WIDTH, "") for one in sentences(coverage))
    yield ""


def sentences(coverage: Coverage) -> Iterator[str]:
    """The totals in words."""
    all_of_it = totals(coverage.clauses)
    yield (
        f"{all_of_it.clauses} clauses, {all_of_it.core} of the core; "
        f"{all_of_it.with_rules} have rules."
    )
    yield (
        f"Files alone can settle {all_of_it.settled_core} of the {all_of_it.core} "
        f"of the core, {all_of_it.settled_musts} of its {all_of_it.musts} musts."
    )
    fixtures = all_of_it.fixtures
    yield (
        f"{all_of_it.rules} rules with {sum(fixtures)} fixtures: {fixtures.pass_} "
        f"pass, {fixtures.fail} fail, {fixtures.unknown} unknown, "
        f"{fixtures.not_applicable} not applicable."
    )


def open_musts(coverage: Coverage) -> dict[str, list[CoveredClause]]:
    """The musts of the core that files alone do not settle, by the reason."""
    found: dict[Gap, list[CoveredClause]] = {}
    for one in coverage.clauses:
        if one.is_open_must and one.gap is not None:
            found.setdefault(one.gap, []).append(one)
    ordered = sorted(found, key=lambda gap: (_ORDER.index(gap.kind), gap.text))
    return {gap.text: found[gap] for gap in ordered}


def _open_musts(coverage: Coverage) -> Iterator[str]:
    by_reason = open_musts(coverage)
    if not by_reason:
        return
    count = sum(map(len, by_reason.values()))
    yield f"{count} musts of the core that files alone do not settle"
    for reason, clauses in by_reason.items():
        yield f"  {reason}"
        for one in clauses:
            yield f"    {one.clause.id:<9} {one.clause.title}"
    yield ""


def _area(area: CoveredArea) -> Iterator[str]:
    yield _row(f"{area.code}  {area.title}", _HEADINGS)
    for one in area.clauses:
        clause = one.clause
        state = "" if clause.status == "core" else f", {clause.status}"
        yield f"  {clause.id}  {clause.title} ({clause.level}{state})"
        for rule in one.rules:
            yield _row(f"    {rule.rule.name}", _counts(rule.fixtures))
        if one.gap is not None:
            yield wrap(one.gap.text, _WIDTH, "    - ")
    yield ""


def _sums(coverage: Coverage) -> Iterator[str]:
    yield _row(
        f"{'area':<6}{'clauses':>9}{'core':>7}{'ruled':>8}{'rules':>8}", _HEADINGS
    )
    rows = [(area.code, area.clauses) for area in coverage.areas]
    for name, clauses in (*rows, ("all", tuple(coverage.clauses))):
        sums = totals(clauses)
        left = (
            f"{name:<6}{sums.clauses:>9}{sums.core:>7}{sums.with_rules:>8}"
            f"{sums.rules:>8}"
        )
        yield _row(left, _counts(sums.fixtures))


def _counts(fixtures: FixtureCounts) -> tuple[str, ...]:
    return tuple(str(count) if count else "-" for count in fixtures)


def _row(left: str, cells: tuple[str, ...]) -> str:
    widths = zip(cells, _CELLS, strict=True)
    return f"{left:<{_NAME}}" + "".join(f"{cell:>{width}}" for cell, width in widths)

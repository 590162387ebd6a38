"""docs/oracles.md: what the frameworks' own validators say beside speccheck."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from oracles.edited import TextResult
from oracles.examples import ExampleResult

NOT_ARGUED = "not argued yet"
_LONGEST = 200
_INTRODUCTION = """\
# What the frameworks say themselves

`make oracles` asks the validators of the frameworks whether they agree with speccheck.
Each runs in an environment of its own, with the releases below, without a GPU and
without a network; what a file asks of the machine or of further packages is taken to be
there. Generated: do not edit.

A **relation** is a row of the key tables (schemas/catalogues/relations): its example,
over a small configuration that the framework accepts, must be refused where the row
says so, and its mended twin accepted. An **edit** is one wrong value in a published
file that the framework accepts as it is; speccheck refuses it where it reports an error
that it does not report of the file as it is. Scripts read keys that no framework knows,
so only values are edited. Most loaders check few types: what they accept may still stop
the run where the value is first used, which no loader says.

A row **disagrees** where the oracle was asked and says another thing; the argument says
why. It is **not asked** where the example speaks of another file, of the plan, or of
keys which its release lacks, and where what refuses it is no part of what is asked: an
operator in the cluster, another command, a plugin or a package that is not there."""


class Disagreement(NamedTuple):
    """Cases of which both sides say other things."""

    id: str
    framework: str
    speccheck: str
    cases: int = 1
    argument: str = ""


class OracleReport(NamedTuple):
    """The figures of one oracle; skipped: why nothing did.

    Attributes:
        name: of the oracle.
        version: of the package, as the package states it.
        asks: in a sentence, what of the framework is asked.
        examples: the relations of its table.
        plain: published files as they are.
        edited: single edits of those that both sides accept.
        skipped: why it was not asked.

    """

    name: str
    version: str = ""
    asks: str = ""
    examples: Sequence[ExampleResult] = ()
    plain: Sequence[TextResult] = ()
    edited: Sequence[TextResult] = ()
    skipped: str = ""


class Counts(NamedTuple):
    """How often both sides refuse or accept an edit, and how often one alone."""

    both_refuse: int
    both_accept: int
    framework_alone: int
    speccheck_alone: int
    open: int


def counts(results: Iterable[TextResult]) -> Counts:
    """Count the edits by what both sides say."""
    rows = [(result.answer.accepted, not result.errors) for result in results]
    return Counts(
        rows.count((False, False)),
        rows.count((True, True)),
        rows.count((False, True)),
        rows.count((True, False)),
        sum(accepted is None for accepted, _ in rows),
    )


def page(reports: Sequence[OracleReport], argued: Mapping[str, str]) -> str:
    """Return the page, in Markdown."""
    return "\n".join([*_lines(reports, argued)]).rstrip() + "\n"


def _lines(reports: Sequence[OracleReport], argued: Mapping[str, str]) -> Iterator[str]:
    yield _INTRODUCTION
    yield ""
    present = [report for report in reports if not report.skipped]
    yield "## The oracles"
    yield ""
    yield "| oracle | release | what is asked |"
    yield "| --- | --- | --- |"
    for report in reports:
        what = f"not asked: {report.skipped}" if report.skipped else report.asks
        yield f"| {report.name} | {report.version} | {cell(what)} |"
    yield ""
    yield "## Relations"
    yield ""
    yield (
        "| oracle | rows | agrees | disagrees, argued | disagrees, not argued "
        "| not asked | agrees, of those asked | warning seen |"
    )
    yield "| --- |" + " ---: |" * 7
    for report in present:
        yield _example_row(report.name, report.examples)
    yield _example_row("all", [row for report in present for row in report.examples])
    yield ""
    yield "## Published files and single edits"
    yield ""
    yield (
        "| oracle | files | the framework accepts | of these we refuse | edits "
        "| both refuse | both accept | only the framework refuses | only we refuse "
        "| its refusals that we share | our refusals that it shares |"
    )
    yield "| --- |" + " ---: |" * 10
    for report in present:
        if report.plain:
            yield _text_row(report)
    yield ""
    yield "## Disagreements"
    yield ""
    yield from _disagreements(present, argued)
    yield "## Relations that are not asked about"
    yield ""
    yield "| relation | why |"
    yield "| --- | --- |"
    for report in present:
        for row in report.examples:
            if not row.is_askable:
                yield f"| {report.name}/{row.id} | {cell(row.reason)} |"


def _example_row(name: str, results: Sequence[ExampleResult]) -> str:
    rows = [row for row in results if row.is_askable]
    agreeing = sum(row.agrees for row in rows)
    argued = sum(bool(row.argument) and not row.agrees for row in rows)
    others = [row for row in rows if not row.is_refusal]
    numbers = (
        len(results),
        agreeing,
        argued,
        len(rows) - agreeing - argued,
        len(results) - len(rows),
        _share(agreeing, len(rows) - agreeing),
        sum(row.is_heard for row in others),
    )
    return f"| {name} | {' | '.join(map(str, numbers))} |"


def _text_row(report: OracleReport) -> str:
    taken = [result for result in report.plain if result.answer.accepted]
    known = counts(report.edited)
    numbers = (
        len(report.plain),
        len(taken),
        sum(bool(result.errors) for result in taken),
        len(report.edited) - known.open,
        *known[:4],
        _share(known.both_refuse, known.framework_alone),
        _share(known.both_refuse, known.speccheck_alone),
    )
    return f"| {report.name} | {' | '.join(map(str, numbers))} |"


def _share(part: int, other: int) -> str:
    return f"{part / (part + other):.0%}" if part + other else "-"


def _disagreements(
    reports: Sequence[OracleReport], argued: Mapping[str, str]
) -> Iterator[str]:
    rows = [row for report in reports for row in disagreements(report)]
    left = sum(_argument(row, argued) == NOT_ARGUED for row in rows)
    count = sum(row.cases for row in rows)
    yield f"{len(rows)} rows of {count} cases, {left} of them not argued yet."
    yield ""
    for report in reports:
        own = [*disagreements(report)]
        if not own:
            continue
        yield f"### {report.name}"
        yield ""
        yield "| case | cases | the framework | speccheck | argument |"
        yield "| --- | ---: | --- | --- | --- |"
        for row in own:
            words = (row.framework, row.speccheck, _argument(row, argued))
            cells = " | ".join(map(cell, words))
            yield f"| `{cell(row.id)}` | {row.cases} | {cells} |"
        yield ""


def disagreements(report: OracleReport) -> Iterator[Disagreement]:
    """Yield the cases of an oracle of which both sides say other things."""
    for row in report.examples:
        if not row.is_askable or row.example is None or row.mended is None:
            continue
        name = f"{report.name}/{row.id}"
        if not row.example_agrees:
            yield Disagreement(
                f"{name}/example",
                said(row.example.message),
                f"{row.kind}: {row.text}",
                argument=row.argument,
            )
        if not row.mended_agrees:
            yield Disagreement(
                f"{name}/mended",
                said(row.mended.message),
                "mended, so accepted",
                argument=row.argument,
            )
    taken = [result for result in report.plain if result.answer.accepted]
    yield from _alike(report.name, taken)
    yield from _alike(report.name, report.edited)


def _alike(oracle: str, results: Iterable[TextResult]) -> Iterator[Disagreement]:
    """Yield texts of which both sides say other things.

    Where speccheck alone refuses, those of one rule and kind of edit make one row.
    """
    alone: dict[str, list[str]] = {}
    for result in results:
        accepted = result.answer.accepted
        if accepted is None or accepted != bool(result.errors):
            continue
        if not accepted:
            message = said(result.answer.message)
            yield Disagreement(f"{oracle}/{result.text.id}", message, "accepts")
            continue
        rule, _, message = result.errors[0].partition(": ")
        kind = result.text.kind or "as it is"
        alone.setdefault(f"{rule}: {kind}", []).append(message)
    for name, messages in sorted(alone.items()):
        shown = "; ".join(dict.fromkeys(messages))
        yield Disagreement(f"{oracle}/{name}", "accepts", shown, len(messages))


def said(message: str) -> str:
    """Return what a framework says, without paths of this machine."""
    text = re.sub(r"\S*/site-packages/", "", message)
    text = re.sub(r"\S*/tmp\w+/case/", "", text)
    return text or "accepts"


def _argument(row: Disagreement, argued: Mapping[str, str]) -> str:
    """Return why both sides say other things of a case."""
    return argued.get(row.id) or row.argument or NOT_ARGUED


def cell(text: str) -> str:
    """Return a text for a cell of a table, in one line and not too long."""
    line = " ".join(text.split())
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1].rstrip() + "…"
    return line.replace("|", "\\|").replace("<", "&lt;")

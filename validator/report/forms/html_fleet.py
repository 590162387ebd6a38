"""`speccheck fleet DIR --output html=FILE`: the report on a fleet as one page.

What the text says on one screen, with a map of all nodes, and what they measured. The
page stays below two megabytes for ten thousand nodes.
"""

from collections.abc import Iterator

from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.forms.html_fleet_findings import (
    attendance_html,
    drain_html,
    findings_html,
    unknown_html,
)
from speccheck.validator.report.forms.html_fleet_map import map_html
from speccheck.validator.report.forms.html_fleet_rates import rates_html
from speccheck.validator.report.forms.html_page import (
    contents,
    page_end,
    page_head,
    synthetic_html,
)
from speccheck.validator.report.forms.html_text import code, escaped, section
from speccheck.validator.report.style import Style, counted

_SHEETS = ("html_synthetic", "html_fleet")
_SCRIPTS = ("html_fleet",)
_COLOURS = {"go": "good", "no-go": "error"}
_WIDE = Style(unicode=True, width=100)
_MOST_ARGUMENTS = 5
_MOST_WARNINGS = 20
_LONGEST = 1000  # characters of a reason


def fleet_html(context: FleetContext) -> Iterator[str]:
    """The page in pieces."""
    run, verdict = context.run, context.verdict
    sections = [
        ("map", "All nodes", map_html(run, verdict)),
        ("findings", "What fails", findings_html(context)),
        (
            "drain",
            "Nodes that are not fit",
            drain_html(run, verdict, full=context.full),
        ),
        ("attendance", "Who reported", attendance_html(run)),
        ("unknown", "Not judged", unknown_html(context)),
        ("measured", "Measured", rates_html(run)),
        ("since", "Since the other day", _since(context)),
    ]
    title = f"{verdict.word}: {verdict.reason}"[:_LONGEST]
    yield page_head(title, sheets=_SHEETS, scripts=_SCRIPTS)
    synthetic = len({one.name for one in run.nodes if one.is_synthetic})
    if synthetic:
        many = counted(synthetic, "node")
        yield synthetic_html(
            f"{many} made by speccheck simulate; this says nothing of any machine."
        )
    yield _head(context)
    yield contents([(anchor, name) for anchor, name, body in sections if body])
    yield "<main>\n"
    for anchor, name, body in sections:
        yield section(anchor, name, body)
    yield "</main>\n"
    yield page_end(_SCRIPTS)


def _head(context: FleetContext) -> str:
    run, verdict = context.run, context.verdict
    needed = "" if verdict.needed is None else f" of {verdict.needed:,} needed"
    size = f", size {run.size}" if run.size else ""
    facts = [
        ("Nodes", f"{len({one.name for one in run.nodes}):,}"),
        *([("GPUs", f"{run.gpus:,}")] if run.gpus else []),
        ("Fit", f"{verdict.fit:,}{needed}"),
        *([("Spares", _spares(context))] if verdict.spares else []),
        ("Exit code", str(verdict.code)),
        ("Profile", escaped(f"{run.use}{size}")),
        ("Edition", escaped(run.edition.id)),
        ("sha256", code(run.edition.sha256)),
    ]
    pairs = "".join(
        f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in facts
    )
    paths = [one[:_LONGEST] for one in context.arguments[:_MOST_ARGUMENTS]]
    more = len(context.arguments) - len(paths)
    judged = " ".join((*paths, *([f"and {more:,} more"] if more else ())))
    notes = [one[:_LONGEST] for one in run.warnings[:_MOST_WARNINGS]]
    if run.listing.ignored:
        notes.append(f"{counted(run.listing.ignored, 'file')} of other kinds not read")
    noted = "".join(f'<p class="note">{escaped(note)}</p>\n' for note in notes)
    return (
        f'<header class="{_COLOURS.get(verdict.word, "unknown")}">\n'
        '<p class="tool">speccheck fleet</p>\n'
        f'<h1><span class="word">{escaped(verdict.word)}</span> '
        f"{escaped(verdict.reason[:_LONGEST])}</h1>\n"
        f'<p class="judged">{escaped(judged)}</p>\n'
        f'<dl class="facts">{pairs}</dl>\n{noted}</header>\n'
    )


def _spares(context: FleetContext) -> str:
    spares = context.verdict.spares
    if spares is None:
        return ""
    wanted = spares.wanted
    return (
        f"{spares.at_hand:,}, wanted {wanted.value:,.0f} "
        f"({wanted.lower:,.0f} to {wanted.upper:,.0f})"
    )


def _since(context: FleetContext) -> str:
    if context.since is None:
        return ""
    from speccheck.validator.report.fleet_days_text import (  # noqa: PLC0415 - of few
        since_text,
    )

    text = "".join(since_text(context.since, _WIDE, full=False))
    lines = "\n".join(escaped(line) for line in text.strip("\n").splitlines())
    return f"<pre>{lines}</pre>\n"

"""The values of each plan: what, how it is known, from where; and what they predict."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.value import Value
from speccheck.validator.report.forms.html_forecast import forecasts_html
from speccheck.validator.report.forms.html_text import (
    breakable,
    code,
    escaped,
    folded,
    row,
    table,
)
from speccheck.validator.report.plan_text import short_names
from speccheck.validator.report.style import counted
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.wording import written
from speccheck.validator.run.plan_dump import ShownPlan
from speccheck.validator.run.plan_judge import JudgedPlan

_MOST_LISTED = 300
_COLUMNS = 4


def plans_html(plans: Sequence[JudgedPlan]) -> Iterator[str]:
    """A line for each plan where there are several, then the values of each."""
    if len(plans) > 1:
        yield _overview(plans)
    for plan in plans:
        if plan.shown is None:
            continue
        if len(plans) == 1:
            yield _plan(plan, plan.shown)
        else:
            yield folded(code(_name(plan)), _plan(plan, plan.shown), name="plan")
    kept = sum(plan.shown is not None for plan in plans)
    if kept < len(plans):
        rest = counted(len(plans) - kept, "more plan")
        yield (
            f'<p class="note">The values of {rest} are not shown: '
            "<code>speccheck plan FILE</code> shows them.</p>\n"
        )


def _overview(plans: Sequence[JudgedPlan]) -> str:
    """Those with most errors first."""
    rows: list[tuple[int, int, int, str]] = []
    for plan in plans:
        summary = summarize((plan,))
        failed, unknown = summary.failed, summary.clauses["must"]["unknown"]
        counts = (failed["error"], failed["warning"], unknown)
        world = plan.plan.value("cluster.world_size").value
        formats = " + ".join(dict.fromkeys(file.format for file in plan.files))
        cells = [
            code(_name(plan)),
            escaped(formats),
            "" if world is None else f"{world:,}",
            *(f"{count:,}" if count else "" for count in counts),
        ]
        told = row(cells, numbers=range(2, 6))
        rows.append((-counts[0], -counts[1], len(rows), told))
    rows.sort()
    heads = ("plan", "format", ">GPUs", ">errors", ">warnings", ">unknown musts")
    shown = table(
        "Plans", heads, (told for *_, told in rows[:_MOST_LISTED]), name="long"
    )
    if len(rows) > _MOST_LISTED:
        shown += f'<p class="note">and {len(rows) - _MOST_LISTED:,} more plans</p>\n'
    return shown


def _name(plan: JudgedPlan) -> str:
    return ", ".join(file.path for file in plan.files)


def _plan(plan: JudgedPlan, shown: ShownPlan) -> str:
    parts = []
    files = ", ".join(f"{file.path} ({file.format})" for file in plan.files)
    parts.append(f'<p class="note">{escaped(files)}</p>\n')
    if plan.grouping:
        reasons = escaped("; ".join(plan.grouping))
        parts.append(f'<p class="note">one plan: {reasons}</p>\n')
    parts.append(_values(shown, short_names(shown)))
    knows_scale = plan.plan.value("cluster.world_size").value is not None
    parts.append(forecasts_html(shown.forecasts, knows_scale=knows_scale))
    return "".join(parts)


def _values(shown: ShownPlan, short: Mapping[str, str]) -> str:
    """All leaves of which something is known, by the sections of the plan."""
    rows: list[str] = []
    section = ""
    silent: list[str] = []
    for one in shown.leaves:
        leaf = one.leaf
        if leaf.status == "unknown" and not leaf.note:
            silent.append(leaf.name)
            continue
        here, _, name = leaf.name.partition(".")
        if here != section:
            section = here
            rows.append(_section(here))
        rows.append(_leaf(name, leaf, one.locations, short))
    if shown.variables:
        rows.append(_section("environment"))
        for variable in shown.variables:
            value = "(not shown)" if variable.value is None else variable.value
            at = _at([variable.location], short)
            rows.append(row([breakable(variable.name), code(value), "stated", at]))
    heads = ("value", "", "status", "from")
    told = table("Values of the plan", heads, rows, name="values")
    note = f"{len(silent)} of {counted(len(shown.leaves), 'value')} not stated"
    names = f'<p class="note">{escaped(", ".join(silent))}</p>\n'
    return (told if rows else "") + (folded(note, names) if silent else "")


def _section(name: str) -> str:
    return (
        f'<tr class="group"><th scope="colgroup" colspan="{_COLUMNS}">'
        f"{escaped(name)}</th></tr>\n"
    )


def _leaf(
    name: str,
    leaf: Value[object],
    locations: Sequence[Location],
    short: Mapping[str, str],
) -> str:
    value = "" if leaf.value is None else written(leaf.value)
    note, places = leaf.note, _at(locations, short)
    if leaf.status == "conflict":
        pairs = zip(leaf.alternatives, locations, strict=False)
        places = "; ".join(
            f"{code(text)} at {_at([place], short)}" for text, place in pairs
        )
    note = f' <span class="note">{escaped(note)}</span>' if note else ""
    status = f'<span class="status {leaf.status}">{leaf.status}</span>'
    return row([breakable(name), code(value), status, places + note])


def _at(locations: Sequence[Location], short: Mapping[str, str]) -> str:
    by_file: dict[str, dict[str, None]] = {}
    for one in locations:
        where = str(one.line) if one.line else one.key
        by_file.setdefault(one.file, {})[where] = None
    parts = []
    for file, lines in by_file.items():
        where = ",".join(line for line in lines if line)
        between = ":" if where[:1].isdigit() else " "
        parts.append(code(f"{short.get(file, file)}{between}{where}".strip()))
    return ", ".join(parts)

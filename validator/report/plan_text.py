"""The plan of files as a table: each value, how it is known, and from where.

Below it what the models predict; a change that was asked for takes the table's place.
"""

from collections.abc import Iterable, Iterator, Mapping

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.forecast_text import forecast_lines
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.what_if_text import what_if_lines
from speccheck.validator.report.written import written
from speccheck.validator.run.plan_dump import ShownLeaf, ShownPlan
from speccheck.validator.run.plan_view import PlanView, ViewedPlan

_NAME = 30
_VALUE = 22
_STATUS = 8
_COLOURS = {
    "stated": "good",
    "derived": "good",
    "conflict": "error",
    "unknown": "unknown",
    "default": "dim",
}


def plan_text(view: PlanView, style: Style, *, full: bool) -> str:
    """All plans; `full` adds the leaves that no file speaks of."""
    blocks = [f"{printable(file.message)}" for file in view.files if file.message]
    blocks += ["\n".join(_plan(plan, style, full=full)) for plan in view.plans]
    return "\n\n".join(blocks) + "\n"


def _plan(viewed: ViewedPlan, style: Style, *, full: bool) -> Iterator[str]:
    plan = viewed.shown
    names = ", ".join(f"{file.path} ({file.format})" for file in plan.files)
    head = wrap(f"plan {names}", style.width, "").removeprefix("plan")
    yield style.paint("plan", "bold") + head
    if plan.grouping:
        yield wrap(f"one plan: {'; '.join(plan.grouping)}", style.width, "  ")
    if viewed.what_if is None or full:
        yield from _values(plan, style, full=full)
        yield from forecast_lines(
            plan.forecasts, style, knows_scale=_knows_scale(plan), full=full
        )
    yield from what_if_lines(viewed, style, full=full)


def _knows_scale(plan: ShownPlan) -> bool:
    return any(
        shown.leaf.name == "cluster.world_size" and shown.leaf.is_known
        for shown in plan.leaves
    )


def _values(plan: ShownPlan, style: Style, *, full: bool) -> Iterator[str]:
    short = short_names(plan)
    section = ""
    silent: list[str] = []
    for shown in plan.leaves:
        leaf = shown.leaf
        if leaf.status == "unknown" and not leaf.note:
            silent.append(leaf.name)
            continue
        here, _, name = leaf.name.partition(".")
        if here != section:
            section = here
            yield f"\n{style.paint(section, 'bold')}"
        yield from _row(name, shown, short, style)
    if plan.variables:
        yield f"\n{style.paint('environment', 'bold')}"
        for variable in plan.variables:
            value = "(not shown)" if variable.value is None else hidden(variable.value)
            at = _at([variable.location], short)
            yield f"  {variable.name}={printable(value)}  {at}"
    yield ""
    if full:
        yield wrap(f"not stated: {', '.join(silent)}", style.width, "")
    else:
        count = f"{len(silent)} of {len(plan.leaves)} values"
        yield f"{count} are not stated in these files (--full names them)"


def short_names(plan: ShownPlan) -> dict[str, str]:
    """The files by their last part, where it tells them apart."""
    paths = {location.file for shown in plan.leaves for location in shown.locations} | {
        variable.location.file for variable in plan.variables
    }
    bases = [path.rpartition("/")[2] for path in paths]
    return {
        path: base
        for path in paths
        if bases.count(base := path.rpartition("/")[2]) == 1
    }


def _row(
    name: str, shown: ShownLeaf, short: Mapping[str, str], style: Style
) -> Iterator[str]:
    leaf = shown.leaf
    value = "" if leaf.value is None else printable(hidden(written(leaf.value)))
    status = style.paint(f"{leaf.status:<{_STATUS}}", _COLOURS.get(leaf.status, ""))
    places = _at(shown.locations, short)
    note = printable(hidden(leaf.note))
    if leaf.status == "conflict":
        pairs = zip(leaf.alternatives, shown.locations, strict=False)
        note = "; ".join(f"{text} at {_at([place], short)}" for text, place in pairs)
        places = ""
    line = f"  {name:<{_NAME}} {value:<{_VALUE}} {status} {places}".rstrip()
    if not note:
        yield line
    elif not places and len(line) + len(note) < style.width:
        yield f"{line} {note}"
    else:
        yield line
        yield wrap(note, style.width, " " * 6)


def _at(locations: Iterable[Location], short: Mapping[str, str]) -> str:
    """`train.yaml:3,7, job.sbatch:2`; the key where there is no line."""
    by_file: dict[str, dict[str, None]] = {}
    for one in locations:
        where = str(one.line) if one.line else one.key
        by_file.setdefault(short.get(one.file, one.file), {})[where] = None
    parts = []
    for file, lines in by_file.items():
        where = ",".join(line for line in lines if line)
        parts.append(f"{file}{':' if where[:1].isdigit() else ' '}{where}".rstrip())
    return ", ".join(parts)

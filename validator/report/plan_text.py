"""The plan of files as a table: each value, how it is known, and from where.

Below it what the models predict; a change that was asked for takes the table's place.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.models.estimate import Estimate
from speccheck.validator.report.forecast_text import (
    bar,
    forecast_lines,
    painted,
    wanted,
)
from speccheck.validator.report.style import Style, joined, printable, wrap
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.verdict import Exit, exit_of
from speccheck.validator.report.wording import amount, best, in_words, written
from speccheck.validator.run.plan_dump import DumpedLeaf, PlanDump
from speccheck.validator.run.plan_view import (
    DumpedChange,
    FindingChange,
    PlanView,
    ViewedPlan,
)
from speccheck.validator.run.run import RunResult

_CHANGED_NAME, _VALUES = 38, 20
_NOT_KNOWN = "not known"
_MOST_COLUMNS, _BAR_AT = 100, 11
_WORDS = {
    "pass": ("passed", "good"),
    "unknown": ("not run", "unknown"),
    "not_applicable": ("does not apply", "dim"),
}


def what_if_lines(plan: ViewedPlan, style: Style, *, full: bool) -> Iterator[str]:
    """Yield what is set, what follows, what is judged otherwise, and the verdicts."""
    what_if = plan.what_if
    if what_if is None:
        return
    text = ", ".join(change.text for change in what_if.changes)
    yield f"\n{style.paint('what if', 'bold')} {printable(text)}"
    if not plan.changed:
        yield "  no value of the plan changes"
    for change in plan.changed:
        yield from _value(change, style)
    for remark in what_if.remarks:
        yield wrap(printable(remark), style.width, "  ")
    yield from _predicted(plan.shown.forecasts, what_if.forecasts, style)
    yield ""
    minor = (
        [] if full else [finding for finding in what_if.findings if _is_minor(finding)]
    )
    for finding in what_if.findings:
        if finding not in minor:
            yield from _finding(finding, style)
    yield from _minor(minor, style)
    if not what_if.findings:
        yield "no finding changes"
    yield f"  before  {_verdict(what_if.before, style)}"
    yield f"  after   {_verdict(what_if.after, style)}"


def _value(change: DumpedChange, style: Style) -> Iterator[str]:
    old, new = change.before.leaf, change.after.leaf
    values = f"{_text(old)} -> {_text(new)}"
    line = f"  {old.name:<{_CHANGED_NAME}} {values:<{_VALUES}} {new.status}"
    note = printable(hidden(new.note))
    if not note:
        yield line
    elif len(line) + 2 + len(note) <= style.width:
        yield f"{line}: {note}"
    else:
        yield line
        yield wrap(note, style.width, " " * 6)


def _text(leaf: Value[object]) -> str:
    if leaf.value is None:
        return leaf.status if leaf.status in {"conflict", "invalid"} else "unknown"
    return printable(hidden(written(leaf.value)))


def _is_minor(change: FindingChange) -> bool:
    """Return whether a clause below must comes out otherwise, never failing."""
    return change.kind == "outcome" and change.main.clause_level != "must"


def _minor(changes: Sequence[FindingChange], style: Style) -> Iterator[str]:
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for change in changes:
        old, new = _outcome(change.before), _outcome(change.after)
        groups.setdefault((old, new), {})[change.main.clause] = None
    for (old, new), clauses in groups.items():
        text = f"{_WORDS[old][0]} -> {_WORDS[new][0]}: {', '.join(clauses)} (--full)"
        yield wrap(text, style.width, "  ")


def _finding(change: FindingChange, style: Style) -> Iterator[str]:
    finding = change.main
    name = f"{finding.clause} {finding.rule or finding.title}"
    if change.kind == "outcome":
        old, new = (_outcome(side) for side in (change.before, change.after))
        word, colour = _WORDS[new]
        text = f"  {name}: {_WORDS[old][0]} -> {style.paint(word, colour)}"
        yield text + _because(change.after, style)
        return
    if change.kind == "vanishes" and change.before is not None:
        name = f"{change.before.clause} {change.before.rule}"
        word = _WORDS[_outcome(change.after)][0]
        head = f"  {style.paint('vanishes', 'good')} {change.before.level} {name}"
        yield f"{head}: {word} now" + _because(change.after, style)
        return
    label = {"appears": "appears", "level": "level", "stays": "still"}[change.kind]
    level = style.paint(finding.level, finding.level)
    if change.kind == "level" and change.before is not None:
        level = f"{change.before.level} -> {level}"
    yield f"  {style.paint(label, 'bold')} {level} {name}"
    yield wrap(printable(hidden(finding.message)), style.width, " " * 6)


def _outcome(finding: Finding | None) -> str:
    return "not_applicable" if finding is None else finding.outcome


def _because(finding: Finding | None, style: Style) -> str:
    if finding is None or not finding.message:
        return ""
    return "\n" + wrap(printable(hidden(finding.message)), style.width, " " * 6)


def ending_of(run: RunResult) -> Exit:
    """Return the verdict and exit code that the plan alone would have."""
    return exit_of(run, summarize(run.plans), "error")


def _verdict(run: RunResult, style: Style) -> str:
    ending = ending_of(run)
    colour = {0: "good", 3: "unknown"}.get(ending.code, "error")
    line = ending.line(style.dot).removeprefix(ending.title)
    return f"{style.paint(ending.title, colour)}{line} (exit {ending.code})"


def _predicted(
    before: tuple[Forecast, ...], after: tuple[Forecast, ...], style: Style
) -> Iterator[str]:
    """Yield the predictions that differ; of bounds the value is shown."""
    old = _by_name(before)
    rows = [
        (name, old.get(name), quantity)
        for name, quantity in _by_name(after).items()
        if _shown(old.get(name)) != _shown(quantity)
    ]
    if rows:
        yield f"\n{style.paint('forecast', 'bold')}"
    for (subject, name), left, right in rows:
        label = f"{in_words(subject)}, {in_words(name, right.unit)}"
        yield f"  {label:<{_CHANGED_NAME}} {_change(left, right)}"
    for subject in dict.fromkeys(subject for (subject, _), _, _ in rows):
        yield from _bars(subject, before, after, style)


def _bars(
    subject: str,
    before: tuple[Forecast, ...],
    after: tuple[Forecast, ...],
    style: Style,
) -> Iterator[str]:
    """Yield what must fit, before and after, in bars of the same parts."""
    for name, forecasts in (("before", before), ("after", after)):
        for forecast in forecasts:
            if forecast.subject != subject or forecast.limit is None:
                continue
            drawn = bar(forecast, min(style.width, _MOST_COLUMNS) - _BAR_AT - 1)
            if drawn is not None:
                head = f"  {name:<7} "
                yield f"{head}{in_words(subject)} {drawn.caption}"
                yield f"{' ' * (_BAR_AT - 1)}[{painted(drawn.cells, style)}]"


def _by_name(forecasts: tuple[Forecast, ...]) -> Mapping[tuple[str, str], Quantity]:
    return {
        (forecast.subject, quantity.name): quantity
        for forecast in forecasts
        for quantity in forecast.quantities
    }


def _change(before: Quantity | None, after: Quantity | None) -> str:
    """Return a prediction before and after, where there was none in words."""
    old, new = _shown(before), _shown(after)
    if old == _NOT_KNOWN:
        return f"{new} (not known before)"
    return f"not known any more (was {old})" if new == _NOT_KNOWN else f"{old} -> {new}"


def _shown(quantity: Quantity | None) -> str:
    return _NOT_KNOWN if quantity is None else best(quantity)


_NAME = 30
_VALUE = 16
_STATUS = 8
_PLACE = " " * 6
_COLOURS = {
    "stated": "good",
    "derived": "good",
    "fallback": "warning",
    "conflict": "error",
    "invalid": "error",
    "unknown": "unknown",
    "default": "dim",
}


def plan_text(view: PlanView, style: Style, *, full: bool) -> str:
    """Return all plans; `full` adds the leaves that no file speaks of."""
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
        yield from _answers(plan, style)
        yield from _values(plan, style, full=full)
        yield from forecast_lines(
            plan.forecasts, style, knows_scale=_knows_scale(plan), full=full
        )
    yield from what_if_lines(viewed, style, full=full)


def _answers(plan: PlanDump, style: Style) -> Iterator[str]:
    """Yield for each forecast with a limit whether the plan stays below it.

    A lower end above the limit is a no, an upper end below it a yes.
    """
    for forecast in plan.forecasts:
        whole, limit = forecast.sum(), forecast.limit
        if whole is None or limit is None:
            continue
        ask = f"{in_words(forecast.subject)}: "
        if whole.estimate is None or limit.estimate is None:
            word, colour, why = "not known whether it fits", "unknown", ""
        else:
            most = limit.estimate.value
            low, high = whole.estimate.lower, whole.estimate.upper
            held = f"{amount(most, limit.unit)} {in_words(limit.name, limit.unit)}"
            if low > most:
                word, colour = "does not fit", "error"
                why = f"at least {amount(low, whole.unit, most)} of {held}"
            elif high <= most:
                word, colour = "should fit", "good"
                why = f"at most {amount(high, whole.unit, most)} of {held}"
            else:
                word, colour = "not sure whether it fits", "unknown"
                upper = amount(high, whole.unit, most)
                why = f"{amount(low, whole.unit, most)} to {upper} of {held}"
        if colour == "unknown":
            more = wanted((forecast,), knows_scale=_knows_scale(plan))
            why += f"; to decide, {more}" if more else ""
        between = ": " if why and not why.startswith(";") else ""
        text = wrap(f"{ask}{word}{between}{why}", style.width, "  ")
        yield text.replace(word, style.paint(word, colour), 1)
    if speed := _speed(plan):
        yield wrap(speed, style.width, "  ")


def _speed(plan: PlanDump) -> str:
    """Return how long a step takes, and all of them; empty where it is not known."""
    known = _by_name(plan.forecasts)
    step, rate = (
        known.get(("step", name)) for name in ("step_seconds", "tokens_per_second")
    )
    estimate = step.estimate if step is not None else None
    if step is None or estimate is None or estimate.kind == "exact":
        return ""
    text = f"step: about {_between(estimate, 1)}"
    if rate is not None and rate.estimate is not None:
        text += f", {amount(rate.estimate.value, rate.unit)}"
    steps = next(
        (item.leaf.value for item in plan.leaves if item.leaf.name == "run.steps"), None
    )
    if isinstance(steps, int) and steps > 1:
        text += f"; {steps:,} steps: {_between(estimate, steps)}"
    return text


def _between(estimate: Estimate, times: int) -> str:
    """Return so many times a number of seconds, with its bounds."""
    whole = estimate.times(times)
    best_of, low, high = (
        amount(value, "seconds") for value in (whole.value, whole.lower, whole.upper)
    )
    return f"{best_of} ({low} to {high})"


def _knows_scale(plan: PlanDump) -> bool:
    return any(
        shown.leaf.name == "cluster.world_size" and shown.leaf.is_known
        for shown in plan.leaves
    )


def _values(plan: PlanDump, style: Style, *, full: bool) -> Iterator[str]:
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
    for launch in plan.launches:
        at = _at(launch.launcher.locations, short)
        name = printable(str(launch.launcher.leaf.value))
        yield f"\n{style.paint('launch', 'bold')} {name} {at}"
        yield wrap(printable(hidden(launch.text)), style.width, " " * 6)
        for shown in launch.account:
            yield from _row(shown.leaf.name.partition(".")[2], shown, short, style)
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


def short_names(plan: PlanDump) -> dict[str, str]:
    """Return the files by their last part, where it tells them apart."""
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
    name: str, shown: DumpedLeaf, short: Mapping[str, str], style: Style
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
    line = f"  {name:<{_NAME}} {value:<{_VALUE}} {status}"
    plain = f"  {name:<{_NAME}} {value:<{_VALUE}} {leaf.status:<{_STATUS}} {places}"
    if len(plain.rstrip()) > style.width:
        # The place gets lines of its own, and breaks between files alone.
        places = joined(places.split(", "), ", ", style.width - len(_PLACE))
        yield line.rstrip()
        yield from (f"{_PLACE}{part}" for part in places.splitlines())
        if note:
            yield wrap(note, style.width, " " * 6)
        return
    line = f"{line} {places}".rstrip()
    if not note:
        yield line
    elif not places and len(line) + len(note) < style.width:
        yield f"{line} {note}"
    else:
        yield line
        yield wrap(note, style.width, " " * 6)


def places_of(locations: Iterable[Location], short: Mapping[str, str]) -> list[str]:
    """Return `train.yaml:3,7` for each file; the key where there is no line."""
    by_file: dict[str, dict[str, None]] = {}
    for at in locations:
        where = str(at.line) if at.line else at.key
        by_file.setdefault(short.get(at.file, at.file), {})[where] = None
    parts = []
    for file, lines in by_file.items():
        where = ",".join(line for line in lines if line)
        parts.append(f"{file}{':' if where[:1].isdigit() else ' '}{where}".rstrip())
    return parts


def _at(locations: Iterable[Location], short: Mapping[str, str]) -> str:
    return ", ".join(places_of(locations, short))

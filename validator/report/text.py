"""The default report: the verdict, what fails, what could not run, then the totals."""

from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.edition_names import edition_names, edition_remarks
from speccheck.validator.report.findings_text import finding_blocks, what_to_do
from speccheck.validator.report.merge_findings import shown_findings, waived_lines
from speccheck.validator.report.style import Style, counted, joined, printable, wrap
from speccheck.validator.report.summary import (
    LEVELS,
    level_counts,
    passed_over_line,
    settings_names,
    statistics_lines,
    switched_off_lines,
)
from speccheck.validator.report.unknowns import unknown_lines
from speccheck.validator.report.verdict import Exit, first_lines, has_unlisted_gpus
from speccheck.validator.report.wording import folded_subjects
from speccheck.validator.run.judging import MOST_SOUGHT, JudgedPlan
from speccheck.validator.run.run import RunResult

_MOST_GROUPS = 10


def report(context: ReportContext, style: Style) -> Iterator[str]:
    """Yield the whole report, or of a quiet one what is wrong."""
    if context.quiet:
        yield from _quiet(context, style)
        return
    run, summary, ending, full = (
        context.run,
        context.summary,
        context.ending,
        context.full,
    )
    blocks: list[str] = []
    head = (*_verdict(ending, style), header(run, style))
    blocks.append("\n".join((*head, *_groups(run, style, full=full))))
    blocks.append("\n".join(_editions(context, style)))
    blocks.append(_synthetic(run, style))
    blocks.append("\n".join(_shown_files(run, style, full=full)))
    blocks.append("\n".join(_measured(run, style, full=full)))
    many = len(run.plans) > 1
    shown = shown_findings(run.plans)
    if any(item.subjects for item in shown):
        blocks.append(what_to_do(shown, style, many=many))
    blocks.extend(finding_blocks(shown, style, full=full, many=many))
    if summary.waived:
        blocks.append("\n".join(waived_lines(run.plans, style, full=full)))
    blocks.append(_unsought(run, style))
    blocks.append("\n".join(unknown_lines(run, style, full=full)))
    if full:
        blocks.append("\n".join(_passes(run.plans)))
    if context.statistics:
        blocks.append("\n".join(statistics_lines(run.plans, style)))
    blocks.append(
        "\n".join(wrap(remark, style.width, "") for remark in context.remarks)
    )
    blocks.append(
        "\n".join((*_unread(run, style, full=full), *_totals(context, style)))
    )
    yield "\n\n".join(block for block in blocks if block) + "\n"


def _quiet(context: ReportContext, style: Style) -> Iterator[str]:
    """Yield the verdict and what is wrong; nothing where nothing is."""
    run, ending = context.run, context.ending
    shown = shown_findings(run.plans)
    if not shown and not ending.code:
        return
    blocks = ["\n".join(_verdict(ending, style))]
    blocks.append("\n".join(_shown_files(run, style, full=False)))
    many = len(run.plans) > 1
    blocks.extend(finding_blocks(shown, style, full=context.full, many=many))
    yield "\n\n".join(block for block in blocks if block) + "\n"


def _editions(context: ReportContext, style: Style) -> list[str]:
    """Return own numbers, what they loosen, and a second edition; seldom any."""
    lines = edition_remarks(context.run, full=context.full)
    return [wrap(printable(line), style.width, "  ") for line in lines]


def header(run: RunResult, style: Style) -> str:
    """Return what was judged: formats, size of the job, files."""
    dot = f" {style.dot} "
    if len(run.plans) == 1:
        plan = run.plans[0]
        formats = " + ".join(dict.fromkeys(file.format for file in plan.files))
        files = printable(_names(plan, is_only=False))
        return joined((f"{formats}: {_gpus(plan, style)}", files), dot, style.width)
    judged = sum(file.state == "judged" for file in run.files)
    if not run.plans:
        return counted(len(run.files), "file")
    return f"{len(run.plans):,} plans from {counted(judged, 'file')}"


def basis(run: RunResult) -> Iterator[str]:
    """Yield by what was judged: edition, profile, settings."""
    yield ", ".join(edition_names(run))
    sizes = {plan.size for plan in run.plans}
    size = next(iter(sizes)) if len(sizes) == 1 else None
    yield f"profile {run.use}, size {size}" if size else f"profile {run.use}"
    yield from settings_names(run)


def _gpus(plan: JudgedPlan, style: Style) -> str:
    if all(file.format == "snapshot" for file in plan.files):
        return _gpus_of_node(plan, style)
    if plan.measured is not None and plan.measured.curves:
        return counted(len(plan.measured.curves), "measured curve")
    world = plan.plan.value("cluster.world_size")
    if world.value is None and plan.measured is not None:
        return ", ".join(plan.measured.kinds).replace("_", " ")
    nodes = plan.plan.value("cluster.nodes").value
    local = plan.plan.value("cluster.gpus_per_node").value
    if world.value is None:
        return "number of GPUs not known"
    text = counted(world.value, "GPU")
    if nodes and local:
        text += f" ({counted(nodes, 'node')} {style.times} {local})"
    return text


def _gpus_of_node(plan: JudgedPlan, style: Style) -> str:
    """Return what a machine has, by its snapshot; else the type that somebody named."""
    value = plan.plan.value("cluster.gpus_per_node")
    number = value.value
    if number is None or has_unlisted_gpus(plan):
        return "GPUs not listed"
    if all(place.key != "gpus" for place in value.places):
        return f"as {plan.plan.value('cluster.instance_type').value or 'stated'}"
    name = plan.plan.value("cluster.accelerator").value
    return f"{number} {style.times} {name}" if name else counted(number, "GPU")


def _measured(run: RunResult, style: Style, *, full: bool) -> Iterator[str]:
    measureds = [plan.measured for plan in run.plans if plan.measured is not None]
    if measureds:
        # Most runs measure nothing.
        from speccheck.validator.report.measured_text import (  # noqa: PLC0415
            measured_lines,
            path_lines,
            rate_lines,
        )

        curves = [curve for each in measureds for curve in each.curves]
        yield from measured_lines(curves, style, full=full)
        rates = [rate for each in measureds for rate in each.rates]
        yield from rate_lines(rates, style, full=full)
        # A curve says by itself which way its bytes took.
        paths = [path for each in measureds if not each.curves for path in each.paths]
        yield from path_lines(paths, style, full=full)
        if any(measured.telemetry is not None for measured in measureds):
            from speccheck.validator.report.telemetry_text import (  # noqa: PLC0415
                telemetry_lines,
            )

            yield from telemetry_lines(run, style, full=full)


def _groups(run: RunResult, style: Style, *, full: bool) -> Iterator[str]:
    """Yield which files were judged together, and why."""
    joined_plans = [plan for plan in run.plans if len(plan.files) > 1]
    if len(run.plans) == 1 and not full:
        return
    shown = joined_plans if full else joined_plans[:_MOST_GROUPS]
    for plan in shown:
        text = f"together: {_names(plan, is_only=len(run.plans) == 1)}"
        if plan.grouping:
            text += f" ({'; '.join(plan.grouping)})"
        yield wrap(printable(text), style.width, "  ")
    if len(shown) < len(joined_plans):
        count = len(joined_plans) - len(shown)
        yield f"  {count} more plans of several files (--full lists them)"


def _names(plan: JudgedPlan, *, is_only: bool) -> str:
    """Return the files of a plan, without a folder that goes without saying."""
    folders = {file.path.rpartition("/")[0] for file in plan.files}
    first, *others = (file.path for file in plan.files)
    if len(folders) > 1:
        return ", ".join((first, *others))
    short = [path.rpartition("/")[2] for path in others]
    return ", ".join((first.rpartition("/")[2] if is_only else first, *short))


def _synthetic(run: RunResult, style: Style) -> str:
    """Return that machines are made up, so that nobody takes them for evidence."""
    names = [name for plan in run.plans for name in plan.synthetic]
    if not names:
        return ""
    text = f"synthetic: {len(names):,} snapshots show machines that do not exist"
    if len(names) == 1:
        text = f"synthetic: {names[0]} shows a machine that does not exist"
    return wrap(printable(text), style.width, "  ")


def _shown_files(run: RunResult, style: Style, *, full: bool) -> Iterator[str]:
    """Yield files that were not judged, or whose values were not all judged."""
    for file in run.files:
        if file.message and (full or file.is_shown):
            yield wrap(printable(file.message), style.width, "  ")


def _unread(run: RunResult, style: Style, *, full: bool) -> Iterator[str]:
    """Yield how many files below a folder were not judged, and why."""
    folded = [
        file for file in run.files if file.message and not full and not file.is_shown
    ]
    kinds = [
        f"{count:,} of other kinds"
        if state == "unrecognised"
        else counted(count, state)
        for state in ("unrecognised", "template")
        if (count := sum(file.state == state for file in folded))
    ]
    if kinds:
        yield f"not judged: {' and '.join(kinds)} (--show-files lists them)"
    gaps = sum(file.state == "judged" for file in folded)
    if gaps:
        files = "1 file inherits" if gaps == 1 else f"{gaps} files inherit"
        yield f"{files} from files that were not found (--show-files lists them)"
    line = passed_over_line(run)
    if line:
        yield wrap(printable(line), style.width, "")


def _unsought(run: RunResult, style: Style) -> str:
    if not run.unsought:
        return ""
    text = (
        f"settings that mend memory or batches were sought for the first {MOST_SOUGHT} "
        f"plans that need some, and not for {run.unsought:,} more: judge those alone"
    )
    return wrap(text, style.width, "")


def _passes(plans: Iterable[JudgedPlan]) -> Iterator[str]:
    """Yield what holds, and what does not apply; parts of a machine in one line."""
    for plan in plans:
        lines: dict[str, list[str]] = {}
        for located in plan.findings:
            finding = located.finding
            if finding.outcome == "pass":
                lines.setdefault(_held(finding), []).append(finding.subject)
            elif finding.outcome == "not_applicable":
                name = finding.rule or finding.title
                reason = f": {finding.message}" if finding.message else ""
                lines[f"does not apply {finding.clause} {name}{{}}{reason}"] = []
        for line, subjects in lines.items():
            of = f"  {folded_subjects(subjects)}" if any(subjects) else ""
            yield line.replace("{}", of, 1)


def _held(finding: Finding) -> str:
    """Return the text with a place for the parts that it is about."""
    line = f"passed {finding.clause} {finding.rule}{{}}"
    if finding.message:
        return f"{line}: {printable(finding.message)}"
    if finding.measured is not None and finding.required is not None:
        return f"{line}: {finding.measured} against {finding.required}"
    return line


def _totals(context: ReportContext, style: Style) -> Iterator[str]:
    """Yield edition and profile, and the checks by level and outcome."""
    summary, full = context.summary, context.full
    for line in switched_off_lines(summary):
        yield wrap(line, style.width, "")
    levels = [
        text for level in LEVELS if (text := level_counts(summary, level, full=full))
    ]
    hint = () if full or not levels else ("--full lists them",)
    dot = f" {style.dot} "
    for line in joined(basis(context.run), dot, style.width).splitlines():
        yield style.paint(line, "dim")
    for line in joined((*levels, *hint), dot, style.width).splitlines():
        yield style.paint(line, "dim")


def _verdict(ending: Exit, style: Style) -> Iterator[str]:
    """Yield the first line: what decides, how much could be seen, the exit code."""
    colour = {0: "good", 3: "unknown"}.get(ending.code, "error")
    if ending.code == 0 and ending.because:
        colour = "warning"
    first, *others = first_lines(ending, style.dot, style.width)
    title = ending.title
    if first.startswith(title):
        first = style.paint(title, colour) + first.removeprefix(title)
    yield first
    yield from others

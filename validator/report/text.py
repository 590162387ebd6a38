"""The default report: what fails, what could not be judged, and one line of totals."""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.report.blocks import finding_blocks
from speccheck.validator.report.merge_findings import shown_findings
from speccheck.validator.report.style import Style, joined, printable
from speccheck.validator.report.summary import LEVELS, Exit, Summary
from speccheck.validator.report.unknowns import unknown_lines
from speccheck.validator.run import JudgedPlan, Run


def text_report(
    run: Run, summary: Summary, ending: Exit, style: Style, *, full: bool
) -> str:
    """The whole report."""
    blocks: list[str] = []
    blocks.append(_header(run, style))
    files = [f"  {file.message}" for file in run.files if file.state != "judged"]
    blocks.append("\n".join(_folded_files(run, files, full=full)))
    many = len(run.plans) > 1
    blocks.extend(
        finding_blocks(shown_findings(run.plans), style, full=full, many=many)
    )
    blocks.append("\n".join(unknown_lines(run.plans, style, full=full)))
    if full:
        blocks.append("\n".join(_passes(run.plans)))
    blocks.append(_totals(summary, ending, style))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _header(run: Run, style: Style) -> str:
    dot = f" {style.dot} "
    edition = f"edition {run.edition.id}"
    if len(run.plans) == 1:
        plan = run.plans[0]
        formats = " + ".join(dict.fromkeys(file.format for file in plan.files))
        files = plan.files[0].path
        if len(plan.files) > 1:
            files = f"one plan from {len(plan.files)} files"
        size = f", size {plan.size}" if plan.size else ""
        parts = (
            files,
            formats,
            _gpus(plan, style),
            edition,
            f"profile {run.use}{size}",
        )
        return joined(parts, dot, style.width)
    judged = sum(file.state == "judged" for file in run.files)
    count = f"{len(run.plans):,} plans from {judged:,} files"
    return dot.join((count, edition, f"profile {run.use}"))


def _gpus(plan: JudgedPlan, style: Style) -> str:
    world = plan.plan.value("cluster.world_size")
    nodes = plan.plan.value("cluster.nodes").value
    local = plan.plan.value("cluster.gpus_per_node").value
    if world.value is None:
        return "number of GPUs not known"
    text = f"{world.value:,} GPUs"
    if nodes and local:
        text += f" ({nodes:,} nodes {style.times} {local})"
    return text


def _folded_files(run: Run, lines: Sequence[str], *, full: bool) -> Iterator[str]:
    found = [f for f in run.files if f.state in {"unrecognised", "template"}]
    folded = [file for file in found if not file.named]
    if full or not folded:
        yield from lines
        return
    yield from (f"  {f.message}" for f in run.files if _is_told(f.state, named=f.named))
    kinds = [
        f"{sum(f.state == state for f in folded)} {word}"
        for state, word in (
            ("unrecognised", "of other kinds"),
            ("template", "templates"),
        )
        if any(f.state == state for f in folded)
    ]
    yield f"  not judged: {' and '.join(kinds)} (--show-files lists them)"


def _is_told(state: str, *, named: bool) -> bool:
    return state == "unreadable" or (named and state != "judged")


def _passes(plans: Iterable[JudgedPlan]) -> Iterator[str]:
    for plan in plans:
        for located in plan.findings:
            finding = located.finding
            if finding.outcome == "pass":
                yield _held(finding)
            elif finding.outcome == "not_applicable":
                name = finding.rule or finding.title
                reason = f": {finding.message}" if finding.message else ""
                yield f"not applicable {finding.clause} {name}{reason}"


def _held(finding: Finding) -> str:
    line = f"holds {finding.clause} {finding.rule}"
    if finding.message:
        return f"{line}: {printable(finding.message)}"
    if finding.measured is not None and finding.required is not None:
        return f"{line}: {finding.measured} against {finding.required}"
    return line


def _totals(summary: Summary, ending: Exit, style: Style) -> str:
    lines: list[str] = []
    for level in LEVELS:
        row = summary.clauses[level]
        if not any(row.values()):
            continue
        parts = [
            f"{row[outcome]:,} {word}"
            for outcome, word in (
                ("pass", "hold"),
                ("fail", "fail"),
                ("unknown", "unknown"),
                ("error", "broken"),
                ("waived", "waived"),
                ("not_applicable", "not applicable"),
            )
            if row[outcome] or outcome in {"pass", "fail"}
        ]
        line = f"{level:<6} " + f" {style.dot} ".join(parts)
        if level == "must" and summary.coverage is not None:
            line += f"      coverage {summary.coverage:.0%}"
        lines.append(line)
    words = {0: "go", 1: "no-go", 3: "inconclusive"}
    word = words.get(ending.code, "not complete")
    colour = {0: "good", 3: "unknown"}.get(ending.code, "error")
    last = f"{style.paint(word, colour)}: {ending.reason}"
    lines.append(
        f"{last}{' ' * max(2, 60 - len(word) - len(ending.reason))}exit {ending.code}"
    )
    return "\n".join(lines)

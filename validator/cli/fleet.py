"""`speccheck fleet PATH ...`: go or no-go for all nodes of a job together."""

import os
import sys
import time
from collections.abc import Iterable, Sequence
from functools import partial

from speccheck.validator.cli.fleet_comparisons import OPTIONS as OF_COMPARISON
from speccheck.validator.cli.fleet_comparisons import (
    asked_of,
    changes,
    keep_run,
    with_golden,
    without_own,
    write_profile,
)
from speccheck.validator.cli.fleet_progress import Progress
from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import FAIL_ON, OF_JUDGING, Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import (
    REFUSALS,
    Output,
    list_of,
    one_of,
    outputs_of,
    request_of,
    style_of,
)
from speccheck.validator.cli.settled import with_settings
from speccheck.validator.engine.request import Request
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.reading import NoFleet, listing
from speccheck.validator.fleet.run import FleetRun, Work, judge_fleet
from speccheck.validator.fleet.verdict import FleetVerdict, fleet_verdict
from speccheck.validator.node.host_names import HostNamesError, unfold
from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.node_outcome import NodeVerdict
from speccheck.validator.report.style import Style, counted, printable
from speccheck.validator.report.write import write
from speccheck.validator.run.run import read_plans
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.sources.files import ReadFile

FORMATS = ("text", "json", "html")
DRAIN_FORMS = ("slurm", "kubernetes", "plain")
_USAGE = 2
_MOST_NODES = 1_000_000
# Of files: a fleet has others of that name, or none of it.
_NOT_HERE = {
    *("--baseline", "--waivers", "--no-inline-ignores", "--plot", "--nodes"),
    *("--output", "--sarif-include-waived", "--statistics", "--warn", "--enforce"),
}


def _option(
    flag: str, text: str, metavar: str = "", *, several: bool = False
) -> Option:
    kind = "text" if metavar else "switch"
    return Option(flag, text, kind, metavar, repeatable=several, group="Fleet")  # type: ignore[arg-type]


OPTIONS: tuple[Option, ...] = (
    _option("--job", "a file of the job that is to run on it", "FILE", several=True),
    _option("--expect", "nodes: a number, node[001-064] or @FILE", "NODES"),
    _option("--need", "nodes that the job takes; the others are spare", "N"),
    _option("--drain-list", "slurm, kubernetes or plain", "FORM[=FILE]"),
    _option("--cores", "to judge on (default: all)", "N"),
    _option("--output", "text, json or html", "FORMAT[=FILE]", several=True),
    *OF_COMPARISON,
    *(one for one in OF_JUDGING if one.flag not in _NOT_HERE),
)
HELP = f"""\
usage: speccheck fleet FOLDER|SNAPSHOT|RESULTS.jsonl ... [options]

Judges the snapshots and result lines that `speccheck preflight --out` and `--result`
wrote on many nodes: each node by itself, as part of the job of --job, and all of them
beside each other. Says go or no-go, which nodes are not fit, and why.

Exit codes: 0 go; 1 no-go; 2 the command line or a file is wrong; 3 evidence is
missing, and whenever fewer nodes reported than were expected; 4 a bug of speccheck;
130 interrupted.
{options_help(OPTIONS)}
"""


def fleet(words: list[str]) -> int:
    """Judge a fleet; returns the exit code."""
    if not words or words[0] in {"-h", "--help"}:
        write(HELP, None)
        return 0 if words else _USAGE
    return guarded(
        lambda: _judged(words), (*REFUSALS, NoFleet, HostNamesError, ReadError)
    )


def _judged(words: list[str]) -> int:
    parsed = parse(words, OPTIONS)
    outputs = outputs_of(parsed, FORMATS)
    fail_on = one_of(parsed, "fail_on", FAIL_ON)
    drain = _drain_list(parsed)
    if drain is not None:
        _apart(drain, outputs)
    need, expected = _number(parsed, "need"), _expected(parsed)
    jobs = list_of(parsed, "job")
    asked = asked_of(parsed)
    stated = without_own(parsed)._replace(files=(*jobs,) or (".",))
    settled = with_settings(stated, OPTIONS)
    request = request_of(settled, "preflight")
    job = _job(request._replace(arguments=tuple(jobs)))
    found = listing(parsed.files)
    progress = Progress(found.snapshots)
    verdict_of = NodeVerdict(request.use, fail_on)
    work = Work(request, job, verdict_of, progress.add, counts=asked.counts)
    cores = _number(parsed, "cores") or 0
    run = judge_fleet(work, found, expected, now=time.time(), cores=cores)
    progress.close()
    run = with_golden(run, asked.golden)
    of_fleet = partial(fleet_verdict, need=need, fail_on=fail_on)
    verdict = of_fleet(run)
    since = changes(asked, run, verdict, work, of_fleet, cores)
    full = "full" in parsed.values
    told = FleetContext(run, verdict, parsed.files, full=full, since=since)
    for warning in run.warnings:
        sys.stderr.write(f"speccheck: {printable(warning)}\n")
    for output in outputs:
        style = style_of(parsed, to_file=output.path is not None)
        write(_report(output.format, told, style), output.path)
    if drain is not None:
        _write_drain_list(run, verdict, *drain)
    if asked.history:
        keep_run(asked.history, run, verdict)
    if asked.profile:
        write_profile(asked.profile, run, verdict, parsed.files)
    return verdict.code


def _report(form: str, context: FleetContext, style: Style) -> Iterable[str]:
    if form == "json":
        from speccheck.validator.report.fleet_json import (  # noqa: PLC0415
            fleet_json,
        )

        return fleet_json(context)
    if form == "html":
        from speccheck.validator.report.forms.html_fleet import (  # noqa: PLC0415
            fleet_html,
        )

        return fleet_html(context)
    from speccheck.validator.report.fleet_text import fleet_text  # noqa: PLC0415

    return fleet_text(context, style)


def _job(request: Request) -> tuple[ReadFile, ...]:
    """The files of the job; raises UsageError where they are not one plan."""
    if not request.arguments:
        return ()
    plans = []
    for statuses, groups in read_plans(request):
        for status in statuses:
            if status.state != "judged":
                raise UsageError(status.message or f"{status.path}: not recognised")
        plans += groups
    if len(plans) != 1:
        message = f"--job: these files are {counted(len(plans), 'plan')}; give one job"
        raise UsageError(message)
    return plans[0].files


def _expected(parsed: Parsed) -> Expected:
    """Who is expected, by the command line; raises UsageError and HostNamesError."""
    text = parsed.values.get("expect")
    if not isinstance(text, str):
        return Expected()
    if text.isdecimal():
        number = _number(parsed, "expect")
        return Expected(number, (), "--expect")
    if text.startswith("@"):
        text = ",".join(read_text(text[1:]).split())
    names = tuple(dict.fromkeys(unfold(text)))
    return Expected(len(names), names, "--expect")


def _number(parsed: Parsed, name: str) -> int | None:
    text = parsed.values.get(name)
    if not isinstance(text, str):
        return None
    number = int(text) if text.isdecimal() and len(text) < 8 else 0  # noqa: PLR2004
    if not 0 < number <= _MOST_NODES:
        message = f"--{name} {text}: must be a number from 1 to {_MOST_NODES:,}"
        raise UsageError(message)
    return number


def _drain_list(parsed: Parsed) -> tuple[str, str | None] | None:
    text = parsed.values.get("drain_list")
    if not isinstance(text, str):
        return None
    form, _, path = text.partition("=")
    if form not in DRAIN_FORMS:
        message = f"--drain-list {form}: must be one of {', '.join(DRAIN_FORMS)}"
        raise UsageError(message)
    if "=" in text and not path:
        message = f"--drain-list {text} needs a file name after the equal sign"
        raise UsageError(message)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        message = f"--drain-list {path}: no such folder"
        raise UsageError(message)
    if os.path.isdir(path):
        message = f"--drain-list {path}: is a folder; name a file"
        raise UsageError(message)
    return form, path or None


def _apart(drain: tuple[str, str | None], outputs: Sequence[Output]) -> None:
    """Raise UsageError where the list would spoil a report."""
    form, path = drain
    for output in outputs:
        if path is None and output.path is None and output.format != "text":
            message = f"{output.format} and the drain list on standard output: "
            message += f"give one a file, --drain-list {form}=FILE"
            raise UsageError(message)
        if path and output.path and _is_same(path, output.path):
            message = f"--drain-list {path}: a report is written there too"
            raise UsageError(message)


def _is_same(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _write_drain_list(
    run: FleetRun, verdict: FleetVerdict, form: str, path: str | None
) -> None:
    from speccheck.validator.report.fleet_text import (  # noqa: PLC0415 - of few
        drain_list,
        left_out,
    )

    write(drain_list(run, verdict, form), path)
    for name in left_out(verdict, form):
        message = f"{printable(name)}: not on the drain list: is no name of one host"
        sys.stderr.write(f"speccheck: {message}\n")

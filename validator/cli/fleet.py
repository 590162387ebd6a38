"""`speccheck fleet PATH ...`: go or no-go for all nodes of a job together.

And `speccheck history FILE`: what became of a fleet over days.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import monotonic, time
from typing import TextIO

from speccheck.validator.cli.command_line import (
    CommandLine,
    UsageError,
    with_settings,
)
from speccheck.validator.cli.option_table import FAIL_ON
from speccheck.validator.cli.reports import Forms, Output, outputs_of, write_forms
from speccheck.validator.cli.request import request_of
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.days import Since, day_of, since
from speccheck.validator.fleet.golden import Golden, against_golden, golden_findings
from speccheck.validator.fleet.reading import Listing, NoFleet, listing
from speccheck.validator.fleet.run import FleetRun, FleetWork, judge_fleet
from speccheck.validator.fleet.verdict import FleetVerdict, Unfit, fleet_verdict
from speccheck.validator.node.host_names import HostNamesError, unfold
from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.fleet_json import fleet_json
from speccheck.validator.report.fleet_text import fleet_text
from speccheck.validator.report.node_outcome import NodeOutcome
from speccheck.validator.report.style import counted, printable
from speccheck.validator.report.write import write
from speccheck.validator.run.run import read_plans
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.sources.files import ReadFile

_SECONDS_BEFORE = 1.0  # short runs show nothing
_SECONDS_BETWEEN = 0.1
_WIDTH = 30
DRAIN_FORMS = ("slurm", "kubernetes", "plain")
REFUSED = (NoFleet, HostNamesError, ReadError)
_MOST_NODES = 1_000_000
_DAYS = 30.0  # of a history, before its newest run
_NOTHING = 3
# Other commands have options of these names that mean something else.
_OWN = frozenset({"diff", "golden", "history", "baseline"})


def fleet(line: CommandLine) -> int:
    """Judge a fleet; returns the exit code."""
    outputs = outputs_of(line)
    fail_on = line.word("fail_on", FAIL_ON)
    drain = _drain_list(line)
    if drain is not None:
        _apart(drain, outputs)
    need, expected = _number(line, "need"), _expected(line)
    jobs = line.texts("job")
    wanted = comparisons_of(line)
    stated = without_own(line)._replace(files=(*jobs,) or (".",))
    settled = with_settings(stated)
    request = request_of(settled, "preflight")
    job = _job(request._replace(arguments=tuple(jobs)))
    result = listing(line.files)
    progress = Progress(result.snapshots)
    verdict_of = NodeOutcome(request.use, fail_on)
    work = FleetWork(request, job, verdict_of, progress.add, counts=wanted.counts)
    cores = _number(line, "cores") or 0
    run = judge_fleet(work, result, expected, now=time(), cores=cores)
    progress.close()
    run = with_golden(run, wanted.golden)
    of_fleet = partial(fleet_verdict, need=need, fail_on=fail_on)
    verdict = of_fleet(run)
    since = changes(wanted, run, verdict, work, of_fleet, cores)
    full = line.has("full")
    fleet_context = FleetContext(run, verdict, line.files, full=full, since=since)
    for warning in run.warnings:
        sys.stderr.write(f"speccheck: {printable(warning)}\n")
    forms: Forms = {
        "text": lambda style: fleet_text(fleet_context, style),
        "json": lambda _: fleet_json(fleet_context),
        "html": lambda _: _page(fleet_context),
    }
    write_forms(line, outputs, forms)
    if drain is not None:
        _write_drain_list(run, verdict, *drain)
    if wanted.history:
        keep_run(wanted.history, run, verdict)
    if wanted.profile:
        write_profile(wanted.profile, run, verdict, line.files)
    return verdict.code


def _page(fleet_context: FleetContext) -> Iterable[str]:
    # Pages have pictures, which other forms do without.
    from speccheck.validator.report.forms.html_fleet import (  # noqa: PLC0415
        fleet_html,
    )

    return fleet_html(fleet_context)


def _job(request: Request) -> tuple[ReadFile, ...]:
    """Return the files of the job; raises UsageError where they are not one plan."""
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


def _expected(line: CommandLine) -> Expected:
    """Return who is expected by the options; raises UsageError and HostNamesError."""
    text = line.text("expect")
    if text is None:
        return Expected()
    if text.isdecimal():
        number = _number(line, "expect")
        return Expected(number, (), "--expect")
    if text.startswith("@"):
        text = ",".join(read_text(text[1:]).split())
    names = tuple(dict.fromkeys(unfold(text)))
    return Expected(len(names), names, "--expect")


def _number(line: CommandLine, name: str) -> int | None:
    text = line.text(name)
    if text is None:
        return None
    number = int(text) if text.isdecimal() and len(text) < 8 else 0  # noqa: PLR2004
    if not 0 < number <= _MOST_NODES:
        message = f"--{name} {text}: must be a number from 1 to {_MOST_NODES:,}"
        raise UsageError(message)
    return number


def _drain_list(line: CommandLine) -> tuple[str, str | None] | None:
    text = line.text("drain_list")
    if text is None:
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
    from speccheck.validator.report.fleet_text import drain_list, left_out  # noqa: PLC0415 - of few

    write(drain_list(run, verdict, form), path)
    for name in left_out(verdict, form):
        message = f"{printable(name)}: not on the drain list: is no name of one host"
        sys.stderr.write(f"speccheck: {message}\n")


class Comparisons(Record):
    """What a fleet is compared with, read before any node is judged."""

    old: str = ""
    old_listing: Listing | None = None
    golden: Golden | None = None
    profile: str = ""
    history: str = ""

    @property
    def counts(self) -> bool:
        """Whether counters are wanted."""
        return bool(self.old or self.history)


def comparisons_of(line: CommandLine) -> Comparisons:
    """Return what a fleet is compared with; raises UsageError, NoFleet, ReadError."""
    old, golden = (_path(line, name) for name in ("diff", "golden"))
    return Comparisons(
        old,
        listing((old,)) if old else None,
        _golden(golden) if golden else None,
        _path(line, "baseline"),
        _history(_path(line, "history")),
    )


def _path(line: CommandLine, name: str) -> str:
    value = line.values.get(name, "")
    if value == "":
        if name in line.values:
            message = f"--{name} needs a file: --{name} FILE"
            raise UsageError(message)
        return ""
    return str(value)


def without_own(line: CommandLine) -> CommandLine:
    """Return the command line for those who know other options by these names."""
    values = {name: value for name, value in line.values.items() if name not in _OWN}
    return line._replace(values=values)


def _golden(path: str) -> Golden:
    from speccheck.validator.fleet.golden import (  # noqa: PLC0415 - where wanted
        golden_file,
    )

    return golden_file(path)


def with_golden(run: FleetRun, golden: Golden | None) -> FleetRun:
    """Return the run with differences from the golden machine, as findings."""
    if golden is None:
        return run
    fleet = run.fleet
    names = [node.name for node in run.nodes]
    samples = fleet.samples.values() if golden.ranges else ()
    against = against_golden(golden, names, fleet.shared, run.with_variables, samples)
    return run._replace(of_fleet=(*run.of_fleet, *golden_findings(against)))


def _silent(_: int) -> None:
    """Report to nobody."""


def changes(
    wanted: Comparisons,
    run: FleetRun,
    verdict: FleetVerdict,
    work: FleetWork,
    verdict_of: Callable[[FleetRun], FleetVerdict],
    cores: int,
) -> Since | None:
    """Return what changed since the other day; None where nobody asks."""
    if wanted.old_listing is None:
        return None
    quiet = work._replace(progress=_silent)
    before = judge_fleet(quiet, wanted.old_listing, Expected(), now=time(), cores=cores)
    before = with_golden(before, wanted.golden)
    then = day_of(wanted.old, before, verdict_of(before))
    return since(then, day_of("now", run, verdict))


def write_profile(
    path: str, run: FleetRun, verdict: FleetVerdict, evidence: Sequence[str]
) -> None:
    """Write the profile of a fleet; raises UsageError where none can be made of it."""
    from speccheck.validator.fleet.own_profile import (  # noqa: PLC0415 - pydantic
        NoProfile,
        own_profile,
        profile_text,
    )

    try:
        profile = own_profile(
            [node.name for node in run.nodes],
            {unfit.name: _why(unfit) for unfit in verdict.unfit},
            run.fleet.shared,
            run.fleet.samples.values(),
            knows_variables=bool(run.with_variables),
            synthetic=sum(node.is_synthetic for node in run.nodes),
        )
    except NoProfile as error:
        message = f"--baseline {path}: {error}"
        raise UsageError(message) from error
    write("".join(profile_text(profile, evidence, run.fleet.started or time())), path)


def _history(path: str) -> str:
    """Return the file of a history.

    Raises UsageError for a bad one, before any work.
    """
    if path:
        from speccheck.validator.fleet.history.database import (  # noqa: PLC0415 - SQLite
            HistoryError,
            demand_history,
        )

        try:
            demand_history(path, may_be_new=True)
        except HistoryError as error:
            raise UsageError(str(error)) from error
    return path


def keep_run(path: str, run: FleetRun, verdict: FleetVerdict) -> None:
    """Add the run to a history; raises UsageError where that is not possible."""
    from speccheck.validator.fleet.history.database import (  # noqa: PLC0415 - SQLite
        HistoryError,
        add_run,
    )
    from speccheck.validator.fleet.history.recording import (  # noqa: PLC0415
        history_run,
    )

    try:
        add_run(path, history_run(run, verdict), time())
    except HistoryError as error:
        raise UsageError(str(error)) from error


def _why(node: Unfit) -> str:
    rules = dict.fromkeys(reason.rule or reason.message for reason in node.reasons)
    return f"{node.state}: {', '.join(rules)}" if rules else node.state


class Progress:
    """A bar on standard error; nothing where that is no terminal."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        """Begin; total: how many nodes there are, 0 where that is not known."""
        self._stream = stream or sys.stderr
        self._total = total
        self._done = 0
        self._is_shown = False
        self._next = monotonic() + _SECONDS_BEFORE
        self._is_on = self._stream.isatty()

    def add(self, count: int) -> None:
        """Count so many more as done."""
        self._done += count
        if self._is_on and monotonic() >= self._next:
            self._next = monotonic() + _SECONDS_BETWEEN
            self._is_shown = True
            self._stream.write(f"\r{self._text()}\x1b[K")
            self._stream.flush()

    def _text(self) -> str:
        if not self._total:
            return f"judged {self._done:,} nodes"
        done = min(self._done, self._total)
        filled = _WIDTH * done // self._total
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"judged {done:,} of {self._total:,} [{bar}]"

    def close(self) -> None:
        """Take the bar away."""
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def history(line: CommandLine) -> int:
    """Show what the file of `--history` holds; returns the exit code."""
    from speccheck.validator.fleet.history.database import (  # noqa: PLC0415 - SQLite
        HistoryError,
    )
    from speccheck.validator.fleet.history.summary import (  # noqa: PLC0415 - SQLite
        history_summary,
    )
    from speccheck.validator.report.history_json import history_json  # noqa: PLC0415
    from speccheck.validator.report.history_text import history_text  # noqa: PLC0415

    path = line.only("file")
    outputs = outputs_of(line)
    try:
        result = history_summary(
            path,
            node=line.text("node") or "",
            leaf=line.text("leaf") or "",
            days=line.number("days") or _DAYS,
        )
    except HistoryError as error:
        raise UsageError(str(error)) from error
    full = line.has("full")
    forms: Forms = {
        "text": lambda style: history_text(result, style, full=full),
        "json": lambda _: history_json(result),
    }
    write_forms(line, outputs, forms)
    return 0 if result.runs else _NOTHING

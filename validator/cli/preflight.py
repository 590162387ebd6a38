"""`speccheck preflight [FILE ...]`: this machine and the files of a job, in one.

Go or no-go on one node, before the job begins: what the machine is and how it is, the
files as anywhere, and whether they fit each other.

A result line is written whenever the process lives to do so, also where the command
line was wrong or speccheck has a bug: a node that could not judge itself is counted.
Probes and measurements are killed when their time is up. What preflight itself does -
read files of a job, write what it found - may hang as well, on a server that does not
answer: a thread that waits beside it then says so and ends the process.
"""

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

from speccheck.validator.cli.command_line import CommandLine, UsageError, parse
from speccheck.validator.cli.command_table import Command
from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.plain import Audience, judge
from speccheck.validator.cli.reports import Output, node_file, refuse
from speccheck.validator.cli.request import request_of
from speccheck.validator.cli.take_snapshot import (
    out_file,
    seconds_of,
    snapshot_of,
    snapshot_text,
)
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.measurement.cost import BUDGET_SECONDS, TIERS
from speccheck.validator.evidence.node.host import local_path
from speccheck.validator.node.launcher import launch_of, name_of
from speccheck.validator.node.result import (
    CODES,
    KeptSnapshot,
    NodeResult,
    result_line,
)
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.node_outcome import (
    Situation,
    judged_result,
    refused_result,
)
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.run.judging import settled
from speccheck.validator.run.run import RunResult, read_plans
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.joining.grouping import PlanFiles

LEAST_SECONDS = 10.0
_LAST_SECONDS = 3.0  # for the last words: they may hang, too
_INCONCLUSIVE = 3
STANDARD_OUTPUT = "-"
_RESULT, _NAGIOS, _EVERY = "--result", "--nagios", "--every-rank"
_TIER, _EXIT_ZERO = "--tier", "--exit-zero"
_FILE_OF_RESULT = ".result.json"
# With measurements, probes may take so much of the budget: a library that hangs must
# not take all of it.
_SHARE_OF_PROBES, _PROBES = 0.5, 60.0
# For judging what was measured.
_AFTERWARDS_SECONDS, _AFTERWARDS_SHARE = 2.0, 0.2
_NAME = "this node"
_MOST_PATHS = 1000  # those beyond are not looked at, and so not known
_TOPOLOGY_FILE = "NCCL_TOPO_FILE"


class NodeAudience(Audience):
    """Writes the result line, and the line of Nagios, of one node."""

    def __init__(self, words: Sequence[str], began: float) -> None:
        """Take the command line as it is, right or wrong, and when the run began."""
        self._began = began
        host = os.uname().nodename
        launch = launch_of(os.environ, host)
        name = name_of(launch, host)
        tier = _value(words, _TIER) or ""
        self.launch = launch
        # With --every-rank each has files of its own.
        self.file_name = f"{name}.{launch.local_rank}" if launch.local_rank else name
        self.is_nagios = _NAGIOS in words
        self.is_every_rank = _EVERY in words
        self._exits_zero = _EXIT_ZERO in words
        self.kept: KeptSnapshot | None = None
        self.content: dict[str, Any] = {}  # of the snapshot
        self.doing = "reading files"
        self._result_path = _value(words, _RESULT)
        self._is_narrowed = any(word.startswith("--select") for word in words)
        taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.tier = int(tier) if tier in {str(number) for number in TIERS} else 0
        self._situation = Situation(launch, name, taken, self.tier)

    @property
    def takes_standard_output(self) -> str:
        """The option by which a line goes to standard output and no report does."""
        if self.is_nagios:
            return _NAGIOS
        return _RESULT if self._result_path == STANDARD_OUTPUT else ""

    def reports(self, outputs: list[Output]) -> list[Output]:
        """Return the reports without the one that would stand beside our line."""
        if not self.takes_standard_output:
            return outputs
        return [output for output in outputs if output.path is not None]

    def verify(self, words: Sequence[str]) -> None:
        """Raise UsageError where two things are to go to standard output."""
        if self._exits_zero and (self._result_path is None or self.is_nagios):
            message = "--exit-zero needs --result, which then alone tells the verdict"
            raise UsageError(message + (": leave out --nagios" * self.is_nagios))
        if self.is_nagios and self._result_path == STANDARD_OUTPUT:
            message = "--nagios and --result - both take standard output: give a file"
            raise UsageError(message)
        if self.takes_standard_output and "--diff" in words:
            message = f"--diff and {self.takes_standard_output} both take standard "
            raise UsageError(message + "output: leave one out")
        if self._result_path not in {None, STANDARD_OUTPUT}:
            self._result_file()

    def remarks(self, run: RunResult) -> tuple[str, ...]:
        """Return what a higher tier would judge, of a machine with GPUs."""
        gpus = self.content.get("gpus")
        if not isinstance(gpus, list) or not gpus or self._is_narrowed:
            return ()
        # Of a command that has probed a machine.
        from speccheck.validator.report.node_outcome import higher_tiers  # noqa: PLC0415

        return higher_tiers(self.tier, run.plans, run.edition)

    def finish(self, report_context: ReportContext) -> int:
        """Write the lines of what was judged; raises WriteError."""
        facts = self._facts() if self._result_path else {}
        result = judged_result(
            self._situation, report_context, self._seconds(), self.kept, facts
        )
        self._write_result(result)
        return self._answered(
            result, report_context.summary.failed, report_context.ending.code
        )

    def refused(self, message: str, code: int) -> int:
        """Write the lines of a run that judged nothing, as far as that can be done."""
        result = refused_result(self._situation, message, code, self._seconds())
        is_reported = False
        with suppress(WriteError, UsageError):
            self._write_result(result)
            is_reported = self._result_path is not None
        self._exits_zero &= is_reported  # else nobody would know
        return self._answered(result, {}, code)

    def overdue(self, seconds: float) -> int:
        """Say that the run hangs; returns the exit code."""
        during = f" while {self.doing}" if self.doing else ""
        message = (
            f"ended after {seconds:g} s{during}: probes and measurements were over "
            "long before; a file system may hang"
        )
        sys.stderr.write(f"speccheck: {message}\n")
        sys.stderr.flush()
        return self.refused(message, CODES["inconclusive"])

    def _facts(self) -> dict[str, str]:
        # Only a result line tells them.
        from speccheck.validator.fleet.shared_values import (  # noqa: PLC0415
            result_facts,
        )

        return result_facts(self.content)

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _result_file(self) -> str:
        path = self._result_path or ""
        return node_file(_RESULT, path, self.file_name, _FILE_OF_RESULT)

    def _write_result(self, result: NodeResult) -> None:
        if self._result_path is None:
            return
        line = result_line(result)
        # Standard output is flushed once: it goes into a pipe in one piece.
        to_file = self._result_path != STANDARD_OUTPUT
        write(line, self._result_file() if to_file else None)

    def _answered(self, result: NodeResult, failed: dict[str, int], code: int) -> int:
        """Return the exit code; that of Nagios where its line is printed."""
        if not self.is_nagios:
            return 0 if self._exits_zero else code
        from speccheck.validator.report.node_outcome import (  # noqa: PLC0415 - seldom
            CODES,
            nagios_line,
            nagios_state,
        )

        write(nagios_line(result, failed), None)
        return CODES[nagios_state(result, failed.get("warning", 0))]


def _value(words: Sequence[str], flag: str) -> str | None:
    """Return the value of an option, also of a command line that is wrong elsewhere."""
    texts = [text for before, text in pairwise(words) if before == flag]
    texts += [
        word.removeprefix(flag + "=") for word in words if word.startswith(flag + "=")
    ]
    return texts[-1] if texts else None


def overdue_after(budget_seconds: float) -> float:
    """Return when a run is overdue: after twice its budget, or 10 s beyond it."""
    return budget_seconds + max(budget_seconds, LEAST_SECONDS)


@contextmanager
def ended_when_overdue(
    seconds: float, last_words: Callable[[float], int]
) -> Generator[None]:
    """End the process where the block is not over after so long.

    Args:
        seconds: how long it may take.
        last_words: says why; returns the exit code.

    """

    def end() -> None:
        last = threading.Timer(_LAST_SECONDS, os._exit, (_INCONCLUSIVE,))
        last.daemon = True
        last.start()
        code = _INCONCLUSIVE
        try:
            code = last_words(seconds)
        finally:
            os._exit(code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def preflight(words: list[str], command: Command) -> int:
    """Judge this machine and files; returns the exit code."""
    options = command.options
    audience = NodeAudience(words, time.monotonic())
    if not audience.launch.is_first_on_node and not audience.is_every_rank:
        return _leave_to_first(words, audience, options)

    def request_of_line(line: CommandLine) -> Request:
        audience.verify(words)
        _tier_and_budget(line)
        return request_of(line, "preflight")

    def with_machine(request: Request, line: CommandLine) -> Request:
        return _with_machine(request, line, audience)

    with ended_when_overdue(_overdue(words, options, audience.tier), audience.overdue):
        return judge(words, options, request_of_line, with_machine, audience)


def _overdue(words: list[str], options: tuple[Option, ...], tier: int) -> float:
    """Return after how long it hangs; of a wrong command line, the default."""
    try:
        _, seconds = _tier_and_budget(parse(words, options))
    except UsageError:
        seconds = float(BUDGET_SECONDS[tier])
    return overdue_after(seconds)


def _leave_to_first(
    words: list[str], audience: NodeAudience, options: tuple[Option, ...]
) -> int:
    """Say that another process of this node looks at it; the exit code.

    What all ranks measure together needs this one as well.
    """
    launch = audience.launch
    if audience.tier == TIERS[-1]:
        try:
            _, seconds = _tier_and_budget(parse(words, options))
        except UsageError as error:
            return refuse(str(error), [])
        from speccheck.validator.cli.tiers import join  # noqa: PLC0415 - seldom

        ended = join(time.monotonic() + seconds, seconds)
        if ended.problem:
            sys.stderr.write(f"speccheck: rank {launch.rank}: {ended.problem}\n")
    sys.stderr.write(
        f"speccheck: rank {launch.rank} leaves {launch.node or 'this node'} to its "
        f"first rank ({launch.rank_from} tells local rank {launch.local_rank}); "
        "--every-rank looks at it all the same\n"
    )
    return 0


def _tier_and_budget(line: CommandLine) -> tuple[int, float]:
    """Return what may be done, and how long that may take; raises UsageError."""
    known = [str(number) for number in TIERS]
    text = line.text("tier") or known[0]
    if text not in known:
        message = f"--tier {text}: must be one of {', '.join(known)}"
        raise UsageError(message)
    tier = int(text)
    if tier and line.has("sysroot"):
        message = f"--tier {text} measures this machine: leave out --sysroot"
        raise UsageError(message)
    budget = line.text("budget") or f"{BUDGET_SECONDS[tier]}s"
    return tier, seconds_of(budget)


def _with_machine(
    request: Request, line: CommandLine, audience: NodeAudience
) -> Request:
    """Return the request with a snapshot of this machine, which `--out` keeps."""
    out = out_file(line, audience.file_name)
    topology_file, paths = _named_by(request)
    tier, seconds = _tier_and_budget(line)
    until = time.monotonic() + seconds
    audience.doing = "probing"
    for_probes = min(seconds * _SHARE_OF_PROBES, _PROBES) if tier else seconds
    launch = audience.launch
    result = snapshot_of(line, for_probes, topology_file, paths, launch)
    if tier:
        from speccheck.validator.cli.tiers import measure  # noqa: PLC0415 - seldom

        end = until - min(_AFTERWARDS_SECONDS, _AFTERWARDS_SHARE * seconds)
        audience.doing = "measuring"
        measure(result, tier, end, launch, seconds)
    audience.content = result
    text = snapshot_text(result)
    audience.doing = "judging"
    if out is None:
        return request._replace(node=_NAME, snapshot=text)
    audience.doing = f"writing {out}"
    write(text, out)
    audience.doing = "judging"
    digest = hashlib.sha256(text.encode()).hexdigest()
    audience.kept = KeptSnapshot(out, digest)
    return request._replace(node=out, snapshot=text)


def _named_by(request: Request) -> tuple[str, list[tuple[str, str]]]:
    """Return what the files name that probes look into: a topology file, and paths.

    Standard input can be read only once, and is left for the judgement. Raises
    UsageError for a snapshot among the files.
    """
    if "-" in request.arguments:
        return "", []
    groups = [plan for _, plans in read_plans(request) for plan in plans]
    files = [file for group in groups for file in group.files]
    for file in files:
        if file.role == "node" and file.status.named:
            path = file.status.path
            message = f"preflight probes this machine; {path} is judged by speccheck "
            raise UsageError(message + path)
    return _topology_file(files), _paths(request, groups)


def _topology_file(files: Iterable[ReadFile]) -> str:
    """Return what the files set NCCL_TOPO_FILE to: the probe looks into that file."""
    texts = {
        variable.value
        for file in files
        for reading in file.readings
        for variable in reading.variables
        if variable.name == _TOPOLOGY_FILE
    }
    return (texts.pop() or "") if len(texts) == 1 else ""


def _paths(request: Request, groups: Iterable[PlanFiles]) -> list[tuple[str, str]]:
    """Return role and path of the machine's files and folders that the plans name."""
    result: dict[tuple[str, str], None] = {}
    for group in groups:
        plan = assemble(group.files, settled(request, group).judging.context).plan
        folder = plan.value("checkpoint.directory").value
        data = plan.value("data.paths").value or ()
        named = (("checkpoint", folder), *(("data", each) for each in data))
        for role, text in named:
            path = local_path(text)
            if path is not None:
                result.setdefault((role, path))
    return list(result)[:_MOST_PATHS]

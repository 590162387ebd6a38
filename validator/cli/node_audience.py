"""Who hears how preflight ended: whoever started it on this node among many.

A result line is written whenever the process lives to do so, also where the command
line was wrong or speccheck has a bug: a node that could not judge itself is counted.
"""

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from speccheck.validator.cli.node_files import node_file
from speccheck.validator.cli.options import UsageError
from speccheck.validator.cli.plain import Audience
from speccheck.validator.cli.request import Output
from speccheck.validator.evidence.measurement.cost import TIERS
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
from speccheck.validator.run.run import Run

STANDARD_OUTPUT = "-"
_RESULT, _NAGIOS, _EVERY = "--result", "--nagios", "--every-rank"
_TIER, _EXIT_ZERO = "--tier", "--exit-zero"
_FILE_OF_RESULT = ".result.json"


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
        self._is_narrowed = any(one.startswith("--select") for one in words)
        taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.tier = int(tier) if tier in {str(one) for one in TIERS} else 0
        self._situation = Situation(launch, name, taken, self.tier)

    @property
    def takes_standard_output(self) -> str:
        """The option by which a line goes to standard output and no report does."""
        if self.is_nagios:
            return _NAGIOS
        return _RESULT if self._result_path == STANDARD_OUTPUT else ""

    def reports(self, outputs: list[Output]) -> list[Output]:
        """Without the one that would stand beside our line."""
        if not self.takes_standard_output:
            return outputs
        return [one for one in outputs if one.path is not None]

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

    def remarks(self, run: Run) -> tuple[str, ...]:
        """What a higher tier would judge, of a machine with GPUs."""
        gpus = self.content.get("gpus")
        if not isinstance(gpus, list) or not gpus or self._is_narrowed:
            return ()
        # Of a command that has probed a machine.
        from speccheck.validator.report.node_outcome import (  # noqa: PLC0415
            higher_tiers,
        )

        return higher_tiers(self.tier, run.plans, run.edition)

    def told(self, context: ReportContext) -> int:
        """Write the lines of what was judged; raises WriteError."""
        facts = self._facts() if self._result_path else {}
        result = judged_result(
            self._situation, context, self._seconds(), self.kept, facts
        )
        self._write_result(result)
        return self._answered(result, context.summary.failed, context.ending.code)

    def refused(self, message: str, code: int) -> int:
        """Write the lines of a run that judged nothing, as far as that can be done."""
        result = refused_result(self._situation, message, code, self._seconds())
        is_told = False
        with suppress(WriteError, UsageError):
            self._write_result(result)
            is_told = self._result_path is not None
        self._exits_zero &= is_told  # else nobody would know
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
            told_facts,
        )

        return told_facts(self.content)

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
        """The exit code; that of Nagios where its line is asked for and printed."""
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
    """The value of an option, also of a command line that is wrong elsewhere."""
    found = [one for before, one in pairwise(words) if before == flag]
    found += [
        one.removeprefix(flag + "=") for one in words if one.startswith(flag + "=")
    ]
    return found[-1] if found else None

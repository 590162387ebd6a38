"""What kinds of `speccheck bench` on one machine share: measure, keep, show, judge."""

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from speccheck.probes.parent import end_as_asked
from speccheck.probes.torch_library import NoTorch
from speccheck.validator.cli.option_table import OF_JUDGING, Option
from speccheck.validator.cli.options import Parsed, UsageError, parse
from speccheck.validator.cli.plain import judge
from speccheck.validator.cli.request import (
    BUG,
    REFUSALS,
    bug_message,
    outputs_of,
    passes_on,
    request_of,
)
from speccheck.validator.cli.settled import with_settings
from speccheck.validator.cli.take_snapshot import seconds_of
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.form import FORMS, NAMES
from speccheck.validator.report.write import write
from speccheck.validator.sources.context import context_facts

_GROUP = "Measurement"
_NAME = "this measurement"
_USAGE, _NOTHING, _INTERRUPTED = 2, 3, 130
_BY_HAND = "interrupted"
_BUDGET = "120s"
DEVICES = ("cuda", "cpu")


class NothingMeasured(Exception):  # noqa: N818 - a state of the machine, not an error
    """There is nothing to measure; the message says why, and the exit code."""

    def __init__(self, message: str, code: int = _NOTHING) -> None:
        super().__init__(message)
        self.code = code


class Measured(Record):
    """What came of it.

    kinds: measurements by the key of the snapshot under which they lie.
    table: for people, a line each.
    stopped: why it did not get to its end; empty where it did.
    """

    kinds: Mapping[str, Sequence[Mapping[str, object]]]
    table: Sequence[str]
    stopped: str = ""


def option(flag: str, text: str, metavar: str) -> Option:
    """An option that says how to measure."""
    kind = "text" if metavar in {"FILE", "SECONDS", "WHERE", "TYPES"} else "integer"
    return Option(flag, text, kind, metavar, group=_GROUP)  # type: ignore[arg-type]


def options(*own: Option) -> tuple[Option, ...]:
    """The options of a kind: its own, those of all kinds, those of judging."""
    return (
        option("--out", "keep the measurement in a file", "FILE"),
        option("--budget", f"stop after so long (default {_BUDGET})", "SECONDS"),
        option("--device", "cuda (default), or cpu for the host alone", "WHERE"),
        *own,
        *OF_JUDGING,
    )


class Budget:
    """How long measuring may take, and whether somebody stopped it."""

    def __init__(self, seconds: float) -> None:
        """Begin when it is first asked: to load PyTorch may take as long again."""
        self._seconds = seconds
        self._end: float | None = None
        self.stopped = ""

    def has_time(self) -> bool:
        """Whether some is left; remembers that none was."""
        now = time.monotonic()
        if self._end is None:
            self._end = now + self._seconds
        if not self.stopped and now > self._end:
            self.stopped = f"stopped after {self._seconds:g} s, its budget"
        return not self.stopped

    @contextmanager
    def interruptible(self) -> Generator[None]:
        """Take an interrupt as the end of measuring, and keep what there is."""
        try:
            yield
        except KeyboardInterrupt:
            self.stopped = _BY_HAND


def measure_and_judge(
    words: list[str],
    help_text: str,
    all_options: tuple[Option, ...],
    measure: Callable[[Parsed, Budget], Measured],
) -> int:
    """Measure by a command line, keep it, show it and judge it.

    Returns the exit code: that of the judgement, 2 for a wrong command line, 3 where
    there was nothing to measure, 130 when it was interrupted.
    """
    if words[:1] in (["-h"], ["--help"]):
        write(help_text, None)
        return 0
    try:
        end_as_asked()
        parsed = with_settings(parse(words, all_options), all_options)
        budget = _verified(parsed)
        found = measure(parsed, budget)
        text = _kept(found, parsed)
    except NothingMeasured as error:
        return _refuse(str(error), error.code)
    except (NoTorch, *REFUSALS) as error:
        return _refuse(str(error), _USAGE)
    except Exception as error:
        if passes_on(error):
            raise
        return _refuse(bug_message(error), BUG)

    def with_measured(request: Request, _: Parsed) -> Request:
        return request._replace(node=_name(parsed), snapshot=text)

    return _code(found, judge(words, all_options, _request, with_measured))


def _code(found: Measured, code: int) -> int:
    """The exit code, but for a measurement that somebody stopped."""
    return _INTERRUPTED if found.stopped == _BY_HAND else code


def _refuse(message: str, code: int) -> int:
    sys.stderr.write(f"speccheck: {message}\n")
    return code


def _request(parsed: Parsed) -> Request:
    return request_of(parsed, "preflight")


def _verified(parsed: Parsed) -> Budget:
    """The budget, once the command line is known to be right; raises UsageError."""
    if parsed.files:
        message = f"takes no file: {parsed.files[0]}; see --out and --help"
        raise UsageError(message)
    where = device_of(parsed)
    if where not in DEVICES:
        message = f"--device {where}: must be one of {', '.join(DEVICES)}"
        raise UsageError(message)
    context_facts(_request(parsed).judging.context)
    outputs_of(parsed, NAMES)
    out = parsed.values.get("out")
    folder = os.path.dirname(os.path.abspath(out)) if isinstance(out, str) else "."
    if not os.path.isdir(folder):
        message = f"--out {out}: no such folder: {folder}"
        raise UsageError(message)
    told = parsed.values.get("budget")
    return Budget(seconds_of(told if isinstance(told, str) else _BUDGET))


def device_of(parsed: Parsed) -> str:
    """Where to measure."""
    return str(parsed.values.get("device", DEVICES[0]))


def number_of(parsed: Parsed, name: str, default: int, most: int) -> int:
    """A whole number of the command line; raises UsageError for a larger one."""
    value = parsed.values.get(name, default)
    number = value if isinstance(value, int) else default
    if number > most:
        message = f"--{name} {number:,}: at most {most:,}"
        raise UsageError(message)
    return number


def _name(parsed: Parsed) -> str:
    out = parsed.values.get("out")
    return out if isinstance(out, str) else _NAME


def _kept(found: Measured, parsed: Parsed) -> str:
    """Show the table and keep the measurement; raises NothingMeasured without any."""
    shown = sys.stdout if _has_company(parsed) else sys.stderr
    shown.writelines(f"{line}\n" for line in found.table)
    if found.stopped:
        sys.stderr.write(f"speccheck: {found.stopped}: the rest was not measured\n")
    if not any(found.kinds.values()):
        message = f"nothing was measured: {found.stopped or 'each attempt failed'}"
        raise NothingMeasured(message, _code(found, _NOTHING))
    shown.write("\n")
    shown.flush()
    document = {
        "schema": "speccheck-snapshot/1",
        "taken": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **found.kinds,
    }
    text = json.dumps(document, indent=1) + "\n"
    out = parsed.values.get("out")
    if isinstance(out, str):
        write(text, out)
    return text


def _has_company(parsed: Parsed) -> bool:
    outputs = outputs_of(parsed, NAMES)
    return all(FORMS[one.format].has_company or one.path is not None for one in outputs)


def tell_progress(done: int, total: int, what: str) -> None:
    """Show how far it is, on a terminal alone."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r{done} of {total}  {what:<48.48}{end}")
        sys.stderr.flush()

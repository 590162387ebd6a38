"""The reports of a run: which are asked for, whether they may be written, and how.

Files are refused before any work, so that none is half done, and all of them are
written or none. What a CI reads besides is here as well: on GitHub annotations follow
the report for people, and the summary of the job gets the report in Markdown; both only
there, so that no other form on standard output holds a line that is not its own.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.option_table import COLORS
from speccheck.validator.cli.request import said_of
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.form import FORMS, NAMES
from speccheck.validator.report.style import Style, printable
from speccheck.validator.report.write import (
    WriteError,
    disarmed,
    is_read_by_runner,
    write,
    write_all,
)
from speccheck.validator.sources.files import SEARCHED_SUFFIXES, read_file

# Options that name a file: those that are read, and those that are written.
_READ = ("node", "settings", "waivers", "baseline", "tailor")
_WRITTEN = ("plot", "out", "next", "result")
PICTURES = ("svg", "png")
_DEFAULT_WIDTH = 80
_NARROWEST, _WIDEST = 60, 120
_REMEDY = "name another file"
_MOST_BYTES = 16 * 1024 * 1024  # what is longer is no configuration by hand
_GITHUB = "github"
# By format, what writes a document in a style, whole or in pieces.
Forms = Mapping[str, Callable[[Style], Iterable[str]]]


class Output(Record):
    """One report to write; `path` None means standard output."""

    format: str
    path: str | None


def outputs_in(words: Sequence[str]) -> list[Output]:
    """Return the reports that a wrong command line requests on standard output.

    Who reads JSON is to be told so in JSON. Files are left as they are: that they may
    be written is not known yet.
    """
    flag = "--output"
    texts = [text for before, text in pairwise(words) if before == flag]
    texts += [
        word.removeprefix(flag + "=") for word in words if word.startswith(flag + "=")
    ]
    return [Output(text, None) for text in texts if text in NAMES][:1]


def outputs_of(
    line: CommandLine, formats: tuple[str, ...] | None = None
) -> list[Output]:
    """Return the reports to write, in formats of the command if no others are given.

    Raises UsageError, also for files that cannot be written.
    """
    formats = formats or line.formats or NAMES
    outputs: list[Output] = []
    for text in line.texts("output") or ["text"]:
        name, equal, path = text.partition("=")
        if name not in formats:
            result = said_of(line, "output")
            message = f"{result} {name}: must be one of {', '.join(formats)}"
            raise UsageError(message)
        if equal and not path:
            result = said_of(line, "output")
            message = f"{result} {name}= needs a file name after the equal sign"
            raise UsageError(message)
        outputs.append(Output(name, path or None))
    if sum(output.path is None for output in outputs) > 1:
        message = "two reports on standard output: give one a file, --output json=FILE"
        raise UsageError(message)
    named = reports_of(line)
    if named:
        inputs = filter(None, map(line.text, _READ))
        others = {f"--{name}": line.text(name) for name in _WRITTEN}
        verify_destinations(
            named,
            inputs=(*line.files, *inputs),
            others={name: path for name, path in others.items() if path},
        )
    return outputs


def reports_of(line: CommandLine) -> dict[str, str]:
    """Return the files of reports, by the option that names each; raises UsageError."""
    named: dict[str, str] = {}
    for text in line.texts("output"):
        _, _, path = text.partition("=")
        option = f"--output {text}"
        if path and option in named:
            message = f"{option} is given twice"
            raise UsageError(message)
        if path:
            named[option] = path
    return named


def picture_of(line: CommandLine) -> str | None:
    """Return where measured curves are to be drawn; raises UsageError."""
    path = line.text("plot")
    if path is not None and path.rpartition(".")[2] not in PICTURES:
        message = f"--plot {path}: must end in .{' or .'.join(PICTURES)}"
        raise UsageError(message)
    return path


def style_of(line: CommandLine, *, to_file: bool) -> Style:
    """Return how to draw the report."""
    when = line.word("color", COLORS)
    is_terminal = not to_file and sys.stdout.isatty()
    colour = when == "always" or (
        when == "auto" and not to_file and _wants_colour(is_terminal=is_terminal)
    )
    encoding = "utf-8" if to_file else (sys.stdout.encoding or "ascii")
    return Style(
        colour,
        "utf" in encoding.lower(),
        _DEFAULT_WIDTH if to_file else _width(is_terminal=is_terminal),
        has_links=is_terminal and colour and os.environ.get("TERM") != "dumb",
    )


def _wants_colour(*, is_terminal: bool) -> bool:
    """Return whether the environment wants colour: NO_COLOR, then what forces it."""
    variables = os.environ
    if variables.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        if variables.get(name):
            return variables[name] not in {"0", "false"}
    return is_terminal and variables.get("CLICOLOR") != "0"


def _width(*, is_terminal: bool) -> int:
    """Return the width of COLUMNS, or of the terminal, within what reads well."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else 0
    if not width and is_terminal:
        width = os.get_terminal_size().columns
    # A terminal without a size has no columns.
    return max(_NARROWEST, min(width, _WIDEST)) if width else _DEFAULT_WIDTH


def write_forms(
    line: CommandLine,
    outputs: Iterable[Output],
    forms: Forms,
) -> None:
    """Write a document in each requested form: all of its files, or none.

    Args:
        line: the command line, which says how to draw.
        outputs: what is asked for.
        forms: by format, what writes the document in a style, whole or in pieces.

    """
    reports: list[tuple[Iterable[str], str | None]] = []
    for output in outputs:
        text = forms[output.format](style_of(line, to_file=output.path is not None))
        reports.append(((text,) if isinstance(text, str) else text, output.path))
    write_all(reports)


def verify_destinations(
    named: Mapping[str, str], inputs: Iterable[str], others: Mapping[str, str]
) -> None:
    """Raise UsageError for a file that cannot be written, or must not be.

    Args:
        named: paths of reports by the option that names them, as it was given.
        inputs: the files that are read.
        others: what else is written, by its option.

    """
    taken = {_identity(path): option for option, path in others.items()}
    read = {_identity(path) for path in inputs if os.path.isfile(path)}
    for option, path in named.items():
        _verify_writable(option, path)
        if _is_device(path):
            continue
        identity = _identity(path)
        if identity in read or _is_configuration(path):
            message = f"{option}: this file is judged, and would be lost: {_REMEDY}"
            raise UsageError(message)
        if identity in taken:
            message = f"{option}: the same file as {taken[identity]}: {_REMEDY}"
            raise UsageError(message)
        taken[identity] = option


def verify_not_judged(named: Mapping[str, str], judged: Iterable[str]) -> None:
    """Raise WriteError for a report in place of a file that was judged after all.

    Only a reader of a plugin knows it, or one that the user named.
    """
    existing = {
        _identity(path): option
        for option, path in named.items()
        if os.path.isfile(path)
    }
    if not existing:
        return
    for path in judged:
        option = existing.get(_identity(path))
        if option is not None:
            message = f"{option}: this file is judged, and would be lost: {_REMEDY}"
            raise WriteError(message)


def _is_configuration(path: str) -> bool:
    """Return whether a folder, or a file that another names, has a file to be judged.

    The report of the run before is none, and may be written over. The file is opened
    to be written, as it will be: that is no file to watch (watch.py).
    """
    if not path.endswith(SEARCHED_SUFFIXES) or not os.path.isfile(path):
        return False
    try:
        with open(path, "r+b") as file:
            content = file.read(_MOST_BYTES)
    except OSError:
        return False  # nor can it be written over
    text = content.decode("utf-8", "replace")
    status, _ = read_file(path, named=False, text=text)
    return status.state == "judged"


def _verify_writable(option: str, path: str) -> None:
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        message = f"{option}: a folder: name a file in it"
    elif not os.path.isdir(folder):
        message = f"{option}: no such folder: {folder}"
    elif os.path.exists(path) and not os.access(path, os.W_OK):
        message = f"{option}: the file must not be written: {_REMEDY}"
    elif not os.path.exists(path) and not os.access(folder, os.W_OK | os.X_OK):
        message = f"{option}: nothing may be written in {folder}"
    else:
        return
    raise UsageError(message)


def _is_device(path: str) -> bool:
    """Return whether it is no file of its own, such as /dev/null or a pipe."""
    return os.path.exists(path) and not os.path.isfile(path)


def _identity(path: str) -> tuple[int, int] | str:
    """Return a key that all names of one file share: spellings and links."""
    try:
        result = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return result.st_dev, result.st_ino


def node_file(flag: str, path: str, name: str, ending: str) -> str:
    """Return the file to write for the path of an option; raises UsageError.

    Args:
        flag: the option.
        path: what it says: a file, or a folder, which is made where it ends in a slash.
        name: of the node.
        ending: of the file in such a folder.

    """
    if path.endswith("/"):
        try:
            os.makedirs(path, exist_ok=True)  # by many nodes at the same time
        except OSError as error:
            message = f"{flag} {path}: {error.strerror}"
            raise UsageError(message) from error
    if not os.path.isdir(path):
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            message = f"{flag} {path}: no such folder: {folder}"
            raise UsageError(message)
        return path
    if not os.access(path, os.W_OK | os.X_OK):
        message = f"{flag} {path}: nothing may be written in this folder"
        raise UsageError(message)
    return os.path.join(path, name + ending)


def write_reports(
    report_context: ReportContext, outputs: list[Output], line: CommandLine
) -> None:
    """Write all reports or none; raises WriteError, or UsageError for a lost input."""
    named = reports_of(line)
    if named:
        judged = (
            file.path for file in report_context.run.files if file.state == "judged"
        )
        verify_not_judged(named, judged)
    reports: list[tuple[Iterable[str], str | None]] = []
    is_read = is_read_by_runner(os.environ)
    for output in outputs:
        style = style_of(line, to_file=output.path is not None)
        text = FORMS[output.format].report(report_context, style)
        if is_read and _is_shown(output):
            annotated = FORMS[output.format].has_company
            text = for_runner(text, report_context, annotated=annotated)
        reports.append((text, output.path))
    write_all(reports)
    if is_read and any(map(_is_shown, outputs)):
        write_summary(report_context)


def _is_shown(output: Output) -> bool:
    """Return whether people read it in the log or on the terminal."""
    return output.path is None and FORMS[output.format].is_for_people


def refuse(message: str, outputs: list[Output], code: int = 2) -> int:
    """Write why nothing is judged, in each form that can; returns the exit code."""
    shown = "\n".join(map(printable, message.split("\n")))
    sys.stderr.write(f"speccheck: {disarmed(shown)}\n")
    for output in outputs:
        text = FORMS[output.format].refusal(message, code)
        if text is not None:
            with suppress(WriteError):  # the first error is the one to tell
                write(text, output.path)
    if is_read_by_runner(os.environ) and any(map(_is_shown, outputs)):
        tell_failure(message, code)
    return code


def is_on_github() -> bool:
    """Return whether this is a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def for_runner(
    pieces: Iterable[str], report_context: ReportContext, *, annotated: bool
) -> Iterator[str]:
    """Yield a report for people as a runner may read it, with annotations on GitHub."""
    yield from map(disarmed, pieces)
    if annotated and is_on_github():
        yield from FORMS[_GITHUB].report(report_context, Style())


def tell_failure(message: str, code: int) -> None:
    """Annotate a run that could not begin."""
    if is_on_github():
        sys.stderr.write(FORMS[_GITHUB].refusal(message, code) or "")


def write_summary(report_context: ReportContext) -> None:
    """Add the report to the summary of the job, where there is one.

    It is an extra: that it cannot be written changes nothing of the verdict.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path or not is_on_github():
        return
    from speccheck.validator.report.forms.markdown import (  # noqa: PLC0415 - on GitHub
        SUMMARY_BYTES,
        markdown_text,
    )

    try:
        there = os.path.getsize(path) if os.path.exists(path) else 0
        text = markdown_text(report_context, SUMMARY_BYTES - there)
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        sys.stderr.write(f"speccheck: {path}: no summary: {error.strerror}\n")

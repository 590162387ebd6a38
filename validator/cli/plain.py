"""`speccheck FILE...`: parse, run, report."""

import os
import sys
from contextlib import suppress

from speccheck.validator.cli.options import Parsed, UsageError, Value, parse
from speccheck.validator.evidence.framework_version import parse_version
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import Exit, Summary, exit_of, summarize
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.run import Request, Run, read_all, run
from speccheck.validator.selection import Selection, UnknownSelection
from speccheck.validator.sources.context import ROLES, Context, context_facts
from speccheck.validator.sources.files import UnknownFormat
from speccheck.validator.spec.compose import UnknownProfile
from speccheck.validator.spec.edition import UnknownEdition
from speccheck.validator.spec.names import UnknownName

FORMATS = ("text", "concise", "json")
USES = ("ci", "preflight", "certify")
FAIL_ON = ("error", "warning", "info", "never")
_USAGE = 2
_BUG = 4
_DEFAULT_WIDTH = 80


class Output(Record):
    """One report to write; `path` None means standard output."""

    format: str
    path: str | None


def judge_files(words: list[str]) -> int:
    """Judge files; returns the exit code. Every error is one line on standard error."""
    outputs: list[Output] = [Output("text", None)]
    try:
        parsed = parse(words)
        outputs = _outputs(parsed)
        request = _request(parsed)
        fail_on = _one_of(parsed, "fail_on", FAIL_ON)
        if "show_files" in parsed.values:
            return _show_files(request)
        context_facts(request.context)  # refuses unknown names before any work
        found = run(request)
        summary = summarize(found.plans)
        ending = exit_of(found, summary, fail_on, skip_unknown=request.skip_unknown)
        for output in outputs:
            _report(found, summary, ending, output, parsed)
    except (
        UsageError,
        UnknownName,
        UnknownFormat,
        UnknownProfile,
        UnknownEdition,
        UnknownSelection,
        WriteError,
    ) as error:
        return _refuse(str(error), outputs)
    except Exception as error:
        if os.environ.get("SPECCHECK_TRACEBACK"):
            raise
        message = (
            f"a bug of speccheck: {type(error).__name__}: {error}; "
            "SPECCHECK_TRACEBACK=1 shows where"
        )
        return _refuse(message, outputs, _BUG)
    return ending.code


def _refuse(message: str, outputs: list[Output], code: int = 2) -> int:
    sys.stderr.write(f"speccheck: {message}\n")
    if any(output.format == "json" for output in outputs):
        from speccheck.validator.report.json_report import (  # noqa: PLC0415
            failure_report,
        )

        for output in outputs:
            if output.format == "json":
                with suppress(WriteError):  # the first error is the one to tell
                    write(failure_report(message, code), output.path)
    return code


def _request(parsed: Parsed) -> Request:
    values = parsed.values
    if not parsed.files:
        message = "no file given: speccheck FILE|FOLDER|- ..."
        raise UsageError(message)
    use, profiles = _profiles(_list(values, "profile"))
    role = _text(values, "role")
    if role is not None and role not in ROLES:
        message = f"--role {role}: must be one of {', '.join(ROLES)}"
        raise UsageError(message)
    version = _text(values, "framework_version")
    if version is not None:
        _verify_version(version)
    return Request(
        arguments=parsed.files,
        context=Context(
            nodes=_integer(values, "nodes"),
            gpus_per_node=_integer(values, "gpus_per_node"),
            gpu=_text(values, "gpu"),
            instance=_text(values, "instance"),
            fabric=_text(values, "fabric"),
            nvlink_domain=_integer(values, "nvlink_domain"),
            role=role,
            hours=_number(values, "hours"),
            step_seconds=_number(values, "step_seconds"),
            mtbf_hours=_number(values, "mtbf_hours"),
            framework_version=version,
            nccl_version=_text(values, "nccl_version"),
        ),
        use=use,
        profiles=profiles,
        spec=_text(values, "spec") or "1.0",
        selection=Selection(
            _names(_list(values, "select")), _names(_list(values, "ignore"))
        ),
        format=_text(values, "format"),
        stdin_name=_text(values, "stdin_filename"),
        skip_unknown="skip_unknown" in values,
    )


def _verify_version(text: str) -> None:
    try:
        parse_version(text)
    except ValueError as error:
        message = f'--framework-version {text}: {error}; write "transformers 4.57.1"'
        raise UsageError(message) from error


def _profiles(names: list[str]) -> tuple[str, tuple[str, ...]]:
    """The use among the profiles, and the others."""
    use, others = "ci", []
    for name in _names(names):
        bare = name.removeprefix("use/")
        if bare in USES:
            use = bare
        else:
            others.append(name)
    return use, tuple(others)


def _names(texts: list[str]) -> tuple[str, ...]:
    return tuple(
        name.strip() for text in texts for name in text.split(",") if name.strip()
    )


def _outputs(parsed: Parsed) -> list[Output]:
    outputs: list[Output] = []
    for text in _list(parsed.values, "output") or ["text"]:
        name, equal, path = text.partition("=")
        if name not in FORMATS:
            message = f"--output {name}: must be one of {', '.join(FORMATS)}"
            raise UsageError(message)
        if equal and not path:
            message = f"--output {name}= needs a file name after the equal sign"
            raise UsageError(message)
        outputs.append(Output(name, path or None))
    if sum(output.path is None for output in outputs) > 1:
        message = "two reports on standard output: give one a file, --output json=FILE"
        raise UsageError(message)
    return outputs


def _report(
    found: Run, summary: Summary, ending: Exit, output: Output, parsed: Parsed
) -> None:
    full = "full" in parsed.values
    style = _style(parsed, to_file=output.path is not None)
    if output.format == "json":
        from speccheck.validator.report.json_report import (  # noqa: PLC0415
            json_report,
        )

        text = json_report(found, summary, ending, full=full)
    elif output.format == "concise":
        from speccheck.validator.report.concise import (  # noqa: PLC0415
            concise_report,
        )

        text = concise_report(found, ending, style)
    else:
        from speccheck.validator.report.text import text_report  # noqa: PLC0415

        text = text_report(found, summary, ending, style, full=full)
    write(text, output.path)


def _style(parsed: Parsed, *, to_file: bool) -> Style:
    when = _one_of(parsed, "color", ("auto", "always", "never"))
    is_terminal = not to_file and sys.stdout.isatty()
    colour = when == "always" or (
        when == "auto" and is_terminal and not os.environ.get("NO_COLOR")
    )
    encoding = "utf-8" if to_file else (sys.stdout.encoding or "ascii")
    width = _DEFAULT_WIDTH
    if is_terminal:
        width = max(60, min(os.get_terminal_size().columns, 120))
    return Style(colour, "utf" in encoding.lower(), width)


def _show_files(request: Request) -> int:
    missing = 0
    for statuses, _ in read_all(request):
        for file in statuses:
            missing += file.state == "unreadable"
            if file.state == "judged":
                line = f"{file.path}: {file.format} ({file.confidence:.2f}"
                line += f"; next {file.runner_up})" if file.runner_up else ")"
            else:
                line = f"{file.state}: {file.message}"
            sys.stdout.write(line + "\n")
    return _USAGE if missing else 0


def _one_of(parsed: Parsed, name: str, known: tuple[str, ...]) -> str:
    value = _text(parsed.values, name) or known[0]
    if value not in known:
        flag = "--" + name.replace("_", "-")
        message = f"{flag} {value}: must be one of {', '.join(known)}"
        raise UsageError(message)
    return value


def _text(values: dict[str, Value], name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None


def _integer(values: dict[str, Value], name: str) -> int | None:
    value = values.get(name)
    return value if isinstance(value, int) else None


def _number(values: dict[str, Value], name: str) -> float | None:
    value = values.get(name)
    return float(value) if isinstance(value, int | float) else None


def _list(values: dict[str, Value], name: str) -> list[str]:
    value = values.get(name)
    return value if isinstance(value, list) else []

"""The command line taken apart by the table of options, and the help of it."""

from typing import TYPE_CHECKING

from speccheck.validator.cli.option_table import OPTIONS, UNDONE, Option, Value
from speccheck.validator.evidence.record import Record

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.settled import Settled

_NO = "--no-"


class UsageError(Exception):
    """The command line is wrong; the message says what and how to mend it."""


class Parsed(Record):
    """The command line, taken apart."""

    files: tuple[str, ...]
    values: dict[str, Value]
    settled: "Settled | None" = None  # what settings files say, once they are read


def parse(arguments: list[str], options: tuple[Option, ...] = OPTIONS) -> Parsed:
    """Take the command line apart; raises UsageError."""
    by_flag = {option.flag: option for option in options}
    files: list[str] = []
    values: dict[str, Value] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            files.extend(rest)
        elif argument == "-" or not argument.startswith("-"):
            files.append(argument)
        else:
            flag, equal, text = argument.partition("=")
            option = by_flag.get(flag) or _undone(flag, by_flag)
            if option is None:
                raise UsageError(_unknown(flag, by_flag))
            if option.kind != "switch" and not equal:
                following = next(rest, None)
                if following is None:
                    message = f"{flag} needs a value: {flag} {option.metavar}"
                    raise UsageError(message)
                text = following
            elif option.kind == "switch" and equal:
                message = f"{flag} takes no value"
                raise UsageError(message)
            _put(values, option, text)
    return Parsed(tuple(files), values)


def _unknown(flag: str, known: dict[str, Option]) -> str:
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    close = nearest(flag, known)
    hint = f"did you mean {close}?" if close else "see speccheck --help"
    return f"no option {flag}: {hint}"


def _undone(flag: str, known: dict[str, Option]) -> Option | None:
    """`--no-full`: a switch that settings turn on is off for this run."""
    if "--settings" not in known or not flag.startswith(_NO):
        return None
    undone = known.get("--" + flag.removeprefix(_NO))
    if undone is None or undone.name not in UNDONE:
        return None
    return Option(flag, "", "switch")


def _put(values: dict[str, Value], option: Option, text: str) -> None:
    if option.kind == "switch" and option.flag.startswith(_NO):
        undone = option.flag.removeprefix(_NO).replace("-", "_")
        if undone in UNDONE:
            values[undone] = False
            return
    if option.kind == "switch":
        values[option.name] = True
        return
    if option.repeatable:
        known = values.setdefault(option.name, [])
        if isinstance(known, list):
            known.append(text)
        return
    values[option.name] = _converted(option, text)


def _converted(option: Option, text: str) -> Value:
    if option.kind == "text":
        return text
    try:
        number: int | float = int(text) if option.kind == "integer" else float(text)
    except ValueError:
        number = 0
    if not 0 < number < 1e12:  # noqa: PLR2004 - also refuses nan and infinity
        wanted = "a whole number" if option.kind == "integer" else "a number"
        message = f"{option.flag} {text}: must be {wanted} above zero"
        raise UsageError(message)
    return number


def options_help(options: tuple[Option, ...] = OPTIONS) -> str:
    """The help of all options, by group."""
    lines: list[str] = []
    for group in dict.fromkeys(option.group for option in options):
        lines.append(f"\n{group}:")
        for option in options:
            if option.group == group:
                left = f"{option.flag} {option.metavar}".rstrip()
                lines.append(f"  {left:<26} {option.help}")
    return "\n".join(lines)

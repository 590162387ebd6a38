"""What a script gives the program that it starts, for parsers of command lines.

An option that is given has that value; of a command line that is seen as a whole, one
that is not given has its default for sure. Without a command line each default holds
only as long as nobody gives another value.
"""

import ast
from collections.abc import Mapping

from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.python.operators import applied
from speccheck.validator.sources.python.values import (
    Evaluated,
    Known,
    ParserOption,
    Unknown,
)

_NUMBERS_AND_TEXTS = frozenset({"int", "float", "str"})
_SWITCHES = {"true": True, "false": False, "1": True, "0": False}


class GivenOption(Record):
    """An option of a command.

    Attributes:
        values: the words behind it.
        is_known: whether it and its values stand in the script.
        only_if: the condition under which it is given so.

    """

    values: tuple[str, ...]
    is_known: bool = True
    only_if: str = ""


class ProgramArguments(Record):
    """The arguments of a program.

    Attributes:
        place: where they stand, in words.
        options: by flag.
        is_whole: whether there are surely no others.

    """

    place: str
    options: Mapping[str, GivenOption]
    is_whole: bool


def value_of(option: ParserOption, line: ProgramArguments | None) -> Evaluated:
    """Return what a parser makes of an option."""
    flag, default = option.flags[0], option.default
    given = None
    if line is not None:
        given = next(
            (line.options[name] for name in option.flags if name in line.options), None
        )
    if given is not None and line is not None:
        return _converted(option, given, f"{flag} in {line.place}")
    is_sure = line is not None and line.is_whole and _is_unmistakable(option, line)
    if default is None or (
        not is_sure and isinstance(default, Known) and default.value is None
    ):
        return Unknown(f"{flag} of the command line")
    if not isinstance(default, Known):
        return default
    if is_sure and line is not None:
        note = f"{flag} is not given in {line.place}"
        return default._replace(note=default.note or note)
    return default._replace(only_if=default.only_if or f"{flag} is not given")


def _is_unmistakable(option: ParserOption, line: ProgramArguments) -> bool:
    """Tell whether no shorter form of an option is given."""
    return not any(
        flag.startswith(name) for flag in option.flags for name in line.options
    )


def _converted(option: ParserOption, given: GivenOption, note: str) -> Evaluated:
    unknown = Unknown(note)
    if not given.is_known or option.kind == "":
        return unknown
    if option.switch is not None and not given.values:
        return Known(option.switch, given.only_if, note)
    if len(given.values) != 1:
        return unknown
    text = given.values[0]
    if option.kind == "bool":
        value = _SWITCHES.get(text.lower())
        return unknown if value is None else Known(value, given.only_if, note)
    result = applied(option.kind, [Known(text)])
    if not isinstance(result, Known):
        return unknown
    return result._replace(only_if=given.only_if, note=note)


def kind_of(annotation: ast.expr | None) -> str:
    """Return the type that a parser makes of a text; empty where it is not known."""
    text = ast.unparse(annotation) if annotation is not None else ""
    for frame in ("Optional[", "typing.Optional["):
        if text.startswith(frame):
            text = text.removeprefix(frame).removesuffix("]")
    text = text.removesuffix(" | None")
    return text if text in _NUMBERS_AND_TEXTS | {"bool"} else ""

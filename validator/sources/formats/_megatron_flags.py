"""One flag of Megatron-LM, wherever it is written, and what it states.

A command line gives words, a file gives keys: both become flags, so that the same code
says what they mean.
"""

from collections.abc import Callable, Mapping

from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import LoadedAs
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.launching import (
    Leaf,
    is_sure,
    option_place,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import Unusable
from speccheck.validator.sources.reader import FactSheet
from speccheck.validator.sources.shell.script import Option


class Flag(Record):
    """A flag with its values.

    place: of the first value, or of the flag where it has none.
    named_at: of the flag.
    doubt: why it may not be given at all; empty when it surely is.
    unknown: why its first value is not known; empty when it is.
    """

    name: str
    texts: tuple[str, ...]
    place: Place
    named_at: Place
    doubt: str = ""
    unknown: str = ""

    @property
    def text(self) -> str | None:
        """The first value, where there is one and it is known."""
        return None if self.unknown or not self.texts else self.texts[0]


_NUMBERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}
Given = Mapping[str, Flag]
"""The flags of one run by name."""


def flag_of_option(file: str, option: Option) -> Flag:
    """The flag that stands in a script."""
    name, values, word = option
    unknown = unresolved(values[0]) if values and not values[0].resolved else ""
    return Flag(
        name,
        tuple(value.text for value in values),
        option_place(file, option),
        word_place(file, name, word),
        "" if is_sure(option) else f"{name} is given only under a condition",
        unknown,
    )


def state_flag(sheet: FactSheet, leaf: Leaf, flag: Flag) -> None:
    """Put the fact that a flag states onto the sheet."""
    if flag.doubt:
        sheet.unusable(leaf.name, flag.doubt, flag.named_at)
    elif leaf.present is not None:
        sheet.state(leaf.name, leaf.present, flag.named_at)
    elif flag.unknown:
        sheet.unusable(leaf.name, flag.unknown, flag.place)
    elif flag.texts:
        value = leaf.convert(flag.texts[0])
        if isinstance(value, Unusable):
            sheet.unusable(leaf.name, value.reason, flag.place)
        else:
            sheet.state(leaf.name, value, flag.place)


def refused_text(flag: Flag, catalogue: FrameworkKeys) -> LoadedAs | None:
    """A text of which argparse cannot make the number that its flag takes."""
    if len(flag.texts) != 1 or flag.unknown:
        return None
    row = catalogue.lookup((flag.name,))
    if row is None or row.choices or row.type not in _NUMBERS:
        return None
    (written,) = flag.texts
    number_of, expected = _NUMBERS[row.type]
    try:
        number_of(written)
    except ValueError:
        loaded = f"the text {written!r:.60}"
        return LoadedAs(flag.name, written, loaded, expected, flag.place, fatal=True)
    return None

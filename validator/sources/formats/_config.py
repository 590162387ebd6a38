"""Settings of a file by dotted names: to look them up, and to state leaves by them."""

from collections.abc import Mapping
from typing import cast

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Convert,
    Field,
    Fields,
    TabulatedDefault,
    apply,
    boolean,
    integer_text,
    lower_text,
    number,
    put,
    put_numbers,
    section,
)
from speccheck.validator.sources.reader import FactSheet

# A condition, what holds for a leaf under it, why, and the key that says so.
Case = tuple[object, object, str, str]

# Degrees of a framework that runs data parallelism only.
ONE_OF_EACH: dict[str, object] = {
    "parallelism.tensor_parallel_size": 1,
    "parallelism.pipeline_parallel_size": 1,
    "parallelism.context_parallel_size": 1,
    "parallelism.ulysses_size": 1,
    "parallelism.expert_parallel_size": 1,
}
_BETAS = ("optimizer.beta1", "optimizer.beta2")


class Config:
    """The settings of a file, or of a section of it, and the sheet that they fill.

    Names of keys are dotted: `fsdp.precision` is the key `precision` of the section
    `fsdp`.

    Attributes:
        sheet: takes the facts.
        data: the settings; empty where the file has no such section.
        prefix: the path of the section in the file.
    """

    __slots__ = ("data", "prefix", "sheet")

    def __init__(self, sheet: FactSheet, data: object, prefix: KeyPath = ()) -> None:
        """Take the settings of a section; anything but a mapping is an empty one."""
        self.sheet = sheet
        self.data = section(data)
        self.prefix = prefix

    def section(self, name: str) -> "Config":
        """Return the settings of a section of this one."""
        names = name.split(".")
        return Config(self.sheet, section(self.data, *names), (*self.prefix, *names))

    def at(self, name: str, *below: str | int) -> KeyPath:
        """Return the path of a key, or of what lies below it."""
        return (*self.prefix, *name.split("."), *below) if name else self.prefix

    def __contains__(self, name: str) -> bool:
        """Return whether a key is written, be it with null."""
        *above, key = name.split(".")
        return key in section(self.data, *above)

    def get(self, name: str, default: object = None) -> object:
        """Return the value of a key as it is written."""
        *above, key = name.split(".")
        return section(self.data, *above).get(key, default)

    def whole(self, name: str, convert: Convert = integer_text) -> int | None:
        """Return a whole number; None where the key is absent or holds none."""
        value = convert(self.get(name))
        return value if isinstance(value, int) else None

    def number(self, name: str) -> float | None:
        """Return a number; None where the key is absent or holds none."""
        value = number(self.get(name))
        return value if isinstance(value, float) else None

    def switch(self, name: str) -> bool | None:
        """Return a switch; None where the key is absent or holds none."""
        value = boolean(self.get(name))
        return value if isinstance(value, bool) else None

    def word(self, name: str) -> str | None:
        """Return a text in lower case; None where the key is absent or holds none."""
        value = lower_text(self.get(name))
        return value if isinstance(value, str) else None

    def put(self, leaf: str, name: str, convert: Convert) -> None:
        """State what a key says, where it is written and not null."""
        if (value := self.get(name)) is not None:
            put(self.sheet, leaf, convert(value), self.at(name))

    def put_first(self, leaf: str, convert: Convert, *names: str) -> bool:
        """State what the first key says that is set; tell whether there is one."""
        name = next((name for name in names if self.get(name) is not None), None)
        if name is not None:
            self.put(leaf, name, convert)
        return name is not None

    def apply(self, fields: Fields) -> None:
        """State the leaf of each key of a table."""
        apply(self.sheet, self.data, fields, self.prefix)

    def put_sinks(self, switches: Mapping[str, str], note: str) -> bool:
        """State the sinks whose switches are on; tell whether there is one."""
        on = [name for name in switches if self.switch(name) is True]
        if on:
            names = tuple(switches[name] for name in on)
            self.derive("telemetry.sinks", names, note, *on)
        return bool(on)

    def put_betas(self, name: str) -> None:
        """State the two decay rates of Adam, as a list."""
        put_numbers(self.sheet, _BETAS, self.get(name), self.at(name))

    def scale_rate(self, rate: str, share: str) -> None:
        """State the lowest learning rate as a share of the highest."""
        highest, factor = self.number(rate), self.number(share)
        if highest is not None and factor is not None:
            note = f"{factor:g} x {highest:g}"
            leaf = "optimizer.minimum_learning_rate"
            self.derive(leaf, factor * highest, note, share)

    def state(self, leaf: str, value: object, name: str) -> None:
        """State the value of a leaf, at a key."""
        self.sheet.state(leaf, value, self.at(name))

    def derive(self, leaf: str, value: object, note: str, *names: str) -> None:
        """State what follows from keys for a leaf."""
        self.sheet.derive(leaf, value, note, *map(self.at, names))

    def turn(self, leaf: str, note: str, name: str, *, is_on: bool = True) -> None:
        """Derive from a key that something is on, or off."""
        self.sheet.derive(leaf, is_on, note, self.at(name))

    def turn_halves(self, dtype: str, note: str, name: str) -> None:
        """Derive from the format of computation whether bf16 and fp16 are on."""
        for half in ("bf16", "fp16"):
            self.turn(f"precision.{half}", note, name, is_on=dtype == half)

    def default(self, leaf: str, value: object, note: str) -> None:
        """State what the framework does by itself."""
        self.sheet.default(leaf, value, note)

    def unusable(self, leaf: str, reason: str, name: str) -> None:
        """Say why a key gives no value for a leaf."""
        self.sheet.unusable(leaf, reason, self.at(name))

    def drop(self, *leaves: str) -> None:
        """Take back what has been stated of leaves."""
        facts = self.sheet.facts
        facts[:] = [fact for fact in facts if fact.name not in leaves]

    def first(self, leaf: str, *cases: Case) -> bool:
        """Derive a leaf from the first case that holds; tell whether there is one."""
        for holds, value, note, name in cases:
            if holds:
                self.derive(leaf, value, note, name)
                return True
        return False

    def known(self, leaf: str) -> object:
        """Return the last value that the sheet holds for a leaf."""
        facts = reversed(self.sheet.facts)
        return next((fact.value for fact in facts if fact.name == leaf), None)


def defaults_of(fields: Fields, *names: str) -> tuple[TabulatedDefault, ...]:
    """Return rows for keys whose default means what the key means where it is set."""
    rows: list[TabulatedDefault] = []
    for name in names:
        *above, key = name.split(".")
        table = fields
        for part in above:
            table = cast("Fields", table[part])
        rows.append(TabulatedDefault(name, *cast("Field", table[key])))
    return tuple(rows)

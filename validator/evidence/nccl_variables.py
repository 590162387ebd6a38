"""What is known of the environment variables of NCCL and the libraries around it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record

Release = tuple[int, ...]

# strtoll with base 0 takes the number at the start and drops the rest.
C_INTEGER = lazy_pattern(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*))")
_RELEASE = lazy_pattern(r"\d+(?:\.\d+)*")


def release(text: str | int) -> Release:
    """Return `2.18.3` or `NCCL 2.18.3+cuda12.1` as numbers; empty for no release."""
    match = _RELEASE.search(str(text))
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def integer_seen(text: str) -> int | None:
    """Return the number that NCCL sees in a text, or None where it sees none."""
    match = C_INTEGER.match(text)
    if match is None:
        return None
    digits = match[1]
    is_octal = digits.lstrip("+-").startswith("0") and "x" not in digits.lower()
    return int(digits, 8) if is_octal else int(digits, 0)


class NameList:
    """A list of interfaces or adapters, as NCCL reads it: `^=mlx5_0:1,mlx5_3`.

    Operators count at the start alone: ^ takes all but these, = takes whole names;
    without it a name is the beginning of names. A port may follow an adapter
    (NVIDIA/nccl src/misc/utils.cc, parseStringList and matchIfList).
    """

    __slots__ = ("entries", "is_exact", "is_excluding")

    def __init__(self, text: str) -> None:
        """Take the list apart."""
        text = text.strip()
        self.is_excluding = text.startswith("^")
        text = text.removeprefix("^")
        self.is_exact = text.startswith("=")
        parts = (part.partition(":") for part in text.removeprefix("=").split(","))
        self.entries = tuple(
            (name, int(port) if port.isdecimal() else None)
            for name, _, port in parts
            if name
        )

    def matches(self, entry: tuple[str, int | None], name: str, port: int) -> bool:
        """Return whether one entry of the list means that port."""
        wanted, number = entry
        is_named = name == wanted if self.is_exact else name.startswith(wanted)
        return is_named and number in {None, port}

    def takes(self, name: str, port: int = -1) -> bool:
        """Return whether the list leaves that adapter or interface to NCCL."""
        if not self.entries:
            return True
        is_listed = any(self.matches(entry, name, port) for entry in self.entries)
        return is_listed != self.is_excluding


ReadAs = Literal["integer", "level", "debug level", "text"]
AcrossNodes = Literal["", "alike", "free"]

ANY = "*"  # among published or costly values: whatever is set
MOST_MISTAKES = 2  # in a name that is taken for a misspelt one
MOST_LEFT_OUT = 3  # letters in a row: NCCL_DEBUG_SYS for NCCL_DEBUG_SUBSYS
FEWEST_SHARED = 4  # variables of a published set, before a file is taken to follow it

_SWITCHES: Mapping[str, str] = {
    "true": "1",
    "yes": "1",
    "on": "1",
    "false": "0",
    "no": "0",
    "off": "0",
}
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


class VariableRow(Record):
    """One tabulated variable.

    Attributes:
        read_as: how the library turns the text into a value.
        choices: the only values, where they are few.
        minimum: of a number; maximum alike. None where no bound is known.
        added: first release with the name; empty for the oldest one looked at.
        removed: first release without it, empty where it still exists; `0` for a
            variable that was gone before the oldest release looked at.
        deprecated: since when, in words.
        renamed: the replacement is the same variable under another name.
        costly: values that should not stay set in a run, with their cost in words.
        risk: safe, tuning, debug-only, dangerous-in-production.
        across_nodes: alike where nodes of a job must not differ, free where they may
            by right, empty where a node that differs is slower at most.
    """

    name: str
    family: str
    read_as: ReadAs = "text"
    choices: Sequence[str] = ()
    minimum: int | None = None
    maximum: int | None = None
    default: int | str | None = None
    defaults: Sequence[Sequence[int | str]] = ()
    added: str = ""
    removed: str = ""
    deprecated: str = ""
    replacement: str = ""
    renamed: bool = False
    costly: Sequence[str] = ()
    cost: str = ""
    risk: str = "tuning"
    across_nodes: AcrossNodes = ""

    @property
    def has_range(self) -> bool:
        """Whether only some numbers may stand there."""
        bounded = self.minimum is not None or self.maximum is not None
        return self.read_as == "integer" and bool(bounded or self.choices)

    def is_costly(self, value: str) -> bool:
        """Return whether this value should not stay set in a run."""
        if ANY in self.costly:
            return bool(value)
        return value.strip().upper() in {text.upper() for text in self.costly}


class Misread(Record):
    """A text that the library takes for something else, or for nothing."""

    seen: str  # what the library sees, in words
    expected: str
    meant: str = ""  # what was probably meant, where one value suggests itself


class Platform(Record):
    """The variables that a provider publishes for its instances.

    status: vendor-published sets are for a job to set; those set-by-plugin and
    set-by-image are there without it.
    """

    id: str
    instances: Sequence[str]
    marked_by: str
    variables: Mapping[str, str]
    status: str = "vendor-published"

    def is_marked(self, names: Iterable[str]) -> bool:
        """Return whether a name is set that exists on this platform only."""
        mark = self.marked_by
        return bool(mark) and any(name.startswith(mark) for name in names)

    def publishes(self, name: str, value: str) -> bool:
        """Return whether this value of the variable is the provider's own."""
        published = self.variables.get(name)
        if published is None:
            return False
        return published == ANY or published.lower() == value.strip().lower()

    def is_followed(self, variables: Iterable[Variable]) -> bool:
        """Return whether a file sets several of the published set, and no others."""
        shared = [variable for variable in variables if variable.name in self.variables]
        return len(shared) >= FEWEST_SHARED and all(
            self.publishes(variable.name, variable.value or "") for variable in shared
        )


class NcclVariables:
    """The catalogue; rows are made when they are asked for."""

    __slots__ = ("_rows", "assumed", "left_to_the_job", "newest", "platforms")

    def __init__(
        self,
        rows: Mapping[str, Mapping[str, Any]],
        platforms: Sequence[Platform],
        newest: Release,
        assumed: Release,
        left_to_the_job: Iterable[str] = (),
    ) -> None:
        """Take the compiled rows.

        Args:
            rows: fields of VariableRow by variable name.
            platforms: the published sets.
            newest: the newest release that was looked at.
            assumed: the release to assume where none is stated.
            left_to_the_job: variables of the sets in which a job may differ.
        """
        self._rows = rows
        self.platforms = tuple(platforms)
        self.newest = newest
        self.assumed = assumed
        self.left_to_the_job = frozenset(left_to_the_job)

    def lookup(self, name: str) -> VariableRow | None:
        """Return the row of a variable, or None."""
        fields = self._rows.get(name)
        return None if fields is None else VariableRow(name, **fields)

    def names(self) -> Iterable[str]:
        """Return all tabulated names."""
        return self._rows.keys()

    def resembles(self, name: str) -> str | None:
        """Return the tabulated name that an unknown one is a slip of, or None."""
        from speccheck.validator.evidence.spelling import (  # noqa: PLC0415 - rare
            distance,
        )

        best: tuple[int, str] | None = None
        letters = set(name)
        for known in self._rows:
            unlike = len(letters.symmetric_difference(known)) > 2 * MOST_MISTAKES
            if not unlike and abs(len(known) - len(name)) <= MOST_MISTAKES:
                mistakes = distance(known, name)
                if mistakes <= MOST_MISTAKES and (best is None or mistakes < best[0]):
                    best = mistakes, known
        if best is not None:
            return best[1]
        return next((row for row in self._rows if _leaves_out(name, row)), None)

    def default(self, name: str, used: Release) -> int | None:
        """Return the number of a variable that is not set; None where it is not known.

        Args:
            name: of the variable.
            used: the release of the job; empty for the newest default.
        """
        row = self.lookup(name)
        if row is None:
            return None
        value = row.default
        if row.defaults and used:
            held = [step[1] for step in row.defaults if used >= release(step[0])]
            value = held[-1] if held else None
        return value if isinstance(value, int) else None

    def is_published(
        self, variable: Variable, environment: Environment, instance: str | None
    ) -> bool:
        """Return whether the machine's provider publishes this value of the variable.

        Args:
            variable: as set.
            environment: all variables: some exist on one platform only.
            instance: row id of the instance type, where it is known.
        """
        text = variable.value
        if text is None:
            return False
        name, variables = variable.name, environment.variables
        return any(
            platform.publishes(name, text)
            for platform in self._published_for(instance, variables)
        ) or (
            not instance
            and any(
                platform.publishes(name, text) and platform.is_followed(variables)
                for platform in self.platforms
            )
        )

    def published_for(
        self, environment: Environment, instance: str | None
    ) -> list[Platform]:
        """Return the sets of an instance type, or of a variable's platform."""
        return list(self._published_for(instance, environment.variables))

    def _published_for(
        self, instance: str | None, variables: Sequence[Variable]
    ) -> Iterable[Platform]:
        for platform in self.platforms:
            is_meant = (
                instance in platform.instances
                if instance
                else platform.is_marked(variable.name for variable in variables)
            )
            if is_meant:
                yield platform


def misread(row: VariableRow, text: str) -> Misread | None:
    """Return how the library misreads this text, or None if it reads it as is."""
    if row.read_as == "integer":
        return _misread_integer(text)
    if row.read_as == "level":
        return _misread_level(row, text)
    if row.read_as == "debug level" and text.upper() not in row.choices:
        return Misread("no level, so that nothing is logged", _words(row))
    return None


def _leaves_out(name: str, known: str) -> bool:
    """Return whether the name is the known one without some letters inside it."""
    left_out = len(known) - len(name)
    if not 0 < left_out <= MOST_LEFT_OUT:
        return False
    return any(
        known.startswith(name[:at]) and known.endswith(name[at:])
        for at in range(1, len(name))
    )


def out_of_range(row: VariableRow, text: str) -> str | None:
    """Return the range in words where a number lies outside of it, or None."""
    number = integer_seen(text)
    if row.read_as != "integer" or number is None:
        return None
    if row.choices and str(number) not in row.choices:
        return "one of " + ", ".join(row.choices)
    low, high = row.minimum, row.maximum
    if high is not None and low is not None and not low <= number <= high:
        return f"{low} to {high}"
    if low is not None and number < low:
        return f"at least {low}"
    return None


def _misread_integer(text: str) -> Misread | None:
    seen = integer_seen(text)
    expected = "a plain number"
    if seen is None:
        word = text.strip().lower()
        return Misread("0", expected, _SWITCHES.get(word, "")) if word else None
    match = C_INTEGER.match(text)
    rest = text[match.end() :].strip() if match else ""
    if not rest or rest.startswith("#"):
        return None
    unit = _UNITS.get(rest[0].upper())
    return Misread(str(seen), expected, str(seen * unit) if unit else "")


def _misread_level(row: VariableRow, text: str) -> Misread | None:
    if text in row.choices or text[:1].isdigit():
        return None
    meant = text.upper() if text.upper() in row.choices else ""
    return Misread("no level, so that it has no effect", _words(row), meant)


def _words(row: VariableRow) -> str:
    return "one of " + ", ".join(row.choices)

"""Types of the key tables as JSON Schema, as wide as the framework takes them."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from framework_schemas.dialects import Dialect, Handling
from framework_schemas.key_tree import FREE, Row

Schema = dict[str, Any]

# A number as text, as Python's int() and float() read it.
INTEGER_TEXT = r"^\s*[-+]?\d[\d_]*\s*$"
NUMBER_TEXT = (
    r"^\s*[-+]?(\d[\d_]*(\.[\d_]*)?|\.\d+)([eE][-+]?\d+)?\s*$|^\s*[-+]?\.?(inf|nan)\s*$"
)
EXPONENT_TEXT = r"^[-+]?\d[\d_]*(\.\d*)?[eE][-+]?\d+$"  # a text for YAML 1.1 alone
# YAML 1.1 reads it as a number, editors read YAML 1.2, where it is a text.
UNDERSCORED = r"^[-+]?\d+(_\d+)+(\.\d*)?$"
# YAML 1.1 reads these as switches, editors read YAML 1.2, where they are texts.
SWITCH_WORDS = r"^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$"
SWITCH_TEXT = r"^([Tt]rue|TRUE|[Ff]alse|FALSE|[01yYnNtTfF])$"
AUTO = r"^auto$"
INTERPOLATED = r"\$\{|^\?\?\?$"
_BOUND = re.compile(r"(>=|<=|>|<)\s*(-?[\d.]+)")
_BOUNDS = {
    ">=": "minimum",
    "<=": "maximum",
    ">": "exclusiveMinimum",
    "<": "exclusiveMaximum",
}
_LIST = re.compile(r"list\[(.*)\]")


class _Taken:
    """What may stand in one place, gathered kind by kind."""

    def __init__(self) -> None:
        self.types: dict[str, None] = {}  # the first is what editors fill in
        self.patterns: list[str] = []  # of texts that are taken; empty: none is
        self.words: list[str] = []  # what is taken, for messages
        self.any_text = False
        self.choices: list[Any] = []
        self.items: list[Schema] = []  # of lists; empty: anything
        self.any_list = False
        self.anything = False

    def take(self, *names: str, word: str = "") -> None:
        """Let values of these types stand here."""
        self.types.update(dict.fromkeys(names))
        self.words += [word] if word else []

    def take_text(self, pattern: str, word: str = "") -> None:
        """Let texts of this form stand here."""
        self.patterns.append(pattern)
        self.words += [word] if word else []

    def schema(self) -> Schema:
        """As one flat schema, so that editors show one message; with choices as two."""
        if self.anything:
            return {}
        types = dict(self.types)
        result: Schema = {}
        if self.patterns and not self.any_text:
            types["string"] = None
            patterns = [*dict.fromkeys(self.patterns)]
            result["pattern"] = "|".join(patterns)
            words = " or ".join(dict.fromkeys(self.words))
            result["patternErrorMessage"] = f"must be {words}"
        if self.any_text:
            types["string"] = None
        if "null" in types:
            del types["null"]
            types["null"] = None  # the last one
        if self.items and not self.any_list:
            result["items"] = self.items[0]
        if types:
            names = [*types]
            result = {"type": names[0] if len(names) == 1 else names, **result}
        if not self.choices:
            return result
        if self.any_text:
            return {**result, "examples": self.choices}
        if types.keys() <= {"null"}:
            nulls = [None] if types and None not in self.choices else []
            return {"enum": [*self.choices, *nulls]}
        return {"anyOf": [{"enum": self.choices}, result]}


class Values:
    """Gives the schema of a value for the keys of one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        """Take how values are handled."""
        self._dialect = dialect

    def of(self, row: Row) -> Schema:
        """The schema of the value of a key, without what stands below it."""
        result = self._taken(row).schema()
        if row.get("range") and result:
            result.update(
                (_BOUNDS[sign], float(number) if "." in number else int(number))
                for sign, number in _BOUND.findall(row["range"])
            )
        return result

    def of_block(self) -> Schema:
        """The schema of a block that has no row: other keys stand below it."""
        taken = _Taken()
        taken.take("object", word="a block")
        if self._dialect.takes_null:
            taken.take("null")
        if self._dialect.interpolates:
            taken.take_text(INTERPOLATED, "${...}")
        return taken.schema()

    def _taken(self, row: Row) -> _Taken:
        handling = self._dialect.handling_at(row["path"])
        taken = _Taken()
        kinds = split_types(row["type"])
        for kind in kinds:
            self._add(taken, kind, handling)
        defaults = [row.get("default", ""), *_past_defaults(row)]
        if self._dialect.takes_null or (None in defaults and _is_known(row)):
            taken.take("null")
        if self._dialect.interpolates:
            taken.take_text(INTERPOLATED, "${...}")
        if "enum" in kinds:
            self._add_choices(taken, row)
        elif row.get("choices") and not {"str", "path"} & {*kinds}:
            self._restrict_numbers(taken, row["choices"])
        elif row.get("choices"):
            taken.choices.extend(row["choices"])
            taken.any_text = True
        return taken

    def _add_choices(self, taken: _Taken, row: Row) -> None:
        choices = row.get("choices") or ()
        if not choices:
            taken.any_text = True  # members that the table does not list
            return
        taken.choices.extend(choices)
        if row["path"] in self._dialect.closed_texts:
            taken.any_text = False
            for kind in ("string", "boolean", "number"):
                taken.types.pop(kind, None)

    def _restrict_numbers(self, taken: _Taken, choices: Sequence[Any]) -> None:
        """Let only these numbers stand here, also where texts are converted."""
        for kind in ("integer", "number"):
            taken.types.pop(kind, None)
        taken.choices.extend(choices)
        if INTEGER_TEXT in taken.patterns:
            taken.patterns.remove(INTEGER_TEXT)
            taken.choices.extend(str(choice) for choice in choices)

    def _add(self, taken: _Taken, kind: str, handling: Handling) -> None:
        """Let one kind of value stand here."""
        element = _LIST.fullmatch(kind)
        if element is not None or kind == "list":
            self._add_list(taken, element.group(1) if element else "any", handling)
        elif kind in {"int", "float"}:
            self._add_number(taken, kind, handling)
        elif kind in {"bool", "flag"}:
            self._add_switch(taken, handling)
        elif kind in {"str", "path"}:
            taken.take("string")
            taken.any_text = True
            if self._dialect.takes_scalars_as_text:
                taken.take("boolean", "number")
            taken.anything |= self._dialect.is_mined
        elif kind in {"object", "map"}:
            taken.take("object", word="a block")
            taken.anything |= self._dialect.is_mined
        elif kind == "null":
            taken.take("null")
        elif kind == "any":
            taken.anything = True

    def _add_list(self, taken: _Taken, element: str, handling: Handling) -> None:
        taken.anything |= self._dialect.is_mined or self._dialect.joins_lists
        if self._dialect.takes_auto:
            taken.take_text(AUTO, "auto")
        taken.take("array", word="a list")
        inner = _Taken()
        for kind in split_types(element):
            self._add(inner, kind, handling)
        if self._dialect.interpolates:
            inner.take_text(INTERPOLATED, "${...}")
        schema = inner.schema()
        if "enum" in element or not schema:
            taken.any_list = True
        else:
            taken.items.append(schema)

    def _add_number(self, taken: _Taken, kind: str, handling: Handling) -> None:
        if kind == "int":
            taken.take("integer", word="a whole number")
        else:
            taken.take("number", word="a number")
        if handling == "converted":
            taken.take_text(INTEGER_TEXT if kind == "int" else NUMBER_TEXT)
        elif self._dialect.language == "yaml":
            taken.take_text(UNDERSCORED)
        if self._dialect.reads_exponents:
            taken.take_text(EXPONENT_TEXT)
        if self._dialect.takes_auto:
            taken.take_text(AUTO, "auto")

    def _add_switch(self, taken: _Taken, handling: Handling) -> None:
        taken.take("boolean", word="true or false")
        if handling != "checked":
            taken.take("integer")
        if handling == "converted":
            taken.take_text(SWITCH_TEXT)
        if handling == "converted" or self._dialect.language == "yaml":
            taken.take_text(SWITCH_WORDS)
        if self._dialect.takes_auto:
            taken.take_text(AUTO, "auto")


def split_types(text: str) -> Sequence[str]:
    """The alternatives of a type; a bar within brackets belongs to the elements."""
    parts: list[str] = []
    depth = 0
    current = ""
    for letter in text:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += letter
    return [*parts, current]


def takes_blocks(row: Row) -> bool:
    """Whether the declared type has room for keys below."""
    return any(kind in FREE for kind in split_types(row["type"]))


def _is_known(row: Row) -> bool:
    return "default" in row and row.get("confidence") != "unverified"


def _past_defaults(row: Row) -> Iterable[Any]:
    return (step["value"] for step in row.get("default_history", ()))

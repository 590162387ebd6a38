"""Reads a script as one format, for the tests of the script readers."""

from typing import NamedTuple

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.joining.merge import merge
from speccheck.validator.sources.reader import Reading, ScriptReader, Source
from speccheck.validator.sources.registry import Readers


class ReadScript(NamedTuple):
    """What a reader made of a script, and its leaves by name."""

    reading: Reading
    leaves: dict[str, Value[object]]

    def values(self, *statuses: str) -> dict[str, object]:
        """Return the values of the leaves with one of these statuses."""
        return {
            name: leaf.value
            for name, leaf in self.leaves.items()
            if leaf.status in statuses
        }

    def value(self, name: str) -> object:
        """Return the value of one leaf; None when nothing speaks of it."""
        leaf = self.leaves.get(name)
        return None if leaf is None else leaf.value

    def status(self, name: str) -> str | None:
        """Return how a leaf is known; None when nothing speaks of it."""
        leaf = self.leaves.get(name)
        return None if leaf is None else leaf.status

    def note(self, name: str) -> str:
        """Return why a leaf has its value, or none."""
        return self.leaves[name].note

    def line(self, name: str) -> int:
        """Return the line of the first place of a leaf."""
        span = self.leaves[name].places[0].span
        assert span is not None, f"{name} has no line"
        return span.line

    @property
    def variables(self) -> dict[str, str | None]:
        """The values of the variables by name."""
        return {item.name: item.value for item in self.reading.variables}

    def variable(self, name: str) -> Variable:
        """Return one variable; raises KeyError."""
        return {item.name: item for item in self.reading.variables}[name]

    @property
    def targets(self) -> list[str]:
        """The files that the script names."""
        return [reference.target for reference in self.reading.references]


def read_script(reader: ScriptReader, text: str, name: str = "run.sh") -> ReadScript:
    """Return what a reader makes of a script that has that name."""
    reading = reader.read(Source(name, text))
    return ReadScript(reading, merge(reading.facts.facts))


def format_of(text: str, name: str = "run.sh") -> str | None:
    """Return the format that a script is taken for, or None."""
    found = Readers().detect_script(Source(name, text))
    return None if found is None else found.format


def read_by_all(text: str, name: str = "run.sh") -> ReadScript:
    """Return what all readers that find something in a script make of it together."""
    source = Source(name, text)
    readings = [
        reader.read(source)
        for reader in Readers().of_scripts(source)
        if reader.detect(source) > 0
    ]
    facts = [fact for item in readings for fact in item.facts.facts]
    variables = tuple(item for reading in readings for item in reading.variables)
    return ReadScript(readings[0]._replace(variables=variables), merge(facts))

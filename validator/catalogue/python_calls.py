"""Calls of Python that state settings: whose keys their arguments are."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.record import Record


class PythonCall(Record):
    """A call, or a family of them, that states settings.

    Attributes:
        names: the last parts of its dotted name.
        modules: what it is imported from begins with one of these.
        format: whose keys its keyword arguments are.
        recorded: how the calls of a file become configurations.
        under: the key below which its arguments lie.
        positional: names of the first arguments.
        argument: names of the argument that holds the configuration.
        moves: arguments that state a key of another name.
        is_open: the callee sets further values.
        has_own_keys: its keys are not those of the format's table.
        class_key: the key at which a configuration keeps the name of a class.

    """

    names: tuple[str, ...]
    modules: tuple[str, ...]
    format: str
    recorded: Literal["call", "together", "returned", "argument"] = "call"
    under: str = ""
    positional: tuple[str, ...] = ()
    argument: tuple[str, ...] = ()
    moves: Mapping[str, str] = {}
    is_open: bool = False
    has_own_keys: bool = False
    class_key: str = ""

    def is_of(self, dotted: str) -> bool:
        """Tell whether a dotted name is that of this call."""
        return any(dotted.endswith(f".{name}") for name in self.names) and any(
            dotted.startswith(f"{module}.") for module in self.modules
        )


class PythonModule(Record):
    """Files that are a configuration as a whole, by what they import and assign."""

    imports: tuple[str, ...]
    names: tuple[str, ...]
    format: str


class PythonCalls(Record):
    """What is known of settings in Python.

    Attributes:
        calls: that state settings.
        modules: files that do so as a whole.
        chained: methods that add to a block of an object and give it back.
        builders: calls whose first argument is the class that is built.
        by_name: classes of names whose text is the name.
        by_lower_name: those whose text is the name in lower case.
        dtypes: attributes of a module that are a dtype.

    """

    calls: tuple[PythonCall, ...]
    modules: tuple[PythonModule, ...]
    chained: Mapping[str, str]
    builders: tuple[str, ...]
    by_name: frozenset[str]
    by_lower_name: frozenset[str]
    dtypes: frozenset[str]

    def packages(self) -> frozenset[str]:
        """Return the packages of the frameworks whose calls are tabulated."""
        return frozenset(
            module.partition(".")[0] for call in self.calls for module in call.modules
        )

    def find(self, dotted: str) -> PythonCall | None:
        """Return the call of a dotted name; None for any other."""
        return next((call for call in self.calls if call.is_of(dotted)), None)

    def marks(self) -> tuple[bytes, ...]:
        """Return the words without any of which a file states no settings."""
        names = {
            name.rpartition(".")[0] or name
            for call in self.calls
            for name in call.names
        }
        names -= _COMMON
        names |= {name for module in self.modules for name in module.names[:1]}
        return tuple(sorted(name.encode() for name in names | _INSTEAD))


# `deepspeed.initialize`, `run.Partial` and `Trainer.Config` are words of every file.
_COMMON = frozenset({"initialize", "Partial", "Trainer"})
_INSTEAD = frozenset({"deepspeed", "nemo_run", "torchtitan"})


def _plain(row: Mapping[str, Any], field: str) -> Any:  # noqa: ANN401 - JSON
    """Return a field of a row, or its default."""
    value = row.get(field, PythonCall._field_defaults.get(field))
    return tuple(value) if isinstance(value, list) else value


@cache
def python_calls() -> PythonCalls:
    """Return the catalogue."""
    table = read_compiled("python_calls")
    return PythonCalls(
        tuple(
            PythonCall(*(_plain(row, name) for name in PythonCall._fields))
            for row in table["calls"]
        ),
        tuple(
            PythonModule(tuple(row["imports"]), tuple(row["names"]), row["format"])
            for row in table["modules"]
        ),
        table["chained"],
        tuple(table["builders"]),
        frozenset(table["enumerations"]["name"]),
        frozenset(table["enumerations"]["lower"]),
        frozenset(table["dtypes"]),
    )

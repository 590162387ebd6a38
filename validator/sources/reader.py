"""What a reader is, and how a file finds its reader."""

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Literal

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.document import Document
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.source import Source

# engine: a file that another one names for its training engine (DeepSpeed JSON).
Role = Literal["config", "engine", "launcher", "environment", "model"]
THRESHOLD = 0.5


class Reference(Record):
    """A file that names another one; `target` is the path as written.

    replaces: leaves that the naming command states itself, whatever that file says.
    """

    target: str
    place: Place
    replaces: tuple[str, ...] = ()


class Reading(Record):
    """What a reader makes of one document or script."""

    facts: FactSheet
    keyed: KeyedFile | None = None
    variables: tuple[Variable, ...] = ()
    references: tuple[Reference, ...] = ()


class Reader(Record):
    """Reads one format.

    detect: from 0 (no) to 1 (sure), from the keys of a document or a script alone.
    read: gives the facts; never judges, never raises on odd values.
    """

    format: str
    role: Role
    detect: Callable[[Document], float]
    read: Callable[[Document], Reading]


class ScriptReader(Record):
    """Reads one format out of a shell script or an environment file."""

    format: str
    role: Role
    detect: Callable[[Source], float]
    read: Callable[[Source], Reading]


class Detection(Record):
    """The format that a file was taken for, and the next best."""

    format: str
    confidence: float
    runner_up: str = ""
    runner_up_confidence: float = 0.0


# The modules with a ScriptReader: they need the reader of shell scripts, which costs
# a run without scripts a fifth of its time. A test holds the set to the modules.
SCRIPT_MODULES = frozenset({"env", "megatron_cli", "nccl_conf", "slurm", "torchrun"})


def readers() -> dict[str, Reader | ScriptReader]:
    """All readers by format id, found by walking the package of formats."""
    return {**document_readers(), **script_readers()}


@cache
def document_readers() -> dict[str, Reader]:
    """The readers of documents by format id."""
    found = (_reader(name) for name in _modules() if name not in SCRIPT_MODULES)
    return {one.format: one for one in found if isinstance(one, Reader)}


@cache
def script_readers() -> dict[str, ScriptReader]:
    """The readers of shell scripts and environment files by format id."""
    found = (_reader(name) for name in _modules() if name in SCRIPT_MODULES)
    return {one.format: one for one in found if isinstance(one, ScriptReader)}


def _modules() -> list[str]:
    names = os.listdir(os.path.join(os.path.dirname(__file__), "formats"))
    return sorted(
        name[:-3] for name in names if name.endswith(".py") and name[0] != "_"
    )


def _reader(name: str) -> object:
    module = import_module(f"{__package__}.formats.{name}")
    return getattr(module, "READER", None)


def detect_document(document: Document) -> Detection | None:
    """The format of a document, or None when no reader is sure enough."""
    scores = [
        (reader.detect(document), reader.format)
        for reader in document_readers().values()
    ]
    return best(scores)


def detect_script(source: Source) -> Detection | None:
    """The main format of a script: all its readers read it, this one names it."""
    scores = [
        (reader.detect(source), reader.format) for reader in script_readers().values()
    ]
    return best(scores)


def best(scores: list[tuple[float, str]]) -> Detection | None:
    """The highest score at or above the threshold."""
    ranked = sorted(scores, key=lambda score: (-score[0], score[1]))
    if not ranked or ranked[0][0] < THRESHOLD:
        return None
    (confidence, name), *others = ranked
    runner_up = others[0] if others and others[0][0] > 0 else (0.0, "")
    return Detection(name, confidence, runner_up[1], runner_up[0])

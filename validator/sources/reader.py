"""What a reader is, and what it gives."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.framework_version import StatedVersion
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.source import Source

if TYPE_CHECKING:
    from speccheck.validator.evidence.node.node import Node

# engine: a file that another one names for its training engine (DeepSpeed JSON).
# node: a snapshot or a capture of a machine. measurement: what was measured under load,
# or the log of a run.
Role = Literal[
    "config", "engine", "launcher", "environment", "model", "node", "measurement"
]


class Reference(Record):
    """A file that names another one; `target` is the path as written.

    replaces: leaves that the naming command states itself, whatever that file says.
    """

    target: str
    place: Place
    replaces: tuple[str, ...] = ()


class Parent(Record):
    """A file whose values another one inherits.

    target: the path as the loader of the framework makes it, with its suffix.
    at: the key that names it.
    under: the key below which its values lie; empty for the top.
    folders: where the loader looks, relative to the folder of the naming file.
    wins: its values replace those of the naming file, not the other way round.
    is_optional: the loader goes on without it.
    """

    target: str
    at: KeyPath
    under: KeyPath = ()
    folders: tuple[str, ...] = (".",)
    wins: bool = False
    is_optional: bool = False


class Gap(Record):
    """Something that a file takes its values from and that could not be read."""

    reason: str
    place: Place


class Reading(Record):
    """What a reader makes of one document or script.

    scripts: shell scripts that the document holds; all readers of scripts read them.
    versions: packages whose release the file names.
    node: the parts of a machine, of a snapshot or a capture.
    """

    facts: FactSheet
    keyed: KeyedFile | None = None
    variables: tuple[Variable, ...] = ()
    references: tuple[Reference, ...] = ()
    scripts: tuple[Source, ...] = ()
    versions: tuple[StatedVersion, ...] = ()
    node: "Node | None" = None


class Reader(Record):
    """Reads one format.

    detect: from 0 (no) to 1 (sure), from the keys of a document alone.
    read: gives the facts; never judges, never raises on odd values.
    keys: a document without any of these at its top is none of this format.
    interpolates: the framework's loader replaces `${...}` as OmegaConf does.
    parents: the files whose values a document inherits, the weakest first.
    merges: the framework takes several files of this format for one configuration.
    """

    format: str
    role: Role
    detect: Callable[[Document], float]
    read: Callable[[Document], Reading]
    keys: tuple[str, ...]
    interpolates: bool = False
    parents: Callable[[Document], tuple[Parent, ...]] | None = None
    merges: bool = False


class ScriptReader(Record):
    """Reads one format out of a shell script or an environment file.

    words: a script without any of these texts is none of this format; empty when any
        script may be.
    """

    format: str
    role: Role
    detect: Callable[[Source], float]
    read: Callable[[Source], Reading]
    words: tuple[str, ...] = ()


class CaptureReader(Record):
    """Reads what a tool prints of a machine: evidence that people already have.

    marks: a text without any of these is no such capture.
    detect: from 0 (no) to 1 (sure).
    read: gives the node; raises ReadError for a capture that is cut off or damaged.
    """

    format: str
    marks: tuple[str, ...]
    detect: Callable[[Source], float]
    read: Callable[[Source], Reading]
    role: Role = "node"


AnyReader = Reader | ScriptReader | CaptureReader


class PluginFault(Exception):  # noqa: N818 - the fault is the plugin's
    """An entry point that gives neither a reader nor a package of rules."""

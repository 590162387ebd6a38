"""What a reader takes, what it is, and what it gives.

A reader takes a `Source` (a file with its documents or its script) and gives a
`Reading`: facts on fields of the plan, the keys of the file, variables, a node.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from speccheck.validator.evidence.environment import Opening, Variable
from speccheck.validator.evidence.framework_keys import FrameworkKeys, StatedVersion
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.references import BrokenReference
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.stated_keys import (
    InDocument,
    KeyedFile,
    LoadedAs,
    StatedKey,
    TwiceStatedKey,
    plain_word,
)
from speccheck.validator.evidence.value import (
    KeyPath,
    Place,
    Span,
    Status,
    condition_of,
    dotted,
)
from speccheck.validator.sources.documents.document import (
    Document,
    ReadError,
    Resolution,
    path_step,
)
from speccheck.validator.sources.documents.reading import (
    guess_language as guess_document_language,
)
from speccheck.validator.sources.documents.reading import load_documents, read_text
from speccheck.validator.sources.repository import holds_package, words_of_copy

if TYPE_CHECKING:
    from speccheck.validator.evidence.launch import Launch
    from speccheck.validator.evidence.multipath_paths import PathTable
    from speccheck.validator.evidence.node.node import Node
    from speccheck.validator.sources.python.command_line import ProgramArguments
    from speccheck.validator.sources.python.modules import ModuleText
    from speccheck.validator.sources.shell.script import Script, TakenFile


Language = Literal["yaml", "json", "toml", "python", "shell", "make"]
_SHELL_SUFFIXES = (*SCRIPT_SUFFIXES, ".env", ".conf")
_HOLE = lazy_pattern(r"\$\{\w+\}")
_SHELL_LINE = lazy_pattern(r"(export\s+)?[A-Z_][A-Z0-9_]*=")


class Source:
    """One file; documents and script are made when first asked for."""

    __slots__ = (
        *("_command_line", "_documents", "_lines", "_script"),
        *("environment", "language", "name", "text"),
    )

    def __init__(
        self,
        name: str,
        text: str,
        language: Language | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        command_line: "ProgramArguments | None" = None,
    ) -> None:
        """Take the text of a file.

        Args:
            name: of the file.
            text: its whole text.
            language: guessed unless it is given.
            environment: variables that its launch script sets.
            command_line: what a script starts it with.

        """
        self._command_line = command_line
        self.name = name
        self.text = text
        self.environment: Mapping[str, str] = environment or {}
        self.language: Language = language or guess_language(name, text)
        self._documents: list[Document] | None = None
        self._script: Script | None = None
        self._lines: list[str] | None = None

    @property
    def is_script(self) -> bool:
        """Whether it holds commands: a script, or the recipes of a Makefile."""
        return self.language in {"shell", "make"}

    @property
    def own_text(self) -> str:
        """The text; of a script in a document, the script alone."""
        return self.text

    def lines_in_file(self, lines: tuple[int, ...]) -> tuple[int, ...]:
        """Return on which lines of the file the lines of this text stand."""
        return lines

    def line(self, number: int) -> str:
        """Return a line by its number, from 1, without its end.

        Empty behind the last.
        """
        if self._lines is None:
            self._lines = self.text.split("\n")
        if number > len(self._lines):
            return ""
        return self._lines[number - 1].rstrip("\r")

    @property
    def documents(self) -> list[Document]:
        """The documents of a YAML, JSON or TOML file; raises ReadError."""
        if self._documents is None:
            language = None if self.is_script else self.language
            self._documents = load_documents(
                self.name,
                self.text,
                language,
                self._find_module,
                self._command_line,
            )
        return self._documents

    @property
    def script(self) -> "Script":
        """The file as a shell script or an environment file."""
        if self._script is None:
            # The reader of shell scripts costs 12 ms at start-up.
            from speccheck.validator.sources.shell.interpreter import (  # noqa: PLC0415
                parse_script,
            )

            name = self.name.rpartition("/")[2]
            script = parse_script(self.text, find=self._find, name=name)
            known = allocation_variables(script)
            if known:
                script = parse_script(self.text, known, self._find, name)
            self._script = script
        return self._script

    def _find_module(self, name: str, path: str) -> "ModuleText | None":
        """Return a module of the repository that a Python file imports."""
        from speccheck.validator.sources.python.modules import ModuleText  # noqa: PLC0415
        from speccheck.validator.sources.repository import find_module  # noqa: PLC0415

        module = find_module(path, name) if os.path.isfile(path) else None
        if module is None:
            return None
        try:
            return ModuleText(module, read_text(module))
        except ReadError:
            return None

    def _find(self, target: str) -> "TakenFile | None":
        """Return a file that the script names; nothing for a text without a file."""
        from speccheck.validator.sources.repository import find_named  # noqa: PLC0415
        from speccheck.validator.sources.shell.script import TakenFile  # noqa: PLC0415

        path = find_named(self.name, target) if os.path.isfile(self.name) else None
        if path is None:
            return None
        try:
            return TakenFile(path, read_text(path))
        except ReadError:
            return None


def guess_language(name: str, text: str) -> Language:
    """Return the language of a file by its suffix, else by how its text begins."""
    base = name.rpartition("/")[2].lower()
    if base.endswith(_SHELL_SUFFIXES) or base.startswith(".env"):
        return "shell"
    if "." not in base and _is_shell(text):
        return "shell"
    return guess_document_language(name, text)


def _is_shell(text: str) -> bool:
    """Return whether it is shell: a shebang, a directive of Slurm, or an assignment."""
    start = text.lstrip()[:4000]
    if start.startswith("#!") or "\n#SBATCH" in start:
        return True
    lines = (line.strip() for line in start.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return _SHELL_LINE.match(first) is not None


def allocation_variables(script: "Script") -> dict[str, str]:
    """Return what Slurm sets in the job by the script's own directives."""
    known: dict[str, str] = {}
    for directive in script.directives:
        value = directive.value.strip("\"'")
        if directive.name in {"-N", "--nodes"} and value.isdecimal():
            for name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODES"):
                known[name] = value
        elif directive.name in {"--gpus-per-node", "--gres"}:
            count = value.rpartition(":")[2]
            if count.isdecimal():
                known["SLURM_GPUS_ON_NODE"] = known["SLURM_GPUS_PER_NODE"] = count
        elif directive.name == "--ntasks-per-node" and value.isdecimal():
            known["SLURM_NTASKS_PER_NODE"] = value
    return known


class Fact(Record):
    """One statement on one leaf; `value` is None when its reader could not use it."""

    name: str
    value: Any
    status: Status
    places: tuple[Place, ...]
    note: str = ""


class FactSheet:
    """Collects the facts of one document; the only thing that readers write to."""

    __slots__ = ("document", "facts", "file")

    def __init__(self, file: str, document: Document | None = None) -> None:
        """Start an empty sheet for a document of a file, or for a file without any."""
        self.file = file
        self.document = document
        self.facts: list[Fact] = []

    @classmethod
    def of(cls, document: Document) -> "FactSheet":
        """Return an empty sheet for a document."""
        return cls(document.name, document)

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key path in this document."""
        if self.document is None:
            return Place(self.file, dotted(path), path)
        return self.document.place(path)

    def state(self, name: str, value: object, at: KeyPath | Place) -> None:
        """State value of a leaf from the file: there, at another key, by arithmetic."""
        place, resolution = self._where(at)
        places: tuple[Place, ...] = (place,)
        status: Status = "stated"
        note = ""
        if resolution is not None:
            places = tuple(dict.fromkeys((place, *resolution.places)))
            note = resolution.note
            status = "derived" if resolution.is_computed else "stated"
        if condition := condition_of(places):
            status, note = "fallback", note or f"if {condition}"
        self.facts.append(Fact(name, value, status, places, note))

    def derive(self, name: str, value: object, note: str, *at: KeyPath | Place) -> None:
        """Derive the value of a leaf from something that the file states."""
        places = tuple(self._where(item)[0] for item in at)
        self.facts.append(Fact(name, value, "derived", places, note))

    def default(self, name: str, value: object, note: str) -> None:
        """State the framework's own default, as nothing is stated; `note` says whose.

        Loses against any statement or derivation of another source.
        """
        self.facts.append(Fact(name, value, "default", (), note))

    def unusable(self, name: str, reason: str, at: KeyPath | Place) -> None:
        """State something that cannot be worked out from the files alone."""
        place, resolution = self._where(at)
        if resolution is not None and not resolution.is_known:
            reason = resolution.note
        self.facts.append(Fact(name, None, "unknown", (place,), reason))

    def invalid(self, name: str, reason: str, at: KeyPath | Place) -> None:
        """Record that what is stated is no value of the leaf."""
        place, resolution = self._where(at)
        if resolution is not None and not resolution.is_known:
            self.facts.append(Fact(name, None, "unknown", (place,), resolution.note))
        else:
            self.facts.append(Fact(name, None, "invalid", (place,), reason))

    def _where(self, at: KeyPath | Place) -> tuple[Place, Resolution | None]:
        if isinstance(at, Place):
            return at, None
        if self.document is None:
            return self.place(at), None
        place, resolution = self.document.place(at), self.document.resolution(at)
        if resolution is not None and resolution.only_if:
            place = place._replace(only_if=resolution.only_if)
        return place, resolution


# engine: a file that another one names for its training engine (DeepSpeed JSON).
# node: a snapshot or a capture of a machine. measurement: what was measured under load,
# or the log of a run.
Role = Literal[
    "config", "engine", "launcher", "environment", "model", "node", "measurement"
]


class Reference(Record):
    """A file that names another one; `target` is the path as written.

    replaces: leaves that the naming command states itself, whatever that file says.
    is_opened: the program opens it as it starts, and stops without it.
    """

    target: str
    place: Place
    replaces: tuple[str, ...] = ()
    is_opened: bool = False

    @property
    def is_open(self) -> bool:
        """Whether only the job knows a part of the path: `configs/$TASK.yaml`."""
        return "${" in self.target

    def may_mean(self, path: str) -> bool:
        """Return whether a path ends as the named one does, whatever is open in it."""
        if not self.is_open:
            return self.target.rpartition("/")[2] == path.rpartition("/")[2]
        parts = _HOLE.split(self.target.removeprefix("./"))
        if not path.endswith(parts[-1]):
            return False
        pattern = "[^/]*".join(map(re.escape, parts))
        return re.search(f"(?:^|/){pattern}$", path) is not None


class Parent(Record):
    """A file whose values another one inherits.

    target: the path as the loader of the framework makes it, with its suffix.
    at: the key that names it.
    under: the key below which its values lie; empty for the top.
    folders: where the loader looks, relative to the folder of the naming file.
    wins: its values replace those of the naming file, not the other way round.
    is_optional: the loader goes on without it.
    function: that gives the values, of a Python file.
    """

    target: str
    at: KeyPath
    under: KeyPath = ()
    folders: tuple[str, ...] = (".",)
    wins: bool = False
    is_optional: bool = False
    function: str = ""


class ReadingGap(Record):
    """Something that a file takes its values from and that could not be read.

    is_inherited: from another file that it names; else from what it calls.
    """

    reason: str
    place: Place
    is_inherited: bool = True


class Reading(Record):
    """What a reader makes of one document or script.

    scripts: shell scripts that the document holds; all readers of scripts read them.
    versions: packages whose release the file names.
    node: the parts of a machine, of a snapshot or a capture.
    openings: through which more variables may be set than those.
    launches: the commands of a script that start a training.
    broken: what the values of a command refer to, and that nothing states.
    paths: between the addresses of a multipath fabric.
    """

    facts: FactSheet
    keyed: KeyedFile | None = None
    variables: tuple[Variable, ...] = ()
    references: tuple[Reference, ...] = ()
    scripts: tuple[Source, ...] = ()
    versions: tuple[StatedVersion, ...] = ()
    node: "Node | None" = None
    openings: tuple[Opening, ...] = ()
    launches: "tuple[Launch, ...]" = ()
    broken: tuple[BrokenReference, ...] = ()
    paths: "PathTable | None" = None


class Reader(Record):
    """Reads one format.

    detect: from 0 (no) to 1 (sure), from the keys of a document alone.
    read: gives the facts; never judges, never raises on odd values.
    keys: a document without any of these at its top is none of this format; `::` is
        any address of IPv6.
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


def keyed_file(
    document: Document,
    format_id: str,
    catalogue: FrameworkKeys | None,
    *,
    loaded_as: tuple[LoadedAs, ...] = (),
    refuses_duplicates: bool = False,
) -> KeyedFile:
    """Return every key of a document with its value, and the keys that stand twice."""
    keys: list[StatedKey] = []
    at = InDocument(document.name, document.index, document.prefix)
    _walk(at, document.own_data, (), keys)
    if fallbacks := document.fallbacks:
        keys = [key._replace(only_if=fallbacks.get(key.path, "")) for key in keys]
    if unsure := document.unsure:
        keys = [key._replace(is_sure=key.path not in unsure) for key in keys]
    packages = catalogue.packages if catalogue is not None else ()
    is_copied = holds_package(document.name, packages)
    words = words_of_copy(document.name, packages) if is_copied else frozenset()
    return KeyedFile(
        document.name,
        format_id,
        tuple(keys),
        catalogue,
        twice=tuple(_twice(document)),
        loaded_as=loaded_as,
        refuses_duplicates=refuses_duplicates,
        is_beside_source=is_copied,
        own_words=_words_among(keys, words),
        hidden=document.open_reason,
    )


def _words_among(keys: Iterable[StatedKey], words: frozenset[str]) -> frozenset[str]:
    """Return which of the words stand as a key or a value."""
    if not words:
        return words
    stated = {plain_word(key.path[-1]) for key in keys}
    stated |= {key.value for key in keys if isinstance(key.value, str)}
    return words & stated


def _walk(at: InDocument, value: object, path: KeyPath, keys: list[StatedKey]) -> None:
    if isinstance(value, dict):
        items = [(path_step(key), child) for key, child in value.items()]
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return
    for name, child in items:
        below = (*path, name)
        is_block = isinstance(child, dict | list)
        if not isinstance(name, int):
            keys.append(StatedKey(below, child, at, is_block))
        if is_block:
            _walk(at, child, below, keys)


def _twice(document: Document) -> list[TwiceStatedKey]:
    twice_stated_keys: list[TwiceStatedKey] = []
    lines = document.text.splitlines() if document.duplicates else []
    for duplicate in document.duplicates:
        key = dotted(duplicate.path)
        first = Place(
            document.name, key, duplicate.path, document.index, span=duplicate.first
        )
        again = Place(
            document.name, key, duplicate.path, document.index, span=duplicate.again
        )
        is_equal = (
            _one_line(lines, duplicate.first) == _one_line(lines, duplicate.again) != ""
        )
        twice_stated_keys.append(TwiceStatedKey(key, first, again, is_equal))
    return twice_stated_keys


def _one_line(lines: list[str], span: Span) -> str:
    """Return key and value if they stand on one line, else nothing to compare by."""
    text = lines[span.line - 1].strip().rstrip(",") if span.line <= len(lines) else ""
    return "" if text.endswith((":", "{", "[", "|", ">")) else text

"""An evidence kit: a folder of files, each with its hash, kind, time and machine.

A file is read once: what is hashed is what is classified. Nothing outside of the folder
is looked at, and nothing in it is changed.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal

from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.telemetry import (
    Metrics,
    RunEvent,
    RunEvents,
    RunLogs,
)
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.node import MEASURED, Node
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import MAXIMUM_BYTES, decode
from speccheck.validator.sources.files import ReadFile, read_file
from speccheck.validator.sources.registry import Readers

Kind = Literal["config", "snapshot", "measurement", "log", "drill", "other"]
KINDS: tuple[Kind, ...] = (
    *("config", "snapshot", "measurement", "log", "drill", "other"),
)


class KitFile(Record):
    """One file of a kit.

    path: below the folder, with slashes. format: of the reader that knows it; empty for
    what none knows. taken: when, in UTC (ISO 8601); empty where it does not tell.
    specimen: the machine that it is of, by its engine or by the digest of its name;
    empty for what is of none or of several. synthetic: what made it up; empty for what
    was really seen. gives: kinds of evidence, in words of the edition. nodes: how many
    took part in the widest measurement; 0 where nothing tells. instance_type: as it
    says of itself. note: what is to be known of it, for people.
    """

    path: str
    kind: Kind
    format: str
    sha256: str
    size_bytes: int
    taken: str = ""
    specimen: str = ""
    synthetic: str = ""
    gives: tuple[str, ...] = ()
    nodes: int = 0
    instance_type: str = ""
    note: str = ""


class KitProblem(Record):
    """A file that should be evidence, and cannot be read."""

    path: str
    text: str


class Kit(Record):
    """What a folder holds. passed_over: what is not looked at, and why."""

    folder: str
    files: tuple[KitFile, ...]
    problems: tuple[KitProblem, ...] = ()
    passed_over: tuple[KitProblem, ...] = ()

    def of_kind(self, *kinds: Kind) -> tuple[KitFile, ...]:
        """Return the files of these kinds."""
        return tuple(file for file in self.files if file.kind in kinds)

    @property
    def evidence(self) -> tuple[KitFile, ...]:
        """The files that rules can judge."""
        return tuple(file for file in self.files if file.kind != "other")

    @property
    def specimens(self) -> tuple[str, ...]:
        """The machines of which there are snapshots, sorted."""
        return tuple(
            sorted({snapshot.specimen or snapshot.path for snapshot in self._snapshots})
        )

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The types that machines say they are, sorted."""
        return tuple(
            sorted({snapshot.instance_type for snapshot in self._snapshots} - {""})
        )

    @property
    def synthetic(self) -> tuple[KitFile, ...]:
        """The files that were made up."""
        return tuple(file for file in self.files if file.synthetic)

    @property
    def gives(self) -> frozenset[str]:
        """All kinds of evidence; several machines can be laid beside each other."""
        texts = {kind for file in self.files for kind in file.gives}
        return frozenset({*texts, "fleet"} if len(self.specimens) > 1 else texts)

    @property
    def _snapshots(self) -> tuple[KitFile, ...]:
        return self.of_kind("snapshot")


# Kinds of parts of a machine, and the words of the edition for such evidence.
_OF_NODES = {
    "gpus": ("node.gpus", "node.nvlink", "node.health"),
    "pci_devices": ("node.pcie",),
    "rdma_devices": ("node.fabric",),
    "rdma_ports": ("node.fabric",),
    "network_interfaces": ("node.fabric",),
    "host": ("node.system",),
    "driver": ("node.driver",),
    "kernel_log": ("node.health",),
    "kernel_events": ("node.health",),
    "variables": ("node.nccl_env",),
}
_OF_RUNS = frozenset({"run_logs", "metrics", "run_events"})
_LOGGED = frozenset({"communicators", "variables_in_force"})
_ALL_REDUCE = "all_reduce"
# What is no JSON says it in a comment: `# synthetic: by speccheck simulate, seed 1`.
_COMMENT = r"(?m)^[ \t]*(?:#|//|;)[ \t]*(?:speccheck )?"
_MADE_UP = re.compile(_COMMENT + r"synthetic:[ \t]*(?:by )?([^,;:\n]{1,100})")
_TAKEN = re.compile(_COMMENT + r"taken:[ \t]*(\S{1,40})")
# Of lines of JSON each may say it; `"synthetic": false` says that it is not.
_IN_JSON = re.compile(
    r'"synthetic"\s*:(?!\s*(?:false|null)\b)\s*(?:\{\s*"by"\s*:\s*"([^"]*))?'
)
_UNNAMED = "unnamed"
_HEAD = 4_000  # characters in which a comment of the whole file stands


def text_entry(bare: KitFile, text: str) -> KitFile:
    """Return a file that no reader knows, with what its text says of itself."""
    return bare._replace(taken=_time_text(text), synthetic=_made_up(text))


def entry_of(bare: KitFile, read_files: Sequence[ReadFile], text: str) -> KitFile:
    """Return a file that readers know."""
    nodes = [
        reading.node
        for item in read_files
        for reading in item.readings
        if reading.node is not None
    ]
    made_up = next((node.synthetic for node in nodes if node.synthetic), "")
    return bare._replace(
        kind=_kind(read_files, nodes),
        format="+".join(dict.fromkeys(item.format for item in read_files)),
        taken=_taken(nodes) or _time_text(text),
        specimen=_specimen(nodes),
        synthetic=made_up or _made_up(text),
        gives=tuple(sorted({*_gives(read_files, nodes)})),
        nodes=max((0, *_widths(nodes))),
        instance_type=_instance_type(nodes),
    )


def _kind(read_files: Sequence[ReadFile], nodes: Sequence[Node]) -> Kind:
    roles = {item.role for item in read_files}
    measured = {kind for node in nodes for kind in node.measured}
    if "node" in roles:
        return "snapshot"
    if "measurement" not in roles:
        return "config"
    if any(event.drill.is_known for event in _events(nodes)):
        return "drill"
    is_log = bool(measured) and measured <= _OF_RUNS | _LOGGED
    return "log" if is_log else "measurement"


def _events(nodes: Iterable[Node]) -> Iterator[RunEvent]:
    for node in nodes:
        yield from node.several(RunEvents).shown


def _taken(nodes: Sequence[Node]) -> str:
    """Return when the last of it was seen; a log without a zone does not state it."""
    texts = [time for node in nodes if (time := utc(node.taken))]
    for node in nodes:
        for log in node.several(RunLogs).shown:
            last = log.last_seconds.value
            if log.clock.value == "utc" and last is not None:
                texts.append(_from_seconds(last))
    return max(texts, default="")


def _from_seconds(seconds: float) -> str:
    try:
        return _text(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def utc(text: str) -> str:
    """Return a time with a zone as UTC, to the second; empty for what is none."""
    try:
        result = datetime.fromisoformat(text)
        return _text(result.astimezone(UTC)) if result.tzinfo else ""
    except (ValueError, OverflowError):
        return ""


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _time_text(text: str) -> str:
    match = _TAKEN.search(text[:_HEAD])
    return utc(match[1]) if match else ""


def _made_up(text: str) -> str:
    """Return what made a text up, as far as it says so; empty where it does not."""
    comment = _MADE_UP.search(text)
    if comment:
        return comment[1].strip() or _UNNAMED
    match = _IN_JSON.search(text) if text.lstrip()[:1] in {"{", "["} else None
    return (match[1] or _UNNAMED)[:100] if match else ""


def _specimen(nodes: Sequence[Node]) -> str:
    """Return the one machine that all of it is of.

    Empty where it is of several or of none.
    """
    names: set[str] = set()
    for node in nodes:
        name = node.launch.node or node.single(Host).name.value
        if name:
            names.add(name)
        for run in node.several(CollectiveRuns).shown:
            names.update(filter(None, run.hosts.value or ()))
            if (run.nodes.value or 1) > 1:
                names.update(("", "of several"))
    return names.pop() if len(names) == 1 else ""


def _instance_type(nodes: Sequence[Node]) -> str:
    texts = {node.single(Host).instance_type.value for node in nodes} - {None, ""}
    return str(texts.pop()) if len(texts) == 1 else ""


def _widths(nodes: Sequence[Node]) -> Iterator[int]:
    for node in nodes:
        for run in node.several(CollectiveRuns).shown:
            yield run.nodes.value or len(run.hosts.value or ())


def _gives(read_files: Sequence[ReadFile], nodes: Sequence[Node]) -> Iterator[str]:
    for file in read_files:
        if file.role not in {"node", "measurement"}:
            yield "plan.source"
            for reading in file.readings:
                yield from (
                    f"plan.{fact.name.partition('.')[0]}"
                    for fact in reading.facts.facts
                )
                if reading.variables:
                    yield "plan.communication"
    for node in nodes:
        for kind, words in _OF_NODES.items():
            if isinstance(node.data.get(kind), list | dict):
                yield from words
        yield from _measured(node)


def _measured(node: Node) -> Iterator[str]:
    for kind in node.measured:
        result = node.data[kind]
        if kind == "collective_runs":
            collectives = {
                run.collective.value for run in node.several(CollectiveRuns).shown
            }
            if _ALL_REDUCE in collectives:
                yield "bench.allreduce"
            if collectives - {_ALL_REDUCE}:
                yield "bench.collectives"
        elif kind == "run_logs":
            if node.several(Metrics).shown:
                yield "log.metrics"
            if node.several(RunEvents).shown:
                yield "log.events"
        elif result:
            yield from MEASURED[kind]


MANIFEST = "evidence.json"
MOST_FILES = 20_000
MOST_BYTES = 20_000_000_000
_AT_ONCE = 1_000_000
_GIGA = 10**9


class KitError(Exception):
    """A folder that holds no evidence that can be read; the message says why."""


class OpenedFile(Record):
    """A file of a kit, with what its readers made of it."""

    file: KitFile
    files: tuple[ReadFile, ...]
    problem: str = ""


def read_kit(folder: str, readers: Readers | None = None) -> Kit:
    """Return all files of a folder; raises KitError."""
    passed_over: list[KitProblem] = []
    files: list[KitFile] = []
    problems: list[KitProblem] = []
    for opened_file in open_kit(folder, passed_over, readers):
        files.append(opened_file.file)
        if opened_file.problem:
            problems.append(KitProblem(opened_file.file.path, opened_file.problem))
    return Kit(folder, tuple(files), tuple(problems), tuple(passed_over))


def open_kit(
    folder: str, passed_over: list[KitProblem], readers: Readers | None = None
) -> Iterator[OpenedFile]:
    """Yield each file of a folder, sorted by path; raises KitError.

    passed_over: takes what is not looked at.
    """
    readers = readers or Readers()
    for path in _listed(folder, passed_over):
        yield _opened(folder, path, readers)


def sha256_of(content: bytes) -> str:
    """Return the digest of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _listed(folder: str, passed_over: list[KitProblem]) -> list[str]:
    """Return the paths of the regular files below a folder, relative to it, sorted."""
    if not os.path.isdir(folder):
        there = "is no folder" if os.path.exists(folder) else "no such folder"
        message = f"{folder}: {there}; name the folder that holds the evidence"
        raise KitError(message)
    texts: list[str] = []
    total = 0
    for path, status in _walked(folder, passed_over):
        texts.append(path)
        total += status.st_size
        if len(texts) > MOST_FILES:
            message = f"{folder}: more than {MOST_FILES:,} files; name a smaller folder"
            raise KitError(message)
        if total > MOST_BYTES:
            message = (
                f"{folder}: more than {MOST_BYTES // _GIGA} GB; keep what is judged"
            )
            raise KitError(message)
    return sorted(texts)


def _walked(
    folder: str, passed_over: list[KitProblem]
) -> Iterator[tuple[str, os.stat_result]]:
    def failed(error: OSError) -> None:
        message = f"{error.filename or folder}: cannot be read: {error.strerror}"
        raise KitError(message) from error

    for where, folders, names in os.walk(folder, onerror=failed):
        below = os.path.relpath(where, folder)
        for name in sorted((*folders, *names)):
            path = _posix(name if below == os.curdir else os.path.join(below, name))
            reason = _passed_over(os.path.join(where, name), name)
            if reason:
                passed_over.append(KitProblem(path, reason))
        folders[:] = sorted(
            folder
            for folder in folders
            if not _passed_over(os.path.join(where, folder), folder)
        )
        for name in sorted(names):
            whole = os.path.join(where, name)
            if not _passed_over(whole, name):
                path = _posix(os.path.relpath(whole, folder))
                if path != MANIFEST:
                    yield path, os.lstat(whole)


def _passed_over(path: str, name: str) -> str:
    """Return why a file or folder is not looked at; empty where it is."""
    if name.startswith("."):
        return "hidden"
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISLNK(mode):
        return "a link: copy what it leads to into the folder"
    if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
        return ""
    return "a pipe, socket or device"


def _posix(path: str) -> str:
    return path.replace(os.sep, "/")


def _opened(folder: str, path: str, readers: Readers) -> OpenedFile:
    whole = os.path.join(folder, *path.split("/"))
    try:
        content, digest, size = _content(whole)
    except OSError as error:
        bare = KitFile(path, "other", "", "", 0)
        return OpenedFile(bare, (), f"cannot be read: {error.strerror}")
    bare = KitFile(path, "other", "", digest, size)
    if content is None:
        note = f"{size:,} bytes; readers take {MAXIMUM_BYTES:,}"
        return OpenedFile(bare._replace(note=note), ())
    try:
        text = decode(whole, content)
    except ReadError as error:
        if error.kind == "empty":
            return OpenedFile(bare, (), f"{error.problem}; {error.remedy}")
        return OpenedFile(bare._replace(note=error.problem), ())
    return _classified(bare, whole, text, readers)


def _classified(bare: KitFile, whole: str, text: str, readers: Readers) -> OpenedFile:
    status, read_files = read_file(whole, named=False, readers=readers, text=text)
    if read_files:
        return OpenedFile(entry_of(bare, read_files, text), tuple(read_files))
    is_damaged = status.state == "unreadable"
    problem = _without_path(status.message, whole) if is_damaged else ""
    return OpenedFile(text_entry(bare, text), (), problem)


def _without_path(message: str, path: str) -> str:
    """Return what a reader says, without the path that stands before it anyway."""
    return message.removeprefix(path).lstrip(": ")


def _content(path: str) -> tuple[bytes | None, str, int]:
    """Return the bytes, their digest and number.

    No bytes where readers would take none.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(None, "is no regular file")
        content = file.read(MAXIMUM_BYTES + 1)
        if len(content) <= MAXIMUM_BYTES:
            return content, sha256_of(content), len(content)
        digest = hashlib.sha256(content)
        size = len(content)
        while piece := file.read(_AT_ONCE):
            digest.update(piece)
            size += len(piece)
        return None, digest.hexdigest(), size

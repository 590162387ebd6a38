"""From arguments to readings: which files there are, and what each of them is."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from speccheck.validator.evidence.environment import Opening
from speccheck.validator.evidence.plan import leaf_names
from speccheck.validator.evidence.plan_domains import within_domain
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.references import BrokenReference, References
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.value import Value, dotted
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import (
    MAXIMUM_BYTES,
    read_stream,
    read_text,
)
from speccheck.validator.sources.reader import (
    CaptureReader,
    Fact,
    FactSheet,
    Reader,
    Reading,
    ReadingGap,
    Role,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.registry import Detection, Readers, template_format

if TYPE_CHECKING:
    from speccheck.validator.sources.python.command_line import ProgramArguments

# How a value is written that may stand for no amount.
SENTINELS = frozenset({"-1", "-1.0", "0", "0.0", "-2", "auto", "none"})
# What no setting changes: the framework is the same whatever a parent says.
_CERTAIN = frozenset({"run.framework", "run.uses_torch"})


def without_defaults(reading: Reading, gaps: tuple[ReadingGap, ...]) -> Reading:
    """Return the reading with the framework's defaults unknown for a missing file.

    Changes the fact sheet, which is the reading's own.
    """
    gap = gaps[0]
    reading.facts.facts[:] = [
        Fact(fact.name, None, "unknown", (gap.place,), gap.reason)
        if fact.status == "default" and fact.name not in _CERTAIN
        else fact
        for fact in reading.facts.facts
    ]
    return reading


def without_sentinels(reading: Reading) -> Reading:
    """Return the reading without amounts that are none: -1 that means the checkpoint's.

    What a reader has made of such a value stands where the field can hold it. Changes
    the fact sheet, which is the reading's own.
    """
    keyed = reading.keyed
    table = None if keyed is None else keyed.catalogue
    if keyed is None or table is None:
        return reading
    meanings: dict[tuple[str, str], str] = {}
    for key in keyed.keys:
        if isinstance(key.value, int | float | str) and str(key.value) in SENTINELS:
            row = table.lookup(key.path)
            meaning = row.meaning_of(key.value) if row is not None else ""
            if meaning:
                place = key.value_place
                meanings[place.file, place.key] = f"{key.value} {meaning}"
    if meanings:
        facts = reading.facts.facts
        facts[:] = [_without_sentinel(fact, meanings) for fact in facts]
    return reading


def _without_sentinel(fact: Fact, meanings: Mapping[tuple[str, str], str]) -> Fact:
    """Return the fact, or an unknown one if a sentinel was taken for an amount."""
    meaning = next(
        (
            meaning
            for place in fact.places
            if (meaning := meanings.get((place.file, place.key)))
        ),
        None,
    )
    if meaning is None:
        return fact
    leaf = Value[Any](fact.name, fact.value, fact.status, fact.places, fact.note)
    if within_domain(leaf).status not in {"invalid", "unknown"}:
        return fact
    return fact._replace(value=None, status="unknown", note=meaning)


def with_reasons(
    leaves: dict[str, Value[Any]], gaps: Iterable[ReadingGap]
) -> dict[str, Value[Any]]:
    """Return the leaves; those that nothing speaks of with the gap they may lie in."""
    gap = next(iter(gaps), None)
    if gap is None:
        return leaves
    reasons = {
        name: Value[Any](name, places=(gap.place,), note=gap.reason)
        for name in leaf_names()
    }
    return {**reasons, **leaves}


FileState = Literal["judged", "unrecognised", "template", "unreadable", "excluded"]
Excludes = Callable[[str], object]  # whether a file or folder is not searched
_PROGRAM_SUFFIXES = (".py",)
SEARCHED_SUFFIXES = (
    ".yaml",
    ".yml",
    ".json",
    ".hjson",
    ".toml",
    *SCRIPT_SUFFIXES,
    *_PROGRAM_SUFFIXES,
    ".env",
    ".conf",
)
# What tools print: text that is no YAML is then no mistake in it.
_PRINTED_SUFFIXES = (".txt", ".log", ".out", ".err")
# Folders that never hold a configuration of their own.
_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "site-packages", "venv", "build", "dist"}
)
# Requirements, which pinned_versions.py reads: no configuration of training.
_SKIPPED_FILES = frozenset(
    {
        "conda.yaml",
        "conda.yml",
        "environment.yaml",
        "environment.yml",
        "pyproject.toml",
        "speccheck.toml",
    }
)
# Where tools keep what is theirs: nobody looks for a configuration there.
_OF_TOOLS = frozenset({".git", ".hg", ".svn", "__pycache__"})
# How files of make and just end, in lower case: GNUmakefile too.
RECIPE_FILES = ("makefile", "justfile", ".just")
_LARGEST_PROGRAM = 2_000_000  # bytes; larger ones are not followed
_ADAPTER = "model.adapter"
_MAXIMUM_FILES = 100_000
# Why a file or folder below a folder that was given is not read.
PassedOverReason = Literal[
    "suffix",
    "hidden",
    "large",
    "requirements",
    "excluded",
    "beyond_limit",
    "hidden_folder",
    "build_folder",
    "excluded_folder",
    "linked_folder",
    "unreadable_folder",
]
# By reason and name: a suffix, what a folder is called, or nothing.
PassedOverCounts = Counter[tuple[PassedOverReason, str]]


class PassedOver(Record):
    """Files or folders that a search does not read.

    Attributes:
        reason: why.
        name: the suffix they share, or what they are called; may be empty.
        number: how many.

    """

    reason: PassedOverReason
    name: str
    number: int


class FileStatus(Record):
    """One file of the run, for `files` of a report and `--show-files`."""

    path: str
    format: str = ""
    confidence: float = 0.0
    state: FileState = "judged"
    message: str = ""
    runner_up: str = ""
    named: bool = True  # it must be judged: given by the user, not found in a folder
    followed: bool = False  # neither, but named by another file
    is_program: bool = False  # given by the user, and need not state settings

    @property
    def is_shown(self) -> bool:
        """Whether what is the matter with it is told one by one, not as a number."""
        return self.named or self.is_program or self.state == "unreadable"


class ReadFile(Record):
    """A recognised file: its source and what its readers made of it."""

    status: FileStatus
    source: Source
    format: str
    role: Role
    readings: tuple[Reading, ...]
    parents: tuple[Source, ...] = ()  # files that it inherits values from
    gaps: tuple[ReadingGap, ...] = ()
    merges: bool = False  # its framework merges several files into one configuration
    openings: tuple[Opening, ...] = ()  # through which more variables may be set
    references: References = References()


class _Recognised(Record):
    """What one document or script was taken for, and its readings."""

    detection: Detection
    role: Role
    readings: tuple[Reading, ...]
    parents: tuple[Source, ...] = ()
    gaps: tuple[ReadingGap, ...] = ()
    merges: bool = False
    openings: tuple[Opening, ...] = ()
    references: References = References()
    unsure: tuple[tuple[int, str], ...] = ()  # lines and keys of values not known


class UnknownFormat(Exception):  # noqa: N818 - a usage error with its own message
    """`--format` names no reader."""


def find_files(
    arguments: Iterable[str],
    excludes: Excludes | None = None,
    passed_over: PassedOverCounts | None = None,
) -> Iterator[tuple[str, bool]]:
    """Yield each file to read, and whether the user named it; folders are searched.

    What is excluded is not searched; a file that is named is there all the same.

    A file has one name, whichever way the user or another file leads to it: that of
    `./a.yaml` is `a.yaml`. What a search passes over is counted in `passed_over`.
    """
    seen: set[str] = set()
    counts: PassedOverCounts = Counter() if passed_over is None else passed_over
    for argument in arguments:
        named = not os.path.isdir(argument)
        for given in (argument,) if named else _search(argument, excludes, counts):
            path = os.path.normpath(given)
            if path not in seen:
                seen.add(path)
                yield path, named


def _search(
    folder: str, excludes: Excludes | None, passed_over: PassedOverCounts
) -> Iterator[str]:
    """Yield the files below a folder that may be configurations, and count the rest."""
    count = 0

    def note_unreadable(_: OSError) -> None:
        passed_over["unreadable_folder", ""] += 1

    for where, folders, names in os.walk(folder, onerror=note_unreadable):
        kept: list[str] = []
        for name in sorted(folders):
            reason = _reason_of_folder(where, name, excludes)
            if reason is None:
                kept.append(name)
            elif name not in _OF_TOOLS:
                called = name if reason == "build_folder" else ""
                passed_over[reason, called] += 1
        folders[:] = kept
        for name in sorted(names):
            why = _reason_of_file(where, name, excludes)
            if why is not None:
                suffix = os.path.splitext(name)[1] if why == "suffix" else ""
                passed_over[why, suffix.lower()] += 1
            elif count == _MAXIMUM_FILES:
                passed_over["beyond_limit", ""] += 1
            else:
                count += 1
                yield os.path.join(where, name)


def _reason_of_folder(
    where: str, name: str, excludes: Excludes | None
) -> PassedOverReason | None:
    """Return why a folder is not searched; None for one that is."""
    if name.startswith("."):
        return "hidden_folder"
    if name in _SKIPPED_FOLDERS:
        return "build_folder"
    path = os.path.join(where, name)
    if excludes and excludes(path):
        return "excluded_folder"
    return "linked_folder" if os.path.islink(path) else None


def _reason_of_file(
    where: str, name: str, excludes: Excludes | None
) -> PassedOverReason | None:
    """Return why a file below a folder is not read; None for one that is."""
    if not is_searched(name):
        if name in _SKIPPED_FILES:
            return "requirements"
        is_config = name.lower().endswith(SEARCHED_SUFFIXES)
        return "hidden" if is_config and name.startswith(".") else "suffix"
    path = os.path.join(where, name)
    if excludes and excludes(path):
        return "excluded"
    if name.lower().endswith(_PROGRAM_SUFFIXES) and not _may_state_settings(path):
        return "suffix"
    try:
        return "large" if os.path.getsize(path) > MAXIMUM_BYTES else None
    except OSError:
        return None  # which reading it says in its own words


def _may_state_settings(path: str) -> bool:
    """Return whether a program holds the name of a call that states settings."""
    from speccheck.validator.catalogue.python_calls import python_calls  # noqa: PLC0415 - seldom

    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST_PROGRAM)
    except OSError:
        return False
    return any(mark in content for mark in python_calls().marks())


def is_searched(name: str) -> bool:
    """Return whether a file of that name is read where its folder is given."""
    is_shown = not name.startswith(".") or name.startswith(".env")
    is_suffix = name.lower().endswith((*SEARCHED_SUFFIXES, *RECIPE_FILES))
    return is_suffix and is_shown and name not in _SKIPPED_FILES


def read_file(
    path: str,
    *,
    named: bool = True,
    format_id: str | None = None,
    stdin_name: str | None = None,
    readers: Readers | None = None,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
    command_line: "ProgramArguments | None" = None,
) -> tuple[FileStatus, list[ReadFile]]:
    """Read one file; a file that cannot be read or is not known gives its status only.

    A YAML file of several documents gives one ReadFile for each that is recognised.
    With a text, `path` is what it is called, and nothing is opened. `environment` has
    the variables that the launch script of the file sets, `command_line` what it starts
    a program with.
    Raises UnknownFormat for a `format_id` that no reader has.
    """
    readers = readers or Readers()
    name = (stdin_name or "stdin") if path == "-" else path
    source: Source | None = None
    try:
        text = _text(path, name) if text is None else text
        source = _source(name, text, environment, command_line)
        result = _read(source, readers, format_id)
    except ReadError as error:
        is_program = name.lower().endswith(_PROGRAM_SUFFIXES)
        if not named and (is_program or error.kind == "empty"):
            return _unrecognised(name, named=False), []
        is_printed = format_id is None and name.endswith(_PRINTED_SUFFIXES)
        if error.kind == "syntax" and is_printed:
            return _unrecognised(name, named=named), []
        return _unread(source, readers, _failed(name, error, named=named)), []
    if not result and format_id is not None and named:
        return _of_other_format(source, readers, format_id), []
    if not result:
        status = _unrecognised(name, named=named)
        return _with_limit(status, source), []
    detection = result[0].detection
    status = FileStatus(
        name,
        "+".join(dict.fromkeys(item.detection.format for item in result)),
        detection.confidence,
        runner_up=detection.runner_up,
        named=named,
        message="; ".join((*_inherited(result), *_unsure(name, result))),
    )
    return status, [
        ReadFile(
            status,
            source,
            item.detection.format,
            item.role,
            item.readings,
            item.parents,
            item.gaps,
            item.merges,
            item.openings,
            item.references,
        )
        for item in result
    ]


def _inherited(items: Iterable[_Recognised]) -> Iterator[str]:
    """Yield what is not known of the files from which others inherit."""
    for item in items:
        for gap in item.gaps:
            if gap.is_inherited:
                yield f"{gap.place.file}: {gap.reason}"


def _unsure(name: str, items: Iterable[_Recognised]) -> Iterator[str]:
    """Yield how many values of a program are not known, with the first lines."""
    unsure = dict.fromkeys(pair for item in items for pair in item.unsure)
    if not unsure:
        return
    lines = sorted(unsure)
    shown = ", ".join(f"{key} (line {line})" for line, key in lines[:_MOST_UNSURE])
    more = len(lines) - _MOST_UNSURE
    rest = f" and {more} more" if more > 0 else ""
    noun, verb = ("value", "is") if len(lines) == 1 else ("values", "are")
    yield f"{name}: {len(lines)} {noun} {verb} not known from its text: {shown}{rest}"


def _source(
    name: str,
    text: str,
    environment: Mapping[str, str] | None,
    command_line: "ProgramArguments | None",
) -> Source:
    """Return a file as it is; templates of charts and recipes as they are filled in."""
    if "{{" in text and name.lower().endswith((".yaml", ".yml")):
        from speccheck.validator.sources.chart import ChartTemplate, chart_of  # noqa: PLC0415 - seldom

        chart = chart_of(name)
        if chart is not None:
            return ChartTemplate(name, text, chart)
    if name.rpartition("/")[2].lower().endswith(RECIPE_FILES):
        from speccheck.validator.sources.recipe_file import RecipeFile  # noqa: PLC0415 - seldom

        return RecipeFile(name, text)
    return Source(name, text, environment=environment, command_line=command_line)


def _text(path: str, name: str) -> str:
    return read_stream(name, sys.stdin.buffer) if path == "-" else read_text(path)


def _failed(name: str, error: ReadError, *, named: bool) -> FileStatus:
    state: FileState = "template" if error.kind == "template" else "unreadable"
    return FileStatus(name, state=state, message=str(error), named=named)


def _unread(source: Source | None, readers: Readers, status: FileStatus) -> FileStatus:
    """Add to the status of a template what it will be once it is rendered."""
    if status.state != "template" or source is None:
        return status
    detection = template_format(source, readers)
    if detection is None:
        return status
    return status._replace(format=detection.format, confidence=detection.confidence)


def excluded_file(name: str, by: str) -> FileStatus:
    """Return the status of a named file that settings exclude."""
    message = f"{name}: not judged: excluded by {by}"
    return FileStatus(name, state="excluded", message=message)


def _unrecognised(name: str, *, named: bool) -> FileStatus:
    if name.lower().endswith(_PROGRAM_SUFFIXES):
        message = (
            f"{name}: no call in it that states settings of a training run, such as "
            "TrainingArguments (docs/formats.md lists them)"
        )
        return FileStatus(
            name, state="unrecognised", message=message, named=False, is_program=named
        )
    message = (
        f"{name}: not a training configuration that speccheck knows, nor what a known "
        "tool tells of a node; if it is one, name its format with --format "
        "(docs/formats.md lists them)"
    )
    return FileStatus(name, state="unrecognised", message=message, named=named)


def _with_limit(status: FileStatus, source: Source) -> FileStatus:
    """Say of a script that nothing was found in how much of it was read."""
    if not source.is_script:
        return status
    from speccheck.validator.sources.shell.script import MAX_CHARACTERS  # noqa: PLC0415 - scripts alone

    if len(source.text) <= MAX_CHARACTERS:
        return status
    message = (
        f"{source.name}: no launch in its first {MAX_CHARACTERS:,} characters, and "
        "no more of a script is read; give the part that starts the training"
    )
    return status._replace(message=message)


_MOST_UNSURE = 3  # values that a message names
_SURE = 0.7  # at which a format is believed over the one that the user names


def _of_other_format(source: Source, readers: Readers, format_id: str) -> FileStatus:
    """Return the status of a file that holds nothing of the format the user names."""
    recognised = _read(source, readers, None)
    remedy = "name the format that it has"
    if recognised:
        looks_like = recognised[0].detection.format
        remedy = f"it looks like {looks_like}: leave --format out"
    message = f"{source.name}: nothing in it is of the format {format_id}; {remedy}"
    return FileStatus(source.name, state="unreadable", message=message)


def _read(source: Source, readers: Readers, format_id: str | None) -> list[_Recognised]:
    if format_id is not None:
        return _read_as(source, readers, format_id)
    if not source.name.lower().endswith((*SEARCHED_SUFFIXES, *RECIPE_FILES)):
        captured = _read_capture(source, readers)
        if captured is not None:
            return [captured]
    if source.is_script:
        detection = readers.detect_script(source)
        reader = readers.find(detection.format) if detection else None
        if detection is None or reader is None:
            return []
        if source.language == "make" and reader.role == "environment":
            return []  # variables of a build that launches nothing
        return [_read_script(source, readers, detection, reader.role)]
    result: list[_Recognised] = []
    for document in source.documents:
        detection = readers.detect_document(document)
        reader = readers.find(detection.format) if detection else None
        if detection is not None and isinstance(reader, Reader):
            result.append(
                _read_document(document, readers, reader, detection, source.environment)
            )
    return result


def _read_capture(source: Source, readers: Readers) -> _Recognised | None:
    """Return what a tool printed of a machine; raises ReadError for other XML."""
    detection = readers.detect_capture(source)
    reader = readers.find(detection.format) if detection else None
    if detection is None or not isinstance(reader, CaptureReader):
        if source.text.lstrip().startswith("<"):
            from speccheck.validator.sources.documents.xml_elements import (  # noqa: PLC0415 - seldom
                foreign_xml,
            )

            raise foreign_xml(source.name, source.text)
        return None
    return _Recognised(detection, reader.role, (reader.read(source),))


def _read_document(
    document: Document,
    readers: Readers,
    reader: Reader,
    detection: Detection,
    environment: Mapping[str, str],
) -> _Recognised:
    """Read a document with what it inherits, and the scripts that it holds."""
    parents: tuple[Source, ...] = ()
    gaps: tuple[ReadingGap, ...] = ()
    broken: tuple[BrokenReference, ...] = ()
    if reader.parents is not None or (reader.interpolates and "${" in document.text):
        from speccheck.validator.sources.composition import (  # noqa: PLC0415 - dear
            compose,
        )

        document, parents, gaps, broken = compose(document, reader, environment)
    elif document.open_reason:
        at = document.place(())
        gaps = (ReadingGap(document.open_reason, at, is_inherited=False),)
    reading = without_sentinels(reader.read(document))
    if document.leaves_model_open:
        reason = "which weights are trained is set by the program"
        at = document.place(())
        if all(fact.name != _ADAPTER for fact in reading.facts.facts):
            reading.facts.unusable(_ADAPTER, reason, at)
    if not document.judges_keys:
        reading = reading._replace(keyed=None)
    if gaps:
        reading = without_defaults(reading, gaps)
    inner = [
        script_reading
        for script in reading.scripts
        for script_reading in _script_readings(script, readers)
    ]
    inner = [_in_allocation(item, reading.facts) for item in inner]
    openings = (
        *reading.openings,
        *(item for script in reading.scripts for item in openings_of(script)),
    )
    return _Recognised(
        detection,
        reader.role,
        (reading, *inner),
        parents,
        gaps,
        reader.merges,
        openings,
        _references(document.name, (reading, *inner), broken),
        unsure=tuple(
            (span.line, dotted(path))
            for path in document.unsure
            if (span := document.span(path)) is not None
        ),
    )


def _in_allocation(reading: Reading, document: FactSheet) -> Reading:
    """Return the launches of a script with the nodes that its document asks for."""
    if not reading.launches:
        return reading
    sure = ("stated", "derived")
    known = {fact.name: fact for fact in document.facts if fact.status in sure}
    nodes, gpus = (
        Value(f"launch.allocated_{name}", fact.value, fact.status, fact.places)
        if (fact := known.get(leaf)) is not None
        else Value(f"launch.allocated_{name}")
        for name, leaf in (
            ("nodes", "cluster.nodes"),
            ("gpus", "cluster.gpus_per_node"),
        )
    )
    return reading._replace(
        launches=tuple(
            launch
            if launch.allocated_nodes.places
            else launch._replace(allocated_nodes=nodes, allocated_gpus=gpus)
            for launch in reading.launches
        )
    )


def _references(
    name: str, readings: tuple[Reading, ...], broken: tuple[BrokenReference, ...] = ()
) -> References:
    """Return the references of a file; most have none."""
    broken = (*broken, *(item for reading in readings for item in reading.broken))
    if not any(item.is_opened for reading in readings for item in reading.references):
        return References((), broken)
    from speccheck.validator.sources.named_files import references_of  # noqa: PLC0415 - seldom

    references = references_of(name, readings)
    return references._replace(broken=(*broken, *references.broken))


def _read_script(
    source: Source, readers: Readers, detection: Detection, role: Role
) -> _Recognised:
    """Read a script with the files that it takes in."""
    readings = _script_readings(source, readers)
    return _Recognised(
        detection,
        role,
        readings,
        references=_references(source.name, readings),
        parents=tuple(Source(path, text) for path, text in source.script.taken),
        openings=openings_of(source),
    )


def openings_of(source: Source) -> tuple[Opening, ...]:
    """Return through what more variables may reach what a script starts."""
    from speccheck.validator.sources.launching import openings  # noqa: PLC0415 - dear

    return openings(source)


def _script_readings(source: Source, readers: Readers) -> tuple[Reading, ...]:
    """Read a script by every reader that finds something of its own in it."""
    readings = tuple(
        without_sentinels(reader.read(source))
        for reader in readers.of_scripts(source)
        if reader.detect(source) > 0
    )
    if not readings:
        return ()
    from speccheck.validator.sources.launch_account import launch_accounts  # noqa: PLC0415 - scripts alone

    launches = launch_accounts(source)
    return (readings[0]._replace(launches=launches), *readings[1:])


def _read_as(source: Source, readers: Readers, format_id: str) -> list[_Recognised]:
    reader = readers.find(format_id)
    if reader is None:
        known = ", ".join(readers.formats())
        message = f"--format {format_id}: no such format; known are {known}"
        raise UnknownFormat(message)
    detection = Detection(format_id, 1.0)
    if isinstance(reader, ScriptReader):
        if reader.detect(source) <= 0:
            return []
        return [_read_script(source, readers, detection, reader.role)]
    if isinstance(reader, CaptureReader):
        if reader.detect(source) <= 0:
            return []
        return [_Recognised(detection, reader.role, (reader.read(source),))]
    recognised = (
        (
            reader.detect(document),
            _read_document(document, readers, reader, detection, source.environment),
        )
        for document in source.documents
    )
    return [
        item
        for (score, item), document in zip(recognised, source.documents, strict=True)
        if score > 0
        or (_states_something(item) and not _is_surely_other(document, readers))
    ]


def _is_surely_other(document: Document, readers: Readers) -> bool:
    """Return whether a document unlike the named format is surely another's."""
    detection = readers.detect_document(document)
    return detection is not None and detection.confidence >= _SURE


def _states_something(item: _Recognised) -> bool:
    """Return whether a document unlike its format still states a value in it."""
    return any(
        fact.status == "stated"
        for reading in item.readings
        for fact in reading.facts.facts
    )

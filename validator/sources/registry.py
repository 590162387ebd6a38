"""Finds the readers: every module in the package of formats holds one, or several.

A module with one has a `READER`, one with several that share their code `READERS`.

`formats/index.json` says at which top-level keys a document, and with which words in it
a script or a capture may be of a format, so that a run imports only the readers that
have a chance: three of forty for most files. It is generated; a module that is not in
it yet is imported to be asked.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TypeVar

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents
from speccheck.validator.sources.reader import (
    AnyReader,
    CaptureReader,
    Reader,
    ScriptReader,
    Source,
)

R = TypeVar("R", ScriptReader, CaptureReader)
THRESHOLD = 0.5
_DECLARED = 0.95
_FOLDER = os.path.join(os.path.dirname(__file__), "formats")
INDEX = os.path.join(_FOLDER, "index.json")
# Keys that are addresses have no names that could be listed: what they have in common.
_ADDRESSES = "::"
# `# @package recipes.x` says into which block of a composition a file of Hydra goes.
_PACKAGE = lazy_pattern(
    r"(?:[ \t]*(?:#(?![ \t]*@package).*)?\r?\n)*[ \t]*#[ \t]*@package\b"
)
# The formats whose programs compose files with Hydra, and build classes from them.
_COMPOSED = frozenset({"nemo-automodel", "nemo-rl", "nemo1", "verl"})


class Detection(Record):
    """The format that a file was taken for, and the next best."""

    format: str
    confidence: float
    runner_up: str = ""
    runner_up_confidence: float = 0.0


class _Index(Record):
    """The modules of readers.

    Attributes:
        formats: by the format that they read.
        scripts: with the words, captures with the marks, without which a text is none.
        keys: those that may know a document, by keys at its top.
        captures: see `scripts`.

    """

    formats: dict[str, str]
    scripts: dict[str, list[str]]
    keys: dict[str, list[str]]
    captures: dict[str, list[str]]


class Readers:
    """The readers of one run."""

    def __init__(self, plugins: Iterable[AnyReader] = ()) -> None:
        """Take the built-in readers, and those of plugins besides."""
        self._plugins = (*plugins,)

    def formats(self) -> tuple[str, ...]:
        """Return all format ids, sorted."""
        plugins = (plugin.format for plugin in self._plugins)
        return tuple(sorted({*_index().formats, *plugins}))

    def find(self, format_id: str) -> AnyReader | None:
        """Return the reader of a format; None when there is none."""
        for plugin in self._plugins:
            if plugin.format == format_id:
                return plugin
        module = _index().formats.get(format_id)
        result = _readers(module) if module is not None else ()
        return next((item for item in result if item.format == format_id), None)

    def of_documents(self, data: Mapping[object, object]) -> Iterator[Reader]:
        """Yield the readers that may know a document with these keys at its top."""
        modules: dict[str, None] = {}
        by_key = _index().keys
        for position, key in enumerate(data):
            if not isinstance(key, str):
                continue
            if key in by_key:
                modules.update(dict.fromkeys(by_key[key]))
            elif not position and _ADDRESSES in key:
                modules.update(dict.fromkeys(by_key.get(_ADDRESSES, ())))
        for module in modules:
            for reader in _readers(module):
                if isinstance(reader, Reader):
                    yield reader
        for plugin in self._plugins:
            if isinstance(plugin, Reader) and not data.keys().isdisjoint(plugin.keys):
                yield plugin

    def of_scripts(self, source: Source) -> Iterator[ScriptReader]:
        """Return the readers that may find something in a script or env file."""
        return self._of_text(ScriptReader, _index().scripts, source.text)

    def of_captures(self, text: str) -> Iterator[CaptureReader]:
        """Return the readers that may know what a tool has printed."""
        return self._of_text(CaptureReader, _index().captures, text)

    def _of_text(
        self, kind: type[R], words_of: Mapping[str, list[str]], text: str
    ) -> Iterator[R]:
        for module, words in words_of.items():
            if not words or any(word in text for word in words):
                yield from (
                    reader for reader in _readers(module) if isinstance(reader, kind)
                )
        yield from (plugin for plugin in self._plugins if isinstance(plugin, kind))

    def detect_document(self, document: Document) -> Detection | None:
        """Return the format of a document, or None when no reader is sure enough."""
        data = document.data
        if document.declared_format:
            return Detection(document.declared_format, _DECLARED)
        if not isinstance(data, dict) or _is_run_record(data) or _includes_files(data):
            return None
        readers = self.of_documents(data)
        scores = [(reader.detect(document), reader.format) for reader in readers]
        if _is_of_hydra(document):
            scores = [score for score in scores if score[1] in _COMPOSED]
        return best(scores)

    def detect_script(self, source: Source) -> Detection | None:
        """Return the format that names a script; all readers of its formats read it."""
        readers = self.of_scripts(source)
        return best([(reader.detect(source), reader.format) for reader in readers])

    def detect_capture(self, source: Source) -> Detection | None:
        """Return the format of what a tool has printed, or None."""
        readers = self.of_captures(source.text)
        return best([(reader.detect(source), reader.format) for reader in readers])


# What programs write of a run, each by keys that no person states: Weights & Biases
# (each key a block with its value), and GPT-NeoX for its workers.
_RUN_RECORDS = (frozenset({"_wandb"}), frozenset({"global_num_gpus", "user_script"}))


def _is_run_record(data: Mapping[str, object]) -> bool:
    return any(marks <= data.keys() for marks in _RUN_RECORDS)


def _includes_files(data: Mapping[str, object]) -> bool:
    """Return whether it takes over files by a key that no reader follows (Primus)."""
    names = data.get("includes")
    return isinstance(names, list) and any(
        isinstance(name, str) and name.endswith((".yaml", ".yml")) for name in names
    )


def _is_of_hydra(document: Document) -> bool:
    """Return whether it is a part that Hydra composes, or makes a class of.

    Such a part has the keys of its class alone, whichever framework has keys like them.
    """
    data = document.data
    is_built = isinstance(data, dict) and "_target_" in data
    return is_built or _PACKAGE.match(document.text) is not None


def best(scores: list[tuple[float, str]]) -> Detection | None:
    """Return the highest score at or above the threshold."""
    ranked = sorted(scores, key=lambda score: (-score[0], score[1]))
    if not ranked or ranked[0][0] < THRESHOLD:
        return None
    (confidence, name), *others = ranked
    runner_up = others[0] if others and others[0][0] > 0 else (0.0, "")
    return Detection(name, confidence, runner_up[1], runner_up[0])


def built_in_readers() -> list[AnyReader]:
    """Return all readers that come with speccheck, imported."""
    return [reader for module in _modules() for reader in _readers(module)]


def index_text() -> str:
    """Return what `formats/index.json` must hold."""
    index = _indexed(_modules())._asdict()
    return json.dumps(index, indent=1, sort_keys=True) + "\n"


@cache
def _index() -> _Index:
    try:
        with open(INDEX, encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        return _indexed(_modules())
    known = _Index(**content)
    new = set(_modules()).difference(known.formats.values())
    if not new:
        return known
    added = _indexed(new)
    keys = {
        key: [*known.keys.get(key, ()), *added.keys.get(key, ())]
        for key in {*known.keys, *added.keys}
    }
    return _Index(
        {**known.formats, **added.formats},
        {**known.scripts, **added.scripts},
        keys,
        {**known.captures, **added.captures},
    )


def _indexed(modules: Iterable[str]) -> _Index:
    """Return the index of these modules, which it imports."""
    formats: dict[str, str] = {}
    scripts: dict[str, list[str]] = {}
    by_key: dict[str, list[str]] = {}
    captures: dict[str, list[str]] = {}
    for module in sorted(modules):
        for reader in _readers(module):
            formats[reader.format] = module
            if isinstance(reader, ScriptReader):
                scripts[module] = sorted(reader.words)
                continue
            if isinstance(reader, CaptureReader):
                captures[module] = sorted(reader.marks)
                continue
            for key in reader.keys:
                if module not in by_key.setdefault(key, []):
                    by_key[key].append(module)
    return _Index(formats, scripts, by_key, captures)


def _modules() -> list[str]:
    return sorted(
        name[:-3]
        for name in os.listdir(_FOLDER)
        if name.endswith(".py") and name[0] != "_"
    )


def _readers(module: str) -> tuple[AnyReader, ...]:
    result = import_module(f"{__package__}.formats.{module}")
    readers: tuple[AnyReader, ...] | None = getattr(result, "READERS", None)
    return readers if readers is not None else (result.READER,)


# What a template will be once it is rendered is told by its keys, never judged.
_STATEMENT_LINE = lazy_pattern(
    r"^\s*(\{%.*%\}|\{\{-?\s*(if|else|end|range|with)\b.*)\s*$"
)
_EXPRESSION = lazy_pattern(r"\{\{.*?\}\}|\$\{[^}\n]*\}")
# A value of JSON that is neither quoted nor a literal: a word left for `sed`.
_BARE_WORD = lazy_pattern(
    r"(?<=[:\[,])(\s*)(?!(?:true|false|null)\b)[A-Za-z_$][\w.$-]*"
)
_STAND_IN = "rendered"
_LESS_SURE = 0.8


def template_format(source: Source, readers: Readers) -> Detection | None:
    """Return the format of a template with each gap filled by a word, or None."""
    kept = [row for row in source.text.splitlines() if not _STATEMENT_LINE.match(row)]
    text = _EXPRESSION.sub(_STAND_IN, "\n".join(kept))
    if source.language == "json":
        text = _BARE_WORD.sub(rf'\1"{_STAND_IN}"', text)
    language = None if source.language == "shell" else source.language
    try:
        documents = load_documents(source.name, text, language)
    except ReadError:
        return None
    for document in documents:
        detection = readers.detect_document(document)
        if detection is not None:
            return detection._replace(confidence=detection.confidence * _LESS_SURE)
    return None

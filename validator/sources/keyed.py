"""The keys of a document, for the rules on configuration hygiene."""

from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.stated_keys import (
    InDocument,
    KeyedFile,
    LoadedAs,
    StatedKey,
    TwiceStatedKey,
)
from speccheck.validator.evidence.value import KeyPath, Place, Span
from speccheck.validator.sources.documents.document import Document, path_step
from speccheck.validator.sources.facts import dotted


def keyed_file(
    document: Document,
    format_id: str,
    catalogue: FrameworkKeys | None,
    *,
    loaded_as: tuple[LoadedAs, ...] = (),
    refuses_duplicates: bool = False,
) -> KeyedFile:
    """Every key of a document with its value, and the keys that stand twice."""
    keys: list[StatedKey] = []
    at = InDocument(document.name, document.index, document.prefix)
    _walk(at, document.own_data, (), keys)
    return KeyedFile(
        document.name,
        format_id,
        tuple(keys),
        catalogue,
        twice=tuple(_twice(document)),
        loaded_as=loaded_as,
        refuses_duplicates=refuses_duplicates,
    )


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
    found: list[TwiceStatedKey] = []
    lines = document.text.splitlines() if document.duplicates else []
    for one in document.duplicates:
        key = dotted(one.path)
        first = Place(document.name, key, one.path, document.index, span=one.first)
        again = Place(document.name, key, one.path, document.index, span=one.again)
        is_equal = _one_line(lines, one.first) == _one_line(lines, one.again) != ""
        found.append(TwiceStatedKey(key, first, again, is_equal))
    return found


def _one_line(lines: list[str], span: Span) -> str:
    """Key and value where they stand on one line, else nothing to compare by."""
    text = lines[span.line - 1].strip().rstrip(",") if span.line <= len(lines) else ""
    return "" if text.endswith((":", "{", "[", "|", ">")) else text

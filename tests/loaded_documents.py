"""Documents for tests: loaded from a text, with the texts that their spans mark."""

from collections.abc import Iterator

import pytest

from speccheck.validator.sources.documents.document import (
    Document,
    KeyPath,
    ReadError,
    ReadErrorKind,
    path_step,
)
from speccheck.validator.sources.documents.reading import load_documents


def load(text: str, name: str = "train.yaml") -> Document:
    (document,) = load_documents(name, text)
    return document


def marked(document: Document, path: KeyPath, part: str = "value") -> str | None:
    """Return the text at a span; None where there is no span."""
    span = document.span(path, part="key" if part == "key" else "value")
    if span is None:
        return None
    line = document.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return line[span.line - 1][span.column - 1 :][: span.length]


def paths(data: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    yield path, data
    if isinstance(data, dict):
        for key, value in data.items():
            yield from paths(value, (*path, path_step(key)))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from paths(value, (*path, index))


def error_of(text: str, name: str = "a.yaml") -> ReadError:
    with pytest.raises(ReadError) as caught:
        load_documents(name, text)
    assert "\n" not in str(caught.value)
    return caught.value


def place(error: ReadError) -> tuple[ReadErrorKind, int | None, int | None]:
    return error.kind, error.line, error.column

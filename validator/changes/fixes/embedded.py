"""Edits of scripts that stand in documents: block scalars and texts of one line."""

from collections.abc import Iterator

from speccheck.validator.changes.fixes.edit import (
    CannotEdit,
    Edits,
    KeyChange,
    at_path,
    edited,
    line_end,
    line_start,
)
from speccheck.validator.changes.fixes.edits import document_edits, verify
from speccheck.validator.changes.fixes.shell import (
    Extent,
    offset_of,
    script_edits,
    shell_text,
)
from speccheck.validator.evidence.finding import Change
from speccheck.validator.evidence.value import KeyPath, Span
from speccheck.validator.sources.documents.document import (
    Document,
    ReadError,
    SourceNode,
    path_step,
)
from speccheck.validator.sources.reader import Source


def embedded_edits(source: Source, span: Span, change: Change) -> Edits:
    """Return the edits of a change within a text of a document; raises CannotEdit."""
    offset = offset_of(source.text, span)
    for document in source.documents:
        for path, node in _texts(document):
            start, end = node.value
            if start <= offset <= end:
                step = _word(document, path, change)
                if step is None:
                    return _of_script(source, document, path, (start, end), change)
                edits = document_edits(document, step)
                verify(source, edits, {document.index: [step]})
                return edits
    message = "no text of the document stands there"
    raise CannotEdit(message)


def _of_script(
    source: Source, document: Document, path: KeyPath, extent: Extent, change: Change
) -> Edits:
    text = source.text
    offset = offset_of(text, change.place.span or Span(1, 1, 1))
    line = text[line_start(text, offset) : offset]
    if line.lstrip().startswith("#SBATCH"):
        message = "it is a line for sbatch in a document"
        raise CannotEdit(message)
    edits = script_edits(text, _script(text, extent), offset, change)
    _verify(source, document, path, edits)
    return edits


def _word(document: Document, path: KeyPath, change: Change) -> KeyChange | None:
    """Return the change in a list of words, `["--tee", "3"]` or `["--tee=3"]`."""
    index = path[-1] if path else ""
    if not isinstance(index, int):
        return None
    key = change.place.key
    word = str(at_path(document.data, path))
    name, equal, _ = word.partition("=")
    before = at_path(document.data, (*path[:-1], index - 1)) if index else None
    is_joined = name == key and bool(equal)
    if not is_joined and before != key:
        return None
    if change.kind == "set":
        value = shell_text(change.value)
        return KeyChange("set", path, f"{name}={value}" if is_joined else value)
    if change.kind == "rename" and is_joined:
        return KeyChange("set", path, change.name + word[len(name) :])
    if change.kind == "rename":
        return KeyChange("set", (*path[:-1], index - 1), change.name)
    message = "it is a word of a list"
    raise CannotEdit(message)


def _texts(document: Document) -> Iterator[tuple[KeyPath, SourceNode]]:
    """Yield the paths of all texts of a document, with their nodes."""
    waiting: list[tuple[KeyPath, object, SourceNode]] = [
        ((), document.data, document.nodes())
    ]
    while waiting:
        path, data, node = waiting.pop()
        if isinstance(data, str):
            yield path, node
            continue
        pairs: list[tuple[str | int, object]] = []
        if isinstance(data, dict):
            pairs = [(path_step(key), value) for key, value in data.items()]
        elif isinstance(data, list):
            pairs = list(enumerate(data))
        for step, value in pairs:
            child = node.child(step)
            if child is not None:
                waiting.append(((*path, step), value, child))


def _script(text: str, extent: Extent) -> Extent:
    """Return where the script stands within a scalar."""
    start, end = extent
    style = text[start]
    if style == "|":
        return line_end(text, start), end
    if style == ">" or "\n" in text[start:end].rstrip():
        message = "the script stands in lines that the loader joins"
        raise CannotEdit(message)
    if style in {'"', "'"}:
        inner = text[start + 1 : end - 1]
        if "\\" in inner or "'" in inner or '"' in inner:
            message = "the script stands in a text with escapes"
            raise CannotEdit(message)
        return start + 1, end - 1
    return start, end


def _verify(source: Source, document: Document, path: KeyPath, edits: Edits) -> None:
    """Read the edited text: all but the script is what it was."""
    new = Source(source.name, edited(source.text, edits), source.language)
    try:
        result = {document.index: document.data for document in new.documents}
    except ReadError as error:
        message = f"the edited text could not be read: {error.problem}"
        raise CannotEdit(message) from error
    script = at_path(result.get(document.index), path)
    if not isinstance(script, str):
        message = "the script would be no text any more"
        raise CannotEdit(message)
    verify(source, edits, {document.index: [KeyChange("set", path, script)]})

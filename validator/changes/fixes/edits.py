"""From fixes to edits of files, each verified by reading the edited text again."""

from collections.abc import Iterable, Iterator, Mapping

from speccheck.validator.changes.fixes.edit import (
    CannotEdit,
    Edit,
    Edits,
    KeyChange,
    after,
    at_path,
    crosses,
    edited,
    is_same,
    line_end,
    line_start,
    step_of,
)
from speccheck.validator.changes.fixes.shell import (
    demand_same_lines,
    directive_edits,
    is_directive,
    is_line_file,
    line_edits,
    offset_of,
    script_edits,
    shell_text,
)
from speccheck.validator.evidence.finding import (
    Change,
    Finding,
    Fix,
    PlacedEdit,
    Proposal,
    ProposedSetting,
)
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.value import KeyPath, Span
from speccheck.validator.sources.documents.document import (
    Document,
    Extent,
    LineTable,
    ReadError,
    SourceNode,
    path_step,
)
from speccheck.validator.sources.reader import Source


def document_edits(document: Document, step: KeyChange) -> Edits:
    """Return the edits of a step in a document, in its language; raises CannotEdit."""
    if document.language == "json":
        from speccheck.validator.changes.fixes.json_toml import (  # noqa: PLC0415 - one of 4
            json_edits,
        )

        return json_edits(document, step)
    if document.language == "toml":
        from speccheck.validator.changes.fixes.json_toml import (  # noqa: PLC0415 - one of 4
            toml_edits,
        )

        return toml_edits(document, step)
    if document.language == "python":
        message = "settings in Python are changed by hand"
        raise CannotEdit(message)
    from speccheck.validator.changes.fixes.yaml import (  # noqa: PLC0415 - one of 4
        yaml_edits,
    )

    return yaml_edits(document.name, document.text, document.index, step)


def verify(
    source: Source, edits: Edits, steps: Mapping[int, Iterable[KeyChange]]
) -> None:
    """Read the edited text: it holds what it held, but for the steps.

    Args:
        source: the file as it is.
        edits: of its text.
        steps: what they do, by the number of the document.

    Raises:
        CannotEdit: the edited text says anything else.
    """
    try:
        new = Source(source.name, edited(source.text, edits), source.language)
        result = {document.index: document.data for document in new.documents}
    except ReadError as error:
        message = f"the edited text could not be read: {error.problem}"
        raise CannotEdit(message) from error
    wanted: dict[int, object] = {}
    for document in source.documents:
        wanted[document.index] = document.data
        for step in steps.get(document.index, ()):
            wanted[document.index] = after(wanted[document.index], step)
    if not is_same(result, wanted):
        message = "the edited text would say more or less than is wanted"
        raise CannotEdit(message)


FileEdits = dict[str, Edits]
"""The edits of each file, by its name."""

# The order of changes of a document: a name is looked for before it goes.
_KINDS = ("set", "add", "remove", "rename")


def edits_of(fix: Fix, sources: Mapping[str, Source]) -> FileEdits:
    """Return the edits of all changes of a fix: all of them, or none.

    Args:
        fix: what to change.
        sources: the files by name.

    Raises:
        CannotEdit: a change cannot be made by an edit that changes nothing else.
    """
    result: FileEdits = {}
    by_file: dict[str, list[Change]] = {}
    for change in fix.changes:
        by_file.setdefault(change.place.file, []).append(change)
    for file, changes in by_file.items():
        source = sources.get(file)
        if source is None:
            message = f"{file or 'what is not stated'} is no file of this run"
            raise CannotEdit(message)
        result[file] = _in_file(source, tuple(dict.fromkeys(changes)))
    if not result:
        message = "it names no change"
        raise CannotEdit(message)
    return result


def _in_file(source: Source, changes: tuple[Change, ...]) -> Edits:
    """Return edits of changes of one file, as if they were made one after the other."""
    if len(changes) == 1:
        return _of_change(source, changes[0])
    text = _one_by_one(source, changes)
    try:
        edits = [edit for change in changes for edit in _of_change(source, change)]
    except CannotEdit:
        edits = []
    together = tuple(sorted(dict.fromkeys(edits)))
    if not crosses(together) and edited(source.text, together) == text:
        return together
    return (_as_one(source.text, text),)


def _one_by_one(source: Source, changes: Iterable[Change]) -> str:
    """Return the text after all changes; no change moves the place of a later one."""
    for change in sorted(changes, key=_turn):
        edits = _of_change(source, change)
        source = Source(source.name, edited(source.text, edits), source.language)
    return source.text


def _turn(change: Change) -> tuple[object, ...]:
    """Return the words from last to first; keys as long as their names are there."""
    span = change.place.span
    if span is not None:
        return 0, -span.line, -span.column
    numbers = tuple(-step for step in change.place.path if isinstance(step, int))
    return _KINDS.index(change.kind) + 1, numbers


def _as_one(old: str, new: str) -> Edit:
    """Return one edit from the first to the last character that differ."""
    least = min(len(old), len(new))
    head = next((at for at in range(least) if old[at] != new[at]), least)
    tail = 0
    while tail < least - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(head, len(old) - tail, new[head : len(new) - tail])


def _of_change(source: Source, change: Change) -> Edits:
    """Return the edits of one change, verified."""
    if change.place.span is not None:
        if change.place.path:
            return _without_repetition(source, change)
        return _of_script(source, change)
    document = _document(source, change)
    step = step_of(change, document.data)
    after(document.data, step)  # refuses what cannot be before any edit
    _demand_once(document, step)
    edits = document_edits(document, step)
    verify(source, edits, {document.index: [step]})
    return edits


def _without_repetition(source: Source, change: Change) -> Edits:
    """Remove the line of a key that stands there again, where it has one to itself.

    Two of one path differ by position. What is read stays the same.
    """
    text, span = source.text, change.place.span
    start = offset_of(text, span) if span is not None else 0
    first = line_start(text, start)
    if change.kind != "remove" or text[first:start].strip():
        message = "something else stands on its line"
        raise CannotEdit(message)
    edits = (Edit(first, line_end(text, start), ""),)
    verify(source, edits, {})
    return edits


def _document(source: Source, change: Change) -> Document:
    for document in source.documents:
        if document.index == change.place.document and change.place.path:
            return document
    message = "no key of the file states it"
    raise CannotEdit(message)


def _demand_once(document: Document, step: KeyChange) -> None:
    """Demand that a key stands once; a second would come back when the first goes."""
    is_kept = step.kind in {"set", "add", "add_entry"}
    if not is_kept and any(
        duplicate.path == step.path for duplicate in document.duplicates
    ):
        message = "the key stands there twice"
        raise CannotEdit(message)


def _of_script(source: Source, change: Change) -> Edits:
    """Return the edits of a change at a position, in a script or in a line."""
    span = change.place.span
    if span is None or span.line < 1:
        message = "its place is not known"
        raise CannotEdit(message)
    text = source.text
    if source.language != "shell":
        return _embedded_edits(source, span, change)
    if is_line_file(source.name):
        edits = line_edits(source.name, text, span, change)
        demand_same_lines(text, edits, change)
        return edits
    if is_directive(text, span):
        edits = directive_edits(text, span, change)
        demand_same_lines(text, edits, change)
        return edits
    return script_edits(text, (0, len(text)), offset_of(text, span), change)


def _embedded_edits(source: Source, span: Span, change: Change) -> Edits:
    """Return the edits of a change within a text of a document; raises CannotEdit."""
    offset = offset_of(source.text, span)
    for document in source.documents:
        for path, node in _texts(document):
            start, end = node.value
            if start <= offset <= end:
                step = _word(document, path, change)
                if step is None:
                    return _of_embedded_script(
                        source, document, path, (start, end), change
                    )
                edits = document_edits(document, step)
                verify(source, edits, {document.index: [step]})
                return edits
    message = "no text of the document stands there"
    raise CannotEdit(message)


def _of_embedded_script(
    source: Source, document: Document, path: KeyPath, extent: Extent, change: Change
) -> Edits:
    text = source.text
    offset = offset_of(text, change.place.span or Span(1, 1, 1))
    line = text[line_start(text, offset) : offset]
    if line.lstrip().startswith("#SBATCH"):
        message = "it is a line for sbatch in a document"
        raise CannotEdit(message)
    edits = script_edits(text, _script_extent(text, extent), offset, change)
    _verify_script(source, document, path, edits)
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


def _script_extent(text: str, extent: Extent) -> Extent:
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


def _verify_script(
    source: Source, document: Document, path: KeyPath, edits: Edits
) -> None:
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


def placed_edits(
    finding: Finding, sources: Mapping[str, Source]
) -> tuple[PlacedEdit, ...]:
    """Return the edits of the fix of a finding; none where no edit can make it.

    Args:
        finding: what fails.
        sources: the files by name.
    """
    if finding.fix is None or finding.waiver is not None:
        return ()
    try:
        result = edits_of(finding.fix, sources)
    except CannotEdit:
        return ()
    placed: list[PlacedEdit] = []
    for file, edits in result.items():
        lines = LineTable(sources[file].text)
        placed += [
            PlacedEdit(
                file, *lines.place(edit.start), *lines.place(edit.end), edit.text
            )
            for edit in sorted(edits)
        ]
    # Of a text with stars in place of a credential nobody could make an edit.
    is_shown = all(
        hidden(placed_edit.text) == placed_edit.text for placed_edit in placed
    )
    return tuple(placed) if is_shown else ()


def proposed_fix(proposal: Proposal) -> Fix | None:
    """Return the fix; None if a key is not in a file with the value as it is.

    It is never safe: batches and memory are what a model learns by.
    """
    if not proposal.verified or not proposal.settings:
        return None
    changes: list[Change] = []
    for setting in proposal.settings:
        result = _changes(setting)
        if not result:
            return None
        changes += result
    says = ", ".join(
        f"{setting.keys[0].key} {setting.before} -> {setting.after}"
        for setting in proposal.settings
    )
    return Fix(says, tuple(changes))


def _changes(setting: ProposedSetting) -> list[Change]:
    value = setting.after
    if not isinstance(value, str | int | float) or setting.before is None:
        return []
    if not all(key.file and (key.path or key.span) for key in setting.keys):
        return []
    return [Change("set", key, value) for key in setting.keys]

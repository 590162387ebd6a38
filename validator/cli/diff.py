"""`speccheck diff A B`: two machines, two days, two certificates or two reports."""

import sys
from collections.abc import Mapping, Sequence

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.reports import Forms, Output, outputs_of, write_forms
from speccheck.validator.comparison.snapshots import SnapshotSide, compare, side_of
from speccheck.validator.report.diff_json import diff_json
from speccheck.validator.report.diff_text import diff_text
from speccheck.validator.report.document_diff.compared import ComparedDocuments, Kind
from speccheck.validator.report.document_diff.kinds import kind_of
from speccheck.validator.signing.envelope import SigningError
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import (
    load_documents,
    read_stream,
    read_text,
)
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats.snapshot import is_snapshot, node_of

REFUSED = (ReadError, SigningError)
_NOTHING, _TWO = 3, 2
_WORDS: Mapping[Kind | None, str] = {
    "certificate": "a certificate",
    "report": "a report",
    None: "none",
}
_USAGE = "two snapshots, two certificates or two reports are compared"


def diff(line: CommandLine) -> int:
    """Compare two documents; returns the exit code."""
    if len(line.files) != _TWO:
        message = f"diff takes two snapshots, not {len(line.files)}: A.json B.json"
        raise UsageError(message)
    if line.files[0] == line.files[1]:
        message = f"diff takes two snapshots: {line.files[0]} is given twice"
        raise UsageError(message)
    outputs = outputs_of(line)
    names = ["standard input" if file == "-" else file for file in line.files]
    texts = [*map(_text, line.files)]
    kind = _kind_of_both(texts, names)
    if kind is not None:
        return _documents(line, kind, texts, outputs)
    a, b = map(_side, names, texts)
    comparison = compare(a, b, is_one_machine=line.has("one_machine"))
    code = _code(comparison.verdict, line)
    full = line.has("full")
    forms: Forms = {
        "text": lambda style: diff_text(comparison, style, full=full),
        "json": lambda _: diff_json(comparison, code),
    }
    write_forms(line, outputs, forms)
    return code


def _code(verdict: str, line: CommandLine) -> int:
    if verdict == "nothing_compared":
        return _NOTHING
    return int(verdict == "differs" and line.has("exit_code"))


def _text(path: str) -> str:
    """Return what a file says; raises ReadError."""
    if path == "-":
        return read_stream("standard input", sys.stdin.buffer)
    return read_text(path)


def _side(path: str, text: str) -> SnapshotSide:
    """Return the snapshot of a text, or what a capture tells; raises ReadError."""
    if text.lstrip().startswith("{"):
        documents = load_documents(path, text, "json")
        data = documents[0].data if documents else None
        if isinstance(data, dict) and is_snapshot(data):
            node_of(data, path)  # that its parts are parts
            return side_of(data, path)
    status, files = read_file(path, text=text)
    nodes = [
        reading.node
        for file in files
        for reading in file.readings
        if reading.node is not None
    ]
    if len(nodes) == 1:
        content = {**nodes[0].data, "taken": nodes[0].taken}
        return side_of(content, path)
    problem = f"no snapshot of one machine: {status.format or status.state}"
    raise ReadError(path, "syntax", problem, "give what speccheck probe --out wrote")


def _kind_of_both(texts: Sequence[str], paths: Sequence[str]) -> Kind | None:
    """Return the kind of both, or None; raises UsageError for a mixed pair."""
    kinds: list[Kind | None] = [kind_of(text) for text in texts]
    kind: Kind | None = kinds[0]
    if kind == kinds[1]:
        return kind
    result = [
        f"{path} is {_WORDS[kind]}" for path, kind in zip(paths, kinds, strict=True)
    ]
    message = f"{' and '.join(result)}: {_USAGE}"
    raise UsageError(message)


def _documents(
    line: CommandLine, kind: Kind, texts: Sequence[str], outputs: Sequence[Output]
) -> int:
    """Compare two certificates or reports; raises what reading them raises."""
    from speccheck.validator.report.document_diff.json_form import (  # noqa: PLC0415 - of few
        document_diff_json,
    )
    from speccheck.validator.report.document_diff.text import (  # noqa: PLC0415 - of few
        document_diff_text,
    )

    compared = _compared(kind, texts, (line.files[0], line.files[1]))
    code = _code(compared.verdict, line)
    full = line.has("full")
    forms: Forms = {
        "text": lambda style: document_diff_text(compared, style, full=full),
        "json": lambda _: document_diff_json(compared, code),
    }
    write_forms(line, outputs, forms)
    return code


def _compared(
    kind: Kind, texts: Sequence[str], paths: tuple[str, str]
) -> ComparedDocuments:
    from speccheck.validator.report.document_diff.reading import (  # noqa: PLC0415 - of few
        certificate_of,
        report_of,
    )

    if kind == "report":
        from speccheck.validator.report.document_diff.reports import (  # noqa: PLC0415 - of few
            compare_reports,
        )

        a, b = (report_of(text, path) for text, path in zip(texts, paths, strict=True))
        return compare_reports(a, b, paths)
    from speccheck.validator.report.document_diff.certificates import (  # noqa: PLC0415 - of few
        compare_certificates,
    )

    certificate, other = (
        certificate_of(text, path) for text, path in zip(texts, paths, strict=True)
    )
    return compare_certificates(certificate, other, paths)

"""`speccheck diff A B`: two machines, two days, two certificates or two reports."""

import sys

from speccheck.validator.cli.diff_documents import diff_documents, kind_of_both
from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import (
    REFUSALS,
    outputs_of,
    style_of,
)
from speccheck.validator.comparison.snapshots import Side, compare, side_of
from speccheck.validator.report.write import write_all
from speccheck.validator.signing.envelope import SigningError
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import (
    load_documents,
    read_stream,
    read_text,
)
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats.snapshot import is_snapshot, node_of

FORMATS = ("text", "json")
_NOTHING, _TWO = 3, 2
_GROUP = "Comparison"
_OUTPUT = "FORMAT[=FILE]"
OPTIONS: tuple[Option, ...] = (
    Option(
        "--one-machine",
        "both are of one machine, whatever their digests say",
        "switch",
        group=_GROUP,
    ),
    Option("--exit-code", "0 the same, 1 differs", "switch", group=_GROUP),
    Option("--full", "also what is never the same twice", "switch", group=_GROUP),
    Option(
        "--output",
        "text or json",
        "text",
        "FORMAT[=FILE]",
        repeatable=True,
        group=_GROUP,
    ),
    Option("--color", "auto (default), always or never", "text", "WHEN", group=_GROUP),
)
HELP = f"""\
usage: speccheck diff A.json B.json [options]

Says what differs between two snapshots, of two machines or of one on two days, by what
matters: identity and software, topology, health, limits and settings, measurements.
Give the older one first: of one machine it says by how much each counter grew, and how
much an hour. Parts are known again by address and name. What is never the same twice,
such as temperatures, is one line. Digests made with different salts are not compared.

Of two certificates, or two reports (--output json), it says which track has another
level and why, which clause came out otherwise, what the machines no longer are, which
numbers moved beyond their spread, and what came or went of evidence, waivers and
machines. Signatures are not verified: speccheck verify does that.

Exit codes: 0; with --exit-code 1 where something differs; 2 the command line or a file
is wrong; 3 nothing is in both; 4 a bug of speccheck.
{options_help(OPTIONS)}
"""


def diff(words: list[str]) -> int:
    """Compare two documents; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write_all([((HELP,), None)])
        return 0
    refusals = (ReadError, SigningError, *REFUSALS)
    return guarded(lambda: _diff(parse(words, OPTIONS)), refusals)


def _diff(parsed: Parsed) -> int:
    if len(parsed.files) != _TWO:
        message = f"diff takes two snapshots, not {len(parsed.files)}: A.json B.json"
        raise UsageError(message)
    if parsed.files[0] == parsed.files[1]:
        message = f"diff takes two snapshots: {parsed.files[0]} is given twice"
        raise UsageError(message)
    outputs = outputs_of(parsed, FORMATS)
    names = ["standard input" if one == "-" else one for one in parsed.files]
    texts = [*map(_text, parsed.files)]
    kind = kind_of_both(texts, names)
    if kind is not None:
        reports, code = diff_documents(parsed, kind, texts, outputs)
        write_all(reports)
        return code
    a, b = map(_side, names, texts)
    found = compare(a, b, is_one_machine="one_machine" in parsed.values)
    code = _NOTHING if found.verdict == "nothing_compared" else 0
    if found.verdict == "differs" and "exit_code" in parsed.values:
        code = 1
    reports = []
    for output in outputs:
        if output.format == "json":
            from speccheck.validator.report.diff_json import (  # noqa: PLC0415 - of few
                diff_json,
            )

            text = diff_json(found, code)
        else:
            from speccheck.validator.report.diff_text import (  # noqa: PLC0415 - of few
                diff_text,
            )

            style = style_of(parsed, to_file=output.path is not None)
            text = diff_text(found, style, full="full" in parsed.values)
        reports.append(((text,), output.path))
    write_all(reports)
    return code


def _text(path: str) -> str:
    """What a file says; raises ReadError."""
    if path == "-":
        return read_stream("standard input", sys.stdin.buffer)
    return read_text(path)


def _side(path: str, text: str) -> Side:
    """The snapshot of a text, or what a capture tells; raises ReadError."""
    if text.lstrip().startswith("{"):
        documents = load_documents(path, text, "json")
        data = documents[0].data if documents else None
        if isinstance(data, dict) and is_snapshot(data):
            node_of(data, path)  # that its parts are parts
            return side_of(data, path)
    status, files = read_file(path, text=text)
    nodes = [
        one.node for file in files for one in file.readings if one.node is not None
    ]
    if len(nodes) == 1:
        content = {**nodes[0].data, "taken": nodes[0].taken}
        return side_of(content, path)
    problem = f"no snapshot of one machine: {status.format or status.state}"
    raise ReadError(path, "syntax", problem, "give what speccheck probe --out wrote")

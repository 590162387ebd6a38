"""The commands that show the edition, its rules and the JSON Schemas."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from speccheck.validator.catalogue.names import resembling
from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.listing import rules_of
from speccheck.validator.editions.difference import EditionChange
from speccheck.validator.editions.edition import DEFAULT_EDITION, Edition, load_edition
from speccheck.validator.editions.report_by_edition import (
    OtherwiseReport,
    ReportByEdition,
    by_edition,
)
from speccheck.validator.editions.show import clause_text, list_text
from speccheck.validator.engine.rule_index import built_in_rules
from speccheck.validator.report.explain import UnknownTopic, explain
from speccheck.validator.report.style import printable, wrap
from speccheck.validator.sources.documents.document import ReadError

REFUSED = (UnknownTopic, OtherwiseReport, ReadError)
_FORMATS = ("text", "json")
_SPEC = "see speccheck spec --help"


def _edition(line: CommandLine) -> Edition:
    return load_edition(line.text("spec") or DEFAULT_EDITION)


def explain_topic(line: CommandLine) -> int:
    """Explain a rule, a clause, or what has to do with any other words."""
    if not line.files:
        line.only("rule, clause or word")
    topic = " ".join(line.files)
    edition, rules = _edition(line), rules_of(line)
    try:
        text = explain(topic, edition, rules)
    except UnknownTopic:
        from speccheck.validator.report.topic_search import (  # noqa: PLC0415 - seldom
            topics_text,
        )

        text = topics_text(topic, edition, rules)
        if not text:
            raise
    sys.stdout.write(text)
    return 0


def spec_list(line: CommandLine) -> int:
    """List all clauses of the edition by area."""
    line.demand_no_file("speccheck spec show CLAUSE shows one")
    sys.stdout.write(list_text(_edition(line)))
    return 0


def spec_render(line: CommandLine) -> int:
    """Write the edition as a document that reads as a standard."""
    line.demand_no_file(_SPEC)
    form = line.text("format") or "markdown"
    if form not in {"markdown", "html"}:
        message = f"--format {form}: must be markdown or html"
        raise UsageError(message)
    from speccheck.validator.report.specification.document import (  # noqa: PLC0415
        document_of,
        html,
        markdown,
    )
    from speccheck.validator.report.write import write  # noqa: PLC0415

    document = document_of(line.text("spec") or DEFAULT_EDITION)
    write(html(document) if form == "html" else markdown(document), line.text("out"))
    return 0


def spec_show(line: CommandLine) -> int:
    """Show the edition, or one clause with its numbers and their sources."""
    edition = _edition(line)
    clause = line.only("clause") if line.files else None
    if clause is None:
        sys.stdout.write(edition_text(edition))
    elif clause.upper() in edition.clauses:
        sys.stdout.write(clause_text(edition, clause.upper()))
    else:
        sys.stdout.write(explain(clause, edition, built_in_rules()))
    return 0


def _format(line: CommandLine) -> str:
    output = line.text("output") or _FORMATS[0]
    if output not in _FORMATS:
        message = f"--output {output}: must be text or json"
        raise UsageError(message)
    return output


def spec_coverage(line: CommandLine) -> int:
    """Show which rules judge each clause, and what their fixtures hold them to."""
    line.demand_no_file(_SPEC)
    output = _format(line)
    from speccheck.validator.report.coverage import coverage  # noqa: PLC0415

    result = coverage(_edition(line))
    if output == "text":
        from speccheck.validator.report.coverage import coverage_text  # noqa: PLC0415

        sys.stdout.write(coverage_text(result))
    else:
        from speccheck.validator.report.coverage_json import (  # noqa: PLC0415
            coverage_json,
        )

        sys.stdout.write(coverage_json(result))
    return 0


def spec_diff(line: CommandLine) -> int:
    """Show what differs between two editions, how much it weighs, and why."""
    if len(line.files) != 2:  # noqa: PLR2004 - as it says
        message = f"spec diff takes two editions, not {len(line.files)}: A B"
        raise UsageError(message)
    output = _format(line)
    from speccheck.validator.editions.difference import (  # noqa: PLC0415
        differences,
    )
    from speccheck.validator.report.edition_diff import (  # noqa: PLC0415
        EditionsCompared,
        edition_diff_json,
        edition_diff_text,
    )

    before, after = map(load_edition, line.files)
    result = differences(before, after)
    compared = EditionsCompared(before, after, result)
    report = line.text("on")
    if report is not None:
        by = _report(report, before, after, result)
        compared = compared._replace(file=report, report=by)
    write = edition_diff_json if output == "json" else edition_diff_text
    sys.stdout.write(write(compared))
    return 0


def _report(
    path: str, before: Edition, after: Edition, differences: tuple[EditionChange, ...]
) -> ReportByEdition:
    from speccheck.validator.sources.documents.reading import (  # noqa: PLC0415
        read_text,
    )

    document: Any
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        message = f"{path}: no JSON: {str(error) or 'nested too deeply'}"
        raise OtherwiseReport(message) from error
    if not isinstance(document, dict):
        message = f"{path}: no report of speccheck: give what --output json writes"
        raise OtherwiseReport(message)
    try:
        return by_edition(document, before, after, differences)
    except OtherwiseReport as error:
        message = f"{path}: {error}"
        raise OtherwiseReport(message) from error


def edition_text(edition: Edition) -> str:
    """Return the edition in a screen: what it is, whose it is, how much is in it."""
    clauses = edition.clauses.values()
    counts = [
        f"{sum(clause.level == level for clause in clauses)} {level}"
        for level in ("must", "should", "may")
    ]
    core = sum(clause.status == "core" for clause in clauses)
    lines = [
        f"{edition.title} (edition {edition.id}, {edition.stage})",
        f"sha256 {edition.sha256}",
        "",
        wrap(edition.statement, 80, ""),
        "",
        *_lifecycle(edition),
        f"{len(clauses)} clauses: {', '.join(counts)}",
        f"{core} of them core, {len(clauses) - core} proposed",
        "speccheck spec list shows them, speccheck spec show COMM-001 shows one",
    ]
    return "\n".join(lines) + "\n"


def _lifecycle(edition: Edition) -> Iterator[str]:
    """Return what it extends, what it announces and what became of other clauses."""
    texts: list[str] = []
    if edition.extends is not None:
        base = edition.extends
        texts.append(f"Extends edition {base.id}, sha256 {base.sha256}.")
    texts += [
        f"{clause.id}: {clause.deprecated.text}"
        for clause in edition.clauses.values()
        if clause.deprecated is not None
    ]
    texts += [
        f"{name}: {tombstone.text}" for name, tombstone in edition.withdrawn.items()
    ]
    for text in texts:
        yield wrap(text, 80, "")
    if texts:
        yield ""


def schema(line: CommandLine) -> int:
    """Print a JSON Schema, of speccheck's own files or a framework's, for editors."""
    from speccheck.validator.report.published_schemas import (  # noqa: PLC0415
        own_names,
        own_text,
        published_names,
        published_text,
    )

    name = line.only("name")
    frameworks, own = published_names(), own_names()
    if name not in frameworks and name not in own:
        raise UsageError(_no_schema(name, own, frameworks))
    sys.stdout.write(published_text(name) if name in frameworks else own_text(name))
    return 0


def _no_schema(name: str, own: list[str], frameworks: list[str]) -> str:
    """Return that no schema has that name, which there are, and which is meant."""
    close = resembling(name, [*own, *frameworks])
    hint = f"did you mean {' or '.join(close)}? there" if close else "there"
    return (
        f"schema {printable(name)}: no such schema; {hint} are {', '.join(own)}, and "
        f"of frameworks {', '.join(frameworks)}"
    )

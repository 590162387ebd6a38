"""The commands beside `speccheck FILE...`: spec, rules, explain, schema."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from speccheck.validator.catalogue.names import resembling
from speccheck.validator.editions.edition import (
    Edition,
    UnknownEdition,
    load_edition,
)
from speccheck.validator.editions.show import clause_text, list_text
from speccheck.validator.engine.rule_index import built_in_rules
from speccheck.validator.report.explain import UnknownTopic, explain, rules_table
from speccheck.validator.report.style import printable

SpecOption = Annotated[str, typer.Option(help="edition, or a folder that holds one")]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)
spec_app = typer.Typer(no_args_is_help=True, help="The edition of the specification.")
app.add_typer(spec_app, name="spec")


class CommandError(Exception):
    """A command cannot do what it was asked; the message says why and what to do."""


def _refusals() -> tuple[type[Exception], ...]:
    """What a command line may have wrong, or the files that it names."""
    from speccheck.validator.editions.report_by_edition import (  # noqa: PLC0415
        OtherwiseReport,
    )
    from speccheck.validator.sources.documents.document import (  # noqa: PLC0415
        ReadError,
    )

    return CommandError, UnknownTopic, UnknownEdition, OtherwiseReport, ReadError


def run_command(words: list[str]) -> int:
    """Run one of the commands; returns the exit code."""
    try:
        app(words, standalone_mode=False, prog_name="speccheck")
    except _refusals() as error:
        sys.stderr.write(f"speccheck: {printable(str(error))}\n")
        return 2
    except typer.Exit as ending:
        return ending.exit_code
    except Exception as error:
        if type(error).__module__.startswith(("typer", "click")):
            sys.stderr.write(f"speccheck: {error}\n")
            return 2
        raise
    return 0


def _edition(spec: str) -> Edition:
    return load_edition(spec)


@spec_app.command("list")
def spec_list(spec: SpecOption = "1.0") -> None:
    """List all clauses of the edition by area."""
    sys.stdout.write(list_text(_edition(spec)))


@spec_app.command("render")
def spec_render(
    spec: SpecOption = "1.0",
    form: Annotated[
        str, typer.Option("--format", help="markdown or html, one file")
    ] = "markdown",
    out: Annotated[
        str | None, typer.Option(help="a file; standard output without it")
    ] = None,
) -> None:
    """Write the edition as a document that reads as a standard."""
    if form not in {"markdown", "html"}:
        message = f"--format {form}: must be markdown or html"
        raise CommandError(message)
    from speccheck.validator.report.specification.document import (  # noqa: PLC0415  # noqa: PLC0415
        document_of,
        html,
        markdown,
    )
    from speccheck.validator.report.write import WriteError, write  # noqa: PLC0415

    document = document_of(spec)
    try:
        write(html(document) if form == "html" else markdown(document), out)
    except WriteError as error:
        raise CommandError(str(error)) from error


@spec_app.command("show")
def spec_show(
    clause: Annotated[str | None, typer.Argument(help="such as COMM-001")] = None,
    spec: SpecOption = "1.0",
) -> None:
    """Show the edition, or one clause with its numbers and their sources."""
    edition = _edition(spec)
    if clause is None:
        sys.stdout.write(edition_text(edition))
    elif clause.upper() in edition.clauses:
        sys.stdout.write(clause_text(edition, clause.upper()))
    else:
        sys.stdout.write(explain(clause, edition, built_in_rules()))


@spec_app.command("coverage")
def spec_coverage(
    output: Annotated[str, typer.Option(help="text or json")] = "text",
    spec: SpecOption = "1.0",
) -> None:
    """Show which rules judge each clause, and what their fixtures hold them to."""
    from speccheck.validator.report.coverage import coverage  # noqa: PLC0415

    found = coverage(_edition(spec))
    if output == "text":
        from speccheck.validator.report.coverage import (  # noqa: PLC0415
            coverage_text,
        )

        sys.stdout.write(coverage_text(found))
    elif output == "json":
        from speccheck.validator.report.coverage_json import (  # noqa: PLC0415
            coverage_json,
        )

        sys.stdout.write(coverage_json(found))
    else:
        message = f"--output {output}: must be text or json"
        raise CommandError(message)


@spec_app.command("diff")
def spec_diff(
    first: Annotated[
        str, typer.Argument(help="an edition: its id, a folder or a compiled file")
    ],
    second: Annotated[str, typer.Argument(help="the edition to compare it with")],
    on: Annotated[
        str | None,
        typer.Option(help="a JSON report by the first: what would come out otherwise"),
    ] = None,
    output: Annotated[str, typer.Option(help="text or json")] = "text",
) -> None:
    """Show what differs between two editions, how much it weighs, and why."""
    if output not in {"text", "json"}:
        message = f"--output {output}: must be text or json"
        raise CommandError(message)
    from speccheck.validator.cli.spec_diff import spec_diff_text  # noqa: PLC0415

    sys.stdout.write(spec_diff_text(first, second, on, output))


def edition_text(edition: Edition) -> str:
    """The edition in a screen: what it is, whose it is, how much is in it."""
    from speccheck.validator.report.style import wrap  # noqa: PLC0415

    clauses = edition.clauses.values()
    counts = [
        f"{sum(one.level == level for one in clauses)} {level}"
        for level in ("must", "should", "may")
    ]
    core = sum(one.status == "core" for one in clauses)
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
    """What it extends, what it announces and what became of other clauses."""
    from speccheck.validator.report.style import wrap  # noqa: PLC0415

    told: list[str] = []
    if edition.extends is not None:
        base = edition.extends
        told.append(f"Extends edition {base.id}, sha256 {base.sha256}.")
    told += [
        f"{clause.id}: {clause.deprecated.text}"
        for clause in edition.clauses.values()
        if clause.deprecated is not None
    ]
    told += [f"{name}: {one.text}" for name, one in edition.withdrawn.items()]
    for text in told:
        yield wrap(text, 80, "")
    if told:
        yield ""


@app.command("rules")
def rules(spec: SpecOption = "1.0") -> None:
    """List all rules with the clause and the level that they judge by."""
    sys.stdout.write(rules_table(_edition(spec), built_in_rules()))


@app.command("explain")
def explain_topic(
    topic: Annotated[str, typer.Argument(help="a rule's name or a clause's id")],
    spec: SpecOption = "1.0",
) -> None:
    """Explain a rule or a clause: requirement, reason, example, source."""
    sys.stdout.write(explain(topic, _edition(spec), built_in_rules()))


@app.command("schema")
def schema(
    name: Annotated[
        str, typer.Argument(help="native, report, ..., or deepspeed, axolotl, ...")
    ],
) -> None:
    """Print a JSON Schema, of speccheck's own files or a framework's, for editors."""
    from speccheck.validator.report.published_schemas import (  # noqa: PLC0415
        own_names,
        own_text,
        published_names,
        published_text,
    )

    frameworks = published_names()
    if name in frameworks:
        sys.stdout.write(published_text(name))
        return
    own = own_names()
    if name not in own:
        raise CommandError(_no_schema(name, own, frameworks))
    sys.stdout.write(own_text(name))


def _no_schema(name: str, own: list[str], frameworks: list[str]) -> str:
    """That there is no schema of that name, which there are, and which is meant."""
    close = resembling(name, [*own, *frameworks])
    hint = f"did you mean {' or '.join(close)}? there" if close else "there"
    return (
        f"schema {printable(name)}: no such schema; {hint} are {', '.join(own)}, and "
        f"of frameworks {', '.join(frameworks)}"
    )

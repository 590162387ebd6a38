"""The commands with their options, and what may stand after each of these."""

from collections.abc import Callable, Sequence
from importlib import import_module

from speccheck.validator.cli.option_table import OPTIONS, Option
from speccheck.validator.evidence.record import Record

Words = tuple[str, ...]


class Command(Record):
    """One command: words that lead to it, its options, and what it takes besides.

    operands: words that it takes; takes_files: it takes files as well.
    """

    name: Words
    help: str
    options: tuple[Option, ...] = ()
    operands: Words = ()
    takes_files: bool = False


def commands() -> tuple[Command, ...]:
    """Every command; the first is `speccheck FILE...` itself."""
    plan = (one for one in OPTIONS if one.flag != "--show-files")
    return (
        Command((), "judge files", OPTIONS, takes_files=True),
        Command(("plan",), "the values of files", tuple(plan), takes_files=True),
        Command(("probe",), "a snapshot of this machine", _of("take_snapshot")),
        Command(
            ("preflight",),
            "go or no-go: this machine and files",
            _of("preflight"),
            takes_files=True,
        ),
        Command(
            ("baseline",),
            "adopt a project with its old findings",
            _of("baseline"),
            takes_files=True,
        ),
        Command(
            ("history",),
            "what became of a fleet over days",
            _of("history"),
            takes_files=True,
        ),
        Command(
            ("diff",),
            "what differs between two documents",
            _of("diff"),
            takes_files=True,
        ),
        *_benches(),
        Command(
            ("fleet",),
            "go or no-go for all nodes of a job",
            _of("fleet"),
            takes_files=True,
        ),
        Command(("simulate",), "a synthetic fleet", _of("simulate")),
        Command(
            ("certify",),
            "a certificate of a type of machine",
            _of("certify"),
            takes_files=True,
        ),
        Command(
            ("verify",),
            "a certificate looked at again",
            _of("verify"),
            takes_files=True,
        ),
        Command(
            ("evidence", "pack"),
            "what a certificate is to rest on",
            _of("evidence", "PACK_OPTIONS"),
            takes_files=True,
        ),
        Command(("evidence", "list"), "what a kit holds", takes_files=True),
        Command(("keygen",), "a key that signs certificates", _of("keygen")),
        Command(
            ("telemetry",),
            "what a run logged",
            _of("telemetry"),
            takes_files=True,
        ),
        Command(("explain",), "requirement, reason, example", operands=_topics()),
        Command(("rules",), "all rules with their clauses"),
        *_of_the_edition(),
        Command(("schema",), "a JSON Schema", operands=_schemas()),
        Command(("completion",), "completion for a shell", operands=SHELLS),
    )


SHELLS = ("bash", "zsh", "fish")


def _of(module: str, table: str = "OPTIONS") -> tuple[Option, ...]:
    found: tuple[Option, ...] = getattr(
        import_module(f"speccheck.validator.cli.{module}"), table
    )
    return found


def _benches() -> tuple[Command, ...]:
    from speccheck.validator.cli.bench import MODULES  # noqa: PLC0415 - of all commands

    takes_files = {"bench_judge"}
    of_collectives = "bench_collectives", "bench_options"
    return tuple(
        Command(
            ("bench", name),
            "measure, or find slow nodes",
            _of(of_collectives[1] if module == of_collectives[0] else module),
            operands=_collectives() if module == "bench_expect" else (),
            takes_files=module in takes_files,
        )
        for name, module in MODULES.items()
    )


def _collectives() -> Words:
    from speccheck.probes.collectives.settings import OPERATIONS  # noqa: PLC0415

    return tuple(OPERATIONS)


_RENDERING = (
    Option("--format", "markdown or html, one file", "text", "FORM"),
    Option("--out", "a file; standard output without it", "text", "FILE"),
    Option("--spec", "edition, or a folder with one", "text", "EDITION"),
)


def _of_the_edition() -> tuple[Command, ...]:
    return (
        Command(("spec", "render"), "the edition as a document", _RENDERING),
        Command(("spec", "list"), "the clauses of the edition"),
        Command(("spec", "show"), "the edition, or a clause", operands=_clauses()),
        Command(("spec", "coverage"), "which rules judge each clause"),
        Command(
            ("spec", "diff"),
            "what differs between two editions",
            operands=_editions(),
            takes_files=True,
        ),
    )


def _editions() -> Words:
    from speccheck.validator.editions.edition import editions  # noqa: PLC0415

    return editions()


def _schemas() -> Words:
    from speccheck.validator.report.published_schemas import (  # noqa: PLC0415
        own_names,
        published_names,
    )

    return (*own_names(), *published_names())


def _clauses() -> Words:
    from speccheck.validator.editions.edition import load_edition  # noqa: PLC0415

    return tuple(load_edition("1.0").clauses)


def _topics() -> Words:
    from speccheck.validator.engine.rule_index import rule_entries  # noqa: PLC0415

    return (*_clauses(), *(one.name for one in rule_entries()))


def _names() -> Words:
    from speccheck.validator.engine.rule_index import rule_entries  # noqa: PLC0415

    areas = {clause.partition("-")[0] for clause in _clauses()}
    areas.update(one.area for one in rule_entries())
    return (*sorted(areas), *_topics())


def _profiles() -> Words:
    from speccheck.validator.cli.request import USES  # noqa: PLC0415
    from speccheck.validator.editions.edition import load_edition  # noqa: PLC0415

    return (*USES, *load_edition("1.0").profiles)


def _released() -> Words:
    from speccheck.validator.editions.edition import editions  # noqa: PLC0415

    return editions()


def _fabrics() -> Words:
    begin = "fabric/"
    return tuple(
        one.removeprefix(begin) for one in _profiles() if one.startswith(begin)
    )


def _instances() -> Words:
    begin = "instance/"
    return tuple(
        one.removeprefix(begin) for one in _profiles() if one.startswith(begin)
    )


def _machines() -> Words:
    from speccheck.validator.simulation.shape import instances  # noqa: PLC0415

    return tuple(instances())


def _formats() -> Words:
    from speccheck.validator.sources.registry import Readers  # noqa: PLC0415

    return Readers().formats()


def _roles() -> Words:
    from speccheck.validator.sources.context import ROLES  # noqa: PLC0415

    return ROLES


def _uses() -> Words:
    from speccheck.validator.cli.request import USES  # noqa: PLC0415

    return USES


def _reports() -> Words:
    from speccheck.validator.report.form import NAMES  # noqa: PLC0415

    return NAMES


def _levels() -> Words:
    from speccheck.validator.cli.option_table import FAIL_ON  # noqa: PLC0415

    return FAIL_ON


_VALUES: dict[str, Callable[[], Words]] = {
    "--output": _reports,
    "--fail-on": _levels,
    "--role": _roles,
    "--use": _uses,
    "--profile": _profiles,
    "--fabric": _fabrics,
    "--instance": _instances,
    "--select": _names,
    "--ignore": _names,
    "--color": lambda: ("auto", "always", "never"),
    "--spec": _released,
    "--enforce": _released,
    "--warn": _released,
    "--tier": lambda: ("0", "1", "2", "3"),
}
_LONG = 20  # words of a list that scripts hold once
_FILE_WORDS = ("FILE", "DIR", "RESULT", "NODE.JSON", "LIST", "PLAN.YAML", "PATH")


_TEXT_OR_JSON = {("plan",), ("bench",), ("diff",), ("fleet",), ("history",)}


def values_of(command: Command, option: Option) -> Words:
    """The words that an option of a command may take; none where any text may stand."""
    if option.flag == "--format" and command.name == ("spec", "render"):
        return ("markdown", "html")
    if option.flag == "--format" and command.name[:1] != ("bench",):
        return _formats()
    if option.flag == "--output" and command.name[:1] in {
        ("plan",),
        ("bench",),
        ("diff",),
        ("telemetry",),
    }:
        return ("text", "json") if command.takes_files else _reports()
    if option.flag == "--profile" and command.name == ("simulate",):
        return _machines()
    words = _VALUES.get(option.flag)
    return words() if words else ()


def long_lists(commands: Sequence[Command]) -> dict[Words, str]:
    """Lists that many options share, with a name each: a script holds them once."""
    found: dict[Words, str] = {}
    for command in commands:
        for option in command.options:
            words = values_of(command, option)
            if len(words) >= _LONG:
                found.setdefault(words, f"__speccheck_list_{len(found) + 1}")
    return found


def takes_a_file(option: Option) -> bool:
    """Whether the value of an option is a file or a folder."""
    return option.metavar in _FILE_WORDS

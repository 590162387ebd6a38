"""`speccheck list KIND`: the names that options take, with what is known of each."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.command_options import KINDS
from speccheck.validator.cli.reports import Forms, outputs_of, write_forms
from speccheck.validator.editions.edition import (
    DEFAULT_EDITION,
    Edition,
    level_word,
    load_edition,
)
from speccheck.validator.engine.rule_index import (
    built_in_rules,
    imported_rule,
    plugin_readers,
    plugin_rules,
)
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.report.explain import rule_text
from speccheck.validator.report.listing import (
    ListRow,
    list_document,
    list_json,
    list_text,
)
from speccheck.validator.rule import Rule

_NO_ROW = 3
_GIBIBYTE = 1 << 30


def listing(line: CommandLine) -> int:
    """List the names of a kind; returns the exit code."""
    kind, *words = line.files or ("",)
    if kind not in KINDS:
        close = nearest(kind, KINDS)
        known = f"did you mean {close}?" if close else f"one of {', '.join(KINDS)}"
        message = f"list {kind}: {known}"
        raise UsageError(message)
    return _listed(line, kind, words)


def rules(line: CommandLine) -> int:
    """List the rules; returns the exit code."""
    return _listed(line, "rules", line.files)


def _listed(line: CommandLine, kind: str, words: Iterable[str]) -> int:
    document = list_document(kind, tuple(_ROWS[kind](line)), tuple(words))
    forms: Forms = {
        "text": lambda style: list_text(document, style),
        "json": lambda _: list_json(document),
    }
    write_forms(line, outputs_of(line), forms)
    return 0 if document.rows else _NO_ROW


def rules_of(line: CommandLine) -> list[Rule]:
    """Return the rules: built in, and with --plugins those of installed packages."""
    known = built_in_rules()
    if line.has("plugins"):
        known += [imported_rule(entry) for entry in plugin_rules()]
    return known


def edition_of(line: CommandLine) -> Edition:
    """Return the edition of --spec."""
    return load_edition(line.text("spec") or DEFAULT_EDITION)


def _rules(line: CommandLine) -> Iterator[ListRow]:
    edition = edition_of(line)
    for rule in rules_of(line):
        clause = edition.clauses.get(rule.clause)
        if clause is not None:
            yield ListRow(
                rule.name,
                (),
                rule_text(rule).title,
                {
                    "clause": clause.id,
                    "level": level_word(clause.level),
                    "area": rule.area,
                    "frameworks": ", ".join(rule.frameworks),
                },
            )


def _gpus(_: CommandLine) -> Iterator[ListRow]:
    from speccheck.validator.catalogue.hardware import accelerator_rows  # noqa: PLC0415

    for name, row in accelerator_rows().items():
        capability = row.compute_capability
        memory = row.memory_bytes
        yield ListRow(
            name,
            (),
            "",
            {
                "architecture": row.architecture,
                "GiB": memory and round(memory / _GIBIBYTE, 1),
                "bf16_teraflops": row.dense_teraflops.get("bf16"),
                "W": row.power_watts,
                "compute_capability": capability and "sm_{}{}".format(*capability),
            },
        )


def _instances(_: CommandLine) -> Iterator[ListRow]:
    from speccheck.validator.catalogue.hardware import (  # noqa: PLC0415
        instance_aliases,
        resolve_instance,
    )

    for name, aliases in instance_aliases().items():
        row = resolve_instance(name)
        joined = row.nvlink_domain_size  # over xGMI where the GPUs are AMD's
        yield ListRow(
            name,
            aliases,
            f"{row.gpus_per_node} x {row.accelerator.name}",
            {
                "fabric": row.fabric,
                "GB/s_of_network": row.network_gigabytes_per_second,
                "GPUs_joined_by_fast_links": joined if joined > 1 else None,
            },
        )


def _fabrics(line: CommandLine) -> Iterator[ListRow]:
    from speccheck.validator.catalogue.hardware import fabric_aliases  # noqa: PLC0415

    profiles = edition_of(line).profiles
    for name, aliases in fabric_aliases().items():
        profile = profiles.get(f"fabric/{name}")
        yield ListRow(name, aliases, profile.title if profile else "", {})


def _profiles(line: CommandLine) -> Iterator[ListRow]:
    for name, profile in edition_of(line).profiles.items():
        yield ListRow(name, (), profile.title, {})


def _formats(line: CommandLine) -> Iterator[ListRow]:
    from speccheck.validator.sources.registry import Readers  # noqa: PLC0415

    readers = Readers(plugin_readers() if line.has("plugins") else ())
    for name in readers.formats():
        reader = readers.find(name)
        if reader is not None:
            text = sys.modules[reader.read.__module__].__doc__ or ""
            yield ListRow(name, (), text.partition("\n")[0], {"role": reader.role})


def _models(_: CommandLine) -> Iterator[ListRow]:
    from speccheck.validator.catalogue.public_models import public_models  # noqa: PLC0415

    for model in public_models():
        name, *aliases = model.names
        facts = {
            "layers": model.layers,
            "hidden": model.hidden_size,
            "attention_heads": model.attention_heads,
            "billion_parameters": model.parameters and round(model.parameters / 1e9, 2),
        }
        yield ListRow(name, tuple(aliases), "", facts)


_ROWS: Mapping[str, Callable[[CommandLine], Iterator[ListRow]]] = {
    "gpus": _gpus,
    "instances": _instances,
    "fabrics": _fabrics,
    "profiles": _profiles,
    "formats": _formats,
    "models": _models,
    "rules": _rules,
}

"""Loads the key tables of the training frameworks, and what others call a key."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.accepted_values import Loader
from speccheck.validator.evidence.forks import Fork
from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    FrameworkVersion,
    KeyPolicy,
    KeyRow,
    parse_version,
)
from speccheck.validator.evidence.key_relations import KeyRelations
from speccheck.validator.evidence.record import Record

COMPILED = "synonyms"
# A shorter last part (`seed`, `tp`, `steps`) means different things here and there.
_SHORTEST = 7


def compile_synonyms(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return each plan field's key by framework, from the tables' `plan_mapping`.

    Fields that several keys state together, and sections of launchers, are omitted.
    """
    result: dict[str, dict[str, str]] = {}
    for name, table in tables.items():
        keys: dict[str, str] = {}
        for field, rows in (table.get("plan_mapping") or {}).items():
            row = rows[0] if isinstance(rows, list) else rows
            key = row.get("key") or ""
            if key and "," not in key and ":" not in key:
                keys[field] = key
        result[name] = keys
    return result


def name_elsewhere(framework: str, path: str) -> tuple[str, str] | None:
    """Return the framework that has this key, and what `framework` calls the same.

    None when no other framework has it, when it means several things, or when there is
    no name for it here.
    """
    last = _last(path)
    if len(last) < _SHORTEST:
        return None
    own = _tables().get(framework, {})
    fields = {field for field, name in _fields_of(last) if name != framework}
    here = {own[field] for field in fields if field in own}
    if len(here) != 1:
        return None
    (key,) = here
    others = sorted(name for field, name in _fields_of(last) if own.get(field) == key)
    others = [name for name in others if name != framework]
    return (" and ".join(others[:2]), key) if _last(key) != last else None


def _fields_of(last: str) -> Sequence[tuple[str, str]]:
    """Return the fields that a key of this last part states, and the framework."""
    return _by_last().get(last, ())


@cache
def _by_last() -> Mapping[str, Sequence[tuple[str, str]]]:
    result: dict[str, list[tuple[str, str]]] = {}
    for name, keys in _tables().items():
        for field, key in keys.items():
            result.setdefault(_last(key), []).append((field, name))
    return result


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    tables: Mapping[str, Mapping[str, str]] = read_compiled(COMPILED)
    return tables


def _last(key: str) -> str:
    return key.rpartition(".")[2].strip("-").replace("-", "_").lower()


__all__ = [
    "FRAMEWORK_OF_FORMAT",
    "FrameworkVersion",
    "KeyTable",
    "keys_of_format",
    "load_framework",
    "parse_version",
]


class KeyTable(Record):
    """A table, or one section of it: the part whose paths begin with `section:`."""

    framework: str
    section: str = ""


FRAMEWORK_OF_FORMAT = {
    "accelerate": KeyTable("accelerate"),
    "axolotl": KeyTable("axolotl"),
    "deepspeed": KeyTable("deepspeed"),
    "gpt-neox": KeyTable("gpt-neox"),
    "hf-model-config": KeyTable("hf-model-config"),
    "hf-trainer": KeyTable("hf-training-arguments"),
    "k8s-clustertrainingruntime": KeyTable("launchers", "TrainingRuntime"),
    "k8s-jobset": KeyTable("launchers", "JobSet"),
    "k8s-mpijob": KeyTable("launchers", "MPIJob"),
    "k8s-pytorchjob": KeyTable("launchers", "PyTorchJob"),
    "k8s-raycluster": KeyTable("launchers", "RayCluster"),
    "k8s-raycronjob": KeyTable("launchers", "RayJob"),
    "k8s-rayjob": KeyTable("launchers", "RayJob"),
    "k8s-trainingruntime": KeyTable("launchers", "TrainingRuntime"),
    "k8s-trainjob": KeyTable("launchers", "TrainJob"),
    "litgpt": KeyTable("litgpt"),
    "llamafactory": KeyTable("llamafactory"),
    "llm-foundry": KeyTable("llm-foundry"),
    "maxtext": KeyTable("maxtext"),
    "megatron-bridge": KeyTable("megatron-bridge"),
    "megatron-cli": KeyTable("megatron-lm"),
    "megatron-model-config": KeyTable("megatron-lm"),
    "nanotron": KeyTable("nanotron"),
    "nemo-automodel": KeyTable("nemo-automodel"),
    "nemo-rl": KeyTable("nemo-rl"),
    "nemo1": KeyTable("nemo1"),
    "olmo": KeyTable("olmo"),
    "olmo-core": KeyTable("olmo-core"),
    "slurm": KeyTable("launchers", "slurm"),
    "torchrun": KeyTable("launchers", "torchrun"),
    "torchtitan": KeyTable("torchtitan"),
    "torchtune": KeyTable("torchtune"),
    "verl": KeyTable("verl"),
}


def keys_of_format(format_id: str) -> FrameworkKeys | None:
    """Return the keys that a file of this format may hold.

    None where no table exists.
    """
    table = FRAMEWORK_OF_FORMAT.get(format_id)
    return load_framework(*table) if table else None


def load_framework(name: str, section: str = "") -> FrameworkKeys:
    """Return a framework's key table, or one section of it without its prefix.

    The same object each time. Raises FileNotFoundError for a name without a table.
    """
    return _load(name, section)


def _with_held(sections: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a section with the rows of others that stand below some of its own."""
    part = dict(sections[name])
    for path, text in part.get("holds", {}).items():
        held, _, beginning = text.partition(":")
        below = _with_held(sections, held)

        def placed(inner: str, path: str = path, beginning: str = beginning) -> str:
            return f"{path}.{inner.removeprefix(beginning)}"

        rows = below["keys"].items()
        moved = {placed(k): row for k, row in rows if k.startswith(beginning)}
        part["keys"] = {**moved, **part["keys"]}
        blocks = [placed(k) for k in below["blocks"] if k.startswith(beginning)]
        part["blocks"] = [*part["blocks"], *blocks]
        # deeper than what holds them
        free = [name for name in (*moved, *blocks) if "*" in name]
        part["patterns"] = [*free, *part["patterns"]]
    return part


@cache
def _load(name: str, section: str) -> FrameworkKeys:
    document = read_compiled(name)
    part = _with_held(document["sections"], section)
    policy = part["unknown_keys"]
    return FrameworkKeys(
        framework=name,
        family=document["family"],
        versions=tuple(document["versions"]),
        rows=_Rows(part["keys"]),
        blocks=frozenset(part["blocks"]),
        aliases=part["aliases"],
        patterns=part["patterns"],
        default_policy=policy["default"],
        policies=tuple(KeyPolicy(*row) for row in policy["sections"]),
        open_at_top=policy["open"],
        opened_by=tuple(policy["opened_by"]),
        settled=tuple(policy["settled"]),
        elsewhere=partial(_elsewhere, document["family"]),
        reader=section or document["family"],
        loaders={
            format_id: _loader(row)
            for format_id, row in document.get("loaders", {}).items()
        },
        relations=partial(load_relations, name, section),
        required=tuple(part["required"]),
        packages=tuple(document.get("packages", ())),
    )


def relations_name(framework: str, section: str = "") -> str:
    """Return the name of the compiled relations of a table, or of a section of it."""
    return "-".join(["relations", framework, *section.lower().split()])


@cache
def load_relations(framework: str, section: str = "") -> KeyRelations:
    """Return the relations between the keys of a table, the same object each time."""
    try:
        rows = read_compiled(relations_name(framework, section))
    except FileNotFoundError:
        return KeyRelations(())
    return KeyRelations(rows)


def forks_name(framework: str) -> str:
    """Return the name of the compiled forks of a framework."""
    return f"forks-{framework}"


@cache
def load_forks(framework: str) -> tuple[Fork, ...]:
    """Return the programs that descend from a framework, by what their parsers have."""
    rows: Sequence[Mapping[str, Any]] = read_compiled(forks_name(framework))
    return tuple(
        Fork(
            name=row["name"],
            adds=frozenset(row["adds"]),
            takes=frozenset(row["takes"]) if "takes" in row else None,
            settles={
                field: (value, because)
                for field, (value, because) in row["settles"].items()
            },
        )
        for row in rows
    )


def _loader(row: Mapping[str, Any]) -> Loader:
    """Return how a loader takes values; lists of JSON are tuples."""
    given: dict[str, Any] = {
        name: tuple(value) if type(value) is list else value
        for name, value in row.items()
    }
    return Loader(**given)


def _elsewhere(name: str, path: str) -> tuple[str, str] | None:
    return name_elsewhere(name, path)


class _Rows(Mapping[str, KeyRow]):
    """The rows of a table by path, made when they are asked for: a file needs few."""

    __slots__ = ("_raw",)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        """Take what the compiled table holds.

        A row is its type, or an object where more is known of the key.
        """
        self._raw = raw

    def __getitem__(self, path: str) -> KeyRow:
        row = self._raw[path]
        return KeyRow(path, row) if type(row) is str else KeyRow(path, **row)

    def __contains__(self, path: object) -> bool:
        return path in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

"""speccheck's own `config.yaml`: the sections of the plan, stated directly.

The keys are the leaves of validator/evidence/plan.py under their own names, so that a
job of any framework, also of one that has no reader, can be described and judged.
Nothing that is written is passed over in silence: what cannot be used is a finding.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from math import isfinite

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.framework_keys import FrameworkKeys, KeyRow
from speccheck.validator.evidence.plan import SECTIONS
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, LoadedAs
from speccheck.validator.evidence.value import KeyPath, dotted
from speccheck.validator.sources import mapping as convert
from speccheck.validator.sources.context import (
    ROLES,
    fabric_facts,
    gpu_facts,
    instance_facts,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

MARKER = "speccheck"
VERSION = 1
ENVIRONMENT = "environment"
_FEWEST_SECTIONS, _FEWEST_LEAVES = 3, 5
_SHOWN = 60  # characters of a value in a message

_DTYPES = {
    "bf16": "bf16",
    "bfloat16": "bf16",
    "fp16": "fp16",
    "float16": "fp16",
    "fp32": "fp32",
    "float32": "fp32",
}
_DEVICES = ("none", "cpu", "nvme")
# Leaves that hold one of a few words; rules compare with these.
WORDS: dict[str, tuple[str, ...]] = {
    "cluster.accelerator_family": ("nvidia", "amd", "tpu", "trainium", "gaudi"),
    "batch.mode": ("fixed", "elastic", "rampup", "dynamic"),
    "precision.compute_dtype": (*_DTYPES, "fp8"),
    "precision.parameter_dtype": (*_DTYPES, "fp8"),
    "precision.gradient_reduce_dtype": (*_DTYPES,),
    "precision.gradient_accumulate_dtype": (*_DTYPES,),
    "precision.optimizer_state_dtype": (*_DTYPES, "fp8"),
    "memory.recompute_mode": ("none", "selective", "full"),
    "memory.parameter_offload_device": _DEVICES,
    "memory.optimizer_offload_device": _DEVICES,
    "kernels.attention_backend": ("flash", "fused", "sdpa", "flex", "eager"),
    "checkpoint.format": ("sharded", "full", "local"),
    "checkpoint.interval_unit": ("steps", "epoch", "seconds", "never"),
    "run.role": ROLES,
}
EXPECTED: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    tuple[int, int]: "a compute capability such as 9.0",
    tuple[str, ...]: "a list of texts",
}
# Numbers from 0 on, but for these. Degrees below 1 are judged by a rule of their own.
_FROM_ONE = ("cluster.", "batch.", "model.")
_FROM_ZERO = ("cluster.spare_nodes", "cluster.job_mtbf_hours", "model.expert")
_ANY_NUMBER = "parallelism."


class RefusedValue(Record):
    """A value that cannot be used: what the reader sees, and what it needs."""

    loaded: str
    expected: str


def leaf_type(section: str, field: str) -> object:
    """Return the type that `Value[...]` of a leaf holds."""
    annotation = SECTIONS[section].__annotations__[field]
    return annotation.__args__[0]


def detect(document: Document) -> float:
    """Recognise it by the marker `speccheck: 1`; less surely by leaves."""
    data = document.data
    if not isinstance(data, dict):
        return 0.0
    if MARKER in data:
        return 1.0
    blocks = {key: block for key, block in data.items() if isinstance(block, dict)}
    if len(blocks) < _FEWEST_SECTIONS or not data.keys() <= {*SECTIONS, ENVIRONMENT}:
        return 0.0
    leaves = [(key, leaf) for key in blocks.keys() & SECTIONS for leaf in blocks[key]]
    ours = [1 for key, leaf in leaves if leaf in SECTIONS[key].__annotations__]
    return 0.6 if len(ours) >= max(_FEWEST_LEAVES, len(leaves) / 2) else 0.0


def read(document: Document) -> Reading:
    """Return every leaf as it stands; the catalogue knows names of hardware."""
    sheet = FactSheet.of(document)
    data = document.data if isinstance(document.data, dict) else {}
    refused: dict[KeyPath, RefusedValue] = {}
    if data.get(MARKER, VERSION) is not VERSION:
        wanted = f"{VERSION}, the version of this format"
        refused[(MARKER,)] = RefusedValue(_seen(data[MARKER]), wanted)
    for section in SECTIONS:
        block = data.get(section)
        if isinstance(block, dict):
            refused.update(_read_section(sheet, document, section, block))
        elif block is not None:
            refused[(section,)] = RefusedValue(_seen(block), "a mapping of settings")
    sheet.default("run.framework", "native", "stated in speccheck's own format")
    variables = dict(_variables(data.get(ENVIRONMENT)))
    refused.update(
        (path, variable)
        for path, variable in variables.items()
        if isinstance(variable, RefusedValue)
    )
    keyed = _keyed(document, refused)
    return Reading(
        sheet,
        keyed,
        tuple(
            Variable(str(path[-1]), variable, sheet.place(path))
            for path, variable in variables.items()
            if isinstance(variable, str)
        ),
    )


def _read_section(
    sheet: FactSheet, document: Document, section: str, block: Mapping[object, object]
) -> Iterator[tuple[KeyPath, RefusedValue]]:
    """State the leaves of one section, and give those that cannot be used."""
    known = SECTIONS[section].__annotations__
    for field, value in block.items():
        if field not in known or value is None:
            continue
        name, path = f"{section}.{field}", (section, str(field))
        placeholder = convert.placeholder(value)
        if placeholder is not None and value != "auto":
            sheet.unusable(name, placeholder.reason, path)
            continue
        converted = _converted(document, name, value, path)
        try:
            if not isinstance(converted, RefusedValue):
                _state(sheet, name, converted, path)
                continue
        except UnknownName as error:
            converted = RefusedValue(f"an {error}", f"a known {error.kind}")
        sheet.unusable(name, f"{converted.loaded} is not {converted.expected}", path)
        yield path, converted


def _state(sheet: FactSheet, name: str, value: object, path: KeyPath) -> None:
    """State a leaf; raises UnknownName for hardware that is not in the catalogue."""
    if name == "cluster.accelerator":
        gpu_facts(sheet, str(value), sheet.place(path))
    elif name == "cluster.instance_type":
        instance_facts(sheet, str(value), sheet.place(path))
    elif name == "cluster.fabric":
        fabric_facts(sheet, str(value), sheet.place(path))
    else:
        sheet.state(name, value, path)


def _converted(document: Document, name: str, value: object, path: KeyPath) -> object:
    """Return the value in the type of its leaf, or what is wrong with it."""
    section, _, field = name.partition(".")
    kind = leaf_type(section, field)
    refused = RefusedValue(_seen(value), _expected(name, kind))
    if kind is bool:
        return value if isinstance(value, bool) else refused
    if kind is int or kind is float:
        return _number(name, kind, value, refused)
    if kind == tuple[str, ...]:
        is_fine = isinstance(value, list) and all(
            isinstance(item, str) for item in value
        )
        return tuple(value) if is_fine and isinstance(value, list) else refused
    if isinstance(value, bool | list | dict):
        return refused
    # What YAML took for a number or a date is a text here: 2.20 stays 2.20.
    raw = None if isinstance(value, str) else document.raw(path)
    return _word(name, kind, raw.text if raw is not None else str(value)) or refused


def _word(name: str, kind: object, text: str) -> object:
    """Return a text, a word of those that a leaf may hold, a capability; else None."""
    if kind is not str:
        return _capability(text)
    word = _DTYPES.get(text.lower(), text) if name.endswith("_dtype") else text
    return word if word and word in WORDS.get(name, (word,)) else None


def value_of_text(name: str, text: str) -> object:
    """Return the value that a text gives a leaf, in its type, or what is wrong.

    For command lines: a list is written with `+` between its items.
    """
    section, _, field = name.partition(".")
    kind = leaf_type(section, field)
    refused = RefusedValue(_seen(text), _expected(name, kind))
    if kind is bool:
        result = convert.boolean(text)
        return result if isinstance(result, bool) else refused
    if kind is int or kind is float:
        number = convert.parse_number(text)
        return refused if number is None else _number(name, kind, number, refused)
    if kind == tuple[str, ...]:
        return tuple(text.split("+")) if text else refused
    return _word(name, kind, text) or refused


def _number(name: str, kind: object, value: object, refused: RefusedValue) -> object:
    """Return a number; `2e-5` and `7e9`, texts in YAML 1.1, are numbers here."""
    if isinstance(value, str) and "e" in value.lower():
        value = convert.parse_number(value)
    result = convert.integer(value) if kind is int else convert.number(value)
    if not isinstance(result, int | float) or isinstance(value, str):
        return refused
    least = _least(name)
    return (
        result if isfinite(result) and (least is None or result >= least) else refused
    )


def _capability(text: str) -> tuple[int, int] | None:
    """Return `9.0`, as NVIDIA writes compute capabilities, as two numbers."""
    major, dot, minor = text.partition(".")
    if dot and major.isdecimal() and minor.isdecimal():
        return int(major), int(minor)
    return None


def _least(name: str) -> int | None:
    """Return the smallest number that makes sense; None where a rule says so."""
    if name.startswith(_ANY_NUMBER):
        return None
    return 1 if name.startswith(_FROM_ONE) and not name.startswith(_FROM_ZERO) else 0


def _expected(name: str, kind: object) -> str:
    if name in WORDS:
        return f"one of {', '.join(WORDS[name])}"
    least = _least(name)
    is_bounded = (kind is int or kind is float) and least is not None
    return f"{EXPECTED[kind]} from {least} on" if is_bounded else EXPECTED[kind]


def _seen(value: object) -> str:
    """Return a value as the loader gives it, in words."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, int | float):
        return f"the number {value}"
    return f"the text {str(value)!r:.{_SHOWN}}"


def _variables(block: object) -> Iterator[tuple[KeyPath, str | RefusedValue]]:
    """Return the variables of the job; numbers and switches are written as texts."""
    if block is None:
        return
    if not isinstance(block, dict):
        yield (ENVIRONMENT,), RefusedValue(_seen(block), "a mapping of names to values")
        return
    for name, value in block.items():
        path = (ENVIRONMENT, str(name))
        text = convert.text(value)
        if isinstance(text, str):
            yield path, text
        elif isinstance(value, dict | list):
            yield path, RefusedValue(_seen(value), "a text")


@cache
def native_keys() -> FrameworkKeys:
    """Return the keys of this format; any other is refused, as a typo is silent."""
    names = {MARKER: KeyRow(MARKER, "int"), f"{ENVIRONMENT}.*": KeyRow("", "any")}
    for section, kind in SECTIONS.items():
        for field in kind.__annotations__:
            name = f"{section}.{field}"
            names[name] = KeyRow(name, choices=WORDS.get(name, ()))
    return FrameworkKeys(
        framework="speccheck's config.yaml",
        family="native",
        versions=("1",),
        rows=names,
        blocks=frozenset({*SECTIONS, ENVIRONMENT}),
        aliases={},
        patterns=(f"{ENVIRONMENT}.*",),
        default_policy="reject",
        reader="native",
    )


def _keyed(document: Document, refused: Mapping[KeyPath, RefusedValue]) -> KeyedFile:
    keyed = keyed_file(document, "native", native_keys())
    sheet = FactSheet.of(document)
    loaded_values: list[LoadedAs] = []
    for path, (loaded, expected) in refused.items():
        raw, place = document.raw(path), sheet.place(path)
        written = loaded if raw is None else raw.text[:_SHOWN]
        if raw is not None and raw.quoted:
            written = f'"{written}"'
        loaded_as = LoadedAs(dotted(path), written, loaded, expected, place, fatal=True)
        loaded_values.append(loaded_as)
    return keyed._replace(loaded_as=tuple(loaded_values))


# `model` and `data` alone say nothing: half of the other formats have them.
_KEYS = (MARKER, *sorted({*SECTIONS} - {"data", "model"}))
READER = Reader("native", "config", detect, read, keys=_KEYS)

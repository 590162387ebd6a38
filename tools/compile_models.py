"""Compiles the catalogue of models: a table with sources to JSON."""

import csv
from collections.abc import Iterable, Iterator
from typing import Any

_NUMBERS = {
    "layers": "layers",
    "hidden": "hidden_size",
    "ffn": "feed_forward_size",
    "heads": "attention_heads",
    "kv_heads": "key_value_heads",
    "head_dim": "head_dimension",
    "vocab": "vocabulary_size",
    "max_positions": "maximum_positions",
    "experts": "experts",
    "experts_per_token": "experts_per_token",
    "expert_ffn": "expert_feed_forward_size",
    "parameters": "parameters",
}
_SWITCHES = {"tied_embeddings": "tied_embeddings", "gated_mlp": "gated_feed_forward"}
_TEXTS = {"attention": "attention", "layer_class": "layer_class"}
_CONFIDENCES = frozenset({"verified", "secondary", "derived"})
Row = dict[str, str]


def compile_models(lines: Iterable[str]) -> list[dict[str, Any]]:
    """Return each shape with its names; raises ValueError for a row that is malformed.

    Copies and fine-tunes of a model share its shape.
    """
    shapes: dict[str, dict[str, Any]] = {}
    of_name: dict[str, str] = {}
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        shape = dict(_shape(row))
        text = repr(sorted(shape.items()))
        names = shapes.setdefault(text, shape | {"names": []})["names"]
        for name in (row["name"], *filter(None, row["aliases"].split(";"))):
            first = of_name.setdefault(name.lower(), text)
            _demand(row, first == text, f"{name} stands twice, with two shapes")
            names.append(name)
    return list(shapes.values())


def _shape(row: Row) -> Iterator[tuple[str, object]]:
    _demand(row, bool(row["source"]), "names no source")
    _demand(row, row["confidence"] in _CONFIDENCES, f"confidence {row['confidence']}")
    for column, field in _NUMBERS.items():
        if row[column]:
            number = row[column]
            _demand(row, number.isdigit() and int(number) > 0, f"{column} {number}")
            yield field, int(number)
    for column, field in _SWITCHES.items():
        if row[column]:
            _demand(row, row[column] in {"yes", "no"}, f"{column} {row[column]}")
            yield field, row[column] == "yes"
    for column, field in _TEXTS.items():
        if row[column]:
            yield field, row[column]
    heads, local = row["heads"], row["kv_heads"]
    is_even = not heads or not local or int(heads) % int(local) == 0
    _demand(row, is_even, f"{local} key-value heads do not divide {heads}")


def _demand(row: Row, holds: bool, reason: str) -> None:  # noqa: FBT001 - a condition
    if not holds:
        message = f"{row['name']}: {reason}"
        raise ValueError(message)

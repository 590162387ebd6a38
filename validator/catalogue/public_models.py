"""Public models by the names that files use: their dimensions and parameters.

schemas/catalogues/models/models.tsv has the rows, each with its source. A name of a hub
is `organisation/model`; what a framework calls its own stands behind its prefix, as in
`torchtune:llama3_1_8b`. Copies under another organisation or in a folder have the shape
of the model whose name they bear, where all models of that name have one shape.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.record import Record

# Frameworks with names of their own, by run.framework.
_PREFIXES = {
    "litgpt": "litgpt",
    "maxtext": "maxtext",
    "megatron-bridge": "megatron-bridge",
    "olmo-core": "olmo-core",
    "torchtitan": "torchtitan",
    "torchtune": "torchtune",
}
# What frameworks put around the name of a shape, by their prefix.
_ADAPTERS = ("qlora_", "lora_")
_ENDINGS = (
    "_instruct",
    "-instruct",
    "_base",
    "_flex",
    "_flex_attn",
    "_varlen",
    "_varlen_attn",
)
_UNUSUAL = ("mla", "hybrid", "ssm", "sparse-index")


class PublicModel(Record):
    """The shape of a public model; None where its source does not say.

    Attributes:
        attention: mha, gqa, mla, hybrid or ssm, perhaps with `sliding/` in front.
        layer_class: the class of its blocks; several are parted by `;`.
        feed_forward_size: of dense layers.
        parameters: of the language model; counted, never a rounded figure.

    """

    attention: str = ""
    layer_class: str = ""
    layers: int | None = None
    hidden_size: int | None = None
    feed_forward_size: int | None = None
    attention_heads: int | None = None
    key_value_heads: int | None = None
    head_dimension: int | None = None
    vocabulary_size: int | None = None
    maximum_positions: int | None = None
    tied_embeddings: bool | None = None
    gated_feed_forward: bool | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    expert_feed_forward_size: int | None = None
    parameters: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether all layers hold attention whose heads say how it is built."""
        return not any(word in self.attention for word in _UNUSUAL)

    @property
    def family(self) -> Literal["transformer"] | None:
        """The family of the model; None for one with layers of other kinds."""
        is_mixed = any(word in self.attention for word in ("hybrid", "ssm"))
        return None if is_mixed or not self.attention else "transformer"


class KnownModel(Record):
    """A shape, and by which name it was looked up."""

    shape: PublicModel
    name: str


@cache
def _catalogue() -> tuple[Mapping[str, int], list[dict[str, Any]]]:
    compiled = read_compiled("models")
    return compiled["names"], compiled["shapes"]


@cache
def _last_parts() -> Mapping[str, frozenset[int]]:
    """Return the rows by the last part of the names of hubs."""
    parts: dict[str, set[int]] = {}
    for name, row in _catalogue()[0].items():
        if ":" not in name:
            parts.setdefault(name.rpartition("/")[2], set()).add(row)
    return {name: frozenset(rows) for name, rows in parts.items()}


def known_model(name: str, framework: str = "") -> KnownModel | None:
    """Return the public model that a name in a file means; None where none surely."""
    names, shapes = _catalogue()
    prefix = _PREFIXES.get(framework)
    text = name.strip().rstrip("/").lower()
    if prefix is not None:
        for candidate in _own_names(text.replace(" ", "/", 1)):
            row = names.get(f"{prefix}:{candidate}")
            if row is not None:
                return KnownModel(PublicModel(**shapes[row]), candidate)
    if text in names:
        return KnownModel(PublicModel(**shapes[names[text]]), name)
    last = text.rpartition("/")[2]
    if last == text:  # a bare word is a model of a framework, or anything
        return None
    rows = _last_parts().get(last, frozenset())
    if len(rows) != 1:
        return None
    return KnownModel(PublicModel(**shapes[min(rows)]), last)


def _own_names(text: str) -> Iterator[str]:
    """Yield a name of a framework as written, then without what it puts around it."""
    yield text
    for adapter in _ADAPTERS:
        text = text.removeprefix(adapter)
    yield text
    for ending in sorted(_ENDINGS, key=len, reverse=True):
        if text.endswith(ending):
            yield text.removesuffix(ending)

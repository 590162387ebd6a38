"""Public models by the names that files use: their dimensions and parameters.

schemas/catalogues/models/models.tsv has the rows, each with its source. A name of a hub
is `organisation/model`; what a framework calls its own stands behind its prefix, as in
`torchtune:llama3_1_8b`. Copies under another organisation or in a folder have the shape
of the model whose name they bear, where all models of that name have one shape.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

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
_CONVERTED = "-mcore"  # weights of the same model in the layout of Megatron-Core
_UNUSUAL = ("mla", "hybrid", "ssm", "sparse-index")


class PublicModel(Record):
    """The shape of a public model; None where its source does not say.

    Attributes:
        names: as its files and copies are called.
        attention: mha, gqa, mla, hybrid or ssm, perhaps with `sliding/` in front.
        layer_class: the class of its blocks; several are parted by `;`.
        feed_forward_size: of dense layers.
        parameters: of the language model; counted, never a rounded figure.

    """

    names: tuple[str, ...] = ()
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
def public_models() -> tuple[PublicModel, ...]:
    """Return all models, in the order of their names."""
    return tuple(PublicModel(**row) for row in read_compiled("models"))


@cache
def _by_name() -> Mapping[str, PublicModel]:
    return {name.lower(): model for model in public_models() for name in model.names}


@cache
def _by_last_part() -> Mapping[str, PublicModel | None]:
    """Return models by the last part of the names of hubs; None where several fit."""
    models: dict[str, PublicModel | None] = {}
    for name, model in _by_name().items():
        if ":" not in name:
            last = name.rpartition("/")[2]
            models[last] = model if models.get(last, model) is model else None
    return models


def known_model(name: str, framework: str = "") -> KnownModel | None:
    """Return the public model that a name in a file means; None where none surely."""
    models, prefix = _by_name(), _PREFIXES.get(framework)
    text = name.strip().rstrip("/").lower()
    if prefix is not None:
        for candidate in _own_names(text.replace(" ", "/", 1)):
            model = models.get(f"{prefix}:{candidate}")
            if model is not None:
                return KnownModel(model, candidate)
    if text in models:
        return KnownModel(models[text], name)
    last = text.rpartition("/")[2]
    if last == text:  # a bare word is a model of a framework, or anything
        return None
    for candidate in (last, last.removesuffix(_CONVERTED)):
        model = _by_last_part().get(candidate)
        if model is not None:
            return KnownModel(model, candidate)
    return None


def _own_names(text: str) -> Iterator[str]:
    """Yield a name of a framework as written, then without what it puts around it."""
    yield text
    for adapter in _ADAPTERS:
        text = text.removeprefix(adapter)
    yield text
    for ending in sorted(_ENDINGS, key=len, reverse=True):
        if text.endswith(ending):
            yield text.removesuffix(ending)

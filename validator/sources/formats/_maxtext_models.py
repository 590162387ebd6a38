"""The dimensions of well-known models of MaxText, for recipes without the model's file.

Source: maxtext/configs/models/*.yml, the same from 0.1.0 to 0.2.5. A file beside the
recipe says more, and wins.
"""

from speccheck.validator.sources.mapping import add_defaults
from speccheck.validator.sources.reader import Fact, FactSheet

_LLAMA2 = 32_000
_LLAMA3 = 128_256
_LEAVES = (
    "model.hidden_size",
    "model.layers",
    "model.attention_heads",
    "model.key_value_heads",
    "model.head_dimension",
    "model.feed_forward_size",
    "model.vocabulary_size",
    "model.tied_embeddings",
    "model.gated_feed_forward",
)
_8B = (4096, 32, 32, 8, 128, 14336, _LLAMA3)
_70B = (8192, 80, 64, 8, 128, 28672, _LLAMA3)
_405B = (16384, 126, 128, 8, 128, 53248, _LLAMA3)
# hidden, layers, heads, key-value heads, head dimension, feed-forward, vocabulary; all
# with gates, and with embeddings of their own at the output.
_DIMENSIONS = {
    "llama2-7b": (4096, 32, 32, 32, 128, 11008, _LLAMA2),
    "llama2-13b": (5120, 40, 40, 40, 128, 13824, _LLAMA2),
    "llama2-70b": (8192, 80, 64, 8, 128, 28672, _LLAMA2),
    "llama3-8b": _8B,
    "llama3-70b": _70B,
    "llama3.1-8b": _8B,
    "llama3.1-70b": _70B,
    "llama3.1-405b": _405B,
    "llama3.3-70b": _70B,
    "mistral-7b": (4096, 32, 32, 8, 128, 14336, _LLAMA2),
}


def add_dimensions(sheet: FactSheet, model_name: object) -> None:
    """Add what the name of a model says, where the sheet does not say it."""
    name = str(model_name).replace("-Instruct", "")
    dimensions = _DIMENSIONS.get(name)
    if dimensions is None:
        return
    note = f"the model {name} of MaxText"
    place = sheet.place(("model_name",))
    values = (*dimensions, False, True)
    add_defaults(
        sheet,
        [
            Fact(leaf, value, "default", (place,), note)
            for leaf, value in zip(_LEAVES, values, strict=True)
        ],
    )

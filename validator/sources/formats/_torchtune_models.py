"""The dimensions that the model builders of torchtune give.

Source: torchtune/models/*/_model_builders.py at 0.6.1 and bd2a0fc7c. A builder of the
same name with `lora_` or `qlora_` in front has the same dimensions.
"""

from speccheck.validator.sources.mapping import derive_switch
from speccheck.validator.sources.reader import FactSheet

_AT = ("model", "_component_")
_LLAMA2, _LLAMA3, _QWEN, _QWEN_LARGE, _GEMMA = (
    32_000,
    128_256,
    151_936,
    152_064,
    256_000,
)
_LEAVES = (
    "model.hidden_size",
    "model.layers",
    "model.attention_heads",
    "model.key_value_heads",
    "model.head_dimension",
    "model.feed_forward_size",
    "model.vocabulary_size",
    "model.tied_embeddings",
)
_8B = (4096, 32, 32, 8, 128, 14336, _LLAMA3, False)
_70B = (8192, 80, 64, 8, 128, 28672, _LLAMA3, False)
_405B = (16384, 126, 128, 8, 128, 53248, _LLAMA3, False)
_QWEN_HALF = (896, 24, 14, 2, 64, 4864, _QWEN, True)
_QWEN_1_5B = (1536, 28, 12, 2, 128, 8960, _QWEN, True)
_QWEN_7B = (3584, 28, 28, 4, 128, 18944, _QWEN_LARGE, False)
# hidden, layers, heads, key-value heads, head dimension, feed-forward, vocabulary,
# tied embeddings
_BUILDERS = {
    "llama2_7b": (4096, 32, 32, 32, 128, 11008, _LLAMA2, False),
    "llama2_13b": (5120, 40, 40, 40, 128, 13824, _LLAMA2, False),
    "llama2_70b": (8192, 80, 64, 8, 128, 28672, _LLAMA2, False),
    "llama3_8b": _8B,
    "llama3_70b": _70B,
    "llama3_1_8b": _8B,
    "llama3_1_70b": _70B,
    "llama3_1_405b": _405B,
    "llama3_2_1b": (2048, 16, 32, 8, 64, 8192, _LLAMA3, True),
    "llama3_2_3b": (3072, 28, 24, 8, 128, 8192, _LLAMA3, True),
    "llama3_3_70b": _70B,
    "mistral_7b": (4096, 32, 32, 8, 128, 14336, _LLAMA2, False),
    "gemma_2b": (2048, 18, 8, 1, 256, 16384, _GEMMA, True),
    "gemma_7b": (3072, 28, 16, 16, 256, 24576, _GEMMA, True),
    "gemma2_27b": (4608, 46, 32, 16, 128, 36864, _GEMMA, True),
    "phi3_mini": (3072, 32, 32, 32, 96, 8192, 32_064, False),
    "qwen2_0_5b": _QWEN_HALF,
    "qwen2_1_5b": _QWEN_1_5B,
    "qwen2_7b": _QWEN_7B,
    "qwen2_5_0_5b": _QWEN_HALF,
    "qwen2_5_1_5b": _QWEN_1_5B,
    "qwen2_5_3b": (2048, 36, 16, 2, 128, 11008, _QWEN, True),
    "qwen2_5_7b": _QWEN_7B,
    "qwen2_5_14b": (5120, 48, 40, 8, 128, 13824, _QWEN_LARGE, False),
    "qwen2_5_32b": (5120, 64, 40, 8, 128, 27648, _QWEN_LARGE, False),
    "qwen2_5_72b": (8192, 80, 64, 8, 128, 29568, _QWEN_LARGE, False),
    "qwen3_0_6b": (1024, 28, 16, 8, 128, 3072, _QWEN, True),
    "qwen3_1_7b": (2048, 28, 16, 8, 128, 6144, _QWEN, True),
    "qwen3_4b": (2560, 36, 32, 8, 128, 9728, _QWEN, True),
    "qwen3_8b": (4096, 36, 32, 8, 128, 12288, _QWEN, False),
    "qwen3_14b": (5120, 40, 40, 8, 128, 17408, _QWEN, False),
    "qwen3_32b": (5120, 64, 64, 8, 128, 25600, _QWEN, False),
}
_ENDINGS = ("_instruct", "_base")


def state_builder(sheet: FactSheet, component: str) -> None:
    """State the dimensions of a builder that is known, and its name."""
    builder = component.rpartition(".")[2]
    sheet.derive("model.name_of_model", builder, "the builder of the model", _AT)
    name = builder.removeprefix("q").removeprefix("lora_") if "lora_" in builder else ""
    name = name or builder
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    dimensions = _BUILDERS.get(name)
    if dimensions is None:
        return
    note = f"torchtune builds {name} so"
    for leaf, value in zip(_LEAVES, dimensions, strict=True):
        sheet.derive(leaf, value, note, _AT)
    derive_switch(sheet, "model.gated_feed_forward", note, _AT)

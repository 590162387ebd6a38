"""The `config.json` beside the weights of a transformers model: its dimensions."""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.mapping import (
    add_defaults,
    boolean,
    fixed_defaults,
    integer,
    lower_text,
    put,
    section,
    text,
    weak_default,
)
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reader,
    Reading,
    keyed_file,
)

_FORMAT = "hf-model-config"
# The names that model classes give to one dimension; the first one stated counts.
_NAMES = {
    "model.layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "model.hidden_size": ("hidden_size", "n_embd", "d_model"),
    "model.feed_forward_size": (
        "intermediate_size",
        "ffn_dim",
        "n_inner",
        "ffn_hidden_size",
        "d_ff",
    ),
    "model.attention_heads": ("num_attention_heads", "n_head", "num_heads", "n_heads"),
    "model.key_value_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv"),
    "model.head_dimension": ("head_dim", "d_kv"),
    "model.vocabulary_size": ("vocab_size",),
    "model.maximum_positions": ("max_position_embeddings", "n_positions", "n_ctx"),
    "model.experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "model.experts_per_token": ("num_experts_per_tok", "num_experts_per_token"),
    "model.expert_feed_forward_size": ("moe_intermediate_size",),
}
_LAYER_NAMES = frozenset(_NAMES["model.layers"])
_WIDTH_NAMES = frozenset(_NAMES["model.hidden_size"])
_ACTIVATIONS = (
    "hidden_act",
    "hidden_activation",
    "activation_function",
    "feed_forward_proj",
)
# Two input matrices with these, in every class of transformers that names them so.
_GATED = frozenset({"silu", "swish", "swiglu", "geglu", "gated-gelu", "gated-silu"})
# Gated in these classes although the name of the activation does not say it.
_GATED_CLASSES = ("gemma", "paligemma", "recurrent_gemma")
_PLAIN = frozenset({"relu", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"})
_STATE_SPACE = frozenset({"mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm"})
_HYBRID = frozenset(
    {
        "bamba",
        "falcon_h1",
        "granitemoehybrid",
        "jamba",
        "nemotron_h",
        "recurrent_gemma",
        "zamba",
        "zamba2",
    }
)
_CONVOLUTION = frozenset({"convnext", "convnextv2", "efficientnet", "resnet", "regnet"})
_INNER_FACTOR = 4
_FOREIGN_KEYS = frozenset({"base_model", "model_name_or_path", "zero_optimization"})


def detect(document: Document) -> float:
    """Recognise the format by the class of the model and its depth and width."""
    data = section(document.data)
    is_named = "architectures" in data or "model_type" in data
    if not is_named or not _FOREIGN_KEYS.isdisjoint(data):
        return 0.0
    has_dimensions = any(
        not _LAYER_NAMES.isdisjoint(block) and not _WIDTH_NAMES.isdisjoint(block)
        for block in (data, section(data, "text_config"))
    )
    if not has_dimensions:
        return 0.0
    return 0.95 if isinstance(data.get("architectures"), list) else 0.8


def read(document: Document) -> Reading:
    """Return the dimensions, of the language model where there are several models."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    inner = section(data, "text_config")
    nested = not _LAYER_NAMES.isdisjoint(inner)
    block, at = (inner, ("text_config",)) if nested else (data, ())
    for leaf, names in _NAMES.items():
        key = next((name for name in names if block.get(name) is not None), None)
        if key is not None:
            put(sheet, leaf, integer(block[key]), (*at, key))
    _key_value_heads(sheet, block, at)
    _feed_forward(sheet, block, at)
    tied = data.get("tie_word_embeddings")
    if tied is not None:
        put(sheet, "model.tied_embeddings", boolean(tied), ("tie_word_embeddings",))
    _identity(sheet, data)
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _key_value_heads(
    sheet: FactSheet, block: Mapping[str, object], at: tuple[str, ...]
) -> None:
    heads = _fact(sheet, "model.attention_heads")
    if block.get("multi_query") is True and not block.get("new_decoder_architecture"):
        note = "multi_query: one head for all"
        sheet.derive("model.key_value_heads", 1, note, (*at, "multi_query"))
    elif heads is not None and heads.value is not None:
        note = "num_key_value_heads is not set: one for each attention head"
        add_defaults(
            sheet, fixed_defaults(note, {"model.key_value_heads": heads.value})
        )


def _fact(sheet: FactSheet, leaf: str) -> Fact | None:
    return next((fact for fact in sheet.facts if fact.name == leaf), None)


def _feed_forward(
    sheet: FactSheet, block: Mapping[str, object], at: tuple[str, ...]
) -> None:
    width = block.get("n_embd")
    if isinstance(width, int) and block.get("n_inner") is None:
        note = f"n_inner is not set: {_INNER_FACTOR} x {width:,}"
        defaults = {"model.feed_forward_size": _INNER_FACTOR * width}
        add_defaults(sheet, fixed_defaults(note, defaults))
    key = next((name for name in _ACTIVATIONS if block.get(name) is not None), None)
    if key is None:
        return
    word = lower_text(block[key])
    is_gated = word in _GATED or str(block.get("model_type")).startswith(_GATED_CLASSES)
    if is_gated or word in _PLAIN:
        note = f"{key}: {word}"
        sheet.derive("model.gated_feed_forward", is_gated, note, (*at, key))


def _identity(sheet: FactSheet, data: Mapping[str, object]) -> None:
    kind = str(data.get("model_type"))
    # Where it was saved, or only a class: a file that names the model says more.
    for key in ("_name_or_path", "model_type"):
        name = text(data.get(key))
        if isinstance(name, str) and name:
            weak_default(sheet, "model.name_of_model", name, key, (key,))
            break
    if kind in _STATE_SPACE:
        family = "ssm"
    elif kind in _HYBRID:
        family = "other"
    elif kind in _CONVOLUTION:
        family = "cnn"
    elif _fact(sheet, "model.attention_heads") is not None:
        family = "transformer"
    else:
        return
    at = ("model_type",) if "model_type" in data else ("architectures",)
    sheet.derive("model.family", family, f"model_type: {kind}", at)


READER = Reader(_FORMAT, "model", detect, read, keys=("architectures", "model_type"))

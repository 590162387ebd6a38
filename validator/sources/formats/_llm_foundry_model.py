"""How LLM Foundry shards a model, in which number formats, and what it is like.

Sources: as in `_llm_foundry`; llmfoundry/models/mpt/configuration_mpt.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._huggingface import DTYPES, SHARDING_STAGES
from speccheck.validator.sources.mapping import (
    add_defaults,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    number,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

_PRECISIONS = {
    "fp32": "fp32",
    "amp_bf16": "bf16",
    "amp_fp16": "fp16",
    "amp_fp8": "bf16",
}
_GATED = frozenset({"mptglu", "mptgeglu"})
_PLAIN = frozenset({"mptmlp"})
_SECOND_VERSION = ("device_mesh", "reshard_after_forward")  # FSDP2


def state_engine(sheet: FactSheet, data: Settings) -> None:
    """State the sharding and the number formats."""
    _sharding(sheet, data)
    _precision(sheet, data)


def _sharding(sheet: FactSheet, data: Settings) -> None:
    block = data.get("fsdp_config")
    if "tp_config" not in data:
        note = "tp_config is not set"
        sheet.default("parallelism.tensor_parallel_size", 1, note)
    if not isinstance(block, dict):
        note = "fsdp_config is not set: DDP"
        sheet.default("parallelism.engine", "ddp", note)
        sheet.default("parallelism.sharding_stage", 0, note)
        return
    at: KeyPath = ("fsdp_config",)
    second = next((key for key in _SECOND_VERSION if key in block), None)
    note = f"{second}: FSDP2" if second else "fsdp_config: FSDP1"
    engine = "fsdp2" if second else "fsdp1"
    sheet.derive("parallelism.engine", engine, note, at)
    leaf = "parallelism.sharding_stage"
    word = block.get("sharding_strategy")
    if word is None and not second:
        sheet.default(leaf, 3, "sharding_strategy is not set: FULL_SHARD")
    elif isinstance(word, str) and word.lower() in SHARDING_STAGES:
        stage = SHARDING_STAGES[word.lower()]
        sheet.derive(leaf, stage, word, (*at, "sharding_strategy"))
    if boolean(block.get("cpu_offload")) is True:
        place = (*at, "cpu_offload")
        sheet.derive("memory.optimizer_offload_device", "cpu", "cpu_offload", place)


def _precision(sheet: FactSheet, data: Settings) -> None:
    stated = data.get("precision")
    at: KeyPath = ("precision",)
    if stated is None:
        return
    dtype = _PRECISIONS.get(stated.lower()) if isinstance(stated, str) else None
    if dtype is None:
        reason = f"{stated!r:.60} is none of {', '.join(_PRECISIONS)}"
        sheet.unusable("precision.compute_dtype", reason, at)
        return
    note = str(stated)
    sheet.derive("precision.compute_dtype", dtype, note, at)
    for name in ("bf16", "fp16"):
        derive_switch(sheet, f"precision.{name}", note, at, is_on=name == dtype)
    is_fp8 = note.lower() == "amp_fp8"
    derive_switch(sheet, "precision.fp8", note, at, is_on=is_fp8)
    _reduction(sheet, section(data, "fsdp_config").get("mixed_precision"), dtype)


def _reduction(sheet: FactSheet, stated: object, dtype: str) -> None:
    """The dtype in which FSDP reduces gradients.

    DEFAULT was the half precision in older releases of composer and fp32 in newer ones
    (composer/distributed/shared_utils.py, get_mixed_precision).
    """
    leaf = "precision.gradient_reduce_dtype"
    at: KeyPath = ("fsdp_config", "mixed_precision")
    if isinstance(stated, dict):
        reduced = DTYPES.get(str(stated.get("reduce_dtype")))
        if reduced is not None:
            sheet.derive(leaf, reduced, "reduce_dtype", (*at, "reduce_dtype"))
    elif isinstance(stated, str) and stated.upper() == "PURE":
        sheet.derive(leaf, dtype, f"PURE: as precision, {dtype}", at)
    elif isinstance(stated, str) and stated.upper() == "FULL":
        sheet.derive(leaf, "fp32", "FULL", at)
    elif isinstance(stated, str):
        sheet.unusable(leaf, f"{stated}: releases of composer differ", at)


def state_model(sheet: FactSheet, block: Settings) -> None:
    """State the adapter of any model, and the dimensions of MPT."""
    at: KeyPath = ("model", "name")
    peft = section(block, "peft_config").get("peft_type")
    if isinstance(peft, str):
        place = ("model", "peft_config", "peft_type")
        sheet.state("model.adapter", peft.lower(), place)
    else:
        note = "no peft_config: all weights are trained"
        sheet.default("model.adapter", "none", note)
    weights = DTYPES.get(str(block.get("master_weights_dtype")))
    leaf = "precision.parameter_dtype"
    if weights is not None:
        key = "master_weights_dtype"
        sheet.derive(leaf, weights, key, ("model", key))
    if block.get("name") != "mpt_causal_lm":
        return
    sheet.derive("model.name_of_model", "mpt", "mpt_causal_lm", at)
    sheet.derive("model.family", "transformer", "mpt_causal_lm", at)
    note = "MPT's default"
    if weights is None:
        sheet.default(leaf, "fp32", f"{note}: weights in fp32")
    add_defaults(sheet, fixed_defaults(note, {"model.tied_embeddings": True}))
    kind = section(block, "ffn_config").get("ffn_type", "mptmlp")
    if isinstance(kind, str) and kind in _PLAIN | _GATED:
        leaf = "model.gated_feed_forward"
        sheet.default(leaf, kind in _GATED, f"ffn_type {kind}")
    _feed_forward(sheet, block)
    _heads(sheet, block)


def _feed_forward(sheet: FactSheet, block: Settings) -> None:
    leaf = "model.feed_forward_size"
    width, ratio = integer(block.get("d_model")), number(block.get("expansion_ratio"))
    if any(fact.name == leaf for fact in sheet.facts):
        return
    if isinstance(width, int) and isinstance(ratio, float):
        note = f"{ratio:g} x {width:,}"
        at = ("model", "expansion_ratio")
        sheet.derive(leaf, int(ratio * width), note, at)


def _heads(sheet: FactSheet, block: Settings) -> None:
    """Without groups each head has keys and values of its own."""
    heads, attention = integer(block.get("n_heads")), section(block, "attn_config")
    kind = attention.get("attn_type", "multihead_attention")
    is_plain = kind == "multihead_attention" and attention.get("kv_n_heads") is None
    if isinstance(heads, int) and is_plain:
        sheet.default("model.key_value_heads", heads, str(kind))

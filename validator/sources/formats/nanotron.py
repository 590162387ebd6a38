"""nanotron's YAML file.

Loaded by PyYAML and converted by dacite, which refuses a text where its dataclasses
want a number (src/nanotron/config/config.py, get_config_from_dict). Keys and defaults:
schemas/catalogues/frameworks/nanotron.yaml.
"""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._nanotron import state_job
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    integer,
    lower_text,
    mebibytes,
    number,
    one_of,
    placeholder,
    section,
    tabulated_defaults,
    text,
    texts_for_values,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "nanotron"
_DEGREES = frozenset({"dp", "pp", "tp"})
_TOKENS = frozenset(
    {
        "batch_accumulation_per_replica",
        "micro_batch_size",
        "sequence_length",
        "train_steps",
    }
)


def _number(value: object) -> object:
    """A number; dacite refuses a text."""
    if isinstance(value, str):
        return placeholder(value) or Unusable(f"the text {value!r:.60}: refused")
    return number(value)


_MODE = one_of({"all_reduce": False, "reduce_scatter": True})
_DTYPE = one_of(
    {
        "bfloat16": "bf16",
        "float16": "fp16",
        "float32": "fp32",
        "bf16": "bf16",
        "fp16": "fp16",
        "fp32": "fp32",
    }
)
_ATTENTION = one_of(
    {
        "flash_attention_2": "flash",
        "llama3_ring_attention": "flash",
        "ring": "flash",
        "ring_flash_triton": "flash",
        "sdpa": "sdpa",
        "flex_attention": "flex",
        "eager": "eager",
    }
)
_ADAM: Fields = {
    "adam_beta1": ("optimizer.beta1", _number),
    "adam_beta2": ("optimizer.beta2", _number),
    "torch_adam_is_fused": ("kernels.fused_optimizer", boolean),
}
_FIELDS: Fields = {
    "tokens": {
        "sequence_length": ("batch.sequence_length", integer),
        "train_steps": ("run.steps", integer),
        "micro_batch_size": ("batch.micro_batch_size", integer),
        "batch_accumulation_per_replica": (
            "batch.gradient_accumulation_steps",
            integer,
        ),
    },
    "parallelism": {
        "dp": ("parallelism.data_parallel_size", integer),
        "tp": ("parallelism.tensor_parallel_size", integer),
        "pp": ("parallelism.pipeline_parallel_size", integer),
        "context_parallel_size": ("parallelism.context_parallel_size", integer),
        "expert_parallel_size": ("parallelism.expert_parallel_size", integer),
        "tp_mode": ("parallelism.sequence_parallel", _MODE),
        "tp_linear_async_communication": (
            "communication.overlap_tensor_parallel",
            boolean,
        ),
        "recompute_granularity": ("memory.recompute_mode", lower_text),
    },
    "optimizer": {
        **_ADAM,
        "optimizer_factory": {
            **_ADAM,
            "name": ("optimizer.name_of_optimizer", lower_text),
        },
        "zero_stage": ("parallelism.sharding_stage", integer),
        "weight_decay": ("optimizer.weight_decay", _number),
        "clip_grad": ("optimizer.clip_norm", _number),
        "learning_rate_scheduler": {
            "learning_rate": ("optimizer.learning_rate", _number),
            "min_decay_lr": ("optimizer.minimum_learning_rate", _number),
            "lr_warmup_steps": ("optimizer.warmup_steps", integer),
            "lr_decay_style": ("optimizer.schedule", lower_text),
        },
    },
    "checkpoints": {
        "checkpoint_interval": ("checkpoint.interval_steps", integer),
        "checkpoints_path": ("checkpoint.directory", text),
    },
    "model": {
        "dtype": ("precision.parameter_dtype", _DTYPE),
        "ddp_bucket_cap_mb": ("communication.gradient_bucket_bytes", mebibytes),
        "model_config": {
            "hidden_size": ("model.hidden_size", integer),
            "intermediate_size": ("model.feed_forward_size", integer),
            "num_hidden_layers": ("model.layers", integer),
            "num_attention_heads": ("model.attention_heads", integer),
            "num_key_value_heads": ("model.key_value_heads", integer),
            "num_kv_heads": ("model.key_value_heads", integer),
            "vocab_size": ("model.vocabulary_size", integer),
            "max_position_embeddings": ("model.maximum_positions", integer),
            "tie_word_embeddings": ("model.tied_embeddings", boolean),
            "moe_num_experts": ("model.experts", integer),
            "num_experts_per_tok": ("model.experts_per_token", integer),
            "moe_config": {
                "num_experts": ("model.experts", integer),
                "top_k": ("model.experts_per_token", integer),
                "moe_intermediate_size": ("model.expert_feed_forward_size", integer),
            },
            "_attn_implementation": ("kernels.attention_backend", _ATTENTION),
            "_fused_rms_norm": ("kernels.fused_normalization", boolean),
        },
    },
    "general": {"seed": ("run.seed", integer)},
    "logging": {
        "iteration_step_info_interval": ("telemetry.log_interval_steps", integer)
    },
    "data": {
        "num_loading_workers": ("data.workers", integer),
        "seed": ("data.seed", integer),
    },
}
_DEFAULTS = (
    TabulatedDefault(
        "parallelism.context_parallel_size",
        "parallelism.context_parallel_size",
        integer,
    ),
    TabulatedDefault(
        "parallelism.expert_parallel_size", "parallelism.expert_parallel_size", integer
    ),
    TabulatedDefault(
        "model.ddp_bucket_cap_mb", "communication.gradient_bucket_bytes", mebibytes
    ),
    TabulatedDefault(
        "logging.iteration_step_info_interval",
        "telemetry.log_interval_steps",
        integer,
    ),
)


def detect(document: Document) -> float:
    """By the degrees of `parallelism` beside the numbers of `tokens`."""
    data = section(document.data)
    degrees = len(_DEGREES.intersection(section(data, "parallelism")))
    tokens = len(_TOKENS.intersection(section(data, "tokens")))
    if not degrees or not tokens:
        return 0.0
    return min(0.98, 0.3 + 0.15 * degrees + 0.08 * tokens)


def read(document: Document) -> Reading:
    """What the file states, and what nanotron does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    state_job(sheet, data)
    catalogue = keys_of_format(_FORMAT)
    keyed = keyed_file(document, _FORMAT, catalogue)
    loaded_as = texts_for_values(keyed.keys, catalogue, _is_fatal)
    return Reading(sheet, keyed._replace(loaded_as=loaded_as))


def _is_fatal(path: KeyPath) -> bool | None:
    """Dacite checks every type; weights of data folders only some releases."""
    return None if "dataset_folder" in path else True


READER = Reader(_FORMAT, "config", detect, read, keys=("tokens",))

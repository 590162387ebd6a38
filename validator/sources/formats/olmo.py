"""OLMo's YAML file, of its first generation; OLMo-core has Python recipes.

OmegaConf merges the file into dataclasses (olmo/config.py): it refuses unknown keys and
keys that stand twice, and reads `1e-5` and quoted numbers as numbers.
"""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._olmo import state_job
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    one_of,
    section,
    tabulated_defaults,
    text,
    texts,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "olmo"
_TOP_SIGNS = frozenset(
    {
        "device_train_microbatch_size",
        "distributed_strategy",
        "fsdp",
        "save_interval_ephemeral",
        "save_interval_unsharded",
        "save_num_unsharded_checkpoints_to_keep",
        "sharded_checkpointer",
        "canceled_check_interval",
        "max_grad_norm",
        "no_pre_train_checkpoint",
    }
)
_MODEL_SIGNS = frozenset(
    {
        "activation_type",
        "block_type",
        "embedding_size",
        "flash_attention",
        "include_bias",
        "layer_norm_type",
        "max_sequence_length",
        "mlp_hidden_size",
        "rope",
        "weight_tying",
    }
)
_FOREIGN_KEYS = frozenset({"train_loader", "fsdp_config", "max_seq_len"})  # llm-foundry
_FEWEST_SIGNS = 2

# Both call F.scaled_dot_product_attention or its flash kernel (olmo/model.py).
_ATTENTION = one_of({"true": "flash", "false": "sdpa"})


def _kept(value: object) -> object:
    """-1 keeps all, which the plan writes as 0."""
    count = integer_text(value)
    return 0 if count == -1 else count


_FIELDS: Fields = {
    "global_train_batch_size": ("batch.global_batch_size", integer_text),
    "device_train_microbatch_size": ("batch.micro_batch_size", integer_text),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "save_folder": ("checkpoint.directory", text),
    "console_log_interval": ("telemetry.log_interval_steps", integer_text),
    "seed": ("run.seed", integer_text),
    "model": {
        "d_model": ("model.hidden_size", integer_text),
        "n_layers": ("model.layers", integer_text),
        "n_heads": ("model.attention_heads", integer_text),
        "n_kv_heads": ("model.key_value_heads", integer_text),
        "weight_tying": ("model.tied_embeddings", boolean),
        "max_sequence_length": ("batch.sequence_length", integer_text),
        "flash_attention": ("kernels.attention_backend", _ATTENTION),
    },
    "optimizer": {
        "name": ("optimizer.name_of_optimizer", lower_text),
        "learning_rate": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
    },
    "scheduler": {"name": ("optimizer.schedule", lower_text)},
    "data": {
        "paths": ("data.paths", texts),
        "num_workers": ("data.workers", integer_text),
        "pin_memory": ("data.pin_memory", boolean),
        "prefetch_factor": ("data.prefetch_factor", integer_text),
        "persistent_workers": ("data.persistent_workers", boolean),
        "drop_last": ("data.drop_last", boolean),
        "seed": ("data.seed", integer_text),
    },
}
_DEFAULTS = (
    TabulatedDefault("restore_dataloader", "data.resumable", boolean),
    TabulatedDefault("console_log_interval", "telemetry.log_interval_steps", _kept),
    TabulatedDefault("data.num_workers", "data.workers", integer_text),
    TabulatedDefault("data.pin_memory", "data.pin_memory", boolean),
    TabulatedDefault("data.persistent_workers", "data.persistent_workers", boolean),
    TabulatedDefault("data.drop_last", "data.drop_last", boolean),
    TabulatedDefault("model.flash_attention", "kernels.attention_backend", _ATTENTION),
    TabulatedDefault("model.weight_tying", "model.tied_embeddings", boolean),
)
_FIXED = fixed_defaults(
    "OLMo has no other way",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.expert_parallel_size": 1,
        "batch.mode": "fixed",
        # split_batch takes a smaller last micro-batch (olmo/train.py)
        "batch.uneven_micro_batches": True,
        "memory.activation_offload": False,
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "checkpoint.asynchronous": False,
        "checkpoint.interval_unit": "steps",
        "checkpoint.save_optimizer": True,
        "telemetry.throughput": True,
        "model.family": "transformer",
        "model.adapter": "none",
        "run.uses_torch": True,
    },
)


def detect(document: Document) -> float:
    """By two of OLMo's settings at the top and two of its model's.

    Keys such as `max_duration` and `global_train_batch_size` are those of llm-foundry
    too, whose own ones exclude OLMo.
    """
    data = section(document.data)
    if not _FOREIGN_KEYS.isdisjoint(data):
        return 0.0
    top = len(_TOP_SIGNS.intersection(data))
    model = len(_MODEL_SIGNS.intersection(section(data, "model")))
    if top < _FEWEST_SIGNS or model < _FEWEST_SIGNS:
        return 0.0
    return min(0.99, 0.75 + 0.04 * (top + model))


def read(document: Document) -> Reading:
    """What the file states, and what OLMo does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", "olmo", "OLMo's settings", ())
    state_job(sheet, data)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    add_defaults(sheet, _FIXED)
    catalogue = keys_of_format(_FORMAT)
    return Reading(
        sheet, keyed_file(document, _FORMAT, catalogue, refuses_duplicates=True)
    )


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=(
        "device_train_microbatch_size",
        "distributed_strategy",
        "save_interval_unsharded",
    ),
    interpolates=True,
)

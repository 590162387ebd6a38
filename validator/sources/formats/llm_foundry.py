"""LLM Foundry's YAML file, alone or below `parameters` of a MosaicML run.

Loaded by OmegaConf, which reads `1e-5` as a number. Keys and defaults:
schemas/catalogues/frameworks/llm-foundry.yaml.
"""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document, SectionDocument
from speccheck.validator.sources.formats._huggingface import attention
from speccheck.validator.sources.formats._llm_foundry import state_job
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    integer,
    lower_text,
    negation,
    number,
    one_of,
    put_numbers,
    section,
    tabulated_defaults,
    text,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "llm-foundry"
_WRAPPER = "parameters"
_COMPANIONS = frozenset(
    {
        "callbacks",
        "device_eval_batch_size",
        "device_train_microbatch_size",
        "eval_interval",
        "eval_loader",
        "fsdp_config",
        "global_train_batch_size",
        "scheduler",
        "tokenizer",
    }
)
# OLMo's file shares the spellings of composer; it has no `train_loader`.
_OF_OLMO = frozenset(
    {
        "distributed_strategy",
        "evaluators",
        "fsdp",
        "save_interval_ephemeral",
        "save_interval_unsharded",
    }
)
_OF_EVALUATION = frozenset({"eval_gauntlet", "eval_loader", "icl_tasks"})
_FEWEST = 2
_SURE_ENOUGH = 0.5
_WRAPPED = 0.97  # surer than the reader of the wrapper


def _micro_batch(value: object) -> object:
    """Samples of a device at once; composer may search for them."""
    if value == "auto":
        return Unusable("auto: composer searches it at run time")
    return integer(value)


def _kept(value: object) -> object:
    """A number of checkpoints; -1 keeps all."""
    count = integer(value)
    return 0 if count == -1 else count


_ATTENTION = one_of(
    {"flash": "flash", "triton": "flash", "torch": "eager", "flex": "flex"}
)
_STATE_DICT = one_of({"full": "full", "sharded": "sharded", "local": "local"})
_CPU = one_of({"true": "cpu", "false": "none"})
_FLASH = one_of({"true": "flash", "false": "eager"})
_RECOMPUTE = one_of({"true": "full", "false": "none"})
_FIELDS: Fields = {
    "global_train_batch_size": ("batch.global_batch_size", integer),
    "device_train_microbatch_size": ("batch.micro_batch_size", _micro_batch),
    "max_seq_len": ("batch.sequence_length", integer),
    "seed": ("run.seed", integer),
    "dist_timeout": ("communication.timeout_seconds", number),
    "save_num_checkpoints_to_keep": ("checkpoint.keep_last", _kept),
    "save_weights_only": ("checkpoint.save_optimizer", negation),
    "autoresume": ("checkpoint.resume", boolean),
    "tp_config": {
        "tensor_parallel_degree": ("parallelism.tensor_parallel_size", integer)
    },
    "fsdp_config": {
        "activation_checkpointing": ("memory.recompute_mode", _RECOMPUTE),
        "activation_cpu_offload": ("memory.activation_offload", boolean),
        "cpu_offload": ("memory.parameter_offload_device", _CPU),
        "data_parallel_shard_degree": ("parallelism.shard_size", integer),
        "data_parallel_replicate_degree": ("parallelism.replicate_size", integer),
        "state_dict_type": ("checkpoint.format", _STATE_DICT),
    },
    "optimizer": {
        "name": ("optimizer.name_of_optimizer", lower_text),
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "fused": ("kernels.fused_optimizer", boolean),
    },
    "scheduler": {"name": ("optimizer.schedule", lower_text)},
    "train_loader": {
        "num_workers": ("data.workers", integer),
        "pin_memory": ("data.pin_memory", boolean),
        "prefetch_factor": ("data.prefetch_factor", integer),
        "persistent_workers": ("data.persistent_workers", boolean),
        "drop_last": ("data.drop_last", boolean),
        "dataset": {"shuffle_seed": ("data.seed", integer)},
    },
    "model": {
        "pretrained_model_name_or_path": ("model.name_of_model", text),
        "d_model": ("model.hidden_size", integer),
        "n_layers": ("model.layers", integer),
        "n_heads": ("model.attention_heads", integer),
        "head_dim": ("model.head_dimension", integer),
        "vocab_size": ("model.vocabulary_size", integer),
        "max_seq_len": ("model.maximum_positions", integer),
        "tie_word_embeddings": ("model.tied_embeddings", boolean),
        "trust_remote_code": ("security.trusts_remote_code", boolean),
        "use_flash_attention_2": ("kernels.attention_backend", _FLASH),
        "attn_implementation": ("kernels.attention_backend", attention),
        "attn_config": {
            "attn_impl": ("kernels.attention_backend", _ATTENTION),
            "kv_n_heads": ("model.key_value_heads", integer),
            "seq_parallel_world_size": ("parallelism.ulysses_size", integer),
        },
        "config_overrides": {
            "attn_config": {"attn_impl": ("kernels.attention_backend", _ATTENTION)}
        },
        "ffn_config": {
            "ffn_hidden_size": ("model.feed_forward_size", integer),
            "moe_num_experts": ("model.experts", integer),
            "moe_top_k": ("model.experts_per_token", integer),
        },
    },
}
_DEFAULTS = (
    TabulatedDefault("dist_timeout", "communication.timeout_seconds", number),
    TabulatedDefault("save_weights_only", "checkpoint.save_optimizer", negation),
    TabulatedDefault("save_num_checkpoints_to_keep", "checkpoint.keep_last", _kept),
)


def detect(document: Document) -> float:
    """By the keys of training or evaluation, here or below `parameters`."""
    data = section(document.data)
    if _likeness(section(data, _WRAPPER)) > _SURE_ENOUGH:
        return _WRAPPED
    return _likeness(data)


def _likeness(data: object) -> float:
    keys = section(data).keys()
    if not _OF_OLMO.isdisjoint(keys):
        return 0.0
    companions = len(_COMPANIONS.intersection(keys))
    if {"max_duration", "train_loader"} <= keys:
        return min(0.98, 0.6 + 0.07 * companions) if companions >= _FEWEST else 0.4
    if {"models", "device_eval_batch_size"} <= keys:
        return 0.3 if _OF_EVALUATION.isdisjoint(keys) else 0.85
    return 0.0


def read(document: Document) -> Reading:
    """What the file states, and what LLM Foundry does where it states nothing."""
    data = section(document.data)
    if _WRAPPER not in data or _likeness(data):
        return _read(document)
    # MosaicML hands the part to the command as a file of its own: what it refers to
    # lies in it.
    from speccheck.validator.sources.composition import (  # noqa: PLC0415 - dear
        compose,
    )
    from speccheck.validator.sources.formats._mosaic_mcli import (  # noqa: PLC0415
        add_run,
    )

    part = compose(SectionDocument(document, (_WRAPPER,)), READER).document
    return add_run(document, _read(part))


def _read(document: Document) -> Reading:
    sheet = FactSheet.of(document)
    data = section(document.data)
    if "models" in data:
        return _read_evaluation(sheet)
    apply(sheet, data, _FIELDS)
    betas = section(data, "optimizer").get("betas")
    names = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, names, betas, ("optimizer", "betas"))
    state_job(sheet, data)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _read_evaluation(sheet: FactSheet) -> Reading:
    """An evaluation trains nothing, and its keys are those of another command."""
    note = "models and device_eval_batch_size: an evaluation"
    sheet.derive("run.framework", _FORMAT, note, ("models",))
    return Reading(sheet)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("train_loader", "device_eval_batch_size", _WRAPPER),
    interpolates=True,
)

"""torchtitan's TOML of v0.1 and v0.2, and the spellings of 2024.

Keys and defaults: schemas/catalogues/frameworks/torchtitan.yaml. Since February 2026
torchtitan is configured in Python; what a run writes down of its settings is read too.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.framework_keys import FrameworkVersion
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._torchtitan import state_job
from speccheck.validator.sources.formats._torchtitan_dump import (
    is_dump,
    opened,
    state_dump,
)
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    integer,
    lower_text,
    number,
    one_of,
    section,
    tabulated_defaults,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "torchtitan"
_TRAINING_KEYS = frozenset(
    {
        "seq_len",
        "steps",
        "local_batch_size",
        "global_batch_size",
        "batch_size",
        "max_norm",
        "mixed_precision_param",
        "data_parallel_degree",
        "data_parallel_shard_degree",
        "tensor_parallel_degree",
        "enable_cpu_offload",
        "dataset",
    }
)
# (section, key): each is a sign of torchtitan beside its [training].
_SIGNS = (
    ("job", "dump_folder"),
    ("job", "description"),
    ("model", "flavor"),
    ("metrics", "log_freq"),
    ("parallelism", "data_parallel_shard_degree"),
    ("parallelism", "data_parallel_replicate_degree"),
    ("parallelism", "tensor_parallel_degree"),
    ("parallelism", "pipeline_parallel_degree"),
    ("experimental", "pipeline_parallel_degree"),
    ("experimental", "context_parallel_degree"),
    ("activation_checkpoint", "mode"),
    ("profiling", "enable_profiling"),
    ("checkpoint", "async_mode"),
    ("comm", "train_timeout_seconds"),
    ("model_spec", "flavor"),
    ("checkpointer", "async_mode"),
    ("training", "num_tokens_per_microbatch_per_dp_rank"),
)
_FEWEST_SIGNS = 2

_DTYPE = one_of({"bfloat16": "bf16", "float32": "fp32", "float16": "fp16"})
_RECOMPUTE = one_of(
    {
        "none": "none",
        "selective": "selective",
        "memory_budget": "selective",
        "full": "full",
    }
)
_ASYNCHRONOUS = one_of(
    {"disabled": False, "async": True, "async_with_pinned_mem": True}
)
_FUSED = one_of({"fused": True, "foreach": True, "for-loop": False})


def _fused_or_foreach(value: object) -> object:
    """The switch of 2024, without which foreach was taken."""
    told = boolean(value)
    return told if isinstance(told, Unusable) else True


_DEGREES: Fields = {
    "data_parallel_replicate_degree": ("parallelism.replicate_size", integer),
    "data_parallel_shard_degree": ("parallelism.shard_size", integer),
    "data_parallel_degree": ("parallelism.shard_size", integer),
    "tensor_parallel_degree": ("parallelism.tensor_parallel_size", integer),
    "pipeline_parallel_degree": ("parallelism.pipeline_parallel_size", integer),
    "context_parallel_degree": ("parallelism.context_parallel_size", integer),
    "expert_parallel_degree": ("parallelism.expert_parallel_size", integer),
    "expert_tensor_parallel_degree": (
        "parallelism.expert_tensor_parallel_size",
        integer,
    ),
    "pipeline_parallel_layers_per_stage": (
        "parallelism.layers_per_virtual_stage",
        integer,
    ),
    "enable_async_tensor_parallel": (
        "communication.overlap_tensor_parallel",
        boolean,
    ),
}
_FIELDS: Fields = {
    "parallelism": _DEGREES,
    "experimental": _DEGREES,
    "training": {
        **_DEGREES,
        "seq_len": ("batch.sequence_length", integer),
        "steps": ("run.steps", integer),
        "max_norm": ("optimizer.clip_norm", number),
        "dtype": ("precision.parameter_dtype", _DTYPE),
        "mixed_precision_param": ("precision.compute_dtype", _DTYPE),
        "mixed_precision_reduce": ("precision.gradient_reduce_dtype", _DTYPE),
        "compile": ("kernels.compiled", boolean),
        "seed": ("run.seed", integer),
        "deterministic": ("run.deterministic", boolean),
        "warmup_steps": ("optimizer.warmup_steps", integer),
        "dataloader": {
            "num_workers": ("data.workers", integer),
            "pin_memory": ("data.pin_memory", boolean),
            "prefetch_factor": ("data.prefetch_factor", integer),
            "persistent_workers": ("data.persistent_workers", boolean),
        },
    },
    "optimizer": {
        "name": ("optimizer.name_of_optimizer", lower_text),
        "lr": ("optimizer.learning_rate", number),
        "beta1": ("optimizer.beta1", number),
        "beta2": ("optimizer.beta2", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "implementation": ("kernels.fused_optimizer", _FUSED),
        "fused": ("kernels.fused_optimizer", _fused_or_foreach),
    },
    "lr_scheduler": {
        "warmup_steps": ("optimizer.warmup_steps", integer),
        "decay_type": ("optimizer.schedule", lower_text),
        "total_steps": ("optimizer.decay_steps", integer),
    },
    "activation_checkpoint": {"mode": ("memory.recompute_mode", _RECOMPUTE)},
    "compile": {"enable": ("kernels.compiled", boolean)},
    "checkpoint": {
        "enable": ("checkpoint.enabled", boolean),
        "enable_checkpoint": ("checkpoint.enabled", boolean),
        "interval": ("checkpoint.interval_steps", integer),
        "async_mode": ("checkpoint.asynchronous", _ASYNCHRONOUS),
        "keep_latest_k": ("checkpoint.keep_last", integer),
    },
    "metrics": {"log_freq": ("telemetry.log_interval_steps", integer)},
    "profiling": {"enable_profiling": ("telemetry.profiler", boolean)},
    "comm": {
        "init_timeout_seconds": (
            "communication.initialization_timeout_seconds",
            number,
        ),
        "train_timeout_seconds": ("communication.timeout_seconds", number),
    },
    "debug": {
        "seed": ("run.seed", integer),
        "deterministic": ("run.deterministic", boolean),
    },
}
_DEFAULTS = tuple(
    TabulatedDefault(*row)
    for row in (
        (
            "parallelism.data_parallel_replicate_degree",
            "parallelism.replicate_size",
            integer,
        ),
        ("parallelism.data_parallel_shard_degree", "parallelism.shard_size", integer),
        (
            "parallelism.tensor_parallel_degree",
            "parallelism.tensor_parallel_size",
            integer,
        ),
        (
            "parallelism.pipeline_parallel_degree",
            "parallelism.pipeline_parallel_size",
            integer,
        ),
        (
            "parallelism.context_parallel_degree",
            "parallelism.context_parallel_size",
            integer,
        ),
        (
            "parallelism.expert_parallel_degree",
            "parallelism.expert_parallel_size",
            integer,
        ),
        ("training.seq_len", "batch.sequence_length", integer),
        ("training.steps", "run.steps", integer),
        ("training.max_norm", "optimizer.clip_norm", number),
        ("training.dtype", "precision.parameter_dtype", _DTYPE),
        ("training.mixed_precision_param", "precision.compute_dtype", _DTYPE),
        (
            "training.mixed_precision_reduce",
            "precision.gradient_reduce_dtype",
            _DTYPE,
        ),
        ("training.dataloader.num_workers", "data.workers", integer),
        ("activation_checkpoint.mode", "memory.recompute_mode", _RECOMPUTE),
        ("compile.enable", "kernels.compiled", boolean),
        ("optimizer.implementation", "kernels.fused_optimizer", _FUSED),
        ("checkpoint.enable", "checkpoint.enabled", boolean),
        ("checkpoint.interval", "checkpoint.interval_steps", integer),
        ("checkpoint.async_mode", "checkpoint.asynchronous", _ASYNCHRONOUS),
        ("checkpoint.keep_latest_k", "checkpoint.keep_last", integer),
        ("metrics.log_freq", "telemetry.log_interval_steps", integer),
        ("profiling.enable_profiling", "telemetry.profiler", boolean),
        (
            "comm.init_timeout_seconds",
            "communication.initialization_timeout_seconds",
            number,
        ),
        ("comm.train_timeout_seconds", "communication.timeout_seconds", number),
    )
)
_FIRST_NUMBERED = FrameworkVersion(None, (0, 1, 0), or_newer=True)


def detect(document: Document) -> float:
    """By [training] with torchtitan's keys and two signs in the sections beside it."""
    data = section(document.data)
    training = section(data, "training")
    if _TRAINING_KEYS.isdisjoint(training):
        return 0.0
    signs = sum(1 for name, key in _SIGNS if key in section(data, name))
    if signs < _FEWEST_SIGNS:
        return 0.0
    return min(0.98, 0.6 + 0.06 * signs)


def read(document: Document) -> Reading:
    """What the file states, and what torchtitan does where it states nothing."""
    data = section(document.data)
    if is_dump(data):
        return _read_dump(document, data)
    sheet = FactSheet.of(document)
    apply(sheet, data, _FIELDS)
    # The section came with v0.1: before it, other defaults held.
    version = _FIRST_NUMBERED if "parallelism" in data else None
    at: KeyPath = ()
    sheet.derive("run.framework", "torchtitan", "torchtitan's sections", at)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS, version))
    state_job(sheet, data)
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _read_dump(document: Document, data: Mapping[str, object]) -> Reading:
    """What a run wrote down: all that it goes by, and no key that it can refuse."""
    sheet, view = opened(document, data)
    apply(sheet, view, _FIELDS)
    at: KeyPath = ()
    sheet.derive("run.framework", "torchtitan", "torchtitan's sections", at)
    state_dump(sheet, data)
    state_job(sheet, view)
    return Reading(sheet, keyed_file(document, _FORMAT, None))


READER = Reader(_FORMAT, "config", detect, read, keys=("training",))

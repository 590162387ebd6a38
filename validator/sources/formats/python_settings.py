"""Settings that only programs state: arguments of calls, and recipes in Python.

Each format is the keyword arguments of one library, as `documents/python_document.py`
gives them; which calls these are is data (schemas/catalogues/python/calls.yaml). They
have no table of keys: what is not read here is not judged. Sources: huggingface/
accelerate src/accelerate/{accelerator,utils/dataclasses}.py; pytorch/pytorch torch/
distributed/fsdp; ray-project/ray python/ray/train/v2/api/config.py; NVIDIA/NeMo nemo/
collections/llm/recipes and lightning/pytorch/strategies/megatron_strategy.py;
InternLM/xtuner xtuner/configs, xtuner/v1/train/trainer.py, xtuner/v1/config.
"""

from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import ONE_OF_EACH, Config
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    sinks,
    state_offload,
)
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    boolean,
    fixed_defaults,
    integer,
    lower_text,
    number,
    one_of,
    section,
    text,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

_NO_SHARD, _SHARD_GRAD_OP = 0, 2
_STRATEGY = one_of(
    {
        "full_shard": FULL_SHARD,
        "hybrid_shard": FULL_SHARD,
        "shard_grad_op": _SHARD_GRAD_OP,
        "_hybrid_shard_zero2": _SHARD_GRAD_OP,
        "no_shard": _NO_SHARD,
    }
)
_DTYPE = one_of(
    {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32"}
)
_ACCELERATE: Fields = {
    "gradient_accumulation_steps": ("batch.gradient_accumulation_steps", integer),
    "log_with": ("telemetry.sinks", sinks),
    "gradient_accumulation_plugin": {
        "num_steps": ("batch.gradient_accumulation_steps", integer),
        "sync_each_batch": ("communication.reduces_each_micro_batch", boolean),
    },
    "deepspeed_plugin": {
        "zero_stage": ("parallelism.sharding_stage", integer),
        "gradient_accumulation_steps": ("batch.gradient_accumulation_steps", integer),
        "gradient_clipping": ("optimizer.clip_norm", number),
        "offload_optimizer_device": ("memory.optimizer_offload_device", lower_text),
        "offload_param_device": ("memory.parameter_offload_device", lower_text),
    },
    "fsdp_plugin": {
        "sharding_strategy": ("parallelism.sharding_stage", _STRATEGY),
        "mixed_precision_policy": {
            "reduce_dtype": ("precision.gradient_reduce_dtype", _DTYPE),
        },
    },
}
_HALVES = ("bf16", "fp16")
_TORCH_FSDP: Fields = {
    "fsdp": {
        "sharding_strategy": ("parallelism.sharding_stage", _STRATEGY),
        "mixed_precision": {
            "param_dtype": ("precision.compute_dtype", _DTYPE),
            "reduce_dtype": ("precision.gradient_reduce_dtype", _DTYPE),
        },
    },
    "fully_shard": {
        "mp_policy": {
            "param_dtype": ("precision.compute_dtype", _DTYPE),
            "reduce_dtype": ("precision.gradient_reduce_dtype", _DTYPE),
        },
    },
}
_STRATEGY_OF_NEMO: Fields = {
    "tensor_model_parallel_size": ("parallelism.tensor_parallel_size", integer),
    "pipeline_model_parallel_size": ("parallelism.pipeline_parallel_size", integer),
    "virtual_pipeline_model_parallel_size": ("parallelism.virtual_stages", integer),
    "context_parallel_size": ("parallelism.context_parallel_size", integer),
    "expert_model_parallel_size": ("parallelism.expert_parallel_size", integer),
    "sequence_parallel": ("parallelism.sequence_parallel", boolean),
    "ckpt_async_save": ("checkpoint.asynchronous", boolean),
    "ddp": {
        "overlap_grad_reduce": ("communication.overlap_gradient_reduce", boolean),
        "overlap_param_gather": ("communication.overlap_parameter_gather", boolean),
        "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
    },
}
_NEMO2: Fields = {
    "trainer": {
        "num_nodes": ("cluster.nodes", integer),
        "devices": ("cluster.gpus_per_node", integer),
        "max_steps": ("run.steps", integer),
        "log_every_n_steps": ("telemetry.log_interval_steps", integer),
        "gradient_clip_val": ("optimizer.clip_norm", number),
        "strategy": _STRATEGY_OF_NEMO,
    },
    "data": {
        "seq_length": ("batch.sequence_length", integer),
        "micro_batch_size": ("batch.micro_batch_size", integer),
        "global_batch_size": ("batch.global_batch_size", integer),
        "num_workers": ("data.workers", integer),
    },
    "model": {
        "config": {
            "seq_length": ("batch.sequence_length", integer),
            "recompute_granularity": ("memory.recompute_mode", lower_text),
            "recompute_method": ("memory.recompute_method", lower_text),
            "recompute_num_layers": ("memory.recompute_layers", integer),
        }
    },
    "optim": {
        "config": {
            "lr": ("optimizer.learning_rate", number),
            "weight_decay": ("optimizer.weight_decay", number),
            "adam_beta1": ("optimizer.beta1", number),
            "adam_beta2": ("optimizer.beta2", number),
            "clip_grad": ("optimizer.clip_norm", number),
            "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
        },
        "lr_scheduler": {
            "warmup_steps": ("optimizer.warmup_steps", integer),
            "min_lr": ("optimizer.minimum_learning_rate", number),
        },
    },
    "log": {
        "ckpt": {
            "every_n_train_steps": ("checkpoint.interval_steps", integer),
            "dirpath": ("checkpoint.directory", text),
        }
    },
}
_XTUNER: Fields = {
    "max_epochs": ("run.epochs", number),
    "train_dataloader": {
        "batch_size": ("batch.micro_batch_size", integer),
        "num_workers": ("data.workers", integer),
    },
    "optim_wrapper": {
        "accumulative_counts": ("batch.gradient_accumulation_steps", integer),
        "clip_grad": {"max_norm": ("optimizer.clip_norm", number)},
        "optimizer": {
            "lr": ("optimizer.learning_rate", number),
            "weight_decay": ("optimizer.weight_decay", number),
        },
    },
    "max_length": ("batch.sequence_length", integer),
    "default_hooks": {
        "logger": {"interval": ("telemetry.log_interval_steps", integer)},
        "checkpoint": {
            "interval": ("checkpoint.interval_steps", integer),
            "max_keep_ckpts": ("checkpoint.keep_last", integer),
        },
    },
}
_XTUNER_TRAINER: Fields = {
    "global_batch_size": ("batch.global_batch_size", integer),
    "sp_size": ("parallelism.ulysses_size", integer),
    "total_step": ("run.steps", integer),
    "total_epoch": ("run.epochs", number),
    "work_dir": ("checkpoint.directory", text),
    "async_checkpoint": ("checkpoint.asynchronous", boolean),
    "dataloader_cfg": {
        "pack_max_length": ("batch.sequence_length", integer),
        "num_workers": ("data.workers", integer),
    },
    "optim_cfg": {
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "max_grad_norm": ("optimizer.clip_norm", number),
    },
    "lr_cfg": {"lr_min": ("optimizer.minimum_learning_rate", number)},
    "fsdp_cfg": {
        "tp_size": ("parallelism.tensor_parallel_size", integer),
        "ep_size": ("parallelism.expert_parallel_size", integer),
        "reduce_dtype": ("precision.gradient_reduce_dtype", _DTYPE),
        "torch_compile": ("kernels.compiled", boolean),
    },
}
_RUNS_ON_TORCH = fixed_defaults(
    "it trains with PyTorch", {"run.uses_torch": True, "batch.mode": "fixed"}
)
_DATA_PARALLEL_ONLY = fixed_defaults(
    "it has no other parallelism than that of data", ONE_OF_EACH
)


def _never(document: Document) -> float:
    """Know nothing by its keys: the language says which format it is."""
    del document
    return 0.0


def _accelerate(document: Document) -> Reading:
    config = _started(document, "accelerate", _ACCELERATE)
    key = "mixed_precision"
    word = config.word(key)
    if word == "fp8":
        config.turn("precision.fp8", "mixed_precision: fp8", key)
    elif word in _HALVES:
        config.turn(f"precision.{word}", f"{key}: {word}", key)
    elif config.get(key) is not None and word != "no":
        config.unusable("precision.compute_dtype", "not known", key)
    if config.get("deepspeed_plugin") is not None:
        key = "deepspeed_plugin"
        config.derive("parallelism.engine", "deepspeed", f"{key} is set", key)
    elif section(config.get("fsdp_plugin")):
        _accelerate_fsdp(config, "fsdp_plugin")
    key = "dynamo_backend"
    if config.word(key) not in {None, "no"}:
        config.turn("kernels.compiled", "a backend of torch.compile", key)
    return Reading(config.sheet)


def _accelerate_fsdp(config: Config, key: str) -> None:
    version = config.get(f"{key}.fsdp_version")
    if version in (1, 2):
        config.derive("parallelism.engine", f"fsdp{version}", key, key)
    else:
        reason = "an FSDP plugin without fsdp_version: 1 unless the environment says 2"
        config.unusable("parallelism.engine", reason, key)
    _offload(config, f"{key}.cpu_offload")


def _offload(config: Config, key: str) -> None:
    value = config.get(key)
    switch = config.switch(key)
    if isinstance(value, dict):
        key = f"{key}.offload_params"
        switch = config.switch(key)
    if switch is not None:
        state_offload(config.sheet, config.at(key), is_on=switch)


def _torch_fsdp(document: Document) -> Reading:
    config = _started(document, "", _TORCH_FSDP)
    leaf, stage = "parallelism.engine", "parallelism.sharding_stage"
    if "fully_shard" in config and "fsdp" not in config:
        note, key = "fully_shard is called", "fully_shard"
        weak_default(config.sheet, leaf, "fsdp2", note, (key,))
        if section(config.get("fully_shard.offload_policy")) or "offload_policy" in (
            section(config.get("fully_shard"))
        ):
            reason = "an offload policy is given; which one is not judged"
            at = "fully_shard.offload_policy"
            config.unusable("memory.parameter_offload_device", reason, at)
        reshard = config.switch("fully_shard.reshard_after_forward")
        if reshard is not None:
            value = FULL_SHARD if reshard else _SHARD_GRAD_OP
            config.state(stage, value, "fully_shard.reshard_after_forward")
        elif config.get("fully_shard.reshard_after_forward") is not None:
            reason, key = "not a switch", "fully_shard.reshard_after_forward"
            config.unusable(stage, reason, key)
        elif "reshard_after_forward" not in section(config.get("fully_shard")):
            note = "reshard_after_forward is not set: parameters are freed"
            config.default(stage, FULL_SHARD, note)
    elif "fsdp" in config and "fully_shard" not in config:
        note = "FullyShardedDataParallel is called"
        weak_default(config.sheet, leaf, "fsdp1", note, ("fsdp",))
        _offload(config, "fsdp.cpu_offload")
        if "sharding_strategy" not in section(config.get("fsdp")):
            note = "sharding_strategy is not set: FULL_SHARD"
            config.default(stage, FULL_SHARD, note)
    return Reading(config.sheet)


def _ray_train(document: Document) -> Reading:
    config = _started(document, "", {})
    workers = config.whole("num_workers", integer)
    per_worker = config.get("resources_per_worker.GPU")
    if (
        workers is not None
        and config.switch("use_gpu") is True
        and (per_worker in (None, 1))
    ):
        note = f"{workers} workers x 1 GPU"
        config.derive("cluster.world_size", workers, note, "num_workers")
    return Reading(config.sheet)


def _nemo2(document: Document) -> Reading:
    config = _started(document, "nemo", _NEMO2)
    key = "trainer.plugins.precision"
    word = config.word(key)
    if word is not None and word.startswith("bf16"):
        config.turn("precision.bf16", f"{key}: {word}", key)
    config.derive("parallelism.engine", "megatron", "NeMo 2 trains with Megatron", "")
    return Reading(config.sheet)


def _xtuner(document: Document) -> Reading:
    config = _started(document, "xtuner", _XTUNER)
    key = "default_hooks.checkpoint.by_epoch"
    if config.switch(key) is False:
        config.state("checkpoint.interval_unit", "steps", key)
    elif "default_hooks.checkpoint.interval" in config:
        leaf, reason = "checkpoint.interval_steps", "in epochs unless by_epoch is off"
        config.unusable(leaf, reason, "default_hooks.checkpoint.interval")
    add_defaults(config.sheet, _DATA_PARALLEL_ONLY)
    return Reading(config.sheet)


def _xtuner_trainer(document: Document) -> Reading:
    config = _started(document, "xtuner", _XTUNER_TRAINER)
    for key, leaf in (
        ("checkpoint_interval", "checkpoint.interval_steps"),
        ("checkpoint_maxkeep", "checkpoint.keep_last"),
    ):
        value = config.get(key)
        if isinstance(value, int) and value > 0:  # -1 is off, or all of them
            config.state(leaf, value, key)
        elif value is not None:
            config.unusable(leaf, "not a number above 0", key)
    key = "fsdp_cfg.cpu_offload"
    switch = config.switch(key)
    if switch is not None:
        state_offload(config.sheet, config.at(key), is_on=switch)
    note = "xtuner has no pipeline and no context parallelism but Ulysses"
    none = {"parallelism.pipeline_parallel_size": 1}
    none |= {"parallelism.context_parallel_size": 1}
    add_defaults(config.sheet, fixed_defaults(note, none))
    return Reading(config.sheet)


def _started(document: Document, framework: str, fields: Fields) -> Config:
    """Return the settings of a document, with what its table states."""
    sheet = FactSheet.of(document)
    config = Config(sheet, document.data)
    config.apply(fields)
    if framework:
        note = f"its program uses {framework}"
        sheet.derive("run.framework", framework, note, ())
    add_defaults(sheet, _RUNS_ON_TORCH)
    return config


READERS = (
    Reader("accelerate-arguments", "config", _never, _accelerate, ("fsdp_plugin",)),
    Reader("nemo2", "config", _never, _nemo2, ("optim",)),
    Reader("ray-train", "launcher", _never, _ray_train, ("num_workers",)),
    Reader("torch-fsdp", "engine", _never, _torch_fsdp, ("fully_shard",)),
    Reader("xtuner", "config", _never, _xtuner, ("optim_wrapper",)),
    Reader("xtuner-trainer", "config", _never, _xtuner_trainer, ("fsdp_cfg",)),
)

"""verl's configurations: the trainer of reinforcement learning, and that of SFT.

Hydra composes and OmegaConf loads them, so that `1e-6` is a number. Sources, 0.2 to
0.7: verl/trainer/config/*.yaml, verl/trainer/main_ppo.py, fsdp_sft_trainer.py,
verl/trainer/ppo/ray_trainer.py, verl/workers/{fsdp,megatron}_workers.py,
verl/utils/checkpoint.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config, defaults_of
from speccheck.validator.sources.formats._huggingface import (
    DTYPES,
    attention,
    state_offload,
)
from speccheck.validator.sources.formats._hydra import hydra_parents
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    items,
    lower_text,
    number,
    one_of,
    put,
    section,
    tabulated_defaults,
    text,
    texts,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Parent,
    Reader,
    Reading,
    keyed_file,
)

_FSDP, _MEGATRON = "fsdp", "megatron"
_dtype = one_of(DTYPES)
_Settings = Mapping[str, object]
_FORMAT = "verl"
_ENGINES = {_FSDP: "fsdp1", "fsdp2": "fsdp2", _MEGATRON: "megatron"}
_ACTOR, _MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.model"
_FULL_SHARD, _SHARD_GRAD_OP = 3, 2
_OWN = "actor_rollout_ref"
# Beside it, what a file of the trainer has, and what a file that extends one has.
_COMPANIONS = ("trainer", "data", "algorithm", "critic", "reward_model", "defaults")
# They come with the package; their defaults are tabulated.
_INSTALLED = {
    "ppo_trainer": _FSDP,
    "dp_actor": _FSDP,
    "ppo_megatron_trainer": _MEGATRON,
    "megatron_actor": _MEGATRON,
}
_MODEL_ENGINES = {"dp": _FSDP, "megatron": _MEGATRON}
_INSTALLED_GROUPS = frozenset(
    {
        "dp_critic",
        "dp_ref",
        "dp_reward_loop",
        "dp_reward_model",
        "hf_model",
        "legacy_data",
        "megatron_critic",
        "megatron_ref",
        "megatron_reward_loop",
        "megatron_reward_model",
        "npu_profile",
        "reward_manager",
        "rollout",
        "rollout_correction",
    }
)
# EasyR1, which verl began as a fork of: roles below `worker` (hiyouga/EasyR1
# verl/trainer/config.py, verl/workers/actor/config.py, at v0.3.2).
_WORKER = "worker"
_WORKER_FIELDS: Fields = {
    "data": {
        "train_files": ("data.paths", texts),
    },
    "worker": {
        "actor": {
            "micro_batch_size_per_device_for_update": (
                "batch.micro_batch_size",
                integer_text,
            ),
            "ulysses_size": ("parallelism.ulysses_size", integer_text),
            "model": {"model_path": ("model.name_of_model", text)},
            "optim": {"lr": ("optimizer.learning_rate", number)},
        },
    },
    "trainer": {
        "nnodes": ("cluster.nodes", integer_text),
        "n_gpus_per_node": ("cluster.gpus_per_node", integer_text),
        "total_epochs": ("run.epochs", number),
        "save_checkpoint_path": ("checkpoint.directory", text),
    },
}
_SFT_KEYS = ("ulysses_sequence_parallel_size", "use_remove_padding")
_SFT_SECTIONS = frozenset({"data", "model", "optim", "trainer"})


def _count(value: object) -> object:
    """Return a number of nodes or GPUs; 0 and below stand for none."""
    result = integer_text(value)
    if isinstance(result, int) and result < 1:
        return Unusable(f"{result} asks for nothing")
    return result


_SFT_FIELDS: Fields = {
    "data": {
        "train_files": ("data.paths", texts),
        "train_batch_size": ("batch.global_batch_size", integer_text),
        "micro_batch_size_per_gpu": ("batch.micro_batch_size", integer_text),
        "max_length": ("batch.sequence_length", integer_text),
    },
    "model": {
        "partial_pretrain": ("model.name_of_model", text),
        "path": ("model.name_of_model", text),
        "trust_remote_code": ("security.trusts_remote_code", boolean),
        "use_liger": ("kernels.fused_normalization", boolean),
    },
    "optim": {
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "clip_grad": ("optimizer.clip_norm", number),
        "warmup_steps_ratio": ("optimizer.warmup_ratio", number),
        "lr_warmup_steps_ratio": ("optimizer.warmup_ratio", number),
        "lr_scheduler": ("optimizer.schedule", lower_text),
        "lr_scheduler_type": ("optimizer.schedule", lower_text),
    },
    "ulysses_sequence_parallel_size": ("parallelism.ulysses_size", _count),
    "trainer": {
        "total_epochs": ("run.epochs", number),
        "total_training_steps": ("run.steps", integer_text),
        "default_local_dir": ("checkpoint.directory", text),
        "seed": ("run.seed", integer_text),
    },
}
_SFT_ENGINES = {"fsdp": "fsdp1", "fsdp2": "fsdp2"}
_SFT_TRAINER = fixed_defaults(
    "verl's trainer of SFT runs FSDP and nothing else",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.sharding_stage": 3,
        "run.uses_torch": True,
        "precision.compute_dtype": "bf16",
    },
)


def detect(document: Document) -> float:
    """Recognise it by `actor_rollout_ref` and a companion, or the sections of SFT."""
    data = section(document.data)
    if isinstance(data.get(_OWN), dict):
        companions = sum(key in data for key in _COMPANIONS)
        return min(0.95, 0.6 + 0.1 * companions)
    if not _SFT_SECTIONS.issubset(data) or _SFT_KEYS[0] not in data:
        return 0.0
    return 0.9 if "partial_pretrain" in section(data, "model") else 0.4


def read(document: Document) -> Reading:
    """Return what the configuration states, with what it inherits from verl's own."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    sheet.derive("run.framework", "verl", "verl's sections", ())
    if _WORKER in data and _OWN not in data:
        sheet.derive("run.role", "rl", "EasyR1's reinforcement learning", (_WORKER,))
        apply(sheet, data, _WORKER_FIELDS)
        return Reading(sheet)
    if _OWN in data or _inherited_backend(data):
        sheet.derive("run.role", "rl", "verl's reinforcement learning", (_OWN,))
        _state_training(Config(sheet, data), _backend(data))
    else:
        _fine_tuning(Config(sheet, data))
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _backend(data: Mapping[str, object]) -> str:
    """Return the back end of the configuration of verl that the defaults list names.

    Where verl has one configuration for all back ends, `model_engine` chooses.
    """
    inherited = _inherited_backend(data)
    engine = data.get("model_engine")
    if not inherited or engine is None:
        return inherited
    return _MODEL_ENGINES.get(str(engine), "")


def _inherited_backend(data: Mapping[str, object]) -> str:
    for entry in items(data.get("defaults")):
        names = [entry] if isinstance(entry, str) else [*section(entry).values()]
        for name in names:
            backend = _INSTALLED.get(_base(str(name)))
            if backend is not None:
                return backend
    return ""


def _parents(document: Document) -> tuple[Parent, ...]:
    """Return the parents; those that come with verl may lie elsewhere."""
    return tuple(
        hydra_parent._replace(is_optional=True)
        if _is_installed(_base(hydra_parent.target))
        else hydra_parent
        for hydra_parent in hydra_parents(document)
    )


def _is_installed(name: str) -> bool:
    return name in _INSTALLED or name in _INSTALLED_GROUPS


def _base(target: str) -> str:
    return target.rpartition("/")[2].removesuffix(".yaml")


def _fine_tuning(config: Config) -> None:
    """State that SFT runs under torchrun, which alone decides on nodes and GPUs."""
    apply(config.sheet, config.data, _SFT_FIELDS)
    config.put_betas("optim.betas")
    strategy, key = config.get("model.strategy"), "model.strategy"
    if isinstance(strategy, str) and strategy.lower() in _SFT_ENGINES:
        engine = _SFT_ENGINES[strategy.lower()]
        config.derive("parallelism.engine", engine, f"strategy: {strategy}", key)
    rank, role, key = config.whole("model.lora_rank"), "sft", "model"
    if rank is not None:
        key = "model.lora_rank"
        adapter, role = ("lora", "lora") if rank > 0 else ("none", "sft")
        config.derive("model.adapter", adapter, f"rank {rank}", key)
    config.derive("run.role", role, "verl's trainer of SFT", key)
    _recompute(config, "model.enable_gradient_checkpointing")
    key = "model.fsdp_config.offload_params"
    offload = config.switch(key)
    if offload is not None:
        state_offload(config.sheet, config.at(key), is_on=offload)
    _state_trainer(config)
    _state_contents(config.section("trainer.checkpoint"))
    add_defaults(config.sheet, _SFT_TRAINER)


def _recompute(config: Config, key: str) -> None:
    switch = config.switch(key)
    if switch is not None:
        config.state("memory.recompute_mode", "full" if switch else "none", key)


_FIELDS: Fields = {
    "actor_rollout_ref": {
        "nccl_timeout": ("communication.timeout_seconds", number),
        "model": {
            "path": ("model.name_of_model", text),
            "enable_activation_offload": ("memory.activation_offload", boolean),
            "use_fused_kernels": ("kernels.fused_cross_entropy", boolean),
            "use_liger": ("kernels.fused_normalization", boolean),
            "trust_remote_code": ("security.trusts_remote_code", boolean),
        },
        "actor": {
            "optim": {
                "lr": ("optimizer.learning_rate", number),
                "weight_decay": ("optimizer.weight_decay", number),
                "min_lr": ("optimizer.minimum_learning_rate", number),
                "optimizer": ("optimizer.name_of_optimizer", lower_text),
                "lr_scheduler_type": ("optimizer.schedule", lower_text),
                "warmup_style": ("optimizer.schedule", lower_text),
                "lr_decay_style": ("optimizer.schedule", lower_text),
            },
            "checkpoint": {"async_save": ("checkpoint.asynchronous", boolean)},
        },
        "rollout": {"n": ("run.generations_per_prompt", integer_text)},
    },
    "data": {
        "train_files": ("data.paths", texts),
        "dataloader_num_workers": ("data.workers", integer_text),
        "seed": ("data.seed", integer_text),
    },
    "trainer": {
        "total_epochs": ("run.epochs", number),
        "total_training_steps": ("run.steps", integer_text),
        "default_local_dir": ("checkpoint.directory", text),
    },
}
_SHARDED: Fields = {
    "actor_rollout_ref": {
        "model": {
            "override_config": {
                "attn_implementation": ("kernels.attention_backend", attention)
            }
        },
        "actor": {
            "grad_clip": ("optimizer.clip_norm", number),
            "ulysses_sequence_parallel_size": ("parallelism.ulysses_size", _count),
            "fsdp_config": {
                "model_dtype": ("precision.parameter_dtype", _dtype),
                "dtype": ("precision.compute_dtype", _dtype),
                "seed": ("run.seed", integer_text),
                "full_determinism": ("run.deterministic", boolean),
                "mixed_precision": {
                    "param_dtype": ("precision.compute_dtype", _dtype),
                    "reduce_dtype": ("precision.gradient_reduce_dtype", _dtype),
                },
            },
        },
    }
}
_TRANSFORMER: Fields = {
    "attention_backend": ("kernels.attention_backend", attention),
    "recompute_granularity": ("memory.recompute_mode", lower_text),
    "recompute_method": ("memory.recompute_method", lower_text),
    "recompute_num_layers": ("memory.recompute_layers", integer_text),
}
_OF_MEGATRON: Fields = {
    "tensor_model_parallel_size": ("parallelism.tensor_parallel_size", _count),
    "pipeline_model_parallel_size": ("parallelism.pipeline_parallel_size", _count),
    "virtual_pipeline_model_parallel_size": ("parallelism.virtual_stages", _count),
    "context_parallel_size": ("parallelism.context_parallel_size", _count),
    "expert_model_parallel_size": ("parallelism.expert_parallel_size", _count),
    "expert_tensor_parallel_size": ("parallelism.expert_tensor_parallel_size", _count),
    "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
    "dtype": ("precision.compute_dtype", _dtype),
    "seed": ("run.seed", integer_text),
    "full_determinism": ("run.deterministic", boolean),
    "override_transformer_config": _TRANSFORMER,
}
_MEGATRON_FIELDS: Fields = {
    "actor_rollout_ref": {
        "actor": {
            "megatron": _OF_MEGATRON,
            "optim": {"clip_grad": ("optimizer.clip_norm", number)},
        }
    }
}
_KEPT = "trainer.max_actor_ckpt_to_keep"


def _kept(value: object) -> object:
    """Return how many checkpoints are kept; null keeps all, 0 in the plan."""
    return 0 if value is None else integer_text(value)


def _saves(value: object) -> object:
    frequency = integer_text(value)
    return frequency > 0 if isinstance(frequency, int) else frequency


# What holds under `defaults: [ppo_trainer]`; keys that hold for all back ends.
_DEFAULTS = (
    TabulatedDefault("trainer.nnodes", "cluster.nodes", _count),
    TabulatedDefault("trainer.n_gpus_per_node", "cluster.gpus_per_node", _count),
    TabulatedDefault("trainer.save_freq", "checkpoint.enabled", _saves),
    TabulatedDefault(_KEPT, "checkpoint.keep_last", _kept),
    *defaults_of(
        _FIELDS,
        "actor_rollout_ref.rollout.n",
        "actor_rollout_ref.nccl_timeout",
        "data.dataloader_num_workers",
    ),
)
_DEFAULTS_OF = {
    _FSDP: defaults_of(
        _SHARDED, f"{_ACTOR}.grad_clip", f"{_ACTOR}.ulysses_sequence_parallel_size"
    ),
    _MEGATRON: defaults_of(
        _MEGATRON_FIELDS,
        f"{_ACTOR}.optim.clip_grad",
        f"{_ACTOR}.megatron.pipeline_model_parallel_size",
        f"{_ACTOR}.megatron.context_parallel_size",
        f"{_ACTOR}.megatron.expert_model_parallel_size",
        f"{_ACTOR}.megatron.use_distributed_optimizer",
    ),
}
_ALWAYS = fixed_defaults(
    "verl does so whatever its configuration says",
    {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        "telemetry.log_interval_steps": 1,
        "telemetry.throughput": True,
        "data.drop_last": True,
        "checkpoint.format": "sharded",
    },
)
_FSDP_ONLY = fixed_defaults(
    "verl's FSDP back end has no other parallelism than data and Ulysses",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
    },
)
_FSDP_WORKERS = fixed_defaults(
    "not set: decided by verl's FSDP workers",
    {
        "precision.compute_dtype": "bf16",
        "precision.gradient_reduce_dtype": "fp32",
        "kernels.attention_backend": "flash",
        # `param_offload` moves states out of the way between the phases of a step;
        # while the actor trains they are on the GPU.
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
    },
)
_MEGATRON_WORKERS = fixed_defaults(
    "not set: decided by verl's Megatron workers",
    {"parallelism.ulysses_size": 1, "precision.compute_dtype": "bf16"},
)


def _state_training(config: Config, inherited: str) -> None:
    """State what the trainer of reinforcement learning runs.

    Args:
        config: the whole configuration.
        inherited: the back end of verl's own configuration that this one extends,
            whose defaults then hold; empty for a file that stands by itself.
    """
    sheet = config.sheet
    apply(sheet, config.data, _FIELDS)
    config.put_betas(f"{_ACTOR}.optim.betas")
    _cluster(config)
    backend = _engine(config, inherited)
    _batch(config, inherited)
    _warmup(config.section(f"{_ACTOR}.optim"))
    _adapter(config.section(_MODEL), inherited)
    _state_trainer(config)
    _state_contents(config.section(f"{_ACTOR}.checkpoint"))
    for key in ("global_profiler.steps", "trainer.profile_steps"):
        steps = config.get(key)
        if steps is not None:
            note = f"{key.partition('.')[2]} is set"
            config.turn("telemetry.profiler", note, key, is_on=bool(steps))
            break
    if inherited:
        rows = (*_DEFAULTS, *_DEFAULTS_OF.get(backend, ()))
        add_defaults(sheet, tabulated_defaults(_FORMAT, rows))
    add_defaults(sheet, _ALWAYS)


def _cluster(config: Config) -> None:
    """State the nodes that train; others that only generate make the job larger."""
    separate = _separate_pool(config)
    for key, leaf in (
        ("trainer.nnodes", "cluster.nodes"),
        ("trainer.n_gpus_per_node", "cluster.gpus_per_node"),
    ):
        if separate:
            config.unusable(leaf, f"{separate} has nodes beside those of trainer", key)
        else:
            config.put(leaf, key, _count)
    if config.get("trainer.nnodes") in (1, "1") and not separate:
        config.put("recovery.processes_per_node", "trainer.n_gpus_per_node", _count)


def _separate_pool(config: Config) -> str:
    for name in ("rollout", "distillation"):
        if config.get(f"{name}.nnodes") is not None:
            return name
    has_pool = config.switch("reward_model.enable_resource_pool") is True
    return "reward_model" if has_pool else ""


def _engine(config: Config, inherited: str) -> str:
    """State the back end that trains the actor, and what belongs to it."""
    leaf, key = "parallelism.engine", f"{_ACTOR}.strategy"
    actor = config.section(_ACTOR)
    stated = config.get(key)
    strategy = lower_text(stated) if stated is not None else inherited
    if stated is None and not strategy:
        strategy = _MEGATRON if actor.section("megatron").data else ""
    if not isinstance(strategy, str) or strategy not in _ENGINES:
        if stated is not None:
            config.unusable(leaf, f"strategy {stated!s:.40}: not known", key)
        return ""
    engine = _ENGINES[strategy]
    if stated is not None:
        config.derive(leaf, engine, f"strategy: {strategy}", key)
    elif strategy == _MEGATRON:
        config.default(leaf, engine, "the configuration of verl's Megatron trainer")
    else:
        config.default(leaf, engine, "strategy is not set: fsdp in verl's trainer")
    if strategy == _MEGATRON:
        _megatron(actor)
        return _MEGATRON
    _sharding(actor, engine)
    return _FSDP


def _megatron(actor: Config) -> None:
    apply(actor.sheet, {"actor_rollout_ref": {"actor": actor.data}}, _MEGATRON_FIELDS)
    # Without tensor parallelism Megatron's workers turn it off.
    degree = actor.whole("megatron.tensor_model_parallel_size", _count)
    if degree is not None and degree > 1:
        key = "megatron.sequence_parallel"
        actor.put("parallelism.sequence_parallel", key, boolean)
    add_defaults(actor.sheet, _MEGATRON_WORKERS)


def _sharding(actor: Config, engine: str) -> None:
    sheet, leaf = actor.sheet, "parallelism.sharding_stage"
    apply(sheet, {"actor_rollout_ref": {"actor": actor.data}}, _SHARDED)
    key = "fsdp_config.reshard_after_forward"
    reshard = actor.switch(key)
    if reshard is not None:
        stage = _FULL_SHARD if reshard else _SHARD_GRAD_OP
        kept_until = "the forward pass" if reshard else "the backward pass"
        actor.derive(leaf, stage, f"parameters are freed after {kept_until}", key)
    else:
        note = "FSDP shards fully unless told otherwise"
        add_defaults(sheet, fixed_defaults(note, {leaf: _FULL_SHARD}))
    _groups(actor)
    key = "fsdp_config.offload_policy"
    if engine == "fsdp2" and actor.switch(key) is True:
        for name in ("parameter", "optimizer"):
            actor.derive(
                f"memory.{name}_offload_device", "cpu", "CPUOffloadPolicy", key
            )
    add_defaults(sheet, _FSDP_ONLY)
    add_defaults(sheet, _FSDP_WORKERS)


def _groups(actor: Config) -> None:
    """State the groups: `fsdp_size` below the number of GPUs makes replicas.

    Ulysses ranks hold shards too: with them the groups are no data-parallel ones.
    """
    size = actor.whole("fsdp_config.fsdp_size")
    nodes, local = map(actor.known, ("cluster.nodes", "cluster.gpus_per_node"))
    if not (size and isinstance(nodes, int) and isinstance(local, int)):
        return
    is_plain = actor.get("ulysses_sequence_parallel_size") in (None, 1)
    if is_plain and 0 < size < nodes * local:
        actor.state("parallelism.shard_size", size, "fsdp_config.fsdp_size")


def _batch(config: Config, inherited: str) -> None:
    """State that a step takes `ppo_mini_batch_size` prompts with `n` answers each."""
    leaf, key = "batch.micro_batch_size", f"{_ACTOR}.use_dynamic_bsz"
    if config.switch(key) is True:
        reason = "use_dynamic_bsz: micro-batches are made up by their tokens"
        config.unusable(leaf, reason, key)
    else:
        config.put(leaf, f"{_ACTOR}.ppo_micro_batch_size_per_gpu", integer_text)
    keys = [f"{_ACTOR}.ppo_mini_batch_size"]
    answers = config.get("actor_rollout_ref.rollout.n")
    if answers is None and inherited:
        answers = 1
    elif answers is not None:
        keys.append("actor_rollout_ref.rollout.n")
    prompts, count = config.whole(keys[0]), integer_text(answers)
    if prompts is not None and isinstance(count, int):
        note = f"{prompts:,} prompts x {count} answers"
        config.derive("batch.global_batch_size", prompts * count, note, *keys)
    keys = ["data.max_prompt_length", "data.max_response_length"]
    prompt, answer = map(config.whole, keys)
    if prompt is not None and answer is not None:
        note = f"{prompt:,} of the prompt + {answer:,} of the answer"
        config.derive("batch.sequence_length", prompt + answer, note, *keys)


def _warmup(optimizer: Config) -> None:
    """State the warm-up; `lr_warmup_steps` wins unless it is negative or null."""
    steps = optimizer.whole("lr_warmup_steps")
    if steps is not None and steps >= 0:
        optimizer.state("optimizer.warmup_steps", steps, "lr_warmup_steps")
    else:
        optimizer.put("optimizer.warmup_ratio", "lr_warmup_steps_ratio", number)
    peak, least = optimizer.number("lr"), optimizer.number("min_lr_ratio")
    if peak is not None and least is not None:
        leaf = "optimizer.minimum_learning_rate"
        note = f"{least:g} of the peak {peak:g}"
        optimizer.derive(leaf, peak * least, note, "min_lr_ratio")


def _adapter(model: Config, inherited: str) -> None:
    if model.known("parallelism.engine") != _MEGATRON:
        _recompute(model, "enable_gradient_checkpointing")
    for key in ("lora_rank", "lora.rank"):
        rank = model.whole(key)
        if rank is not None:
            adapter = "lora" if rank > 0 else "none"
            model.derive("model.adapter", adapter, f"rank {rank}", key)
            return
    if inherited:
        model.default("model.adapter", "none", "no rank of an adapter is set")


def _state_trainer(config: Config) -> None:
    """State when checkpoints are written and read, how many stay, where metrics go."""
    trainer = config.section("trainer")
    _saving(trainer)
    tested = trainer.whole("test_freq")
    if tested is not None and tested > 0:
        trainer.state("checkpoint.evaluation_interval_steps", tested, "test_freq")
    for key in ("max_actor_ckpt_to_keep", "max_ckpt_to_keep"):
        if key in trainer:
            kept = _kept(trainer.get(key))
            put(config.sheet, "checkpoint.keep_last", kept, trainer.at(key))
    trainer.put("checkpoint.resume", "resume_mode", _resumes)
    loggers = trainer.get("logger")
    if loggers is not None:
        names = [loggers] if isinstance(loggers, str) else items(loggers)
        words = [name for name in names if isinstance(name, str)]
        sinks = tuple(word for word in words if word != "console")
        trainer.state("telemetry.sinks", sinks, "logger")


def _saving(trainer: Config) -> None:
    """State that checkpoints come every `save_freq` steps; 0 turns them off."""
    key, enabled = "save_freq", "checkpoint.enabled"
    if trainer.get(key) is None:
        return
    frequency = integer_text(trainer.get(key))
    if not isinstance(frequency, int):
        reason = frequency.reason if isinstance(frequency, Unusable) else "no number"
        trainer.unusable(enabled, reason, key)
        return
    note, is_on = f"save_freq: {frequency}", frequency > 0
    trainer.turn(enabled, note, key, is_on=is_on)
    unit = "steps" if is_on else "never"
    trainer.derive("checkpoint.interval_unit", unit, note, key)
    if is_on:
        trainer.state("checkpoint.interval_steps", frequency, key)


def _resumes(value: object) -> object:
    """Return whether `auto` takes the newest checkpoint of the directory, if any."""
    if value == "resume_path":
        return Unusable("a fixed path: it may not be the newest checkpoint")
    if value in ("auto", "disable"):
        return value == "auto"
    return Unusable(f"{value!r:.60} is no mode of resuming")


def _state_contents(saved: Config) -> None:
    """State what a checkpoint holds; `extra` is schedule and random state."""
    for key in ("save_contents", "contents"):
        names = items(saved.get(key))
        for leaf, part in (("optimizer", "optimizer"), ("random_state", "extra")):
            if names:
                is_on = part in names
                note = f"{key} {'names' if is_on else 'leaves out'} {part}"
                saved.turn(f"checkpoint.save_{leaf}", note, key, is_on=is_on)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=(_OWN, *_SFT_KEYS),
    interpolates=True,
    parents=_parents,
)

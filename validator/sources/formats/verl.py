"""verl's configurations: the trainer of reinforcement learning, and that of SFT.

Hydra composes and OmegaConf loads them, so that `1e-6` is a number. Sources, 0.2 to
0.7: verl/trainer/config/*.yaml, verl/trainer/main_ppo.py, fsdp_sft_trainer.py,
verl/trainer/ppo/ray_trainer.py, verl/workers/{fsdp,megatron}_workers.py,
verl/utils/checkpoint.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.convert import (
    Convert,
    Unusable,
    boolean,
    integer_text,
    lower_text,
    number,
    one_of,
    text,
    texts,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.facts import Fact, FactSheet
from speccheck.validator.sources.formats._huggingface import (
    DTYPES,
    attention,
    state_offload,
)
from speccheck.validator.sources.formats._hydra import hydra_parents
from speccheck.validator.sources.keyed import keyed_file
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    add_defaults,
    apply,
    derive_switch,
    fixed_defaults,
    items,
    put,
    put_numbers,
    section,
    tabulated_defaults,
)
from speccheck.validator.sources.reader import Parent, Reader, Reading

_FSDP, _MEGATRON = "fsdp", "megatron"
_dtype = one_of(DTYPES)
_Settings = Mapping[str, object]
_FORMAT = "verl"
_ENGINES = {_FSDP: "fsdp1", "fsdp2": "fsdp2", _MEGATRON: "megatron"}
_ACTOR = ("actor_rollout_ref", "actor")
_MODEL = ("actor_rollout_ref", "model")
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
_SFT_KEYS = ("ulysses_sequence_parallel_size", "use_remove_padding")
_SFT_SECTIONS = frozenset({"data", "model", "optim", "trainer"})


def _count(value: object) -> object:
    """A number of nodes or GPUs; 0 and below stand for none."""
    found = integer_text(value)
    if isinstance(found, int) and found < 1:
        return Unusable(f"{found} asks for nothing")
    return found


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
    """By `actor_rollout_ref` and a section beside it, or the sections of SFT."""
    data = section(document.data)
    if isinstance(data.get(_OWN), dict):
        companions = sum(key in data for key in _COMPANIONS)
        return min(0.95, 0.6 + 0.1 * companions)
    if not _SFT_SECTIONS.issubset(data) or _SFT_KEYS[0] not in data:
        return 0.0
    return 0.9 if "partial_pretrain" in section(data, "model") else 0.4


def read(document: Document) -> Reading:
    """What the configuration states, with what it inherits from verl's own."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    sheet.derive("run.framework", "verl", "verl's sections", ())
    if _OWN in data:
        sheet.derive("run.role", "rl", "verl's reinforcement learning", (_OWN,))
        _state_training(sheet, data, _backend(data))
    else:
        _fine_tuning(sheet, data)
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _backend(data: Mapping[str, object]) -> str:
    """The back end of the configuration of verl that the defaults list names.

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
    """Files of verl itself may lie elsewhere: nothing is missing without them."""
    return tuple(
        one._replace(is_optional=True) if _is_installed(_base(one.target)) else one
        for one in hydra_parents(document)
    )


def _is_installed(name: str) -> bool:
    return name in _INSTALLED or name in _INSTALLED_GROUPS


def _base(target: str) -> str:
    return target.rpartition("/")[2].removesuffix(".yaml")


def _fine_tuning(sheet: FactSheet, data: Mapping[str, object]) -> None:
    """SFT runs under torchrun, which alone decides on nodes and GPUs."""
    apply(sheet, data, _SFT_FIELDS)
    model = section(data, "model")
    betas = section(data, "optim").get("betas")
    leaves = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, leaves, betas, ("optim", "betas"))
    strategy = model.get("strategy")
    if isinstance(strategy, str) and strategy.lower() in _SFT_ENGINES:
        engine = _SFT_ENGINES[strategy.lower()]
        at = ("model", "strategy")
        sheet.derive("parallelism.engine", engine, f"strategy: {strategy}", at)
    rank = integer_text(model.get("lora_rank"))
    if isinstance(rank, int):
        adapter, role = ("lora", "lora") if rank > 0 else ("none", "sft")
        at = ("model", "lora_rank")
        sheet.derive("model.adapter", adapter, f"rank {rank}", at)
        sheet.derive("run.role", role, "verl's trainer of SFT", at)
    else:
        sheet.derive("run.role", "sft", "verl's trainer of SFT", ("model",))
    recompute = boolean(model.get("enable_gradient_checkpointing"))
    if isinstance(recompute, bool):
        mode = "full" if recompute else "none"
        at = ("model", "enable_gradient_checkpointing")
        sheet.state("memory.recompute_mode", mode, at)
    offload = boolean(section(model, "fsdp_config").get("offload_params"))
    if isinstance(offload, bool):
        state_offload(sheet, ("model", "fsdp_config", "offload_params"), is_on=offload)
    trainer = section(data, "trainer")
    _state_trainer(sheet, trainer)
    _state_contents(sheet, section(trainer, "checkpoint"), ("trainer", "checkpoint"))
    add_defaults(sheet, _SFT_TRAINER)


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
_MEGATRON_FIELDS: Fields = {
    "actor_rollout_ref": {
        "actor": {
            "megatron": {
                "tensor_model_parallel_size": (
                    "parallelism.tensor_parallel_size",
                    _count,
                ),
                "pipeline_model_parallel_size": (
                    "parallelism.pipeline_parallel_size",
                    _count,
                ),
                "virtual_pipeline_model_parallel_size": (
                    "parallelism.virtual_stages",
                    _count,
                ),
                "context_parallel_size": ("parallelism.context_parallel_size", _count),
                "expert_model_parallel_size": (
                    "parallelism.expert_parallel_size",
                    _count,
                ),
                "expert_tensor_parallel_size": (
                    "parallelism.expert_tensor_parallel_size",
                    _count,
                ),
                "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
                "dtype": ("precision.compute_dtype", _dtype),
                "seed": ("run.seed", integer_text),
                "full_determinism": ("run.deterministic", boolean),
                "override_transformer_config": _TRANSFORMER,
            },
            "optim": {"clip_grad": ("optimizer.clip_norm", number)},
        }
    }
}
_KEPT = "trainer.max_actor_ckpt_to_keep"


def _kept(value: object) -> object:
    """How many checkpoints are kept; null keeps all, which the plan writes as 0."""
    return 0 if value is None else integer_text(value)


def _saves(value: object) -> object:
    frequency = integer_text(value)
    return frequency > 0 if isinstance(frequency, int) else frequency


def _rows(*rows: tuple[str, str, Convert]) -> tuple[TabulatedDefault, ...]:
    return tuple(TabulatedDefault(*row) for row in rows)


# What holds under `defaults: [ppo_trainer]`; keys that hold for all back ends.
_DEFAULTS = _rows(
    ("trainer.nnodes", "cluster.nodes", _count),
    ("trainer.n_gpus_per_node", "cluster.gpus_per_node", _count),
    ("trainer.save_freq", "checkpoint.enabled", _saves),
    (_KEPT, "checkpoint.keep_last", _kept),
    ("actor_rollout_ref.rollout.n", "run.generations_per_prompt", integer_text),
    ("actor_rollout_ref.nccl_timeout", "communication.timeout_seconds", number),
    ("data.dataloader_num_workers", "data.workers", integer_text),
)
_DEFAULTS_OF = {
    _FSDP: _rows(
        ("actor_rollout_ref.actor.grad_clip", "optimizer.clip_norm", number),
        (
            "actor_rollout_ref.actor.ulysses_sequence_parallel_size",
            "parallelism.ulysses_size",
            _count,
        ),
    ),
    _MEGATRON: _rows(
        ("actor_rollout_ref.actor.optim.clip_grad", "optimizer.clip_norm", number),
        (
            "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size",
            "parallelism.pipeline_parallel_size",
            _count,
        ),
        (
            "actor_rollout_ref.actor.megatron.context_parallel_size",
            "parallelism.context_parallel_size",
            _count,
        ),
        (
            "actor_rollout_ref.actor.megatron.expert_model_parallel_size",
            "parallelism.expert_parallel_size",
            _count,
        ),
        (
            "actor_rollout_ref.actor.megatron.use_distributed_optimizer",
            "optimizer.is_distributed",
            boolean,
        ),
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


def _state_training(sheet: FactSheet, data: _Settings, inherited: str) -> None:
    """State what the trainer of reinforcement learning runs.

    Args:
        sheet: takes the facts.
        data: the whole configuration.
        inherited: the back end of verl's own configuration that this one extends,
            whose defaults then hold; empty for a file that stands by itself.
    """
    apply(sheet, data, _FIELDS)
    actor = section(data, *_ACTOR)
    put_numbers(
        sheet,
        ("optimizer.beta1", "optimizer.beta2"),
        section(actor, "optim").get("betas"),
        (*_ACTOR, "optim", "betas"),
    )
    _cluster(sheet, data)
    backend = _engine(sheet, actor, inherited)
    _batch(sheet, data, inherited)
    _warmup(sheet, section(actor, "optim"))
    _adapter(sheet, section(data, *_MODEL), inherited)
    _state_trainer(sheet, section(data, "trainer"))
    _state_contents(sheet, section(actor, "checkpoint"), (*_ACTOR, "checkpoint"))
    _profiler(sheet, data)
    if inherited:
        rows = (*_DEFAULTS, *_DEFAULTS_OF.get(backend, ()))
        add_defaults(sheet, tabulated_defaults(_FORMAT, rows))
    add_defaults(sheet, _ALWAYS)


def _cluster(sheet: FactSheet, data: _Settings) -> None:
    """The nodes that train; others that only generate make the job larger."""
    trainer = section(data, "trainer")
    separate = _separate_pool(data)
    for key, leaf in (
        ("nnodes", "cluster.nodes"),
        ("n_gpus_per_node", "cluster.gpus_per_node"),
    ):
        at = ("trainer", key)
        if separate:
            sheet.unusable(leaf, f"{separate} has nodes beside those of trainer", at)
        elif trainer.get(key) is not None:
            put(sheet, leaf, _count(trainer[key]), at)


def _separate_pool(data: _Settings) -> str:
    for name in ("rollout", "distillation"):
        if section(data, name).get("nnodes") is not None:
            return name
    pool = section(data, "reward_model").get("enable_resource_pool")
    return "reward_model" if boolean(pool) is True else ""


def _engine(sheet: FactSheet, actor: _Settings, inherited: str) -> str:
    """State the back end that trains the actor, and what belongs to it."""
    leaf = "parallelism.engine"
    stated = actor.get("strategy")
    strategy = lower_text(stated) if stated is not None else inherited
    if stated is None and not strategy:
        strategy = _MEGATRON if section(actor, "megatron") else ""
    if not isinstance(strategy, str) or strategy not in _ENGINES:
        if stated is not None:
            reason = f"strategy {stated!s:.40}: not known"
            sheet.unusable(leaf, reason, (*_ACTOR, "strategy"))
        return ""
    engine = _ENGINES[strategy]
    if stated is not None:
        sheet.derive(leaf, engine, f"strategy: {strategy}", (*_ACTOR, "strategy"))
    elif strategy == _MEGATRON:
        sheet.default(leaf, engine, "the configuration of verl's Megatron trainer")
    else:
        sheet.default(leaf, engine, "strategy is not set: fsdp in verl's trainer")
    if strategy == _MEGATRON:
        _megatron(sheet, actor)
        return _MEGATRON
    _sharding(sheet, actor, engine)
    return _FSDP


def _megatron(sheet: FactSheet, actor: _Settings) -> None:
    apply(sheet, {"actor_rollout_ref": {"actor": actor}}, _MEGATRON_FIELDS)
    # Without tensor parallelism Megatron's workers turn it off.
    degree = _count(section(actor, "megatron").get("tensor_model_parallel_size"))
    switch = section(actor, "megatron").get("sequence_parallel")
    if isinstance(degree, int) and degree > 1 and switch is not None:
        at = (*_ACTOR, "megatron", "sequence_parallel")
        put(sheet, "parallelism.sequence_parallel", boolean(switch), at)
    add_defaults(sheet, _MEGATRON_WORKERS)


def _sharding(sheet: FactSheet, actor: _Settings, engine: str) -> None:
    apply(sheet, {"actor_rollout_ref": {"actor": actor}}, _SHARDED)
    block, at = section(actor, "fsdp_config"), (*_ACTOR, "fsdp_config")
    reshard = boolean(block.get("reshard_after_forward"))
    leaf = "parallelism.sharding_stage"
    if isinstance(reshard, bool):
        stage = _FULL_SHARD if reshard else _SHARD_GRAD_OP
        kept_until = "the forward pass" if reshard else "the backward pass"
        note = f"parameters are freed after {kept_until}"
        sheet.derive(leaf, stage, note, (*at, "reshard_after_forward"))
    else:
        note = "FSDP shards fully unless told otherwise"
        add_defaults(sheet, fixed_defaults(note, {leaf: _FULL_SHARD}))
    _groups(sheet, actor)
    if engine == "fsdp2" and boolean(block.get("offload_policy")) is True:
        for name in ("parameter", "optimizer"):
            leaf = f"memory.{name}_offload_device"
            sheet.derive(leaf, "cpu", "CPUOffloadPolicy", (*at, "offload_policy"))
    add_defaults(sheet, _FSDP_ONLY)
    add_defaults(sheet, _FSDP_WORKERS)


def _groups(sheet: FactSheet, actor: _Settings) -> None:
    """`fsdp_size` below the number of GPUs makes replicas of shard groups.

    Ulysses ranks hold shards too: with them the groups are no data-parallel ones.
    """
    size = integer_text(section(actor, "fsdp_config").get("fsdp_size"))
    ulysses = actor.get("ulysses_sequence_parallel_size")
    world = _stated_world(sheet)
    if not isinstance(size, int) or ulysses not in (None, 1) or world is None:
        return
    if 0 < size < world:
        at = (*_ACTOR, "fsdp_config", "fsdp_size")
        sheet.state("parallelism.shard_size", size, at)


def _stated_world(sheet: FactSheet) -> int | None:
    known: dict[str, Fact] = {fact.name: fact for fact in sheet.facts}
    sizes = [
        known[leaf].value
        for leaf in ("cluster.nodes", "cluster.gpus_per_node")
        if leaf in known
    ]
    if len(sizes) == 2 and all(isinstance(size, int) for size in sizes):  # noqa: PLR2004
        return int(sizes[0] * sizes[1])
    return None


def _batch(sheet: FactSheet, data: _Settings, inherited: str) -> None:
    """An optimizer step takes `ppo_mini_batch_size` prompts with `n` answers each."""
    actor = section(data, *_ACTOR)
    micro = "ppo_micro_batch_size_per_gpu"
    if boolean(actor.get("use_dynamic_bsz")) is True:
        reason = "use_dynamic_bsz: micro-batches are made up by their tokens"
        sheet.unusable("batch.micro_batch_size", reason, (*_ACTOR, "use_dynamic_bsz"))
    elif actor.get(micro) is not None:
        put(
            sheet,
            "batch.micro_batch_size",
            integer_text(actor[micro]),
            (*_ACTOR, micro),
        )
    answers = section(data, "actor_rollout_ref", "rollout").get("n")
    places: list[KeyPath] = [(*_ACTOR, "ppo_mini_batch_size")]
    if answers is None and inherited:
        answers = 1
    elif answers is not None:
        places.append(("actor_rollout_ref", "rollout", "n"))
    prompts, answers = (
        integer_text(actor.get("ppo_mini_batch_size")),
        integer_text(answers),
    )
    if isinstance(prompts, int) and isinstance(answers, int):
        note = f"{prompts:,} prompts x {answers} answers"
        sheet.derive("batch.global_batch_size", prompts * answers, note, *places)
    _sequence(sheet, section(data, "data"))


def _sequence(sheet: FactSheet, data: _Settings) -> None:
    keys = ("max_prompt_length", "max_response_length")
    parts = [integer_text(data.get(key)) for key in keys]
    numbers = [part for part in parts if isinstance(part, int)]
    if len(numbers) == len(keys):
        note = f"{numbers[0]:,} of the prompt + {numbers[1]:,} of the answer"
        places = [("data", key) for key in keys]
        sheet.derive("batch.sequence_length", sum(numbers), note, *places)


def _warmup(sheet: FactSheet, optimizer: _Settings) -> None:
    """`lr_warmup_steps` wins unless it is negative or null."""
    steps = integer_text(optimizer.get("lr_warmup_steps"))
    at = (*_ACTOR, "optim", "lr_warmup_steps")
    ratio = optimizer.get("lr_warmup_steps_ratio")
    if isinstance(steps, int) and steps >= 0:
        sheet.state("optimizer.warmup_steps", steps, at)
    elif ratio is not None:
        at = (*_ACTOR, "optim", "lr_warmup_steps_ratio")
        put(sheet, "optimizer.warmup_ratio", number(ratio), at)
    peak, least = number(optimizer.get("lr")), number(optimizer.get("min_lr_ratio"))
    if isinstance(peak, float) and isinstance(least, float):
        note = f"{least:g} of the peak {peak:g}"
        at = (*_ACTOR, "optim", "min_lr_ratio")
        sheet.derive("optimizer.minimum_learning_rate", peak * least, note, at)


def _adapter(sheet: FactSheet, model: _Settings, inherited: str) -> None:
    recompute = boolean(model.get("enable_gradient_checkpointing"))
    spoken_of = {fact.name: fact.value for fact in sheet.facts}
    if isinstance(recompute, bool) and spoken_of.get("parallelism.engine") != _MEGATRON:
        at = (*_MODEL, "enable_gradient_checkpointing")
        mode = "full" if recompute else "none"
        sheet.state("memory.recompute_mode", mode, at)
    for path in (("lora_rank",), ("lora", "rank")):
        rank = integer_text(section(model, *path[:-1]).get(path[-1]))
        if isinstance(rank, int):
            adapter = "lora" if rank > 0 else "none"
            at = (*_MODEL, *path)
            sheet.derive("model.adapter", adapter, f"rank {rank}", at)
            return
    if inherited:
        sheet.default("model.adapter", "none", "no rank of an adapter is set")


def _state_trainer(sheet: FactSheet, trainer: _Settings) -> None:
    """State when checkpoints are written and read, how many stay, who is told."""
    frequency = trainer.get("save_freq")
    if frequency is not None:
        _saving(sheet, integer_text(frequency))
    tested = integer_text(trainer.get("test_freq"))
    if isinstance(tested, int) and tested > 0:
        at: KeyPath = ("trainer", "test_freq")
        sheet.state("checkpoint.evaluation_interval_steps", tested, at)
    for key in ("max_actor_ckpt_to_keep", "max_ckpt_to_keep"):
        if key in trainer:
            put(sheet, "checkpoint.keep_last", _kept(trainer[key]), ("trainer", key))
    if trainer.get("resume_mode") is not None:
        put(
            sheet,
            "checkpoint.resume",
            _resumes(trainer["resume_mode"]),
            ("trainer", "resume_mode"),
        )
    loggers = trainer.get("logger")
    if loggers is not None:
        names = [loggers] if isinstance(loggers, str) else items(loggers)
        words = [name for name in names if isinstance(name, str)]
        sinks = tuple(word for word in words if word != "console")
        sheet.state("telemetry.sinks", sinks, ("trainer", "logger"))


def _saving(sheet: FactSheet, frequency: object) -> None:
    """Checkpoints come every `save_freq` steps; 0 and below turn them off."""
    at: KeyPath = ("trainer", "save_freq")
    if not isinstance(frequency, int):
        reason = frequency.reason if isinstance(frequency, Unusable) else "no number"
        sheet.unusable("checkpoint.enabled", reason, at)
        return
    note = f"save_freq: {frequency}"
    derive_switch(sheet, "checkpoint.enabled", note, at, is_on=frequency > 0)
    unit = "steps" if frequency > 0 else "never"
    sheet.derive("checkpoint.interval_unit", unit, note, at)
    if frequency > 0:
        sheet.state("checkpoint.interval_steps", frequency, at)


def _resumes(value: object) -> object:
    """`auto` takes the newest checkpoint of the directory, if there is one."""
    if value == "resume_path":
        return Unusable("a fixed path: it may not be the newest checkpoint")
    if value in ("auto", "disable"):
        return value == "auto"
    return Unusable(f"{value!r:.60} is no mode of resuming")


def _state_contents(sheet: FactSheet, block: _Settings, at: KeyPath) -> None:
    """State what a checkpoint holds; `extra` is schedule and random state."""
    for key in ("save_contents", "contents"):
        names = items(block.get(key))
        if names:
            for leaf, part in (("optimizer", "optimizer"), ("random_state", "extra")):
                switch = part in names
                derive_switch(
                    sheet,
                    f"checkpoint.save_{leaf}",
                    f"{key} {'names' if switch else 'leaves out'} {part}",
                    (*at, key),
                    is_on=switch,
                )


def _profiler(sheet: FactSheet, data: _Settings) -> None:
    for path in (("global_profiler", "steps"), ("trainer", "profile_steps")):
        steps = section(data, path[0]).get(path[1])
        if steps is not None:
            note = f"{path[1]} is set"
            derive_switch(sheet, "telemetry.profiler", note, path, is_on=bool(steps))
            return


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=(_OWN, *_SFT_KEYS),
    interpolates=True,
    parents=_parents,
)

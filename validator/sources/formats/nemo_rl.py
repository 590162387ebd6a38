"""NeMo-RL's YAML file: reinforcement learning, preference and supervised tuning.

OmegaConf loads it with the files that `defaults` names, relative to the file itself
(nemo_rl/utils/config.py at 0178e5a): it refuses keys that stand twice, and reads `1e-5`
as a number. Nearly every value stands in one of these files; the code has few defaults.
Sources: NVIDIA-NeMo/RL nemo_rl/algorithms/{grpo,dpo,sft}.py (setup), nemo_rl/utils/
checkpoint.py at 01e9028, nemo_rl/models/policy/{__init__,lm_policy}.py and workers/;
NVIDIA/Megatron-LM megatron/core/distributed/.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.formats._huggingface import dtype
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    items,
    lower_text,
    number,
    one_of,
    placeholder,
    section,
    text,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Parent,
    Reader,
    Reading,
    keyed_file,
)

_Settings = Mapping[str, object]
_ALGORITHMS = ("grpo", "ppo", "dpo", "sft", "rm", "distillation")
_GENERATING = frozenset({"grpo", "ppo", "distillation"})
_ROLES = {"grpo": "rl", "ppo": "rl", "dpo": "rl", "sft": "sft"}
_ADAPTED = frozenset({"dpo", "sft"})  # an adapter names these runs, as in other formats
_SINKS = {
    "wandb_enabled": "wandb",
    "tensorboard_enabled": "tensorboard",
    "mlflow_enabled": "mlflow",
    "swanlab_enabled": "swanlab",
}
_COLOCATED = "policy.generation.colocated"
_NODES, _LOCAL = "cluster.num_nodes", "cluster.gpus_per_node"
_BACKENDS = ("megatron_cfg", "dtensor_cfg")
_OFFLOAD = one_of({"true": "cpu", "false": "none"})
_MEGATRON: Fields = {
    "tensor_model_parallel_size": ("parallelism.tensor_parallel_size", integer_text),
    "pipeline_model_parallel_size": (
        "parallelism.pipeline_parallel_size",
        integer_text,
    ),
    "context_parallel_size": ("parallelism.context_parallel_size", integer_text),
    "expert_model_parallel_size": ("parallelism.expert_parallel_size", integer_text),
    "expert_tensor_parallel_size": (
        "parallelism.expert_tensor_parallel_size",
        integer_text,
    ),
    "sequence_parallel": ("parallelism.sequence_parallel", boolean),
    "attention_backend": ("kernels.attention_backend", lower_text),
    "checkpoint": {"async_save": ("checkpoint.asynchronous", boolean)},
    "fp8_cfg": {"enabled": ("precision.fp8", boolean)},
    "optimizer": {
        "optimizer": ("optimizer.name_of_optimizer", lower_text),
        "lr": ("optimizer.learning_rate", number),
        "min_lr": ("optimizer.minimum_learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "adam_beta1": ("optimizer.beta1", number),
        "adam_beta2": ("optimizer.beta2", number),
        "clip_grad": ("optimizer.clip_norm", number),
        "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
        "optimizer_cpu_offload": ("memory.optimizer_offload_device", _OFFLOAD),
    },
    "scheduler": {
        "lr_decay_style": ("optimizer.schedule", lower_text),
        "lr_warmup_iters": ("optimizer.warmup_steps", integer_text),
        "lr_decay_iters": ("optimizer.decay_steps", integer_text),
    },
    "distributed_data_parallel_config": {
        "overlap_grad_reduce": ("communication.overlap_gradient_reduce", boolean),
        "overlap_param_gather": ("communication.overlap_parameter_gather", boolean),
    },
}
_DTENSOR: Fields = {
    "tensor_parallel_size": ("parallelism.tensor_parallel_size", integer_text),
    "context_parallel_size": ("parallelism.context_parallel_size", integer_text),
    "expert_parallel_size": ("parallelism.expert_parallel_size", integer_text),
    "dp_replicate_size": ("parallelism.replicate_size", integer_text),
    "sequence_parallel": ("parallelism.sequence_parallel", boolean),
    "cpu_offload": ("memory.parameter_offload_device", _OFFLOAD),
}
_DTENSOR_ALONE = fixed_defaults(
    "the DTensor workers have no other way",
    {
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.engine": "fsdp2",
        "parallelism.sharding_stage": 3,
        "optimizer.is_distributed": True,
        # MixedPrecisionPolicy(reduce_dtype=torch.float32) in both workers
        "precision.gradient_reduce_dtype": "fp32",
        "checkpoint.asynchronous": False,
    },
)
_DTENSOR_UNSET = fixed_defaults(
    "not set; the DTensor workers run without it",
    {"parallelism.expert_parallel_size": 1, "parallelism.replicate_size": 1},
)
_STAGES = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
_FORMAT = "nemo-rl"
_POLICY_SIGNS = frozenset(
    {
        "train_global_batch_size",
        "train_micro_batch_size",
        "max_total_sequence_length",
        "make_sequence_length_divisible_by",
        "logprob_batch_size",
        "dtensor_cfg",
        "megatron_cfg",
        "generation",
    }
)
_CLUSTER_SIGNS = frozenset({"num_nodes", "gpus_per_node", "segment_size"})
_SECTIONS = (
    "policy",
    "cluster",
    "checkpointing",
    "grpo",
    "dpo",
    "sft",
    "ppo",
    "rm",
    "distillation",
    "loss_fn",
)
_SUFFIXES = (".yaml", ".yml")
_SURE, _LIKELY, _POSSIBLE = 0.97, 0.9, 0.7
_FEW_SECTIONS = 2
_OVERRIDE = "_override_"
_FIELDS: Fields = {
    "policy": {
        "model_name": ("model.name_of_model", text),
        "train_global_batch_size": ("batch.global_batch_size", integer_text),
        "max_total_sequence_length": ("batch.sequence_length", integer_text),
        "sequence_packing": {"enabled": ("batch.packing", boolean)},
    },
    "checkpointing": {
        "enabled": ("checkpoint.enabled", boolean),
        "checkpoint_dir": ("checkpoint.directory", text),
        "save_optimizer": ("checkpoint.save_optimizer", boolean),
    },
    "data": {"num_workers": ("data.workers", integer_text)},
}
_FIXED = fixed_defaults(
    "NeMo-RL has no other way",
    {
        "parallelism.ulysses_size": 1,
        "batch.mode": "fixed",
        "checkpoint.format": "sharded",
        "checkpoint.interval_unit": "steps",
        # Each algorithm asks the checkpointer for its newest one (setup).
        "checkpoint.resume": True,
        "telemetry.log_interval_steps": 1,
        "model.family": "transformer",
        "run.uses_torch": True,
    },
)


def detect(document: Document) -> float:
    """Recognise it by `policy` with its own keys beside `cluster` or an algorithm.

    A child may state no more than `defaults`, the path of a YAML file, and a section;
    Hydra's `defaults` name groups, without a suffix.
    """
    data = section(document.data)
    policy = not _POLICY_SIGNS.isdisjoint(section(data, "policy"))
    cluster = not _CLUSTER_SIGNS.isdisjoint(section(data, "cluster"))
    if policy and (cluster or _algorithm_of(data) is not None):
        return _SURE
    if not _parent_paths(data):
        return 0.0
    count = sum(1 for name in _SECTIONS if isinstance(data.get(name), dict))
    if policy or count >= _FEW_SECTIONS:
        return _LIKELY
    return _POSSIBLE if count else 0.0


def parents(document: Document) -> tuple[Parent, ...]:
    """Return the files of `defaults`, the last of which wins over those before it."""
    return tuple(Parent(path, at) for path, at in _parent_paths(section(document.data)))


def _parent_paths(data: Mapping[str, object]) -> list[tuple[str, KeyPath]]:
    """Return the paths of `defaults`; none where one of them is no YAML file."""
    stated = data.get("defaults")
    single: list[tuple[object, KeyPath]] = [(stated, ("defaults",))]
    several: list[tuple[object, KeyPath]] = [
        (item, ("defaults", index)) for index, item in enumerate(items(stated))
    ]
    result = several if isinstance(stated, list) else single
    paths = [
        (item, at)
        for item, at in result
        if isinstance(item, str) and item.endswith(_SUFFIXES)
    ]
    return paths if len(paths) == len(result) else []


def read(document: Document) -> Reading:
    """Return what the file states with those that it inherits."""
    sheet = FactSheet.of(document)
    data = _overridden(document)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", "nemo-rl", "NeMo-RL's settings", ())
    config = Config(sheet, data)
    policy = config.section("policy")
    _state_cluster(config)
    _state_policy(policy, is_child="defaults" in data)
    _state_job(config)
    add_defaults(sheet, _FIXED)
    keyed = keyed_file(
        document, _FORMAT, keys_of_format(_FORMAT), refuses_duplicates=True
    )
    if "defaults" in data:  # a key that is not here may stand in the files it names
        keyed = keyed._replace(hidden="defaults")
    return Reading(sheet, keyed, variables=_variables_of(policy))


def _overridden(document: Document) -> Mapping[str, object]:
    """Return data, with sections marked `_override_` as the file alone states them."""
    data, own = section(document.data), section(document.own_data)
    replaced = {
        name: block
        for name, block in own.items()
        if boolean(section(block).get(_OVERRIDE)) is True
    }
    return {**data, **replaced} if replaced else data


def _algorithm_of(data: _Settings) -> str | None:
    """Return the algorithm that has a section."""
    result = (name for name in _ALGORITHMS if isinstance(data.get(name), dict))
    return next(result, None)


def _count(config: Config, name: str) -> int | None:
    """Return a whole number above zero."""
    count = config.whole(name)
    return count if count is not None and count > 0 else None


def _state_cluster(config: Config) -> None:
    """State the GPUs that train: `cluster` counts those that generate too."""
    is_shared = _is_colocated(config)
    reason = _unknown_share(config, is_shared=is_shared)
    if reason:
        _unknown_cluster(config, reason)
    elif is_shared is False:
        _separate(config)
    else:
        config.section("cluster").apply(
            {
                "num_nodes": ("cluster.nodes", integer_text),
                "gpus_per_node": ("cluster.gpus_per_node", integer_text),
            }
        )


def _is_colocated(config: Config) -> bool | None:
    """Return whether all GPUs train; None if a run that generates does not say so."""
    algorithm = _algorithm_of(config.data)
    if algorithm is not None:
        generates = algorithm in _GENERATING
    else:
        block = config.get("policy.generation")
        generates = "defaults" in config or isinstance(block, dict)
    return config.switch(f"{_COLOCATED}.enabled") if generates else True


def _unknown_share(config: Config, *, is_shared: bool | None) -> str:
    """Return why the GPUs that train are not known; empty if they are."""
    if is_shared is None:
        return "cluster counts training and generation; colocated.enabled is not known"
    if isinstance(config.get("env.reward_model"), dict):
        return "cluster counts the nodes of a reward model too"
    if _count(config, "env.nemo_gym.num_gpu_nodes"):
        return "cluster counts the nodes of NeMo Gym too"
    if config.switch("on_policy_distillation.non_colocated_teachers.enabled") is True:
        return "cluster counts the nodes of teachers too"
    return ""


def _unknown_cluster(config: Config, reason: str) -> None:
    if config.get(_NODES) is not None:
        config.unusable("cluster.nodes", reason, _NODES)
        config.unusable("cluster.world_size", reason, _NODES)
    if config.get(_LOCAL) is not None:
        config.unusable("cluster.gpus_per_node", reason, _LOCAL)


def _separate(config: Config) -> None:
    """State that training takes the nodes, or GPUs of one node, left by generation."""
    gone_at = f"{_COLOCATED}.resources.num_nodes"
    used_at = f"{_COLOCATED}.resources.gpus_per_node"
    nodes, local, gone, used = (
        _count(config, name) for name in (_NODES, _LOCAL, gone_at, used_at)
    )
    world = "cluster.world_size"
    if nodes == 1 and local and used and local > used:
        note = f"{local} GPUs - {used} that generate = {local - used}"
        config.state("cluster.nodes", nodes, _NODES)
        config.derive(world, local - used, note, _LOCAL, used_at)
    elif nodes and nodes > 1 and local and gone and nodes > gone:
        left = nodes - gone
        note = f"{nodes} nodes - {gone} that generate = {left}, x {local} GPUs"
        config.state("cluster.gpus_per_node", local, _LOCAL)
        config.derive(world, left * local, note, _NODES, gone_at)
    else:
        reason = "cluster counts training and generation; the share is not stated"
        _unknown_cluster(config, reason)


def _state_job(config: Config) -> None:
    """State length, role, checkpoints and sinks."""
    algorithm = _algorithm_of(config.data)
    if algorithm is not None:
        _algorithm(config, algorithm)
    _checkpoints(config.section("checkpointing"))
    logger = config.section("logger")
    if not logger.put_sinks(_SINKS, "switches of logger") and logger.data:
        config.default("telemetry.sinks", (), "no sink of logger is on")
    key = "gpu_monitoring.collection_interval"
    seconds = logger.number(key)
    if logger.switch("monitor_gpus") is True and seconds is not None:
        logger.state("telemetry.hardware_interval_seconds", seconds, key)


def _algorithm(config: Config, name: str) -> None:
    """State that the run ends with the steps or the epochs, the first of them."""
    block = config.section(name)
    steps = _count(block, "max_num_steps")
    if steps is not None:
        block.state("run.steps", steps, "max_num_steps")
    epochs = block.number("max_num_epochs")
    if epochs is not None and epochs > 0:
        block.state("run.epochs", epochs, "max_num_epochs")
    block.put("run.seed", "seed", integer_text)
    role = _ROLES.get(name)
    if role is not None:
        is_adapted = config.known("model.adapter") == "lora" and name in _ADAPTED
        role = "lora" if is_adapted else role
        config.derive("run.role", role, f"the section {name}", name)


def _checkpoints(saving: Config) -> None:
    """State that fault-tolerance checkpoints come between those that are ranked."""
    key = "ft_save_period" if _count(saving, "ft_save_period") else "save_period"
    saving.put("checkpoint.interval_steps", key, integer_text)
    leaf, ranked, latest = "checkpoint.keep_last", "keep_top_k", "ft_keep_latest_k"
    best, newest = _count(saving, ranked), _count(saving, latest)
    if best is not None and newest is not None and newest > best:
        saving.state(leaf, newest, latest)
    elif best is not None:
        saving.state(leaf, best, ranked)
    elif ranked in saving and saving.get(ranked) is None:
        saving.derive(leaf, 0, "null keeps all", ranked)
    key = "checkpoint_must_save_by"
    if isinstance(saving.get(key), str):
        note = f"{key}: saves before that time"
        saving.turn("recovery.exit_before_walltime", note, key)


def _backend_of(policy: Config) -> str | None:
    """Return the block of the backend that trains; None where not exactly one is on."""
    on = [name for name in _BACKENDS if policy.switch(f"{name}.enabled") is True]
    return on[0] if len(on) == 1 else None


def _state_policy(policy: Config, *, is_child: bool) -> None:
    """State batch, number format and the backend's settings."""
    _micro_batch(policy, is_child=is_child)
    stated = policy.get("precision")
    result = dtype(stated)
    policy.put("precision.compute_dtype", "precision", dtype)
    if isinstance(result, str):
        policy.turn_halves(result, f"precision: {stated}", "precision")
    backend = _backend_of(policy)
    if backend is None:
        return
    block = policy.section(backend)
    _recompute(block)
    if backend == "megatron_cfg":
        block.apply(_MEGATRON)
        _megatron(block, result)
        return
    block.apply(_DTENSOR)
    _dtensor(policy, block)
    add_defaults(policy.sheet, _DTENSOR_ALONE)
    add_defaults(policy.sheet, _DTENSOR_UNSET)


def _variables_of(policy: Config) -> tuple[Variable, ...]:
    """Return what the workers that train get in their environment."""
    backend = _backend_of(policy)
    if backend is None:
        return ()
    block = policy.section(f"{backend}.env_vars")
    return tuple(
        Variable(
            name,
            None if placeholder(value) else str(value),
            policy.sheet.place((*block.prefix, name)),
            str(value),
        )
        for name, value in block.data.items()
        if isinstance(value, str | int | float)
    )


def _micro_batch(policy: Config, *, is_child: bool) -> None:
    """State that packing and dynamic batching fill micro-batches with tokens."""
    leaf, key = "batch.micro_batch_size", "train_micro_batch_size"
    if policy.get(key) is None:
        return
    fillers = ("sequence_packing", "dynamic_batching")
    switches = [policy.switch(f"{name}.enabled") for name in fillers]
    if True in switches:
        policy.unusable(leaf, "micro-batches are filled with tokens", key)
    elif is_child and None in switches:
        reason = "a file that is not there says whether tokens fill the micro-batches"
        policy.unusable(leaf, reason, key)
    else:
        policy.put(leaf, key, integer_text)


def _recompute(block: Config) -> None:
    leaf, key = "memory.recompute_mode", "activation_checkpointing"
    granularity = "recompute_granularity"
    switch = boolean(block.get(key))
    if switch is True and block.get(granularity) == "selective":
        block.derive(leaf, "selective", f"{key} with selective", granularity, key)
    elif isinstance(switch, bool):
        mode = "full" if switch else "none"
        block.derive(leaf, mode, f"{key}: {str(switch).lower()}", key)
    else:
        block.put(leaf, key, boolean)


def _megatron(block: Config, weights: object) -> None:
    _megatron_sharding(block)
    # One buffer holds what micro-batches add and ranks reduce: fp32, or as weights.
    name = "grad_reduce_in_fp32"
    key = f"distributed_data_parallel_config.{name}"
    switch = block.switch(key)
    result = "fp32" if switch is True else weights
    if switch is not None and isinstance(result, str):
        for use in ("reduce", "accumulate"):
            note = f"{name}: {str(switch).lower()}"
            block.derive(f"precision.gradient_{use}_dtype", result, note, key)
    _adapter(block, "peft")
    key = "cuda_graph_impl"
    graphs = block.get(key)
    if isinstance(graphs, str):
        is_on = graphs != "none"
        block.turn("kernels.cuda_graphs", f"{key}: {graphs}", key, is_on=is_on)
    recipe = block.get("fp8_cfg.fp8_recipe")
    if block.switch("fp8_cfg.enabled") is True and isinstance(recipe, str):
        block.state("precision.fp8_recipe", recipe, "fp8_cfg.fp8_recipe")
    keys = [f"num_layers_in_{edge}_pipeline_stage" for edge in ("first", "last")]
    stated = [key for key in keys if isinstance(block.get(key), int)]
    if stated:
        layout = ", ".join(f"{key} {block.get(key)}" for key in stated)
        block.derive("parallelism.pipeline_layout", layout, "uneven stages", *stated)


def _megatron_sharding(block: Config) -> None:
    ddp = block.section("distributed_data_parallel_config")
    stage, engine = "parallelism.sharding_stage", "parallelism.engine"
    if ddp.switch("use_custom_fsdp") is True:
        note = "use_custom_fsdp: true"
        ddp.derive(engine, "megatron-fsdp", note, "use_custom_fsdp")
        key = "data_parallel_sharding_strategy"
        strategy = ddp.get(key)
        if isinstance(strategy, str) and strategy in _STAGES:
            ddp.state(stage, _STAGES[strategy], key)
        return
    block.default(engine, "megatron", "use_custom_fsdp is not on")
    key = "use_distributed_optimizer"
    switch = block.switch(f"optimizer.{key}")
    if switch is not None:
        note = f"{key}: {str(switch).lower()}"
        block.derive(stage, int(switch), note, f"optimizer.{key}")


def _dtensor(policy: Config, block: Config) -> None:
    name = policy.get("optimizer.name")
    if isinstance(name, str) and placeholder(name) is None:
        last = name.rpartition(".")[2].lower()
        policy.state("optimizer.name_of_optimizer", last, "optimizer.name")
    policy.section("optimizer.kwargs").apply(
        {
            "lr": ("optimizer.learning_rate", number),
            "weight_decay": ("optimizer.weight_decay", number),
        }
    )
    policy.put_betas("optimizer.kwargs.betas")
    policy.put("optimizer.clip_norm", "max_grad_norm", number)
    block.put("memory.optimizer_offload_device", "cpu_offload", _OFFLOAD)
    _adapter(block, "lora_cfg")


def _adapter(block: Config, name: str) -> None:
    switch = block.switch(f"{name}.enabled")
    if switch is not None:
        adapter, note = "lora" if switch else "none", f"{str(switch).lower()}"
        block.derive(
            "model.adapter", adapter, f"{name}.enabled: {note}", f"{name}.enabled"
        )
    elif name not in block:
        block.default("model.adapter", "none", f"{name} is not set")


READER = Reader(
    _FORMAT, "config", detect, read, keys=_SECTIONS, interpolates=True, parents=parents
)

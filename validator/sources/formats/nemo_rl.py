"""NeMo-RL's YAML file: reinforcement learning, preference and supervised tuning.

OmegaConf loads it with the files that `defaults` names, relative to the file itself
(nemo_rl/utils/config.py at 0178e5a): it refuses keys that stand twice, and reads `1e-5`
as a number. Nearly every value stands in one of these files; the code has few defaults.
Sources: NVIDIA-NeMo/RL nemo_rl/algorithms/{grpo,dpo,sft}.py (setup), nemo_rl/utils/
checkpoint.py at 01e9028, nemo_rl/models/policy/{__init__,lm_policy}.py and workers/;
NVIDIA/Megatron-LM megatron/core/distributed/.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.convert import (
    Unusable,
    boolean,
    integer_text,
    lower_text,
    number,
    one_of,
    placeholder,
    text,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.formats._huggingface import dtype
from speccheck.validator.sources.keyed import keyed_file
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    derive_switch,
    fixed_defaults,
    items,
    put,
    put_numbers,
    section,
)
from speccheck.validator.sources.reader import Parent, Reader, Reading

_Settings = Mapping[str, object]
_ALGORITHMS = ("grpo", "ppo", "dpo", "sft", "rm", "distillation")
_GENERATING = frozenset({"grpo", "ppo", "distillation"})
_ROLES = {"grpo": "rl", "ppo": "rl", "dpo": "rl", "sft": "sft"}
_ADAPTED = frozenset({"dpo", "sft"})  # an adapter names these runs, as in other formats
_SINKS = (
    ("wandb_enabled", "wandb"),
    ("tensorboard_enabled", "tensorboard"),
    ("mlflow_enabled", "mlflow"),
    ("swanlab_enabled", "swanlab"),
)
_COLOCATED: KeyPath = ("policy", "generation", "colocated")
_NODES: KeyPath = ("cluster", "num_nodes")
_LOCAL: KeyPath = ("cluster", "gpus_per_node")
_CLUSTER: Fields = {
    "num_nodes": ("cluster.nodes", integer_text),
    "gpus_per_node": ("cluster.gpus_per_node", integer_text),
}
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
    """By `policy` with its own keys beside `cluster` or an algorithm.

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
    """The files of `defaults`, the last of which wins over those before it."""
    return tuple(Parent(path, at) for path, at in _parent_paths(section(document.data)))


def _parent_paths(data: Mapping[str, object]) -> list[tuple[str, KeyPath]]:
    """The paths of `defaults`; none where one of them is no YAML file."""
    stated = data.get("defaults")
    single: list[tuple[object, KeyPath]] = [(stated, ("defaults",))]
    several: list[tuple[object, KeyPath]] = [
        (one, ("defaults", index)) for index, one in enumerate(items(stated))
    ]
    found = several if isinstance(stated, list) else single
    paths = [
        (one, at)
        for one, at in found
        if isinstance(one, str) and one.endswith(_SUFFIXES)
    ]
    return paths if len(paths) == len(found) else []


def read(document: Document) -> Reading:
    """What the file states with those that it inherits."""
    sheet = FactSheet.of(document)
    data = _overridden(document)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", "nemo-rl", "NeMo-RL's settings", ())
    _state_cluster(sheet, data)
    _state_policy(sheet, data)
    _state_job(sheet, data)
    add_defaults(sheet, _FIXED)
    keyed = keyed_file(document, _FORMAT, None, refuses_duplicates=True)
    return Reading(sheet, keyed, variables=_variables_of(sheet, data))


def _overridden(document: Document) -> Mapping[str, object]:
    """The data, with sections marked `_override_` as the file alone states them."""
    data, own = section(document.data), section(document.own_data)
    replaced = {
        name: block
        for name, block in own.items()
        if boolean(section(block).get(_OVERRIDE)) is True
    }
    return {**data, **replaced} if replaced else data


def _algorithm_of(data: _Settings) -> str | None:
    """The algorithm that has a section."""
    found = (name for name in _ALGORITHMS if isinstance(data.get(name), dict))
    return next(found, None)


def _whole(value: object) -> int | None:
    found = integer_text(value)
    return found if isinstance(found, int) and found > 0 else None


def _state_cluster(sheet: FactSheet, data: _Settings) -> None:
    """State the GPUs that train: `cluster` counts those that generate too."""
    cluster = section(data, "cluster")
    reason = _unknown_share(data)
    is_shared = _is_colocated(data)
    if reason:
        _unknown_cluster(sheet, cluster, reason)
    elif is_shared is False:
        _separate(sheet, data)
    else:
        apply(sheet, cluster, _CLUSTER, ("cluster",))


def _is_colocated(data: _Settings) -> bool | None:
    """Whether all GPUs train; None where a run that generates does not say so."""
    if not _generates(data):
        return True
    switch = boolean(section(data, *map(str, _COLOCATED)).get("enabled"))
    return switch if isinstance(switch, bool) else None


def _generates(data: _Settings) -> bool:
    algorithm = _algorithm_of(data)
    if algorithm is not None:
        return algorithm in _GENERATING
    return "defaults" in data or isinstance(
        section(data, "policy").get("generation"), dict
    )


def _unknown_share(data: _Settings) -> str:
    """Why the GPUs that train cannot be told from the others; empty if they can."""
    if _is_colocated(data) is None:
        return "cluster counts training and generation; colocated.enabled is not known"
    environments = section(data, "env")
    if isinstance(environments.get("reward_model"), dict):
        return "cluster counts the nodes of a reward model too"
    if _whole(section(environments, "nemo_gym").get("num_gpu_nodes")):
        return "cluster counts the nodes of NeMo Gym too"
    teachers = section(data, "on_policy_distillation", "non_colocated_teachers")
    if boolean(teachers.get("enabled")) is True:
        return "cluster counts the nodes of teachers too"
    return ""


def _unknown_cluster(sheet: FactSheet, cluster: _Settings, reason: str) -> None:
    if cluster.get("num_nodes") is not None:
        sheet.unusable("cluster.nodes", reason, _NODES)
        sheet.unusable("cluster.world_size", reason, _NODES)
    if cluster.get("gpus_per_node") is not None:
        sheet.unusable("cluster.gpus_per_node", reason, _LOCAL)


def _separate(sheet: FactSheet, data: _Settings) -> None:
    """Training takes the nodes, or on one node the GPUs, that generation leaves."""
    cluster = section(data, "cluster")
    resources = section(data, *map(str, _COLOCATED), "resources")
    nodes, local = (
        _whole(cluster.get("num_nodes")),
        _whole(cluster.get("gpus_per_node")),
    )
    gone, used = (
        _whole(resources.get("num_nodes")),
        _whole(resources.get("gpus_per_node")),
    )
    at: KeyPath = (*_COLOCATED, "resources")
    world = "cluster.world_size"
    if nodes == 1 and local and used and local > used:
        note = f"{local} GPUs - {used} that generate = {local - used}"
        sheet.state("cluster.nodes", nodes, _NODES)
        sheet.derive(world, local - used, note, _LOCAL, (*at, "gpus_per_node"))
    elif nodes and nodes > 1 and local and gone and nodes > gone:
        left = nodes - gone
        note = f"{nodes} nodes - {gone} that generate = {left}, x {local} GPUs"
        sheet.state("cluster.gpus_per_node", local, _LOCAL)
        sheet.derive(world, left * local, note, _NODES, (*at, "num_nodes"))
    else:
        reason = "cluster counts training and generation; the share is not stated"
        _unknown_cluster(sheet, cluster, reason)


def _state_job(sheet: FactSheet, data: _Settings) -> None:
    """State length, role, checkpoints and sinks."""
    algorithm = _algorithm_of(data)
    if algorithm is not None:
        _length(sheet, section(data, algorithm), algorithm)
        _role(sheet, algorithm)
    _checkpoints(sheet, section(data, "checkpointing"))
    _telemetry(sheet, section(data, "logger"))


def _length(sheet: FactSheet, block: _Settings, name: str) -> None:
    """The run ends with the steps or with the epochs, whichever come first."""
    steps = _whole(block.get("max_num_steps"))
    if steps is not None:
        sheet.state("run.steps", steps, (name, "max_num_steps"))
    epochs = number(block.get("max_num_epochs"))
    if isinstance(epochs, float) and epochs > 0:
        sheet.state("run.epochs", epochs, (name, "max_num_epochs"))
    if block.get("seed") is not None:
        put(sheet, "run.seed", integer_text(block["seed"]), (name, "seed"))


def _role(sheet: FactSheet, algorithm: str) -> None:
    adapters = {fact.value for fact in sheet.facts if fact.name == "model.adapter"}
    role = _ROLES.get(algorithm)
    if role is not None:
        role = "lora" if "lora" in adapters and algorithm in _ADAPTED else role
        sheet.derive("run.role", role, f"the section {algorithm}", (algorithm,))


def _checkpoints(sheet: FactSheet, block: _Settings) -> None:
    """Fault-tolerance checkpoints come between those that the metric ranks."""
    key = "ft_save_period" if _whole(block.get("ft_save_period")) else "save_period"
    if block.get(key) is not None:
        interval = integer_text(block[key])
        put(sheet, "checkpoint.interval_steps", interval, ("checkpointing", key))
    leaf, best = "checkpoint.keep_last", _whole(block.get("keep_top_k"))
    newest = _whole(block.get("ft_keep_latest_k"))
    at: KeyPath = ("checkpointing", "keep_top_k")
    if best is not None and newest is not None and newest > best:
        sheet.state(leaf, newest, ("checkpointing", "ft_keep_latest_k"))
    elif best is not None:
        sheet.state(leaf, best, at)
    elif "keep_top_k" in block and block["keep_top_k"] is None:
        sheet.derive(leaf, 0, "null keeps all", at)
    if isinstance(block.get("checkpoint_must_save_by"), str):
        place: KeyPath = ("checkpointing", "checkpoint_must_save_by")
        note = "checkpoint_must_save_by: saves before that time"
        derive_switch(sheet, "recovery.exit_before_walltime", note, place)


def _telemetry(sheet: FactSheet, block: _Settings) -> None:
    switches = [(key, name, boolean(block.get(key))) for key, name in _SINKS]
    on = [(key, name) for key, name, switch in switches if switch is True]
    leaf = "telemetry.sinks"
    if on:
        places = [("logger", key) for key, _ in on]
        names = tuple(name for _, name in on)
        sheet.derive(leaf, names, "switches of logger", *places)
    elif block:
        sheet.default(leaf, (), "no sink of logger is on")
    seconds = number(section(block, "gpu_monitoring").get("collection_interval"))
    if boolean(block.get("monitor_gpus")) is True and isinstance(seconds, float):
        at: KeyPath = ("logger", "gpu_monitoring", "collection_interval")
        sheet.state("telemetry.hardware_interval_seconds", seconds, at)


def _backend_of(data: _Settings) -> str | None:
    """The block of the backend that trains; None where not exactly one is on."""
    policy = section(data, "policy")
    on = [
        name
        for name in _BACKENDS
        if boolean(section(policy, name).get("enabled")) is True
    ]
    return on[0] if len(on) == 1 else None


def _state_policy(sheet: FactSheet, data: _Settings) -> None:
    """State batch, number format and the backend's settings."""
    policy = section(data, "policy")
    _micro_batch(sheet, policy, is_child="defaults" in data)
    _precision(sheet, policy.get("precision"))
    backend = _backend_of(data)
    if backend is None:
        return
    block, at = section(policy, backend), ("policy", backend)
    _recompute(sheet, block, at)
    if backend == "megatron_cfg":
        apply(sheet, block, _MEGATRON, at)
        _megatron(sheet, policy, block, at)
        return
    apply(sheet, block, _DTENSOR, at)
    _dtensor(sheet, policy, block, at)
    add_defaults(sheet, _DTENSOR_ALONE)
    add_defaults(sheet, _DTENSOR_UNSET)


def _variables_of(sheet: FactSheet, data: _Settings) -> tuple[Variable, ...]:
    """What the workers that train get in their environment."""
    backend = _backend_of(data)
    if backend is None:
        return ()
    at: KeyPath = ("policy", backend, "env_vars")
    return tuple(
        Variable(
            name,
            None if placeholder(value) else str(value),
            sheet.place((*at, name)),
            str(value),
        )
        for name, value in section(data, *map(str, at)).items()
        if isinstance(value, str | int | float)
    )


def _micro_batch(sheet: FactSheet, policy: _Settings, *, is_child: bool) -> None:
    """Packing and dynamic batching fill micro-batches with tokens, not with samples."""
    stated = policy.get("train_micro_batch_size")
    if stated is None:
        return
    leaf, at = "batch.micro_batch_size", ("policy", "train_micro_batch_size")
    fillers = ("sequence_packing", "dynamic_batching")
    switches = [boolean(section(policy, name).get("enabled")) for name in fillers]
    if True in switches:
        sheet.unusable(leaf, "micro-batches are filled with tokens", at)
    elif is_child and not all(isinstance(one, bool) for one in switches):
        reason = "a file that is not there says whether tokens fill the micro-batches"
        sheet.unusable(leaf, reason, at)
    else:
        put(sheet, leaf, integer_text(stated), at)


def _precision(sheet: FactSheet, stated: object) -> None:
    if stated is None:
        return
    at: KeyPath = ("policy", "precision")
    found = dtype(stated)
    put(sheet, "precision.compute_dtype", found, at)
    if isinstance(found, str):
        note = f"precision: {stated}"
        derive_switch(sheet, "precision.bf16", note, at, is_on=found == "bf16")
        derive_switch(sheet, "precision.fp16", note, at, is_on=found == "fp16")


def _recompute(sheet: FactSheet, block: _Settings, at: KeyPath) -> None:
    leaf, key = "memory.recompute_mode", "activation_checkpointing"
    switch = boolean(block.get(key))
    granularity = block.get("recompute_granularity")
    if switch is True and granularity == "selective":
        place: KeyPath = (*at, "recompute_granularity")
        sheet.derive(leaf, "selective", f"{key} with selective", place, (*at, key))
    elif switch is True:
        sheet.derive(leaf, "full", f"{key}: true", (*at, key))
    elif switch is False:
        sheet.derive(leaf, "none", f"{key}: false", (*at, key))
    elif block.get(key) is not None and isinstance(switch, Unusable):
        sheet.unusable(leaf, switch.reason, (*at, key))


def _megatron(
    sheet: FactSheet, policy: _Settings, block: _Settings, at: KeyPath
) -> None:
    _megatron_sharding(sheet, block, at)
    _megatron_gradients(sheet, block, at, dtype(policy.get("precision")))
    _adapter(sheet, block, (*at, "peft"))
    graphs = block.get("cuda_graph_impl")
    if isinstance(graphs, str):
        place: KeyPath = (*at, "cuda_graph_impl")
        note, leaf = f"cuda_graph_impl: {graphs}", "kernels.cuda_graphs"
        derive_switch(sheet, leaf, note, place, is_on=graphs != "none")
    fp8 = section(block, "fp8_cfg")
    if boolean(fp8.get("enabled")) is True and isinstance(fp8.get("fp8_recipe"), str):
        place = (*at, "fp8_cfg", "fp8_recipe")
        sheet.state("precision.fp8_recipe", fp8["fp8_recipe"], place)
    edges = ("first", "last")
    keys = [f"num_layers_in_{edge}_pipeline_stage" for edge in edges]
    stated = [key for key in keys if isinstance(block.get(key), int)]
    if stated:
        layout = ", ".join(f"{key} {block[key]}" for key in stated)
        places = [(*at, key) for key in stated]
        sheet.derive("parallelism.pipeline_layout", layout, "uneven stages", *places)


def _megatron_sharding(sheet: FactSheet, block: _Settings, at: KeyPath) -> None:
    ddp = section(block, "distributed_data_parallel_config")
    place: KeyPath = (*at, "distributed_data_parallel_config")
    stage, engine = "parallelism.sharding_stage", "parallelism.engine"
    if boolean(ddp.get("use_custom_fsdp")) is True:
        note = "use_custom_fsdp: true"
        sheet.derive(engine, "megatron-fsdp", note, (*place, "use_custom_fsdp"))
        key = "data_parallel_sharding_strategy"
        strategy = ddp.get(key)
        if isinstance(strategy, str) and strategy in _STAGES:
            sheet.state(stage, _STAGES[strategy], (*place, key))
        return
    sheet.default(engine, "megatron", "use_custom_fsdp is not on")
    key = "use_distributed_optimizer"
    switch = boolean(section(block, "optimizer").get(key))
    if isinstance(switch, bool):
        note = f"{key}: {str(switch).lower()}"
        sheet.derive(stage, int(switch), note, (*at, "optimizer", key))


def _megatron_gradients(
    sheet: FactSheet, block: _Settings, at: KeyPath, weights: object
) -> None:
    """One buffer holds what micro-batches add and ranks reduce: fp32, or as weights."""
    name, key = "distributed_data_parallel_config", "grad_reduce_in_fp32"
    switch = boolean(section(block, name).get(key))
    found = "fp32" if switch is True else weights
    if not isinstance(switch, bool) or not isinstance(found, str):
        return
    note = f"{key}: {str(switch).lower()}"
    for use in ("reduce", "accumulate"):
        sheet.derive(f"precision.gradient_{use}_dtype", found, note, (*at, name, key))


def _dtensor(
    sheet: FactSheet, policy: _Settings, block: _Settings, at: KeyPath
) -> None:
    place: KeyPath = ("policy", "optimizer")
    optimizer = section(policy, "optimizer")
    arguments = section(optimizer, "kwargs")
    name = optimizer.get("name")
    if isinstance(name, str) and placeholder(name) is None:
        last = name.rpartition(".")[2].lower()
        sheet.state("optimizer.name_of_optimizer", last, (*place, "name"))
    rows: Fields = {
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
    }
    apply(sheet, arguments, rows, (*place, "kwargs"))
    betas = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, betas, arguments.get("betas"), (*place, "kwargs", "betas"))
    if policy.get("max_grad_norm") is not None:
        clip = number(policy["max_grad_norm"])
        put(sheet, "optimizer.clip_norm", clip, ("policy", "max_grad_norm"))
    if block.get("cpu_offload") is not None:
        device = _OFFLOAD(block["cpu_offload"])
        put(sheet, "memory.optimizer_offload_device", device, (*at, "cpu_offload"))
    _adapter(sheet, block, (*at, "lora_cfg"))


def _adapter(sheet: FactSheet, block: _Settings, at: KeyPath) -> None:
    switch = boolean(section(block, str(at[-1])).get("enabled"))
    if isinstance(switch, bool):
        name = "lora" if switch else "none"
        note = f"{at[-1]}.enabled: {str(switch).lower()}"
        sheet.derive("model.adapter", name, note, (*at, "enabled"))
    elif at[-1] not in block:
        sheet.default("model.adapter", "none", f"{at[-1]} is not set")


READER = Reader(
    _FORMAT, "config", detect, read, keys=_SECTIONS, interpolates=True, parents=parents
)

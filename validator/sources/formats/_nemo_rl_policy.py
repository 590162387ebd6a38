"""How the policy of a NeMo-RL run trains: by Megatron or by DTensor, and in what.

Sources: NVIDIA-NeMo/RL nemo_rl/models/policy/lm_policy.py, nemo_rl/models/policy/
__init__.py and workers/; NVIDIA/Megatron-LM megatron/core/distributed/.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._huggingface import dtype
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    one_of,
    placeholder,
    put,
    put_numbers,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

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


def backend_of(data: Settings) -> str | None:
    """The block of the backend that trains; None where not exactly one is on."""
    policy = section(data, "policy")
    on = [
        name
        for name in _BACKENDS
        if boolean(section(policy, name).get("enabled")) is True
    ]
    return on[0] if len(on) == 1 else None


def state_policy(sheet: FactSheet, data: Settings) -> None:
    """State batch, number format and the backend's settings."""
    policy = section(data, "policy")
    _micro_batch(sheet, policy, is_child="defaults" in data)
    _precision(sheet, policy.get("precision"))
    backend = backend_of(data)
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


def variables_of(sheet: FactSheet, data: Settings) -> tuple[Variable, ...]:
    """What the workers that train get in their environment."""
    backend = backend_of(data)
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


def _micro_batch(sheet: FactSheet, policy: Settings, *, is_child: bool) -> None:
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


def _recompute(sheet: FactSheet, block: Settings, at: KeyPath) -> None:
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


def _megatron(sheet: FactSheet, policy: Settings, block: Settings, at: KeyPath) -> None:
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


def _megatron_sharding(sheet: FactSheet, block: Settings, at: KeyPath) -> None:
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
    sheet: FactSheet, block: Settings, at: KeyPath, weights: object
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


def _dtensor(sheet: FactSheet, policy: Settings, block: Settings, at: KeyPath) -> None:
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


def _adapter(sheet: FactSheet, block: Settings, at: KeyPath) -> None:
    switch = boolean(section(block, str(at[-1])).get("enabled"))
    if isinstance(switch, bool):
        name = "lora" if switch else "none"
        note = f"{at[-1]}.enabled: {str(switch).lower()}"
        sheet.derive("model.adapter", name, note, (*at, "enabled"))
    elif at[-1] not in block:
        sheet.default("model.adapter", "none", f"{at[-1]} is not set")

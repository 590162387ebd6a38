"""Degrees, sharding, batch and number formats of a NeMo Automodel recipe.

Sources: NVIDIA-NeMo/Automodel nemo_automodel/recipes/_dist_utils.py, components/
distributed/{config,mesh_utils}.py and components/training/step_scheduler.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._huggingface import FULL_SHARD, dtype
from speccheck.validator.sources.mapping import (
    Unusable,
    boolean,
    derive_switch,
    integer_text,
    lower_text,
    put,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

_DEGREES = {
    "tp_size": "parallelism.tensor_parallel_size",
    "pp_size": "parallelism.pipeline_parallel_size",
    "cp_size": "parallelism.context_parallel_size",
    "ep_size": "parallelism.expert_parallel_size",
    "dp_replicate_size": "parallelism.replicate_size",
}
_ENGINES = {
    "fsdp2": "fsdp2",
    "ddp": "ddp",
    "megatron_fsdp": "megatron-fsdp",
    "megatron-fsdp": "megatron-fsdp",
    "mfsdp": "megatron-fsdp",
}
# `_target_` of releases before 0.3 names the class.
_CLASSES = (
    ("fsdp2", "fsdp2"),
    ("megatronfsdp", "megatron-fsdp"),
    ("nvfsdp", "megatron-fsdp"),
    ("ddp", "ddp"),
)
_DIFFUSION = "fsdp"  # the section that diffusion recipes read instead
_PARALLELIZER = "parallelizer"  # of MoE models, from 0.2.0
_FULL, _NONE = ("full", "true", "on", "enabled"), ("none", "false", "off", "disabled")


def count(value: object) -> object:
    """A whole number; `none` is null in this loader, which states nothing."""
    if isinstance(value, str) and value.lower() == "none":
        return Unusable("none: not set")
    return integer_text(value)


def distributed_of(data: Settings) -> tuple[str, Settings]:
    """The section with the degrees, and its name."""
    name = "distributed"
    if not isinstance(data.get(name), dict) and isinstance(data.get(_DIFFUSION), dict):
        name = _DIFFUSION
    return name, section(data, name)


def state_parallelism(sheet: FactSheet, data: Settings) -> None:
    """State degrees, engine, batch and number formats."""
    name, block = distributed_of(data)
    _degrees(sheet, name, block)
    engine = _engine(sheet, name, block)
    _batch(sheet, data, name, block)
    _recompute(sheet, data, name, block)
    _offload(sheet, name, block)
    _precision(sheet, data, name, engine)
    if engine == "megatron-fsdp":
        _megatron_fsdp(sheet, name, block)


def _is_set(value: object) -> bool:
    return value is not None and not (
        isinstance(value, str) and value.lower() == "none"
    )


def _degrees(sheet: FactSheet, name: str, block: Settings) -> None:
    """Null takes the default; a data-parallel size without number fills the world."""
    for key, leaf in _DEGREES.items():
        if _is_set(block.get(key)):
            put(sheet, leaf, integer_text(block[key]), (name, key))
        else:
            sheet.default(leaf, 1, f"{key} is not set: 1")
    if _is_set(block.get("dp_size")):
        leaf, at = "parallelism.data_parallel_size", (name, "dp_size")
        put(sheet, leaf, integer_text(block["dp_size"]), at)
    if block.get("sequence_parallel") is not None:
        leaf = "parallelism.sequence_parallel"
        switch = boolean(block["sequence_parallel"])
        put(sheet, leaf, switch, (name, "sequence_parallel"))


def _engine(sheet: FactSheet, name: str, block: Settings) -> str | None:
    """FSDP2 unless a strategy, or the class of an old release, is named."""
    leaf, stage = "parallelism.engine", "parallelism.sharding_stage"
    target = block.get("_target_")
    strategy = block.get("strategy")
    at: KeyPath = (name, "strategy")
    engine: str | None = None
    if isinstance(strategy, str):
        engine = _ENGINES.get(strategy.lower())
        if engine is not None:
            sheet.state(leaf, engine, at)
    elif isinstance(target, str):
        at = (name, "_target_")
        last = target.rpartition(".")[2].lower()
        engine = next((found for part, found in _CLASSES if part in last), None)
        if engine is not None:
            sheet.derive(leaf, engine, target, at)
    elif strategy is None:
        engine = "fsdp2"
        sheet.default(leaf, engine, "strategy is not set: fsdp2")
        sheet.default(stage, FULL_SHARD, "FSDP2 shards fully")
        return engine
    if engine == "fsdp2":
        sheet.derive(stage, FULL_SHARD, "FSDP2 shards fully", at)
    elif engine == "ddp":
        sheet.derive(stage, 0, "DDP shards nothing", at)
    return engine


def _megatron_fsdp(sheet: FactSheet, name: str, block: Settings) -> None:
    stage, key = "parallelism.sharding_stage", "zero_dp_strategy"
    if block.get(key) is not None:
        put(sheet, stage, integer_text(block[key]), (name, key))
    else:
        sheet.default(stage, FULL_SHARD, f"{key} is not set: 3")
    for key, leaf in (
        ("overlap_grad_reduce", "communication.overlap_gradient_reduce"),
        ("overlap_param_gather", "communication.overlap_parameter_gather"),
    ):
        if block.get(key) is not None:
            put(sheet, leaf, boolean(block[key]), (name, key))


def _batch(sheet: FactSheet, data: Settings, name: str, block: Settings) -> None:
    """A rank's batch is cut into pipeline micro-batches where there is a pipeline."""
    local = section(data, "step_scheduler").get("local_batch_size")
    at: KeyPath = ("step_scheduler", "local_batch_size")
    leaf = "batch.micro_batch_size"
    stages = integer_text(block.get("pp_size")) if _is_set(block.get("pp_size")) else 1
    if stages == 1:
        if local is not None:
            put(sheet, leaf, integer_text(local), at)
        return
    if not isinstance(stages, int):
        return
    sheet.default("parallelism.pipeline_engine", "torch", "pipelining of PyTorch")
    key = "pp_microbatch_size"
    for place in ((name, "pipeline"), ("autopipeline",)):
        size = section(data, *place).get(key)
        if size is not None:
            put(sheet, leaf, integer_text(size), (*place, key))
            return
    sheet.default(leaf, 1, f"{key} is not set: 1")


def _recompute(sheet: FactSheet, data: Settings, name: str, block: Settings) -> None:
    leaf, key = "memory.recompute_mode", "activation_checkpointing"
    stated = block.get(key)
    if stated is None and section(data, _PARALLELIZER).get(key) is not None:
        name, stated = _PARALLELIZER, section(data, _PARALLELIZER)[key]
    if stated is None:
        sheet.default(leaf, "none", f"{key} is not set: off")
        return
    word = lower_text(stated)
    if word in _FULL:
        sheet.state(leaf, "full", (name, key))
    elif word in _NONE:
        sheet.state(leaf, "none", (name, key))
    elif word == "selective":
        sheet.state(leaf, "selective", (name, key))
    else:
        found = word if isinstance(word, Unusable) else Unusable(f"unknown: {word}")
        sheet.unusable(leaf, found.reason, (name, key))


def _offload(sheet: FactSheet, name: str, block: Settings) -> None:
    """A policy is set for parameters and optimizer states together."""
    leaves = ("memory.parameter_offload_device", "memory.optimizer_offload_device")
    policy, switch = block.get("offload_policy"), boolean(block.get("cpu_offload"))
    for leaf in leaves:
        if isinstance(policy, dict):
            at: KeyPath = (name, "offload_policy")
            sheet.derive(leaf, "cpu", "the section offload_policy", at)
        elif isinstance(switch, bool):
            device = "cpu" if switch else "none"
            note = f"cpu_offload: {str(switch).lower()}"
            sheet.derive(leaf, device, note, (name, "cpu_offload"))
        elif policy is None:
            sheet.default(leaf, "none", "offload_policy is not set")


def _precision(sheet: FactSheet, data: Settings, name: str, engine: str | None) -> None:
    """FSDP2 computes in bf16 and reduces in fp32 unless its policy says otherwise."""
    policy: KeyPath = (name, "mp_policy")
    block = section(data, name, "mp_policy")
    compute, reduce = block.get("param_dtype"), block.get("reduce_dtype")
    leaf = "precision.compute_dtype"
    if compute is not None:
        _compute(sheet, _torch_dtype(compute), (*policy, "param_dtype"))
    elif engine == "fsdp2" and not isinstance(
        section(data, name).get("mp_policy"), dict
    ):
        note = "mp_policy is not set: FSDP2 computes in bf16"
        sheet.default(leaf, "bf16", note)
        sheet.default("precision.bf16", value=True, note=note)
        sheet.default("precision.fp16", value=False, note=note)
    leaf = "precision.gradient_reduce_dtype"
    if reduce is not None:
        put(sheet, leaf, _torch_dtype(reduce), (*policy, "reduce_dtype"))
    elif section(data, name).get("reduce_dtype") is not None:  # diffusion recipes
        found = _torch_dtype(section(data, name)["reduce_dtype"])
        put(sheet, leaf, found, (name, "reduce_dtype"))
    elif engine == "fsdp2" and not block:
        note = "mp_policy is not set: FSDP2 reduces in fp32"
        sheet.default(leaf, "fp32", note)
    weights = section(data, "model").get("torch_dtype")
    if isinstance(weights, str) and weights != "auto":
        at: KeyPath = ("model", "torch_dtype")
        put(sheet, "precision.parameter_dtype", _torch_dtype(weights), at)


def _compute(sheet: FactSheet, found: object, at: KeyPath) -> None:
    put(sheet, "precision.compute_dtype", found, at)
    if isinstance(found, str):
        note = f"param_dtype: {found}"
        derive_switch(sheet, "precision.bf16", note, at, is_on=found == "bf16")
        derive_switch(sheet, "precision.fp16", note, at, is_on=found == "fp16")


def _torch_dtype(value: object) -> object:
    """`bf16`, `bfloat16` and `torch.bfloat16` are the same."""
    return dtype(value.removeprefix("torch.") if isinstance(value, str) else value)

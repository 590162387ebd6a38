"""What several of nanotron's settings mean together.

Sources, at v0.5 and at 2411b02 of 2025: src/nanotron/config, trainer.py, helpers.py,
parallel/context.py, optim/gradient_accumulator.py, serialize/main.py.
"""

from collections.abc import Mapping
from math import gcd, prod

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    items,
    section,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

_COMMON = fixed_defaults(
    "nanotron has no other way",
    {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        "parallelism.ulysses_size": 1,
        "parallelism.virtual_stages": 1,
        # build_model spreads the blocks over the stages by their cost.
        "parallelism.pipeline_layout": "by the cost of the blocks",
        "checkpoint.format": "sharded",
        "checkpoint.asynchronous": False,
        "checkpoint.save_optimizer": True,
        "checkpoint.keep_last": 0,
        "telemetry.throughput": True,
        "data.resumable": True,
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
    },
)
_CONSERVATIVE = fixed_defaults(
    "not set: off (ParallelismArgs)",
    {
        "parallelism.sequence_parallel": False,
        "communication.overlap_tensor_parallel": False,
        "memory.recompute_mode": "none",
    },
)
_DATA: Fields = {
    "num_loading_workers": ("data.workers", integer),
    "seed": ("data.seed", integer),
}
# The key that selects the class of the model, and whether its feed-forward is gated.
_FAMILIES = {
    "is_llama_config": ("llama", True),
    "is_qwen2_config": ("qwen2", True),
    "is_llamoe_config": ("llamoe", True),
    "is_starcoder2_config": ("starcoder2", False),
}
_WIDEST_GRID = 128  # the largest multiple that matrix units ask for
_DEGREES = (
    ("dp", "parallelism.data_parallel_size"),
    ("tp", "parallelism.tensor_parallel_size"),
    ("pp", "parallelism.pipeline_parallel_size"),
    ("cp", "parallelism.context_parallel_size"),
)


def state_job(sheet: FactSheet, data: Settings) -> None:
    """State what follows from several settings, after fields and defaults."""
    note = "degrees beside tokens: nanotron's sections"
    sheet.derive("run.framework", "nanotron", note, ("parallelism",))
    known = {fact.name: fact.value for fact in sheet.facts}
    _mesh(sheet, section(data, "parallelism"), known)
    _recompute(sheet, section(data, "parallelism"))
    _precision(sheet, section(data, "model"), section(data, "optimizer"))
    _schedule(sheet, section(data, "optimizer", "learning_rate_scheduler"), known)
    _clipping(sheet, section(data, "optimizer"))
    _model(sheet, section(data, "model"))
    _vocabulary(sheet, section(data, "model"), known)
    _checkpoint(sheet, data)
    _data(sheet, data.get("data_stages"))
    _role(sheet, data)
    if "profiler" in data:
        path = section(data, "profiler").get("profiler_export_path")
        is_on = path is not None
        derive_switch(
            sheet, "telemetry.profiler", "profiler", ("profiler",), is_on=is_on
        )
    add_defaults(sheet, _COMMON)
    add_defaults(sheet, _CONSERVATIVE)


def _mesh(sheet: FactSheet, block: Settings, known: Mapping[str, object]) -> None:
    """The product of the degrees must be the world size (ParallelContext).

    Releases differ in whether expert-parallel ranks are counted in.
    """
    degrees = [(name, known.get(leaf)) for name, leaf in _DEGREES]
    ranks = [value for _, value in degrees if isinstance(value, int) and value > 0]
    if len(ranks) < len(degrees) or known.get("parallelism.expert_parallel_size") != 1:
        return
    world_size = prod(ranks)
    factors = " x ".join(f"{name} {value}" for name, value in degrees)
    note = f"{factors} = {world_size:,}; the launcher must start as many"
    at: KeyPath = ("parallelism",)
    weak_default(sheet, "cluster.world_size", world_size, note, at)
    zero = known.get("parallelism.sharding_stage")
    if isinstance(zero, int) and "dp" in block:
        place = ("parallelism", "dp")
        replicas, shards = (1, ranks[0]) if zero else (ranks[0], 1)
        note = f"zero_stage {zero}"
        sheet.derive("parallelism.replicate_size", replicas, note, place)
        sheet.derive("parallelism.shard_size", shards, note, place)


def _recompute(sheet: FactSheet, block: Settings) -> None:
    switch = boolean(block.get("recompute_layer"))
    if isinstance(switch, bool):
        mode = "full" if switch else "none"
        note = f"recompute_layer: {str(switch).lower()}"
        at = ("parallelism", "recompute_layer")
        sheet.derive("memory.recompute_mode", mode, note, at)


def _precision(sheet: FactSheet, model: Settings, optimizer: Settings) -> None:
    """Weights, compute and reduction share a dtype, but for sums kept in fp32."""
    at: KeyPath = ("model", "dtype")
    dtype = next(
        (
            str(fact.value)
            for fact in sheet.facts
            if fact.name == "precision.parameter_dtype" and fact.value is not None
        ),
        None,
    )
    if dtype is not None:
        note = f"model.dtype is {dtype}"
        sheet.derive("precision.compute_dtype", dtype, note, at)
        for name in ("bf16", "fp16"):
            derive_switch(sheet, f"precision.{name}", note, at, is_on=name == dtype)
    elif model.get("dtype") is None:
        note = "model.dtype is not set: bfloat16"
        dtype = "bf16"
        for leaf in ("parameter_dtype", "compute_dtype"):
            sheet.default(f"precision.{leaf}", dtype, note)
        sheet.default("precision.bf16", value=True, note=note)
    wide = boolean(optimizer.get("accumulate_grad_in_fp32"))
    if not isinstance(wide, bool):
        return
    # FP32GradientAccumulator keeps sums and master weights in fp32, and its hook
    # reduces those sums; without it DDP reduces gradients as they are.
    place = ("optimizer", "accumulate_grad_in_fp32")
    note = f"accumulate_grad_in_fp32: {str(wide).lower()}"
    for leaf in (
        "gradient_accumulate_dtype",
        "gradient_reduce_dtype",
        "optimizer_state_dtype",
    ):
        if wide or dtype is not None:
            sheet.derive(f"precision.{leaf}", "fp32" if wide else dtype, note, place)


def _schedule(sheet: FactSheet, block: Settings, known: Mapping[str, object]) -> None:
    """The decay is counted from its first step, not from that of the run."""
    steps = block.get("lr_decay_steps")
    start = block.get("lr_decay_starting_step")
    if start is None:
        start = known.get("optimizer.warmup_steps", 0)
    if isinstance(steps, int) and isinstance(start, int):
        at = ("optimizer", "learning_rate_scheduler", "lr_decay_steps")
        note = f"from step {start:,} on for {steps:,} steps"
        sheet.derive("optimizer.decay_steps", start + steps, note, at)


def _clipping(sheet: FactSheet, block: Settings) -> None:
    if "clip_grad" in block and block["clip_grad"] is None:
        at = ("optimizer", "clip_grad")
        sheet.derive("optimizer.clip_norm", 0.0, "clip_grad: null", at)


def _model(sheet: FactSheet, block: Settings) -> None:
    config = section(block, "model_config")
    at: KeyPath = ("model", "model_config")
    for key, (name, is_gated) in _FAMILIES.items():
        if boolean(config.get(key)) is True:
            place = (*at, key)
            sheet.derive("model.name_of_model", name, key, place)
            sheet.derive("model.family", "transformer", key, place)
            derive_switch(sheet, "model.gated_feed_forward", key, place, is_on=is_gated)
            note = f"nanotron's {name} calls flash-attn"
            if config.get("_attn_implementation") is None:
                sheet.default("kernels.attention_backend", "flash", note)
            break
    heads = integer(config.get("num_attention_heads"))
    key = "num_key_value_heads"
    if key in config and config[key] is None and isinstance(heads, int):
        note = "null: as many as attention heads"
        sheet.derive("model.key_value_heads", heads, note, (*at, key))


def _vocabulary(sheet: FactSheet, block: Settings, known: Mapping[str, object]) -> None:
    """The padded vocabulary (_vocab_size_with_padding), and what divides it."""
    key = "make_vocab_size_divisible_by"
    multiple = integer(block.get(key, 1))
    size = known.get("model.vocabulary_size")
    ranks = known.get("parallelism.tensor_parallel_size")
    numbers = [one for one in (multiple, size, ranks) if isinstance(one, int)]
    if len(numbers) < len((multiple, size, ranks)) or min(numbers) < 1:
        return
    multiple, size, ranks = numbers
    padded = -(-size // (multiple * ranks)) * multiple * ranks
    note = f"{size:,} padded to a multiple of {multiple} x tp {ranks}: {padded:,}"
    places: list[KeyPath] = [("model", "model_config", "vocab_size")]
    if key in block:
        places.insert(0, ("model", key))
    common = gcd(padded, _WIDEST_GRID)
    sheet.derive("model.vocabulary_multiple", common, note, *places)


def _checkpoint(sheet: FactSheet, data: Settings) -> None:
    block = section(data, "checkpoints")
    if "checkpoint_interval" not in block:
        return
    at: KeyPath = ("checkpoints", "checkpoint_interval")
    derive_switch(sheet, "checkpoint.enabled", "checkpoint_interval is set", at)
    sheet.derive("checkpoint.interval_unit", "steps", "checkpoint_interval", at)
    source, target = block.get("resume_checkpoint_path"), block.get("checkpoints_path")
    leaf = "checkpoint.resume"
    if source is None:
        sheet.default(leaf, value=False, note="resume_checkpoint_path is not set")
        return
    place = ("checkpoints", "resume_checkpoint_path")
    if isinstance(source, str) and str(target).rstrip("/") == source.rstrip("/"):
        note = "the newest checkpoint of checkpoints_path"
        derive_switch(sheet, leaf, note, place)
    else:
        sheet.unusable(leaf, "another folder than checkpoints_path", place)


def _data(sheet: FactSheet, stages: object) -> None:
    """The loader of the first stage; later ones may differ."""
    for index, stage in enumerate(items(stages)[:1]):
        at = ("data_stages", index, "data")
        apply(sheet, section(stage, "data"), _DATA, at)


def _role(sheet: FactSheet, data: Settings) -> None:
    leaf = "run.role"
    method = section(data, "model", "init_method")
    at: KeyPath = ("model", "init_method")
    if section(data, "general").get("project") == "debug":
        sheet.derive(leaf, "debug", "project: debug", ("general", "project"))
    elif _fine_tunes(data):
        sheet.derive(leaf, "sft", "sft_dataloader", ("data_stages",))
    elif method.get("path") is not None:
        note = "from the weights of init_method.path"
        sheet.derive(leaf, "continued", note, (*at, "path"))
    elif "std" in method or "use_mup" in method:
        sheet.default(leaf, "pretrain", "init_method: random weights")


def _fine_tunes(data: Settings) -> bool:
    return any(
        "sft_dataloader" in section(stage, "data", "dataset")
        for stage in items(data.get("data_stages"))
    )

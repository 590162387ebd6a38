"""What several of torchtitan's settings mean together.

Sources, at v0.2.2: torchtitan/distributed/parallel_dims.py, distributed/
pipeline_parallel.py, components/checkpoint.py, components/metrics.py, train.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    add_defaults,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    items,
    number,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

FULL_SHARD = 3
SHARD_GRAD_OP = 2
_ONE_STAGE_SCHEDULES = frozenset({"1f1b", "gpipe"})
_COMMON = fixed_defaults(
    "torchtitan has no other way",
    {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        "parallelism.ulysses_size": 1,
        "checkpoint.format": "sharded",
        "checkpoint.interval_unit": "steps",
        "checkpoint.save_optimizer": True,
        "telemetry.throughput": True,
        "data.resumable": True,
    },
)
_PRETRAINING = fixed_defaults(
    "torchtitan trains from new weights unless a checkpoint is named",
    {"run.role": "pretrain"},
)
_LLAMA3_VOCABULARY = 128_256
_QWEN3_VOCABULARY = 151_936
# hidden, layers, heads, key-value heads, head dimension, feed-forward, vocabulary,
# tied embeddings. From torchtitan/models/{llama3,qwen3}/__init__.py; the feed-forward
# size of llama3 by its formula, 2/3 x 4 x hidden x multiplier rounded up.
_FLAVORS = {
    ("llama3", "8B"): (4096, 32, 32, 8, 128, 14336, _LLAMA3_VOCABULARY, False),
    ("llama3", "70B"): (8192, 80, 64, 8, 128, 28672, _LLAMA3_VOCABULARY, False),
    ("llama3", "405B"): (16384, 126, 128, 8, 128, 53248, _LLAMA3_VOCABULARY, False),
    ("qwen3", "0.6B"): (1024, 28, 16, 8, 128, 3072, _QWEN3_VOCABULARY, True),
    ("qwen3", "1.7B"): (2048, 28, 16, 8, 128, 6144, _QWEN3_VOCABULARY, True),
    ("qwen3", "4B"): (2560, 36, 32, 8, 128, 9728, _QWEN3_VOCABULARY, True),
    ("qwen3", "8B"): (4096, 36, 32, 8, 128, 12288, _QWEN3_VOCABULARY, False),
    ("qwen3", "14B"): (5120, 40, 40, 8, 128, 17408, _QWEN3_VOCABULARY, False),
    ("qwen3", "32B"): (5120, 64, 64, 8, 128, 25600, _QWEN3_VOCABULARY, False),
}
_DIMENSIONS = (
    "model.hidden_size",
    "model.layers",
    "model.attention_heads",
    "model.key_value_heads",
    "model.head_dimension",
    "model.feed_forward_size",
    "model.vocabulary_size",
    "model.tied_embeddings",
)
_VARIANTS = ("_flex", "_flex_attn", "_varlen", "_varlen_attn")


def state_job(sheet: FactSheet, data: Settings) -> None:
    """State what follows from several settings, after fields and defaults."""
    add_defaults(sheet, _COMMON)
    known = {fact.name: fact.value for fact in sheet.facts}
    _batch(sheet, data, known)
    _sharding(sheet, data, known)
    _pipeline(sheet, data, known.get("parallelism.pipeline_parallel_size"))
    _precision(sheet, data, known.get("precision.compute_dtype"))
    _offload(sheet, data)
    _model(sheet, data)
    _schedule(sheet, data)
    _checkpoint(sheet, data, known)
    _telemetry(sheet, data)


def _batch(sheet: FactSheet, data: Settings, known: Mapping[str, object]) -> None:
    """A rank's batch is cut into pipeline micro-batches where there is a pipeline."""
    training = section(data, "training")
    key = "local_batch_size" if "local_batch_size" in training else "batch_size"
    local = training.get(key)
    total = integer(training.get("global_batch_size"))
    at: KeyPath = ("training", key)
    micro, steps = "batch.micro_batch_size", "batch.gradient_accumulation_steps"
    if isinstance(total, int) and total > 0:
        total_at = ("training", "global_batch_size")
        sheet.state("batch.global_batch_size", total, total_at)
    if not isinstance(local, int) or isinstance(local, bool):
        return
    if known.get("parallelism.pipeline_parallel_size") == 1:
        sheet.state(micro, local, at)
        if not isinstance(total, int) or total <= 0:
            note = "no global batch size: one micro-batch of each rank"
            sheet.default(steps, 1, note)
        return
    has_total = isinstance(total, int) and total > 0
    _pipeline_batch(sheet, data, local, at, has_total=has_total)


def _pipeline_batch(
    sheet: FactSheet, data: Settings, local: int, at: KeyPath, *, has_total: bool
) -> None:
    key = "pipeline_parallel_microbatch_size"
    size = section(data, "parallelism").get(key)
    micro, steps = "batch.micro_batch_size", "batch.gradient_accumulation_steps"
    if isinstance(size, int):
        sheet.state(micro, size, ("parallelism", key))
    elif "parallelism" in data:
        size = 1
        sheet.default(micro, size, f"{key} is not set: 1")
    else:
        return
    if not has_total and size > 0:
        note = f"{local} samples of a rank in micro-batches of {size}"
        sheet.derive(steps, local // size, note, at)


def _sharding(sheet: FactSheet, data: Settings, known: Mapping[str, object]) -> None:
    block = section(data, "parallelism")
    shards = known.get("parallelism.shard_size")
    replicas = known.get("parallelism.replicate_size")
    leaf = "parallelism.sharding_stage"
    at: KeyPath = ("parallelism", "data_parallel_shard_degree")
    if shards == 1 and known.get("parallelism.context_parallel_size") == 1:
        if isinstance(replicas, int) and replicas > 1:
            sheet.derive("parallelism.engine", "ddp", "shard degree 1", at)
        sheet.derive(leaf, 0, "shard degree 1", at)
        return
    sheet.default("parallelism.engine", "fsdp2", "torchtitan shards with FSDP2")
    word = block.get("fsdp_reshard_after_forward", "default")
    pipelines = known.get("parallelism.pipeline_parallel_size")
    place: KeyPath = ("parallelism", "fsdp_reshard_after_forward")
    if word == "always":
        sheet.derive(leaf, FULL_SHARD, "resharded after forward", place)
    elif word == "never":
        sheet.derive(leaf, SHARD_GRAD_OP, "not resharded after forward", place)
    elif isinstance(pipelines, int):
        stage = FULL_SHARD if pipelines == 1 else SHARD_GRAD_OP
        note = f"resharding by default with pipeline degree {pipelines}"
        sheet.default(leaf, stage, note)


def _pipeline(sheet: FactSheet, data: Settings, ranks: object) -> None:
    if isinstance(ranks, int) and ranks > 1:
        note = "torch.distributed.pipelining"
        sheet.default("parallelism.pipeline_engine", "torch", note)
    for name in ("parallelism", "experimental"):
        schedule = section(data, name).get("pipeline_parallel_schedule")
        if isinstance(schedule, str) and schedule.lower() in _ONE_STAGE_SCHEDULES:
            at = (name, "pipeline_parallel_schedule")
            note = f"{schedule} has one stage on each rank"
            sheet.derive("parallelism.virtual_stages", 1, note, at)
    block = section(data, "parallelism")
    size, key = block.get("tensor_parallel_degree"), "enable_sequence_parallel"
    leaf = "parallelism.sequence_parallel"
    if isinstance(size, int) and size > 1:
        if block.get(key) is False:  # there since 2026
            sheet.state(leaf, value=False, at=("parallelism", key))
            return
        # Its plans keep activations sharded along the sequence between the layers.
        at = ("parallelism", "tensor_parallel_degree")
        note = "torchtitan's tensor parallelism is sequence-parallel"
        derive_switch(sheet, leaf, note, at)


def _precision(sheet: FactSheet, data: Settings, dtype: object) -> None:
    key = "mixed_precision_param"
    if key in section(data, "training") and isinstance(dtype, str):
        note = f"{key}: {dtype}"
        at: KeyPath = ("training", key)
        derive_switch(sheet, "precision.bf16", note, at, is_on=dtype == "bf16")
    elif dtype == "bf16":
        note = f"{key} is not set: bfloat16"
        sheet.default("precision.bf16", value=True, note=note)
    for index, name in enumerate(items(section(data, "model").get("converters"))):
        at = ("model", "converters", index)
        if isinstance(name, str) and ("float8" in name or name.endswith("mx")):
            derive_switch(sheet, "precision.fp8", name, at)
            if name.endswith("mx"):
                sheet.derive("precision.fp8_recipe", "mxfp8", name, at)
    for names in (("quantize", "linear", "float8"), ("float8",)):
        recipe = section(data, *names).get("recipe_name")
        if isinstance(recipe, str) and recipe:
            sheet.state("precision.fp8_recipe", recipe, (*names, "recipe_name"))


def _offload(sheet: FactSheet, data: Settings) -> None:
    switch = section(data, "training").get("enable_cpu_offload")
    device = "cpu" if switch is True else "none"
    for leaf in ("memory.parameter_offload_device", "memory.optimizer_offload_device"):
        if isinstance(switch, bool):
            at = ("training", "enable_cpu_offload")
            sheet.derive(leaf, device, "enable_cpu_offload", at)
        else:
            sheet.default(leaf, device, "enable_cpu_offload is not set: false")


def _model(sheet: FactSheet, data: Settings) -> None:
    model = section(data, "model")
    name, flavor = model.get("name"), model.get("flavor")
    at: KeyPath = ("model", "flavor")
    initial = section(data, "checkpoint").get("initial_load_path")
    if isinstance(name, str) and isinstance(flavor, str):
        _dimensions(sheet, name, flavor)
        sheet.derive("model.name_of_model", f"{name} {flavor}", "name and flavor", at)
        sheet.default("model.family", "transformer", "all of torchtitan's models are")
    if isinstance(flavor, str) and "debug" in flavor:
        sheet.derive("run.role", "debug", f"flavor {flavor}", at)
    elif isinstance(initial, str) and initial:
        place = ("checkpoint", "initial_load_path")
        sheet.derive("run.role", "continued", "initial_load_path", place)
    else:
        add_defaults(sheet, _PRETRAINING)


def _dimensions(sheet: FactSheet, name: str, flavor: str) -> None:
    for variant in _VARIANTS:
        flavor = flavor.removesuffix(variant)
    values = _FLAVORS.get((name, flavor))
    if values is None:
        return
    at = ("model", "flavor")
    note = f"{name} {flavor} in torchtitan"
    for leaf, value in zip(_DIMENSIONS, values, strict=True):
        sheet.derive(leaf, value, note, at)
    derive_switch(sheet, "model.gated_feed_forward", note, at)


def _schedule(sheet: FactSheet, data: Settings) -> None:
    rate = number(section(data, "optimizer").get("lr"))
    factor = number(section(data, "lr_scheduler").get("min_lr_factor"))
    if isinstance(rate, float) and isinstance(factor, float):
        at = ("lr_scheduler", "min_lr_factor")
        note = f"{factor:g} x {rate:g}"
        sheet.derive("optimizer.minimum_learning_rate", rate * factor, note, at)


def _checkpoint(sheet: FactSheet, data: Settings, known: Mapping[str, object]) -> None:
    block = section(data, "checkpoint")
    folder = block.get("folder", "checkpoint")
    root = section(data, "job").get("dump_folder")
    if isinstance(root, str) and isinstance(folder, str):
        at = ("job", "dump_folder")
        path = f"{root.rstrip('/')}/{folder}"
        sheet.derive("checkpoint.directory", path, "dump_folder/folder", at)
    if known.get("checkpoint.enabled") is True and block.get("load_step", -1) == -1:
        note = "load_step -1: the newest checkpoint"
        keys = [key for key in ("enable", "enable_checkpoint") if key in block]
        derive_switch(sheet, "checkpoint.resume", note, ("checkpoint", *keys[:1]))


def _telemetry(sheet: FactSheet, data: Settings) -> None:
    metrics = section(data, "metrics")
    switches = (("tensorboard", "enable_tensorboard"), ("wandb", "enable_wandb"))
    on = [(name, key) for name, key in switches if boolean(metrics.get(key)) is True]
    if on:
        places = [("metrics", key) for _, key in on]
        names = tuple(name for name, _ in on)
        sheet.derive("telemetry.sinks", names, "switches of [metrics]", *places)
    else:
        sheet.default("telemetry.sinks", (), "no sink is on; metrics go to the log")

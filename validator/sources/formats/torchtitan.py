"""torchtitan's TOML of v0.1 and v0.2, and the spellings of 2024.

Keys and defaults: schemas/catalogues/frameworks/torchtitan.yaml. Since February 2026
torchtitan is configured in Python; what a run writes down of its settings is read too.

`debug.save_config_file` and `debug.print_config` give JSON (torchtitan/trainer.py,
Config.to_dict). Up to v0.2.2 it is the tree of the TOML. Since then some sections have
other names: `model_spec`, `profiler`, `checkpointer`, a `dataloader` of its own,
`dump_folder` at the top; a section that is null is off; and from f204eb6 on batches are
counted in tokens. Sources, at v0.2.2: torchtitan/distributed/parallel_dims.py,
distributed/pipeline_parallel.py, components/{checkpoint,metrics}.py, train.py.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.framework_version import FrameworkVersion
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.convert import (
    Unusable,
    boolean,
    integer,
    lower_text,
    number,
    one_of,
)
from speccheck.validator.sources.documents.document import Document, Resolution
from speccheck.validator.sources.facts import FactSheet
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
from speccheck.validator.sources.reader import Reader, Reading

_Settings = Mapping[str, object]
_FULL_SHARD = 3
_SHARD_GRAD_OP = 2
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
_CHECKPOINT = ("checkpoint", "checkpointer")
_TOKENS = "num_tokens_per_microbatch_per_dp_rank"
_ALL_TOKENS = "num_tokens_per_train_step"
_LENGTH = "max_context_length"
_BETAS = ("optimizer.beta1", "optimizer.beta2")
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
    "enable_async_tensor_parallel": ("communication.overlap_tensor_parallel", boolean),
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
        ("training.mixed_precision_reduce", "precision.gradient_reduce_dtype", _DTYPE),
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
    if _is_dump(data):
        return _read_dump(document, data)
    sheet = FactSheet.of(document)
    apply(sheet, data, _FIELDS)
    # The section came with v0.1: before it, other defaults held.
    version = _FIRST_NUMBERED if "parallelism" in data else None
    at: KeyPath = ()
    sheet.derive("run.framework", "torchtitan", "torchtitan's sections", at)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS, version))
    _state_job(sheet, data)
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _read_dump(document: Document, data: Mapping[str, object]) -> Reading:
    """What a run wrote down: all that it goes by, and no key that it can refuse."""
    sheet, view = _opened(document, data)
    apply(sheet, view, _FIELDS)
    at: KeyPath = ()
    sheet.derive("run.framework", "torchtitan", "torchtitan's sections", at)
    _state_dump(sheet, data)
    _state_job(sheet, view)
    return Reading(sheet, keyed_file(document, _FORMAT, None))


def _state_job(sheet: FactSheet, data: _Settings) -> None:
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


def _batch(sheet: FactSheet, data: _Settings, known: Mapping[str, object]) -> None:
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
    sheet: FactSheet, data: _Settings, local: int, at: KeyPath, *, has_total: bool
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


def _sharding(sheet: FactSheet, data: _Settings, known: Mapping[str, object]) -> None:
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
        sheet.derive(leaf, _FULL_SHARD, "resharded after forward", place)
    elif word == "never":
        sheet.derive(leaf, _SHARD_GRAD_OP, "not resharded after forward", place)
    elif isinstance(pipelines, int):
        stage = _FULL_SHARD if pipelines == 1 else _SHARD_GRAD_OP
        note = f"resharding by default with pipeline degree {pipelines}"
        sheet.default(leaf, stage, note)


def _pipeline(sheet: FactSheet, data: _Settings, ranks: object) -> None:
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


def _precision(sheet: FactSheet, data: _Settings, dtype: object) -> None:
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


def _offload(sheet: FactSheet, data: _Settings) -> None:
    switch = section(data, "training").get("enable_cpu_offload")
    device = "cpu" if switch is True else "none"
    for leaf in ("memory.parameter_offload_device", "memory.optimizer_offload_device"):
        if isinstance(switch, bool):
            at = ("training", "enable_cpu_offload")
            sheet.derive(leaf, device, "enable_cpu_offload", at)
        else:
            sheet.default(leaf, device, "enable_cpu_offload is not set: false")


def _model(sheet: FactSheet, data: _Settings) -> None:
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


def _schedule(sheet: FactSheet, data: _Settings) -> None:
    rate = number(section(data, "optimizer").get("lr"))
    factor = number(section(data, "lr_scheduler").get("min_lr_factor"))
    if isinstance(rate, float) and isinstance(factor, float):
        at = ("lr_scheduler", "min_lr_factor")
        note = f"{factor:g} x {rate:g}"
        sheet.derive("optimizer.minimum_learning_rate", rate * factor, note, at)


def _checkpoint(sheet: FactSheet, data: _Settings, known: Mapping[str, object]) -> None:
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


def _telemetry(sheet: FactSheet, data: _Settings) -> None:
    metrics = section(data, "metrics")
    switches = (("tensorboard", "enable_tensorboard"), ("wandb", "enable_wandb"))
    on = [(name, key) for name, key in switches if boolean(metrics.get(key)) is True]
    if on:
        places = [("metrics", key) for _, key in on]
        names = tuple(name for name, _ in on)
        sheet.derive("telemetry.sinks", names, "switches of [metrics]", *places)
    else:
        sheet.default("telemetry.sinks", (), "no sink is on; metrics go to the log")


class DumpSheet(FactSheet):
    """A sheet whose paths are those of the TOML; places are where the dump says it."""

    __slots__ = ("written",)

    def __init__(self, document: Document, written: Mapping[KeyPath, KeyPath]) -> None:
        """Take the document, and by section of the TOML the path in the dump."""
        super().__init__(document.name, document)
        self.written = written

    def place(self, path: KeyPath) -> Place:
        """The place of a key path of the TOML."""
        return super().place(self._in_dump(path))

    def _where(self, at: KeyPath | Place) -> tuple[Place, Resolution | None]:
        return super()._where(at if isinstance(at, Place) else self._in_dump(at))

    def _in_dump(self, path: KeyPath) -> KeyPath:
        for length in range(len(path), 0, -1):
            written = self.written.get(path[:length])
            if written is not None:
                return (*written, *path[length:])
        return path


def _is_dump(data: _Settings) -> bool:
    """Whether these are the settings of a run of 2026, not a TOML of before."""
    return "dump_folder" in data and isinstance(data.get("training"), dict)


def _opened(document: Document, data: _Settings) -> tuple[DumpSheet, _Settings]:
    """A sheet for a dump, and its settings in the sections of the TOML."""
    saves = next((name for name in _CHECKPOINT if name in data), _CHECKPOINT[0])
    profiles = "profiler" if "profiler" in data else "profiling"
    loads = section(data, "dataloader")
    view: dict[str, object] = {
        **data,
        "checkpoint": section(data, saves),
        "job": {"dump_folder": data.get("dump_folder")},
        "model": section(data, "model_spec"),
        "profiling": section(data, profiles),
        "training": {**section(data, "training"), "dataloader": loads},
    }
    written: dict[KeyPath, KeyPath] = {
        ("checkpoint",): (saves,),
        ("job",): (),
        ("model",): ("model_spec",),
        ("profiling",): (profiles,),
        ("training", "dataloader"): ("dataloader",),
    }
    return DumpSheet(document, written), view


def _state_dump(sheet: FactSheet, data: _Settings) -> None:
    """State what a dump says in another way than the TOML; `data` as it is written."""
    saves = next((name for name in _CHECKPOINT if name in data), "")
    _presence(sheet, data, saves, "checkpoint.enabled", ("checkpoint",))
    _presence(sheet, data, "compile", "kernels.compiled", ("compile",))
    if "activation_checkpoint" in data and data["activation_checkpoint"] is None:
        leaf, at = "memory.recompute_mode", ("activation_checkpoint",)
        sheet.derive(leaf, "none", "activation_checkpoint is null", at)
    _optimizer(sheet, section(data, "optimizer"))
    _converters(sheet, data)
    _tokens(sheet, data)
    _graphs(sheet, section(data, "training"))


def _presence(
    sheet: FactSheet, data: _Settings, name: str, leaf: str, at: KeyPath
) -> None:
    """A section without a switch is on where it stands, and off where it is null."""
    if name not in data or "enable" in section(data, name):
        return
    is_on = isinstance(data[name], dict)
    note = f"{name} is {'configured' if is_on else 'null'}"
    derive_switch(sheet, leaf, note, at, is_on=is_on)


def _optimizer(sheet: FactSheet, optimizer: _Settings) -> None:
    """The last group of parameters takes all that no pattern before it took."""
    groups = items(optimizer.get("param_groups"))
    if not groups:
        return
    at: KeyPath = ("optimizer", "param_groups", len(groups) - 1)
    group = section(groups[-1])
    settings = section(group, "optimizer_kwargs")
    if group.get("optimizer_name") is not None:
        name = lower_text(group["optimizer_name"])
        put(sheet, "optimizer.name_of_optimizer", name, (*at, "optimizer_name"))
    for key, leaf in (
        ("lr", "optimizer.learning_rate"),
        ("weight_decay", "optimizer.weight_decay"),
    ):
        if settings.get(key) is not None:
            put(sheet, leaf, number(settings[key]), (*at, "optimizer_kwargs", key))
    place = (*at, "optimizer_kwargs", "betas")
    put_numbers(sheet, _BETAS, settings.get("betas"), place)


def _converters(sheet: FactSheet, data: _Settings) -> None:
    """Converters have no names in a dump; those of fp8 have a recipe."""
    found = items(section(data, "model_converters").get("converters"))
    for index, converter in enumerate(found):
        recipe = section(converter).get("recipe_name")
        if not isinstance(recipe, str) or "fp4" in recipe:
            continue
        at: KeyPath = ("model_converters", "converters", index, "recipe_name")
        derive_switch(sheet, "precision.fp8", f"recipe {recipe}", at)
        sheet.state("precision.fp8_recipe", recipe, at)


def _tokens(sheet: FactSheet, data: _Settings) -> None:
    """Tokens in samples of the longest context; documents may be shorter."""
    training = section(data, "training")
    length = integer(training.get(_LENGTH))
    tokens, total = integer(training.get(_TOKENS)), integer(training.get(_ALL_TOKENS))
    if not isinstance(length, int) or not isinstance(tokens, int) or length < 1:
        return
    long: KeyPath = ("training", _LENGTH)
    sheet.state("batch.sequence_length", length, long)
    at: KeyPath = ("training", _TOKENS)
    micro = "batch.micro_batch_size"
    note = f"{tokens:,} tokens / {length:,} of a sample"
    if tokens % length == 0:
        samples = tokens // length
        sheet.derive(micro, samples, f"{note} = {samples:,}", at, long)
    else:
        sheet.unusable(micro, f"{note} is no whole number", at)
    if isinstance(total, int) and total > 0:
        _all_tokens(sheet, total, length)
    else:
        _fewest_steps(sheet, data)


def _all_tokens(sheet: FactSheet, total: int, length: int) -> None:
    at: KeyPath = ("training", _ALL_TOKENS)
    note = f"{total:,} tokens / {length:,} of a sample"
    leaf = "batch.global_batch_size"
    if total % length == 0:
        sheet.derive(leaf, total // length, f"{note} = {total // length:,}", at)
    else:
        sheet.unusable(leaf, f"{note} is no whole number", at)


def _fewest_steps(sheet: FactSheet, data: _Settings) -> None:
    """Without a total each rank runs one round of pipeline micro-batches."""
    parallel = section(data, "parallelism")
    ranks = integer(parallel.get("pipeline_parallel_degree", 1))
    count = integer(parallel.get("num_pp_microbatches", 1)) if ranks != 1 else 1
    leaf = "batch.gradient_accumulation_steps"
    if isinstance(count, int) and count > 0:
        note = f"{_ALL_TOKENS} is not set: one round"
        places = [("parallelism", "num_pp_microbatches")] if ranks != 1 else []
        sheet.derive(leaf, count, note, ("training", _ALL_TOKENS), *places)


def _graphs(sheet: FactSheet, training: _Settings) -> None:
    switch = training.get("disable_cuda_graphs")
    if isinstance(switch, bool):
        at = ("training", "disable_cuda_graphs")
        note = f"disable_cuda_graphs: {str(switch).lower()}"
        derive_switch(sheet, "kernels.cuda_graphs", note, at, is_on=not switch)


READER = Reader(_FORMAT, "config", detect, read, keys=("training",))

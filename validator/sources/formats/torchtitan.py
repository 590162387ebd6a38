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
from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    FrameworkVersion,
)
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.documents.document import Document, Resolution
from speccheck.validator.sources.formats._config import Config, defaults_of
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    items,
    lower_text,
    number,
    one_of,
    section,
    tabulated_defaults,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

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
_CHECKPOINT = ("checkpoint", "checkpointer")
_TOKENS = "training.num_tokens_per_microbatch_per_dp_rank"
_ALL_TOKENS = "training.num_tokens_per_train_step"
_LENGTH = "training.max_context_length"
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
    """Return the switch of 2024, without which foreach was taken."""
    switch = boolean(value)
    return switch if isinstance(switch, Unusable) else True


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
_DEFAULTS = defaults_of(
    _FIELDS,
    "parallelism.data_parallel_replicate_degree",
    "parallelism.data_parallel_shard_degree",
    "parallelism.tensor_parallel_degree",
    "parallelism.pipeline_parallel_degree",
    "parallelism.context_parallel_degree",
    "parallelism.expert_parallel_degree",
    "training.seq_len",
    "training.steps",
    "training.max_norm",
    "training.dtype",
    "training.mixed_precision_param",
    "training.mixed_precision_reduce",
    "training.dataloader.num_workers",
    "activation_checkpoint.mode",
    "compile.enable",
    "optimizer.implementation",
    "checkpoint.enable",
    "checkpoint.interval",
    "checkpoint.async_mode",
    "checkpoint.keep_latest_k",
    "metrics.log_freq",
    "profiling.enable_profiling",
    "comm.init_timeout_seconds",
    "comm.train_timeout_seconds",
)
_FIRST_NUMBERED = FrameworkVersion(None, (0, 1, 0), or_newer=True)


def detect(document: Document) -> float:
    """Recognise it by [training] with own keys, and two signs in other sections."""
    data = section(document.data)
    training = section(data, "training")
    if _TRAINING_KEYS.isdisjoint(training):
        return 0.0
    signs = sum(1 for name, key in _SIGNS if key in section(data, name))
    if signs < _FEWEST_SIGNS:
        return 0.0
    return min(0.98, 0.6 + 0.06 * signs)


def read(document: Document) -> Reading:
    """Return what the file states, and what torchtitan does where it states nothing."""
    data = section(document.data)
    if _is_dump(data):
        return _read_dump(document, data)
    sheet = FactSheet.of(document)
    apply(sheet, _current(data, keys_of_format(_FORMAT)), _FIELDS)
    # The section came with v0.1: before it, other defaults held.
    version = _FIRST_NUMBERED if "parallelism" in data else None
    sheet.derive("run.framework", "torchtitan", "torchtitan's sections", ())
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS, version))
    _state_job(Config(sheet, data))
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _current(
    data: Mapping[str, object], catalogue: FrameworkKeys | None
) -> Mapping[str, object]:
    """Return the sections without keys whose successor is stated: none reads both."""
    if catalogue is None:
        return data
    result: dict[str, object] = {}
    for name, block in data.items():
        rows = {key: catalogue.lookup((name, key)) for key in section(data, name)}
        gone = {
            key
            for key, row in rows.items()
            if row is not None
            and row.removed_in
            and any(
                successor.rpartition(".")[2] in section(data, successor.split(".")[0])
                for successor in row.deprecated_by
            )
        }
        result[name] = (
            {
                key: value
                for key, value in section(data, name).items()
                if key not in gone
            }
            if gone
            else block
        )
    return result


def _read_dump(document: Document, data: Mapping[str, object]) -> Reading:
    """Return what a run wrote down: all that it goes by, no key that it can refuse."""
    sheet, view = _opened(document, data)
    apply(sheet, view, _FIELDS)
    sheet.derive("run.framework", "torchtitan", "torchtitan's sections", ())
    _state_dump(Config(sheet, data))
    _state_job(Config(sheet, view))
    return Reading(sheet, keyed_file(document, _FORMAT, None))


def _state_job(config: Config) -> None:
    """State what follows from several settings, after fields and defaults."""
    add_defaults(config.sheet, _COMMON)
    _batch(config)
    _sharding(config)
    _pipeline(config)
    _precision(config)
    _offload(config)
    _model(config)
    config.scale_rate("optimizer.lr", "lr_scheduler.min_lr_factor")
    _checkpoint(config)
    sinks = {"enable_tensorboard": "tensorboard", "enable_wandb": "wandb"}
    metrics = config.section("metrics")
    if not metrics.put_sinks(sinks, "switches of [metrics]"):
        config.default("telemetry.sinks", (), "no sink is on; metrics go to the log")


def _batch(config: Config) -> None:
    """State that a rank's batch is cut into micro-batches if there is a pipeline."""
    newer, older = "training.local_batch_size", "training.batch_size"
    key = newer if newer in config else older
    local, total = config.get(key), config.whole("training.global_batch_size", integer)
    micro, steps = "batch.micro_batch_size", "batch.gradient_accumulation_steps"
    has_total = total is not None and total > 0
    if has_total:
        config.state("batch.global_batch_size", total, "training.global_batch_size")
    if not isinstance(local, int) or isinstance(local, bool):
        if isinstance(local, str):
            config.unusable(micro, f"placeholder {local:.60}", key)
        return
    if isinstance(pipeline := config.get("parallelism.pipeline_parallel_degree"), str):
        config.unusable(micro, f"the pipeline is {pipeline:.60}", key)
        return
    if config.known("parallelism.pipeline_parallel_size") == 1:
        config.state(micro, local, key)
        if not has_total:
            config.default(
                steps, 1, "no global batch size: one micro-batch of each rank"
            )
        return
    name = "pipeline_parallel_microbatch_size"
    size = config.get(f"parallelism.{name}")
    if isinstance(size, int):
        config.state(micro, size, f"parallelism.{name}")
    elif "parallelism" in config:
        size = 1
        config.default(micro, size, f"{name} is not set: 1")
    else:
        return
    if not has_total and size > 0:
        note = f"{local} samples of a rank in micro-batches of {size}"
        config.derive(steps, local // size, note, key)


def _sharding(config: Config) -> None:
    engine, leaf = "parallelism.engine", "parallelism.sharding_stage"
    key = "parallelism.data_parallel_shard_degree"
    shards = config.known("parallelism.shard_size")
    if shards == 1 and config.known("parallelism.context_parallel_size") == 1:
        replicas = config.known("parallelism.replicate_size")
        if isinstance(replicas, int) and replicas > 1:
            config.derive(engine, "ddp", "shard degree 1", key)
        config.derive(leaf, 0, "shard degree 1", key)
        return
    config.default(engine, "fsdp2", "torchtitan shards with FSDP2")
    key = "parallelism.fsdp_reshard_after_forward"
    word = config.get(key, "default")
    pipelines = config.known("parallelism.pipeline_parallel_size")
    is_stated = config.first(
        leaf,
        (word == "always", _FULL_SHARD, "resharded after forward", key),
        (word == "never", _SHARD_GRAD_OP, "not resharded after forward", key),
    )
    if isinstance(pipelines, int) and not is_stated:
        stage = _FULL_SHARD if pipelines == 1 else _SHARD_GRAD_OP
        note = f"resharding by default with pipeline degree {pipelines}"
        config.default(leaf, stage, note)


def _pipeline(config: Config) -> None:
    ranks = config.known("parallelism.pipeline_parallel_size")
    if isinstance(ranks, int) and ranks > 1:
        note = "torch.distributed.pipelining"
        config.default("parallelism.pipeline_engine", "torch", note)
    for name in ("parallelism", "experimental"):
        key = f"{name}.pipeline_parallel_schedule"
        schedule = config.get(key)
        if isinstance(schedule, str) and schedule.lower() in _ONE_STAGE_SCHEDULES:
            note = f"{schedule} has one stage on each rank"
            config.derive("parallelism.virtual_stages", 1, note, key)
    degree = "parallelism.tensor_parallel_degree"
    switch = "parallelism.enable_sequence_parallel"
    leaf, size = "parallelism.sequence_parallel", config.get(degree)
    if isinstance(size, int) and size > 1:
        if config.get(switch) is False:  # there since 2026
            config.state(leaf, value=False, name=switch)
            return
        # Its plans keep activations sharded along the sequence between the layers.
        note = "torchtitan's tensor parallelism is sequence-parallel"
        config.turn(leaf, note, degree)


def _precision(config: Config) -> None:
    name = "mixed_precision_param"
    key, leaf = f"training.{name}", "precision.bf16"
    dtype = config.known("precision.compute_dtype")
    if key in config and isinstance(dtype, str):
        config.turn(leaf, f"{name}: {dtype}", key, is_on=dtype == "bf16")
    elif dtype == "bf16":
        config.default(leaf, value=True, note=f"{name} is not set: bfloat16")
    sheet = config.sheet
    for index, converter in enumerate(items(config.get("model.converters"))):
        at = config.at("model.converters", index)
        if isinstance(converter, str) and (
            "float8" in converter or converter.endswith("mx")
        ):
            derive_switch(sheet, "precision.fp8", converter, at)
            if converter.endswith("mx"):
                sheet.derive("precision.fp8_recipe", "mxfp8", converter, at)
    for key in ("quantize.linear.float8.recipe_name", "float8.recipe_name"):
        recipe = config.get(key)
        if isinstance(recipe, str) and recipe:
            config.state("precision.fp8_recipe", recipe, key)


def _offload(config: Config) -> None:
    name = "enable_cpu_offload"
    switch = config.get(f"training.{name}")
    for leaf in ("memory.parameter_offload_device", "memory.optimizer_offload_device"):
        if isinstance(switch, bool):
            config.derive(leaf, "cpu" if switch else "none", name, f"training.{name}")
        else:
            config.default(leaf, "none", f"{name} is not set: false")


def _model(config: Config) -> None:
    name, flavor = config.get("model.name"), config.get("model.flavor")
    key = "model.flavor"
    path = "checkpoint.initial_load_path"
    initial = config.get(path)
    if isinstance(name, str) and isinstance(flavor, str):
        config.derive("model.name_of_model", f"{name} {flavor}", "name and flavor", key)
        config.default("model.family", "transformer", "all of torchtitan's models are")
    is_debug = isinstance(flavor, str) and "debug" in flavor
    is_continued = isinstance(initial, str) and initial
    if not config.first(
        "run.role",
        (is_debug, "debug", f"flavor {flavor}", key),
        (is_continued, "continued", "initial_load_path", path),
    ):
        add_defaults(config.sheet, _PRETRAINING)


def _checkpoint(config: Config) -> None:
    folder = config.get("checkpoint.folder", "checkpoint")
    root = config.get("job.dump_folder")
    if isinstance(root, str) and isinstance(folder, str):
        path, note = f"{root.rstrip('/')}/{folder}", "dump_folder/folder"
        config.derive("checkpoint.directory", path, note, "job.dump_folder")
    is_newest = config.get("checkpoint.load_step", -1) == -1
    if config.known("checkpoint.enabled") is True and is_newest:
        keys = ("checkpoint.enable", "checkpoint.enable_checkpoint")
        key = next((key for key in keys if key in config), "checkpoint")
        config.turn("checkpoint.resume", "load_step -1: the newest checkpoint", key)


class DumpSheet(FactSheet):
    """A sheet whose paths are those of the TOML; places are where the dump says it."""

    __slots__ = ("written",)

    def __init__(self, document: Document, written: Mapping[KeyPath, KeyPath]) -> None:
        """Take the document, and by section of the TOML the path in the dump."""
        super().__init__(document.name, document)
        self.written = written

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key path of the TOML."""
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
    """Return whether these are the settings of a run of 2026, not a TOML of before."""
    return "dump_folder" in data and isinstance(data.get("training"), dict)


def _opened(document: Document, data: _Settings) -> tuple[DumpSheet, _Settings]:
    """Return a sheet for a dump, and its settings in the sections of the TOML."""
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


def _state_dump(config: Config) -> None:
    """State what a dump says in another way than the TOML, as it is written."""
    saves = next((name for name in _CHECKPOINT if name in config), "")
    # A section without a switch is on where it stands, and off where it is null.
    for name, leaf, key in (
        (saves, "checkpoint.enabled", "checkpoint"),
        ("compile", "kernels.compiled", "compile"),
    ):
        if name in config.data and f"{name}.enable" not in config:
            is_on = isinstance(config.get(name), dict)
            note = f"{name} is {'configured' if is_on else 'null'}"
            config.turn(leaf, note, key, is_on=is_on)
    key = "activation_checkpoint"
    if key in config and config.get(key) is None:
        config.derive("memory.recompute_mode", "none", f"{key} is null", key)
    _optimizer(config)
    _converters(config)
    _tokens(config)
    switch = config.get("training.disable_cuda_graphs")
    if isinstance(switch, bool):
        note = f"disable_cuda_graphs: {str(switch).lower()}"
        key = "training.disable_cuda_graphs"
        config.turn("kernels.cuda_graphs", note, key, is_on=not switch)


def _optimizer(config: Config) -> None:
    """State the optimizer; the last group of parameters takes all that others left."""
    groups = items(config.get("optimizer.param_groups"))
    if not groups:
        return
    at = config.at("optimizer.param_groups", len(groups) - 1)
    group = Config(config.sheet, groups[-1], at)
    group.put("optimizer.name_of_optimizer", "optimizer_name", lower_text)
    group.put("optimizer.learning_rate", "optimizer_kwargs.lr", number)
    group.put("optimizer.weight_decay", "optimizer_kwargs.weight_decay", number)
    group.put_betas("optimizer_kwargs.betas")


def _converters(config: Config) -> None:
    """State the converters, which have no names in a dump.

    Those of fp8 have a recipe.
    """
    key = "model_converters.converters"
    for index, entry in enumerate(items(config.get(key))):
        converter = Config(config.sheet, entry, config.at(key, index))
        recipe = converter.get("recipe_name")
        if isinstance(recipe, str) and "fp4" not in recipe:
            converter.turn("precision.fp8", f"recipe {recipe}", "recipe_name")
            converter.state("precision.fp8_recipe", recipe, "recipe_name")


def _tokens(config: Config) -> None:
    """State the tokens in samples of the longest context; documents may be shorter."""
    length, tokens, total = (
        config.whole(key, integer) for key in (_LENGTH, _TOKENS, _ALL_TOKENS)
    )
    if length is None or tokens is None or length < 1:
        return
    config.state("batch.sequence_length", length, _LENGTH)
    _samples(config, "batch.micro_batch_size", tokens, length, (_TOKENS, _LENGTH))
    if total is not None and total > 0:
        _samples(config, "batch.global_batch_size", total, length, (_ALL_TOKENS,))
        return
    # Without a total each rank runs one round of pipeline micro-batches.
    ranks = integer(config.get("parallelism.pipeline_parallel_degree", 1))
    key, count = "parallelism.num_pp_microbatches", integer(1)
    if ranks != 1:
        count = integer(config.get(key, 1))
    if isinstance(count, int) and count > 0:
        note = "num_tokens_per_train_step is not set: one round"
        keys = (_ALL_TOKENS, key) if ranks != 1 else (_ALL_TOKENS,)
        config.derive("batch.gradient_accumulation_steps", count, note, *keys)


def _samples(
    config: Config, leaf: str, tokens: int, length: int, keys: tuple[str, ...]
) -> None:
    note = f"{tokens:,} tokens / {length:,} of a sample"
    if tokens % length == 0:
        samples = tokens // length
        config.derive(leaf, samples, f"{note} = {samples:,}", *keys)
    else:
        config.unusable(leaf, f"{note} is no whole number", keys[0])


READER = Reader(_FORMAT, "config", detect, read, keys=("training",))

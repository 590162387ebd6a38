"""MaxText's YAML: recipes on top of base.yml, and the files of its models.

Keys and defaults: schemas/catalogues/frameworks/maxtext.yaml. MaxText runs on JAX. Its
loader (maxtext/configs/pyconfig.py) reads `base_config` from the folder of the file, or
else from its own; the file of `model_name` then replaces what both say.
Every axis of the mesh has a size within a slice (`ici_`) and one across slices
(`dcn_`); -1 fills one axis of each. Batches are per device, not per data-parallel rank.
Sources, 0.1.0 to 0.2.5: maxtext/configs/base.yml (logical_axis_rules),
maxtext/configs/types.py (set_derived_and_validate_values),
maxtext/utils/max_utils.py (fill_unspecified_mesh_axes), maxtext/configs/models/*.yml.
"""

from collections.abc import Mapping
from math import prod

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config, defaults_of
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer,
    integer_text,
    lower_text,
    number,
    one_of,
    section,
    tabulated_defaults,
    text,
    weak_default,
    without_place,
)
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Parent,
    Reader,
    Reading,
    keyed_file,
)

_FULL_SHARD = 3
_FILL = -1
# The axes that are not 1 by default (base.yml of every version).
_FILLED = frozenset({"dcn_data_parallelism", "ici_fsdp_parallelism"})
# `embed` lies on the fsdp and expert axes, and so does the batch.
_GROUPS = {
    "parallelism.tensor_parallel_size": (
        "tensor",
        "tensor_transpose",
        "tensor_sequence",
    ),
    "parallelism.pipeline_parallel_size": ("pipeline",),
    "parallelism.context_parallel_size": ("context",),
    "parallelism.ulysses_size": ("sequence", "context_usp_ulysses"),
    "parallelism.expert_parallel_size": ("expert",),
    "parallelism.replicate_size": ("diloco", "data"),
    "parallelism.shard_size": ("fsdp", "fsdp_transpose", "expert"),
}
_SHARD = "parallelism.shard_size"
_EXPERT = "parallelism.expert_parallel_size"
_PIPELINE = "parallelism.pipeline_parallel_size"
_OF_A_REPLICA = (
    "parallelism.tensor_parallel_size",
    _PIPELINE,
    "parallelism.context_parallel_size",
    "parallelism.ulysses_size",
)
_USUAL_AXES = frozenset({"data", "stage", "fsdp", "tensor"})
_FORMAT = "maxtext"
_KEYS = (
    "base_config",
    "base_emb_dim",
    "base_num_decoder_layers",
    "decoder_block",
    "max_target_length",
    "per_device_batch_size",
    "remat_policy",
)
_SIGNS = frozenset(
    {
        *_KEYS,
        "async_checkpointing",
        "attention_type",
        "base_mlp_dim",
        "base_num_kv_heads",
        "base_num_query_heads",
        "base_output_directory",
        "checkpoint_period",
        "enable_checkpointing",
        "logits_via_embedding",
        "max_prefill_predict_length",
        "megablox",
        "mlp_activations",
        "override_model_config",
        "scan_layers",
        "student_overrides",
        "use_grpo",
        "use_iota_embed",
        "use_sft",
    }
)
_FEWEST_SIGNS = 2
# MaxDiffusion took over the form of these files, not their keys.
_OF_MAXDIFFUSION = frozenset({"activations_dtype", "weights_dtype"})
# Without any of these a file only describes a model.
_RUN_KEYS = ("base_config", "per_device_batch_size", "steps", "max_target_length")
# `configs` is the folder of base.yml; recipes lie in it or up to two folders below.
_BASE_FOLDERS = (".", "..", "../..")
_MODEL_FOLDERS = ("models", "../models", "../../models")
_ALWAYS = fixed_defaults(
    "MaxText runs on JAX", {"run.uses_torch": False, "model.family": "transformer"}
)
_OF_A_RUN = fixed_defaults(
    "MaxText has no other way",
    {
        "batch.mode": "fixed",
        "kernels.compiled": True,
        "checkpoint.format": "sharded",
        "checkpoint.interval_unit": "steps",
        "checkpoint.save_optimizer": True,
        # maxtext/common/metric_logger.py; log_period only flushes TensorBoard.
        "telemetry.log_interval_steps": 1,
        "telemetry.throughput": True,
    },
)
_PRETRAINING = fixed_defaults(
    "no key of post-training is set", {"run.role": "pretrain"}
)
_SWITCHES_OF_ROLES = (("use_dpo", "rl"), ("use_grpo", "rl"), ("use_sft", "sft"))
_SINKS = {
    "enable_tensorboard": "tensorboard",
    "gcs_metrics": "google-cloud-storage",
    "use_vertex_tensorboard": "vertex-tensorboard",
}


def detect(document: Document) -> float:
    """Recognise the format by two of MaxText's names; those of the mesh count too."""
    data = section(document.data)
    if _OF_MAXDIFFUSION.intersection(data):
        return 0.0
    signs = len(_SIGNS.intersection(data))
    if signs < _FEWEST_SIGNS:
        signs += sum(1 for key in data if str(key).startswith(("ici_", "dcn_")))
    if signs < _FEWEST_SIGNS:
        return 0.0
    return min(0.98, 0.6 + 0.06 * signs)


def parents(document: Document) -> tuple[Parent, ...]:
    """Return `base_config`, and the file of the model, which wins.

    The table knows what base.yml gives; any other file must be there to be known.
    """
    data = section(document.data)
    base, model = data.get("base_config"), data.get("model_name")
    result: list[Parent] = []
    at: KeyPath
    if isinstance(base, str) and base:
        at = ("base_config",)
        is_tabulated = base.rpartition("/")[2] == "base.yml"
        result.append(Parent(base, at, (), _BASE_FOLDERS, is_optional=is_tabulated))
    if isinstance(model, str) and model not in {"", "default"}:
        at = ("model_name",)
        target = model.replace("-Instruct", "") + ".yml"
        parent = Parent(target, at, (), _MODEL_FOLDERS, wins=True, is_optional=True)
        result.append(parent)
    return tuple(result)


def read(document: Document) -> Reading:
    """Return what the file states; a recipe also has what base.yml gives."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    sheet.derive("run.framework", "maxtext", "MaxText's keys", ())
    apply(sheet, _chosen(data), _FIELDS)
    config = Config(sheet, data)
    _dimensions(config)
    _state_quantization(config)
    if any(key in data for key in _RUN_KEYS):
        _run(config)
        add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
        add_defaults(sheet, _OF_A_RUN)
    add_defaults(sheet, _ALWAYS)
    keyed = keyed_file(
        document,
        _FORMAT,
        keys_of_format(_FORMAT),
        # OmegaConf.load raises on a key that stands twice (omegaconf/_utils.py).
        refuses_duplicates=True,
    )
    # The loader takes the word for null, whatever the key (_prepare_for_pydantic).
    keys = tuple(
        key._replace(value=None) if str(key.value).lower() == "none" else key
        for key in keyed.keys
    )
    return Reading(sheet, keyed._replace(keys=keys))


def _chosen(data: Mapping[str, object]) -> Mapping[str, object]:
    """Return the settings without those whose value leaves the choice to MaxText."""
    return {
        key: value
        for key, value in data.items()
        if value != "" and not (key == "attention" and value == "autoselected")
    }


def _dimensions(config: Config) -> None:
    if integer(config.get("global_parameter_scale", 1)) == 1:
        config.apply(_DIMENSION_FIELDS)
    else:
        config.drop("model.name_of_model")  # that model, and larger
    experts = config.whole("num_experts", integer)
    if experts is not None and experts > 1:
        config.state("model.experts", experts, "num_experts")


def _run(config: Config) -> None:
    _state_mesh(config)
    _state_pipeline(config)
    _state_sharding(config)
    _state_batch(config)
    _role(config)
    _steps(config)
    _reduction(config)
    _checkpoint(config)
    _input(config)
    _offload(config)
    sheet, data = config.sheet, config.data
    if data.get("hardware") == "tpu":
        # base.yml says so too; what the job runs on is known better elsewhere.
        leaf = "cluster.accelerator_family"
        weak_default(sheet, leaf, "tpu", "hardware: tpu", ("hardware",))
    key = "enable_rampup_batch_size"
    if config.switch(key) is True:
        config.derive("batch.mode", "rampup", f"{key}: true", key)
    key = "enable_tensorboard"
    is_stated = config.put_sinks(_SINKS, "switches of the file")
    if not is_stated and config.get(key) is None:
        config.default("telemetry.sinks", ("tensorboard",), f"{key} is not set: true")


def _role(config: Config) -> None:
    is_synthetic = config.get("dataset_type") == "synthetic"
    has_adapter = config.switch("lora.enable_lora") is True
    nothing = "synthetic data: nothing is learnt"
    if config.first(
        "run.role",
        (is_synthetic, "debug", nothing, "dataset_type"),
        (has_adapter, "lora", "lora.enable_lora", "lora.enable_lora"),
        *(
            (config.switch(key) is True, role, f"{key}: true", key)
            for key, role in _SWITCHES_OF_ROLES
        ),
        (
            config.get("load_parameters_path"),
            "continued",
            "starts from given weights",
            "load_parameters_path",
        ),
    ):
        return
    is_plain = config.get("base_config") in (None, "base.yml")
    if is_plain and not config.get("student_overrides"):
        add_defaults(config.sheet, _PRETRAINING)


def _steps(config: Config) -> None:
    """State the steps; -1 of one takes the other."""
    run, schedule = "steps", "learning_rate_schedule_steps"
    steps, decay = config.whole(run, integer), integer(config.get(schedule, -1))
    if steps is not None and steps > 0:
        config.state("run.steps", steps, run)
        if decay == -1:
            note = "the schedule is as long as the run"
            config.derive("optimizer.decay_steps", steps, note, run)
    if isinstance(decay, int) and decay > 0:
        config.state("optimizer.decay_steps", decay, schedule)
        if steps == -1:
            note = "steps is -1: the length of the schedule"
            config.derive("run.steps", decay, note, schedule)
    key = "learning_rate_final_fraction"
    key = key if key in config else f"cosine_{key}"
    config.scale_rate("learning_rate", key)


def _reduction(config: Config) -> None:
    """State that gradients have the weights' type, in newer versions grad_dtype's."""
    gradients = config.get("grad_dtype")
    if config.get("weight_dtype", "float32") != "float32":
        return
    leaves = ["precision.gradient_accumulate_dtype"]
    if gradients is None:
        leaves.append("precision.gradient_reduce_dtype")
    if gradients in (None, "float32"):
        note = "gradients are float32, as the weights"
        values = dict.fromkeys(leaves, "fp32")
        add_defaults(config.sheet, fixed_defaults(note, values))


def _checkpoint(config: Config) -> None:
    root, name = config.get("base_output_directory"), config.get("run_name")
    is_named = isinstance(name, str) and name
    if isinstance(root, str) and root and is_named:
        path = f"{root.rstrip('/')}/{name}/checkpoints"
        leaf = "checkpoint.directory"
        note = "base_output_directory/run_name/checkpoints"
        config.derive(leaf, path, note, "base_output_directory")
    if is_named and boolean(config.get("enable_checkpointing", True)) is True:
        note = "the newest checkpoint of the run of this name"
        config.turn("checkpoint.resume", note, "run_name")
    key = "enable_continuous_checkpointing"
    if config.switch(key) is True:
        reason = "a checkpoint begins when the one before is written"
        config.drop("checkpoint.interval_steps")
        config.unusable("checkpoint.interval_steps", reason, key)
    if any(config.switch(key) is True for key in _LOCAL_SWITCHES):
        apply(config.sheet, _chosen(config.data), _LOCAL)
    evaluation = config.whole("eval_interval", integer)
    if evaluation is not None and evaluation > 0:
        leaf = "checkpoint.evaluation_interval_steps"
        config.state(leaf, evaluation, "eval_interval")


def _input(config: Config) -> None:
    """State what only Grain has: workers, and saving where it stands."""
    leaf, key = "data.resumable", "dataset_type"
    kind = config.get(key)
    if kind == "grain":
        workers = config.whole("grain_worker_count", integer)
        if workers is not None and workers >= 0:
            config.state("data.workers", workers, "grain_worker_count")
        config.turn(leaf, "Grain saves its position", key)
    elif kind in ("hf", "tfds"):
        config.turn(leaf, f"the {kind} pipeline starts over", key, is_on=False)


def _offload(config: Config) -> None:
    leaf, key = "memory.activation_offload", "remat_policy"
    policy = config.get(key)
    if policy == "custom":
        kept = [str(name) for name, value in config.data.items() if value == "offload"]
        note = f"custom: {', '.join(kept) or 'no tensor'} offloaded"
        config.derive(leaf, bool(kept), f"{note:.80}", key, *kept)
    elif isinstance(policy, str):
        note = f"remat_policy: {policy}"
        config.turn(leaf, note, key, is_on=policy.endswith("offloaded"))
    else:
        config.default(leaf, value=False, note="remat_policy is not set: full")


def _cpu(value: object) -> object:
    """Return the device for a switch that moves states to the memory of the host."""
    converted = boolean(value)
    if isinstance(converted, Unusable):
        return converted
    return "cpu" if converted else "none"


def _kept(value: object) -> object:
    """Return how many checkpoints stay; None keeps all."""
    if value is None or value == "None":
        return 0
    return integer_text(value)


def _recompute(value: object) -> object:
    """Return the mode of a policy; to keep some tensors is to recompute others."""
    word = lower_text(value)
    if isinstance(word, Unusable):
        return word
    return word if word in {"full", "none"} else "selective"


def _gated(value: object) -> object:
    """Return whether two activations, one of them linear, make a gated layer."""
    if isinstance(value, list) and value:
        return len(value) > 1
    return Unusable(f"{value!r:.60} is no list of activations")


def _profiled(value: object) -> object:
    """Return the name of a profiler; an empty one is off."""
    word = text(value)
    return word if isinstance(word, Unusable) else word != ""


_DTYPE = one_of({"bfloat16": "bf16", "float32": "fp32", "float16": "fp16"})
_ATTENTION = one_of(
    {
        "dot_product": "eager",
        "flash": "flash",
        "cudnn_flash_te": "fused",
        "cudnn_flash_jax": "fused",
    }
)
_FIELDS: Fields = {
    "max_target_length": ("batch.sequence_length", integer),
    "packing": ("batch.packing", boolean),
    "dtype": ("precision.compute_dtype", _DTYPE),
    "weight_dtype": ("precision.parameter_dtype", _DTYPE),
    "grad_dtype": ("precision.gradient_reduce_dtype", _DTYPE),
    "mu_dtype": ("precision.optimizer_state_dtype", _DTYPE),
    "remat_policy": ("memory.recompute_mode", _recompute),
    "optimizer_memory_host_offload": ("memory.optimizer_offload_device", _cpu),
    "parameter_memory_host_offload": ("memory.parameter_offload_device", _cpu),
    "attention": ("kernels.attention_backend", _ATTENTION),
    "opt_type": ("optimizer.name_of_optimizer", lower_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "adam_b1": ("optimizer.beta1", number),
    "adam_b2": ("optimizer.beta2", number),
    "adam_weight_decay": ("optimizer.weight_decay", number),
    "gradient_clipping_threshold": ("optimizer.clip_norm", number),
    "lr_schedule_type": ("optimizer.schedule", lower_text),
    "warmup_steps_fraction": ("optimizer.warmup_ratio", number),
    "jax_distributed_initialization_timeout": (
        "communication.initialization_timeout_seconds",
        number,
    ),
    "enable_checkpointing": ("checkpoint.enabled", boolean),
    "checkpoint_period": ("checkpoint.interval_steps", integer),
    "async_checkpointing": ("checkpoint.asynchronous", boolean),
    "max_num_checkpoints_to_keep": ("checkpoint.keep_last", _kept),
    "data_shuffle_seed": ("data.seed", integer),
    "abort_on_nan_loss": ("recovery.non_finite_guard", boolean),
    "profiler": ("telemetry.profiler", _profiled),
    "init_weights_seed": ("run.seed", integer),
    "model_name": ("model.name_of_model", text),
    "head_dim": ("model.head_dimension", integer),
    "vocab_size": ("model.vocabulary_size", integer),
    "logits_via_embedding": ("model.tied_embeddings", boolean),
    "mlp_activations": ("model.gated_feed_forward", _gated),
    "num_experts_per_tok": ("model.experts_per_token", integer),
}
# Multiplied by global_parameter_scale.
_DIMENSION_FIELDS: Fields = {
    "base_emb_dim": ("model.hidden_size", integer),
    "base_num_decoder_layers": ("model.layers", integer),
    "base_num_query_heads": ("model.attention_heads", integer),
    "base_num_kv_heads": ("model.key_value_heads", integer),
    "base_mlp_dim": ("model.feed_forward_size", integer),
    "base_moe_mlp_dim": ("model.expert_feed_forward_size", integer),
}
_DEFAULTS = defaults_of(
    _FIELDS,
    "max_target_length",
    "dtype",
    "weight_dtype",
    "remat_policy",
    "optimizer_memory_host_offload",
    "parameter_memory_host_offload",
    "opt_type",
    "adam_b1",
    "adam_b2",
    "adam_weight_decay",
    "gradient_clipping_threshold",
    "warmup_steps_fraction",
    "enable_checkpointing",
    "checkpoint_period",
    "async_checkpointing",
    "profiler",
)
# Read where one of LOCAL_SWITCHES is on.
_LOCAL_SWITCHES = ("enable_emergency_checkpoint", "enable_multi_tier_checkpointing")
_LOCAL: Fields = {
    "local_checkpoint_directory": ("checkpoint.local_directory", text),
    "local_checkpoint_period": ("checkpoint.local_interval_steps", integer),
}


class _Axis(Record):
    """The size of one axis over one network.

    Attributes:
        key: of the file.
        size: of the axis; -1 fills the network, None cannot be worked out.
        is_stated: the file has the key.
    """

    key: str
    size: int | None
    is_stated: bool = False


def _state_mesh(config: Config) -> None:
    """State the degrees that the axes of the mesh make."""
    if _is_own_mesh(config.data):
        for leaf in _GROUPS:
            without_place(config.sheet, leaf, "the file gives a mesh of its own")
        return
    is_moved = config.get("context_sharding", "context") != "context"
    every = _axes(config, _ALL_AXES)
    is_only_fill = sum(axis.size == _FILL for axis in every) == 1
    for leaf, names in _GROUPS.items():
        if is_moved and leaf in {"parallelism.context_parallel_size", _EXPERT}:
            without_place(config.sheet, leaf, "context_sharding uses another axis")
        else:
            axes = _axes(config, names)
            _state_degree(config, leaf, axes, is_only_fill=is_only_fill)
    # A mesh without -1 fixes the devices; what launches the job knows them better.
    sizes = [axis.size for axis in every]
    factors = [axis for axis in every if axis.is_stated and axis.size != 1]
    if factors and all(size is not None and size > 0 for size in sizes):
        world_size = prod(size or 1 for size in sizes)
        product = " x ".join(str(axis.size) for axis in factors)
        note = f"all axes of the mesh: {product} = {world_size:,}"
        places = tuple(config.sheet.place((axis.key,)) for axis in factors)
        fact = Fact("cluster.world_size", world_size, "default", places, note)
        config.sheet.facts.append(fact)


def _is_own_mesh(data: Mapping[str, object]) -> bool:
    """Return whether other axes than those of base.yml make the mesh."""
    axes = data.get("mesh_axes")
    is_cut = isinstance(axes, list) and not _USUAL_AXES.issubset(axes)
    return is_cut or data.get("custom_mesh_and_rule") not in (None, "", "default")


_ALL_AXES = (
    "diloco",
    "data",
    "pipeline",
    "fsdp",
    "fsdp_transpose",
    "sequence",
    "context",
    "context_usp_ulysses",
    "context_autoregressive",
    "tensor",
    "tensor_transpose",
    "tensor_sequence",
    "expert",
    "autoregressive",
)


def _axes(config: Config, names: tuple[str, ...]) -> list[_Axis]:
    keys = [f"{net}_{name}_parallelism" for name in names for net in ("dcn", "ici")]
    return [
        _Axis(key, _FILL if key in _FILLED else 1)
        if config.get(key) is None
        else _Axis(key, config.whole(key, integer), is_stated=True)
        for key in keys
    ]


def _state_degree(
    config: Config, leaf: str, axes: list[_Axis], *, is_only_fill: bool
) -> None:
    unreadable = next((axis for axis in axes if axis.size is None), None)
    if unreadable is not None:
        reason = f"{unreadable.key} is not a whole number"
        config.unusable(leaf, reason, unreadable.key)
        return
    keys = [axis.key for axis in axes if axis.is_stated]
    filled = next((axis for axis in axes if axis.size == _FILL), None)
    if filled is None:
        factors = [axis for axis in axes if axis.is_stated]
        factors = [axis for axis in factors if axis.size != 1] or factors[:1]
        keys = [axis.key for axis in factors]
        value = prod(axis.size or 1 for axis in axes)
        note = " x ".join(f"{axis.key} {axis.size}" for axis in factors)
        note += f" = {value:,}" if len(factors) > 1 else ""
    elif leaf == _SHARD and is_only_fill:
        value, note = _FILL, f"{filled.key}: -1 fills the mesh"
    else:
        what = "the slices" if filled.key.startswith("dcn") else "the slice"
        reason = f"{filled.key}: -1 fills {what}"
        places = tuple(config.sheet.place((key,)) for key in keys)
        config.sheet.facts.append(Fact(leaf, None, "unknown", places, reason))
        return
    if not keys:
        config.default(leaf, value, note or "no axis of the mesh is set for it")
    elif len(keys) == 1:
        config.state(leaf, value, keys[0])
    else:
        config.derive(leaf, value, note, *keys)


def _state_pipeline(config: Config) -> None:
    """State circular pipelines: a rank holds one stage for each repeat."""
    if (_known(config, _PIPELINE) or 1) == 1:
        return
    key = "num_pipeline_repeats"
    repeats = integer(config.get(key, _FILL))
    if isinstance(repeats, int) and repeats > 0:
        config.state("parallelism.virtual_stages", repeats, key)
        return
    leaf, key = "parallelism.layers_per_virtual_stage", "num_layers_per_pipeline_stage"
    layers = integer(config.get(key, 1))
    if isinstance(layers, int) and key in config:
        config.state(leaf, layers, key)
    elif isinstance(layers, int):
        config.default(leaf, layers, f"{key} is not set: 1")


def _state_sharding(config: Config) -> None:
    """State that weights lie on the fsdp axes.

    The optimizer may be cut without them.
    """
    leaf, key = "parallelism.sharding_stage", "shard_optimizer_over_data"
    shards = _known(config, _SHARD)
    if shards == 1 and config.switch(key) is True:
        config.derive(leaf, 1, f"the fsdp axes are 1; {key}", key)
    elif shards == 1:
        keys = [key for key in ("ici_fsdp_parallelism",) if key in config]
        config.derive(leaf, 0, "the fsdp axes are 1", *keys)
    elif shards is not None or (
        integer(config.get("ici_fsdp_parallelism", _FILL)) == _FILL
    ):
        config.default(leaf, _FULL_SHARD, "weights lie on the fsdp axes of the mesh")


def _state_batch(config: Config) -> None:
    """State samples of a data-parallel rank: those of all devices of one replica."""
    micro, steps = "batch.micro_batch_size", "batch.gradient_accumulation_steps"
    key, accumulates = "per_device_batch_size", "gradient_accumulation_steps"
    degrees = [_known(config, leaf) for leaf in _OF_A_REPLICA]
    known = [degree for degree in degrees if degree is not None]
    if len(known) < len(degrees):
        if config.get(key) is not None:
            config.unusable(micro, "the devices of one replica are not known", key)
        return
    devices, stages = prod(known), _known(config, _PIPELINE) or 1
    splits = _pipeline_splits(config, stages)
    accumulation = integer(config.get(accumulates, 1))
    if stages > 1 and isinstance(accumulation, int) and splits:
        note = f"{accumulation} x {splits} micro-batches of the pipeline"
        keys = (accumulates, "num_pipeline_microbatches")
        stated = [name for name in keys if config.get(name) is not None]
        config.derive(steps, accumulation * splits, note, *stated)
    elif not config.put_first(steps, integer, accumulates):
        config.default(steps, 1, f"{accumulates} is not set: 1")
    size = config.number(key)
    if config.get(key) is not None and size is None:
        config.put(micro, key, number)
    elif size is not None and splits:
        samples = size * devices / splits
        note = f"{size:g} samples a device x {devices} devices of a replica"
        note += f" / {splits} micro-batches" if splits > 1 else ""
        if not samples.is_integer():
            config.unusable(micro, f"{note} = {samples:g}", key)
        elif devices == splits:
            config.state(micro, int(samples), key)
        else:
            config.derive(micro, int(samples), f"{note} = {int(samples)}", key)


def _pipeline_splits(config: Config, stages: int) -> int:
    """Return the micro-batches of one forward pass; 0 where they are not known."""
    if stages == 1:
        return 1
    stated = integer(config.get("num_pipeline_microbatches", _FILL))
    if not isinstance(stated, int):
        return 0
    if stated > 0:
        return stated
    is_delayed = config.switch("pipeline_delay_activation_forwarding")
    return stages * (2 if is_delayed is True else 1)


def _known(config: Config, leaf: str) -> int | None:
    value = config.known(leaf)
    return value if isinstance(value, int) else None


def _state_quantization(config: Config) -> None:
    """State fp8 by the names of `quantization` that hold `fp8`."""
    leaf, key = "precision.fp8", "quantization"
    value = config.get(key)
    if value is None:
        config.default(leaf, value=False, note="quantization is off")
    elif value == "":
        config.turn(leaf, "quantization is off", key, is_on=False)
    elif isinstance(value, str):
        config.turn(leaf, f"quantization: {value}", key, is_on="fp8" in value)
        if "fp8" in value:
            config.state("precision.fp8_recipe", value, key)


READER = Reader(
    _FORMAT, "config", detect, read, keys=_KEYS, interpolates=True, parents=parents
)

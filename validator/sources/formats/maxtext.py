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
from speccheck.validator.sources.convert import (
    Unusable,
    boolean,
    integer,
    integer_text,
    lower_text,
    number,
    one_of,
    text,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.facts import Fact, FactSheet
from speccheck.validator.sources.keyed import keyed_file
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    add_defaults,
    apply,
    derive_switch,
    fixed_defaults,
    section,
    tabulated_defaults,
    weak_default,
    without_place,
)
from speccheck.validator.sources.reader import Parent, Reader, Reading

_LLAMA2 = 32_000
_LLAMA3 = 128_256
_LEAVES = (
    "model.hidden_size",
    "model.layers",
    "model.attention_heads",
    "model.key_value_heads",
    "model.head_dimension",
    "model.feed_forward_size",
    "model.vocabulary_size",
    "model.tied_embeddings",
    "model.gated_feed_forward",
)
_8B = (4096, 32, 32, 8, 128, 14336, _LLAMA3)
_70B = (8192, 80, 64, 8, 128, 28672, _LLAMA3)
_405B = (16384, 126, 128, 8, 128, 53248, _LLAMA3)
# hidden, layers, heads, key-value heads, head dimension, feed-forward, vocabulary; all
# with gates, and with embeddings of their own at the output.
_DIMENSIONS = {
    "llama2-7b": (4096, 32, 32, 32, 128, 11008, _LLAMA2),
    "llama2-13b": (5120, 40, 40, 40, 128, 13824, _LLAMA2),
    "llama2-70b": (8192, 80, 64, 8, 128, 28672, _LLAMA2),
    "llama3-8b": _8B,
    "llama3-70b": _70B,
    "llama3.1-8b": _8B,
    "llama3.1-70b": _70B,
    "llama3.1-405b": _405B,
    "llama3.3-70b": _70B,
    "mistral-7b": (4096, 32, 32, 8, 128, 14336, _LLAMA2),
}
_Settings = Mapping[str, object]
_FULL_SHARD = 3
_FILL = -1
_NETWORKS = ("dcn", "ici")
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
# Without any of these a file only describes a model.
_RUN_KEYS = ("base_config", "per_device_batch_size", "steps", "max_target_length")
# `configs` is the folder of base.yml; recipes lie in it or up to two folders below.
_BASE_FOLDERS = (".", "..", "../..")
_MODEL_FOLDERS = ("models", "../models", "../../models")
_ENABLED = "enable_checkpointing"
_INTERVAL = "checkpoint.interval_steps"
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
_SINKS = (
    ("tensorboard", "enable_tensorboard"),
    ("google-cloud-storage", "gcs_metrics"),
    ("vertex-tensorboard", "use_vertex_tensorboard"),
)


def detect(document: Document) -> float:
    """By two of MaxText's names; those of the mesh count too."""
    data = section(document.data)
    signs = len(_SIGNS.intersection(data))
    if signs < _FEWEST_SIGNS:
        signs += sum(1 for key in data if str(key).startswith(("ici_", "dcn_")))
    if signs < _FEWEST_SIGNS:
        return 0.0
    return min(0.98, 0.6 + 0.06 * signs)


def parents(document: Document) -> tuple[Parent, ...]:
    """`base_config`, and the file of the model, which wins.

    The table knows what base.yml gives; any other file must be there to be known.
    """
    data = section(document.data)
    base, model = data.get("base_config"), data.get("model_name")
    found: list[Parent] = []
    at: KeyPath
    if isinstance(base, str) and base:
        at = ("base_config",)
        is_tabulated = base.rpartition("/")[2] == "base.yml"
        found.append(Parent(base, at, (), _BASE_FOLDERS, is_optional=is_tabulated))
    if isinstance(model, str) and model not in {"", "default"}:
        at = ("model_name",)
        target = model.replace("-Instruct", "") + ".yml"
        parent = Parent(target, at, (), _MODEL_FOLDERS, wins=True, is_optional=True)
        found.append(parent)
    return tuple(found)


def read(document: Document) -> Reading:
    """What the file states; a recipe also has what base.yml gives."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    at: KeyPath = ()
    sheet.derive("run.framework", "maxtext", "MaxText's keys", at)
    apply(sheet, _chosen(data), _FIELDS)
    _dimensions(sheet, data)
    _state_quantization(sheet, data.get("quantization"))
    if any(key in data for key in _RUN_KEYS):
        _run(sheet, data)
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
    return Reading(sheet, keyed)


def _chosen(data: Mapping[str, object]) -> Mapping[str, object]:
    """The settings without those whose value leaves the choice to MaxText."""
    return {
        key: value
        for key, value in data.items()
        if value != "" and not (key == "attention" and value == "autoselected")
    }


def _dimensions(sheet: FactSheet, data: Mapping[str, object]) -> None:
    scale = integer(data.get("global_parameter_scale", 1))
    if scale == 1:
        apply(sheet, data, _DIMENSION_FIELDS)
        _add_dimensions(sheet, data.get("model_name"))
    experts = integer(data.get("num_experts"))
    if isinstance(experts, int) and experts > 1:
        sheet.state("model.experts", experts, ("num_experts",))


def _run(sheet: FactSheet, data: Mapping[str, object]) -> None:
    _state_mesh(sheet, data)
    _state_pipeline(sheet, data)
    _state_sharding(sheet, data)
    _state_batch(sheet, data)
    _role(sheet, data)
    _steps(sheet, data)
    _reduction(sheet, data)
    _checkpoint(sheet, data)
    _input(sheet, data)
    _offload(sheet, data)
    if data.get("hardware") == "tpu":
        # base.yml says so too; what the job runs on is known better elsewhere.
        leaf = "cluster.accelerator_family"
        weak_default(sheet, leaf, "tpu", "hardware: tpu", ("hardware",))
    if boolean(data.get("enable_rampup_batch_size")) is True:
        key = "enable_rampup_batch_size"
        sheet.derive("batch.mode", "rampup", f"{key}: true", (key,))
    sinks = [(name, key) for name, key in _SINKS if boolean(data.get(key)) is True]
    if sinks:
        names = tuple(name for name, _ in sinks)
        places = [(key,) for _, key in sinks]
        sheet.derive("telemetry.sinks", names, "switches of the file", *places)
    elif data.get("enable_tensorboard") is None:
        note = "enable_tensorboard is not set: true"
        sheet.default("telemetry.sinks", ("tensorboard",), note)


def _role(sheet: FactSheet, data: Mapping[str, object]) -> None:
    at: KeyPath
    if data.get("dataset_type") == "synthetic":
        at = ("dataset_type",)
        sheet.derive("run.role", "debug", "synthetic data: nothing is learnt", at)
        return
    if boolean(section(data, "lora").get("enable_lora")) is True:
        sheet.derive("run.role", "lora", "lora.enable_lora", ("lora", "enable_lora"))
        return
    for key, role in _SWITCHES_OF_ROLES:
        if boolean(data.get(key)) is True:
            sheet.derive("run.role", role, f"{key}: true", (key,))
            return
    if data.get("load_parameters_path"):
        at = ("load_parameters_path",)
        sheet.derive("run.role", "continued", "starts from given weights", at)
    elif data.get("base_config") in (None, "base.yml") and not data.get(
        "student_overrides"
    ):
        add_defaults(sheet, _PRETRAINING)


def _steps(sheet: FactSheet, data: Mapping[str, object]) -> None:
    """-1 of one takes the other."""
    at: KeyPath = ("steps",)
    schedule: KeyPath = ("learning_rate_schedule_steps",)
    steps = integer(data.get("steps"))
    decay = integer(data.get("learning_rate_schedule_steps", -1))
    if isinstance(steps, int) and steps > 0:
        sheet.state("run.steps", steps, at)
        if decay == -1:
            note = "the schedule is as long as the run"
            sheet.derive("optimizer.decay_steps", steps, note, at)
    if isinstance(decay, int) and decay > 0:
        sheet.state("optimizer.decay_steps", decay, schedule)
        if steps == -1:
            note = "steps is -1: the length of the schedule"
            sheet.derive("run.steps", decay, note, schedule)
    rate = number(data.get("learning_rate"))
    key = "learning_rate_final_fraction"
    if key not in data:
        key = "cosine_learning_rate_final_fraction"
    fraction = number(data.get(key))
    if isinstance(rate, float) and isinstance(fraction, float):
        note = f"{fraction:g} x {rate:g}"
        leaf = "optimizer.minimum_learning_rate"
        sheet.derive(leaf, rate * fraction, note, (key,))


def _reduction(sheet: FactSheet, data: Mapping[str, object]) -> None:
    """Gradients have the type of the weights, in newer versions that of grad_dtype."""
    if data.get("weight_dtype", "float32") != "float32":
        return
    leaves = ["precision.gradient_accumulate_dtype"]
    if data.get("grad_dtype") is None:
        leaves.append("precision.gradient_reduce_dtype")
    elif data.get("grad_dtype") != "float32":
        return
    note = "gradients are float32, as the weights"
    add_defaults(sheet, fixed_defaults(note, dict.fromkeys(leaves, "fp32")))


def _checkpoint(sheet: FactSheet, data: Mapping[str, object]) -> None:
    at: KeyPath = ("base_output_directory",)
    root, name = data.get("base_output_directory"), data.get("run_name")
    if isinstance(root, str) and root and isinstance(name, str) and name:
        path = f"{root.rstrip('/')}/{name}/checkpoints"
        note = "base_output_directory/run_name/checkpoints"
        sheet.derive("checkpoint.directory", path, note, at)
    if isinstance(name, str) and name and boolean(data.get(_ENABLED, True)) is True:
        note = "the newest checkpoint of the run of this name"
        derive_switch(sheet, "checkpoint.resume", note, ("run_name",))
    if boolean(data.get("enable_continuous_checkpointing")) is True:
        at = ("enable_continuous_checkpointing",)
        reason = "a checkpoint begins when the one before is written"
        sheet.facts = [one for one in sheet.facts if one.name != _INTERVAL]
        sheet.unusable(_INTERVAL, reason, at)
    if any(boolean(data.get(key)) is True for key in _LOCAL_SWITCHES):
        apply(sheet, _chosen(data), _LOCAL)
    evaluation = integer(data.get("eval_interval"))
    if isinstance(evaluation, int) and evaluation > 0:
        leaf = "checkpoint.evaluation_interval_steps"
        sheet.state(leaf, evaluation, ("eval_interval",))


def _input(sheet: FactSheet, data: Mapping[str, object]) -> None:
    """Only Grain has workers, and saves where it stands (docs/guides/data)."""
    kind = data.get("dataset_type")
    at: KeyPath = ("dataset_type",)
    if kind == "grain":
        workers = integer(data.get("grain_worker_count"))
        if isinstance(workers, int) and workers >= 0:
            sheet.state("data.workers", workers, ("grain_worker_count",))
        derive_switch(sheet, "data.resumable", "Grain saves its position", at)
    elif kind in ("hf", "tfds"):
        note = f"the {kind} pipeline starts over"
        derive_switch(sheet, "data.resumable", note, at, is_on=False)


def _offload(sheet: FactSheet, data: Mapping[str, object]) -> None:
    leaf = "memory.activation_offload"
    policy = data.get("remat_policy")
    at: KeyPath = ("remat_policy",)
    if policy == "custom":
        kept = [key for key, value in data.items() if value == "offload"]
        note = f"custom: {', '.join(kept) or 'no tensor'} offloaded"
        places: list[KeyPath] = [(key,) for key in kept]
        sheet.derive(leaf, bool(kept), f"{note:.80}", at, *places)
    elif isinstance(policy, str):
        is_on = policy.endswith("offloaded")
        derive_switch(sheet, leaf, f"remat_policy: {policy}", at, is_on=is_on)
    else:
        sheet.default(leaf, value=False, note="remat_policy is not set: full")


def _add_dimensions(sheet: FactSheet, model_name: object) -> None:
    """Add what the name of a model says, where the sheet does not say it."""
    name = str(model_name).replace("-Instruct", "")
    dimensions = _DIMENSIONS.get(name)
    if dimensions is None:
        return
    note = f"the model {name} of MaxText"
    place = sheet.place(("model_name",))
    values = (*dimensions, False, True)
    add_defaults(
        sheet,
        [
            Fact(leaf, value, "default", (place,), note)
            for leaf, value in zip(_LEAVES, values, strict=True)
        ],
    )


def _cpu(value: object) -> object:
    """A switch that moves states to the memory of the host."""
    converted = boolean(value)
    if isinstance(converted, Unusable):
        return converted
    return "cpu" if converted else "none"


def _kept(value: object) -> object:
    """How many checkpoints stay; None keeps all."""
    if value is None or value == "None":
        return 0
    return integer_text(value)


def _recompute(value: object) -> object:
    """A policy that keeps some tensors recomputes the others."""
    word = lower_text(value)
    if isinstance(word, Unusable):
        return word
    return word if word in {"full", "none"} else "selective"


def _gated(value: object) -> object:
    """Two activations, one of them linear, make a gated feed-forward layer."""
    if isinstance(value, list) and value:
        return len(value) > 1
    return Unusable(f"{value!r:.60} is no list of activations")


def _profiled(value: object) -> object:
    """The name of a profiler; an empty one is off."""
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
_DEFAULTS = tuple(
    TabulatedDefault(*row)
    for row in (
        ("max_target_length", "batch.sequence_length", integer),
        ("dtype", "precision.compute_dtype", _DTYPE),
        ("weight_dtype", "precision.parameter_dtype", _DTYPE),
        ("remat_policy", "memory.recompute_mode", _recompute),
        ("optimizer_memory_host_offload", "memory.optimizer_offload_device", _cpu),
        ("parameter_memory_host_offload", "memory.parameter_offload_device", _cpu),
        ("opt_type", "optimizer.name_of_optimizer", lower_text),
        ("adam_b1", "optimizer.beta1", number),
        ("adam_b2", "optimizer.beta2", number),
        ("adam_weight_decay", "optimizer.weight_decay", number),
        ("gradient_clipping_threshold", "optimizer.clip_norm", number),
        ("warmup_steps_fraction", "optimizer.warmup_ratio", number),
        ("enable_checkpointing", "checkpoint.enabled", boolean),
        ("checkpoint_period", "checkpoint.interval_steps", integer),
        ("async_checkpointing", "checkpoint.asynchronous", boolean),
        ("profiler", "telemetry.profiler", _profiled),
    )
)
# Read where one of LOCAL_SWITCHES is on.
_LOCAL_SWITCHES = ("enable_emergency_checkpoint", "enable_multi_tier_checkpointing")
_LOCAL: Fields = {
    "local_checkpoint_directory": ("checkpoint.local_directory", text),
    "local_checkpoint_period": ("checkpoint.local_interval_steps", integer),
}


class _Axis(Record):
    """The size of one axis over one network; None where it cannot be worked out."""

    key: str
    size: int | None
    is_stated: bool = False


def _state_mesh(sheet: FactSheet, data: _Settings) -> None:
    """State the degrees that the axes of the mesh make."""
    if _is_own_mesh(data):
        for leaf in _GROUPS:
            without_place(sheet, leaf, "the file gives a mesh of its own")
        return
    is_moved = data.get("context_sharding", "context") != "context"
    fills = [one for one in _axes(data, _ALL_AXES) if one.size == _FILL]
    for leaf, names in _GROUPS.items():
        if is_moved and leaf in {"parallelism.context_parallel_size", _EXPERT}:
            without_place(sheet, leaf, "context_sharding uses another axis")
            continue
        _state_degree(sheet, leaf, _axes(data, names), fills)
    _world(sheet, _axes(data, _ALL_AXES))


def _is_own_mesh(data: _Settings) -> bool:
    """Whether other axes than those of base.yml make the mesh."""
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


def _axes(data: _Settings, names: tuple[str, ...]) -> list[_Axis]:
    found: list[_Axis] = []
    for name in names:
        for network in _NETWORKS:
            key = f"{network}_{name}_parallelism"
            value = data.get(key)
            if value is None:
                found.append(_Axis(key, _FILL if key in _FILLED else 1))
                continue
            size = integer(value)
            found.append(
                _Axis(key, size if isinstance(size, int) else None, is_stated=True)
            )
    return found


def _state_degree(
    sheet: FactSheet, leaf: str, axes: list[_Axis], fills: list[_Axis]
) -> None:
    unreadable = next((one for one in axes if one.size is None), None)
    if unreadable is not None:
        reason = f"{unreadable.key} is not a whole number"
        sheet.unusable(leaf, reason, (unreadable.key,))
        return
    places = [(one.key,) for one in axes if one.is_stated]
    filled = next((one for one in axes if one.size == _FILL), None)
    if filled is not None:
        if leaf == _SHARD and len(fills) == 1:
            _put(sheet, leaf, _FILL, f"{filled.key}: -1 fills the mesh", places)
            return
        what = "the slices" if filled.key.startswith("dcn") else "the slice"
        reason = f"{filled.key}: -1 fills {what}"
        sheet.facts.append(
            Fact(leaf, None, "unknown", tuple(sheet.place(at) for at in places), reason)
        )
        return
    factors = [one for one in axes if one.is_stated]
    factors = [one for one in factors if one.size != 1] or factors[:1]
    places = [(one.key,) for one in factors]
    note = " x ".join(f"{one.key} {one.size}" for one in factors)
    value = prod(one.size or 1 for one in axes)
    if len(factors) > 1:
        note += f" = {value:,}"
    _put(sheet, leaf, value, note, places)


def _put(
    sheet: FactSheet, leaf: str, value: int, note: str, places: list[tuple[str]]
) -> None:
    if not places:
        note = note or "no axis of the mesh is set for it"
        sheet.default(leaf, value, note)
    elif len(places) == 1:
        sheet.state(leaf, value, places[0])
    else:
        sheet.derive(leaf, value, note, *places)


def _world(sheet: FactSheet, axes: list[_Axis]) -> None:
    """A mesh without -1 tells the devices; what launches the job knows them better."""
    sizes = [one.size for one in axes]
    factors = [one for one in axes if one.is_stated and one.size != 1]
    if not factors or any(size is None or size < 1 for size in sizes):
        return
    world_size = prod(size or 1 for size in sizes)
    product = " x ".join(str(one.size) for one in factors)
    note = f"all axes of the mesh: {product} = {world_size:,}"
    places = tuple(sheet.place((one.key,)) for one in factors)
    sheet.facts.append(Fact("cluster.world_size", world_size, "default", places, note))


def _state_pipeline(sheet: FactSheet, data: _Settings) -> None:
    """Circular pipelines: a rank holds one stage for each repeat."""
    if (_known(sheet, _PIPELINE) or 1) == 1:
        return
    repeats = integer(data.get("num_pipeline_repeats", _FILL))
    layers = integer(data.get("num_layers_per_pipeline_stage", 1))
    if isinstance(repeats, int) and repeats > 0:
        at = ("num_pipeline_repeats",)
        sheet.state("parallelism.virtual_stages", repeats, at)
    elif isinstance(layers, int):
        leaf, at = (
            "parallelism.layers_per_virtual_stage",
            ("num_layers_per_pipeline_stage",),
        )
        if at[0] in data:
            sheet.state(leaf, layers, at)
        else:
            sheet.default(leaf, layers, "num_layers_per_pipeline_stage is not set: 1")


def _state_sharding(sheet: FactSheet, data: _Settings) -> None:
    """Weights lie on the fsdp axes; without them the optimizer may still be cut."""
    shards = _known(sheet, _SHARD)
    leaf = "parallelism.sharding_stage"
    if shards == 1:
        over_data = boolean(data.get("shard_optimizer_over_data"))
        stage = 1 if over_data is True else 0
        key = "shard_optimizer_over_data"
        note = "the fsdp axes are 1" + (f"; {key}" if stage else "")
        places = [(key,)] if stage else [("ici_fsdp_parallelism",)]
        sheet.derive(leaf, stage, note, *[at for at in places if at[0] in data])
    elif shards is not None or _is_filled(data):
        sheet.default(leaf, _FULL_SHARD, "weights lie on the fsdp axes of the mesh")


def _is_filled(data: _Settings) -> bool:
    return integer(data.get("ici_fsdp_parallelism", _FILL)) == _FILL


def _state_batch(sheet: FactSheet, data: _Settings) -> None:
    """Samples of a data-parallel rank: those of all devices of one replica."""
    micro, steps = "batch.micro_batch_size", "batch.gradient_accumulation_steps"
    key = "per_device_batch_size"
    at = (key,)
    accumulation = integer(data.get("gradient_accumulation_steps", 1))
    size = number(data.get(key)) if data.get(key) is not None else None
    degrees = [_known(sheet, leaf) for leaf in _OF_A_REPLICA]
    known = [one for one in degrees if one is not None]
    if len(known) < len(degrees):
        if size is not None:
            sheet.unusable(micro, "the devices of one replica are not known", at)
        return
    devices = prod(known)
    stages = _known(sheet, _PIPELINE) or 1
    splits = _pipeline_splits(data, stages)
    if stages > 1 and isinstance(accumulation, int) and splits:
        note = f"{accumulation} x {splits} micro-batches of the pipeline"
        keys = ("gradient_accumulation_steps", "num_pipeline_microbatches")
        places = [(key,) for key in keys if data.get(key) is not None]
        sheet.derive(steps, accumulation * splits, note, *places)
    elif data.get("gradient_accumulation_steps") is not None:
        _put_converted(sheet, steps, accumulation, ("gradient_accumulation_steps",))
    else:
        sheet.default(steps, 1, "gradient_accumulation_steps is not set: 1")
    if isinstance(size, Unusable):
        sheet.unusable(micro, size.reason, at)
    elif isinstance(size, float) and splits:
        _micro_batch(sheet, size, devices, splits)


def _micro_batch(sheet: FactSheet, size: float, devices: int, splits: int) -> None:
    micro, at = "batch.micro_batch_size", ("per_device_batch_size",)
    samples = size * devices / splits
    note = f"{size:g} samples a device x {devices} devices of a replica"
    if splits > 1:
        note += f" / {splits} micro-batches"
    if not samples.is_integer():
        sheet.unusable(micro, f"{note} = {samples:g}", at)
    elif devices == splits:
        sheet.state(micro, int(samples), at)
    else:
        sheet.derive(micro, int(samples), f"{note} = {int(samples)}", at)


def _pipeline_splits(data: _Settings, stages: int) -> int:
    """Micro-batches of one forward pass; 0 where they are not known."""
    if stages == 1:
        return 1
    stated = integer(data.get("num_pipeline_microbatches", _FILL))
    if not isinstance(stated, int):
        return 0
    if stated > 0:
        return stated
    is_delayed = boolean(data.get("pipeline_delay_activation_forwarding", False))
    return stages * (2 if is_delayed is True else 1)


def _put_converted(
    sheet: FactSheet, leaf: str, converted: object, at: tuple[str]
) -> None:
    if isinstance(converted, Unusable):
        sheet.unusable(leaf, converted.reason, at)
    else:
        sheet.state(leaf, converted, at)


def _known(sheet: FactSheet, leaf: str) -> int | None:
    value = next((fact.value for fact in sheet.facts if fact.name == leaf), None)
    return value if isinstance(value, int) else None


def _state_quantization(sheet: FactSheet, value: object) -> None:
    """The names of `quantization` that compute in fp8 hold `fp8`."""
    at = ("quantization",)
    if value is None or value == "":
        note = "quantization is off"
        if value is None:
            sheet.default("precision.fp8", value=False, note=note)
        else:
            derive_switch(sheet, "precision.fp8", note, at, is_on=False)
    elif isinstance(value, str):
        is_on = "fp8" in value
        note = f"quantization: {value}"
        derive_switch(sheet, "precision.fp8", note, at, is_on=is_on)
        if is_on:
            sheet.state("precision.fp8_recipe", value, at)


READER = Reader(
    _FORMAT, "config", detect, read, keys=_KEYS, interpolates=True, parents=parents
)

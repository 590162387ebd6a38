"""MaxText's YAML: recipes on top of base.yml, and the files of its models.

Keys and defaults: schemas/catalogues/frameworks/maxtext.yaml. MaxText runs on JAX. Its
loader (maxtext/configs/pyconfig.py) reads `base_config` from the folder of the file, or
else from its own; the file of `model_name` then replaces what both say.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._maxtext import (
    state_batch,
    state_mesh,
    state_pipeline,
    state_quantization,
    state_sharding,
)
from speccheck.validator.sources.formats._maxtext_keys import (
    DEFAULTS,
    DIMENSIONS,
    FIELDS,
    LOCAL,
    LOCAL_SWITCHES,
)
from speccheck.validator.sources.formats._maxtext_models import add_dimensions
from speccheck.validator.sources.mapping import (
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    number,
    section,
    tabulated_defaults,
    weak_default,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Parent,
    Reader,
    Reading,
    keyed_file,
)

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
    "MaxText runs on JAX",
    {"run.uses_torch": False, "model.family": "transformer"},
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
    apply(sheet, _chosen(data), FIELDS)
    _dimensions(sheet, data)
    state_quantization(sheet, data.get("quantization"))
    if any(key in data for key in _RUN_KEYS):
        _run(sheet, data)
        add_defaults(sheet, tabulated_defaults(_FORMAT, DEFAULTS))
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
        apply(sheet, data, DIMENSIONS)
        add_dimensions(sheet, data.get("model_name"))
    experts = integer(data.get("num_experts"))
    if isinstance(experts, int) and experts > 1:
        sheet.state("model.experts", experts, ("num_experts",))


def _run(sheet: FactSheet, data: Mapping[str, object]) -> None:
    state_mesh(sheet, data)
    state_pipeline(sheet, data)
    state_sharding(sheet, data)
    state_batch(sheet, data)
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
    if any(boolean(data.get(key)) is True for key in LOCAL_SWITCHES):
        apply(sheet, _chosen(data), LOCAL)
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


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=_KEYS,
    interpolates=True,
    parents=parents,
)

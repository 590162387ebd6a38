"""What LLaMA-Factory makes of several keys together.

Sources: LLaMA-Factory 0.7.1 to 0.9.5, src/llamafactory/hparams/parser.py, model/
model_utils/checkpointing.py; version 1: src/llamafactory/v1/plugins/trainer_plugins/
distributed/fsdp2.py, accelerator/interface.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._hf_arguments import (
    state_arguments,
    state_defaults,
)
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    SHARD_GRAD_OP,
    resume,
    state_interval,
    state_liger,
    state_offload,
)
from speccheck.validator.sources.formats._llamafactory_fields import (
    DEFAULTS,
    MEGATRON_FIELDS,
    MEGATRON_ONLY,
    MEGATRON_SIGNS,
    MODEL_FIELDS,
    TRAINING_FIELDS,
    VERSION_1_FIELDS,
    VERSION_1_ONLY,
)
from speccheck.validator.sources.mapping import (
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer_text,
    lower_text,
    put,
    section,
    tabulated_defaults,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet

Arguments = Mapping[str, object]

_FORMAT = "llamafactory"
FRAMEWORK = "llamafactory"
_FULL = ("full", "freeze")
_ADAPTERS = ("lora", "oft")
_PREFERENCE_STAGES = ("rm", "ppo", "dpo", "kto")
_NEVER_RESUMED = ("rm", "ppo")


def state_model(sheet: FactSheet, data: Arguments) -> None:
    """State what a file says that merges, exports, serves or evaluates a model."""
    apply(sheet, data, MODEL_FIELDS)
    sheet.derive("run.framework", FRAMEWORK, "LLaMA-Factory's arguments", ())
    _quantization(sheet, data)
    if data.get("export_dir") is not None:
        note = "export_dir is set: nothing is trained"
        sheet.derive("run.role", "conversion", note, ("export_dir",))


def state_training(sheet: FactSheet, data: Arguments) -> None:
    """State what a file trains, and what holds where it is silent."""
    apply(sheet, data, TRAINING_FIELDS)
    state_arguments(sheet, data)
    sheet.derive("run.framework", FRAMEWORK, "LLaMA-Factory's arguments", ())
    _quantization(sheet, data)
    _method(sheet, data)
    _half_precision(sheet, data)
    _small_optimizer(sheet, data)
    _packing(sheet, data)
    _resuming(sheet, data)
    _sinks(sheet, data)
    state_liger(sheet, data, "enable_liger_kernel")
    if any(data.get(key) is not None for key in MEGATRON_SIGNS):
        _megatron(sheet, data)
    else:
        _recompute(sheet, data)
    workers = integer_text(data.get("ray_num_workers"))
    if isinstance(workers, int):  # read only where USE_RAY is set
        at: KeyPath = ("ray_num_workers",)
        weak_default(sheet, "cluster.world_size", workers, "a GPU for each", at)
    state_defaults(sheet, data)
    # TRL has another interval than the Trainer; LLaMA-Factory has the Trainer's.
    leaf = "telemetry.log_interval_steps"
    sheet.facts[:] = [fact for fact in sheet.facts if fact.name != leaf or fact.places]
    add_defaults(sheet, tabulated_defaults(_FORMAT, DEFAULTS, None, "hf"))


def _quantization(sheet: FactSheet, data: Arguments) -> None:
    bits = integer_text(data.get("quantization_bit"))
    if isinstance(bits, int):
        sheet.state("model.quantized_bits", bits, ("quantization_bit",))


def _method(sheet: FactSheet, data: Arguments) -> None:
    """`finetuning_type` is lora and `stage` is sft unless they are stated."""
    method = lower_text(data.get("finetuning_type", "lora"))
    stage = lower_text(data.get("stage", "sft"))
    keys = [(key,) for key in ("finetuning_type", "stage") if key in data]
    places = keys or [("do_train",)]
    of_method = places[:1]
    note = f"stage: {stage}, finetuning_type: {method}"
    if method in _ADAPTERS:
        has_bits = isinstance(integer_text(data.get("quantization_bit")), int)
        adapter = "qlora" if method == "lora" and has_bits else str(method)
        sheet.derive("model.adapter", adapter, note, *of_method)
        sheet.derive("run.role", "lora", note, *places)
    elif method in _FULL:
        adapter = "freeze" if method == "freeze" else "none"
        sheet.derive("model.adapter", adapter, note, *of_method)
        role = _role(stage, is_new=boolean(data.get("train_from_scratch")) is True)
        if role:
            sheet.derive("run.role", role, note, *places)


def _role(stage: object, *, is_new: bool) -> str:
    if stage == "pt":
        return "pretrain" if is_new else "continued"
    if stage in _PREFERENCE_STAGES:
        return "rl"
    return "sft" if stage == "sft" else ""


def _half_precision(sheet: FactSheet, data: Arguments) -> None:
    """`pure_bf16` keeps the weights and the optimizer's states in bf16 as well."""
    if boolean(data.get("pure_bf16")) is not True:
        return
    at: KeyPath = ("pure_bf16",)
    note = "pure_bf16: no copy of the weights in fp32"
    for leaf in (
        "precision.parameter_dtype",
        "precision.compute_dtype",
        "precision.optimizer_state_dtype",
    ):
        sheet.derive(leaf, "bf16", note, at)


def _small_optimizer(sheet: FactSheet, data: Arguments) -> None:
    """These replace the optimizer that `optim` names, and keep less than it."""
    leaf = "optimizer.name_of_optimizer"
    for key in ("use_galore", "use_apollo", "use_badam"):
        if boolean(data.get(key)) is True:
            sheet.facts[:] = [fact for fact in sheet.facts if fact.name != leaf]
            name = f"{key.removeprefix('use_')}_adamw"
            sheet.derive(leaf, name, f"{key}: true", (key,))


def _packing(sheet: FactSheet, data: Arguments) -> None:
    """`neat_packing` turns packing on; pre-training packs unless told otherwise."""
    if boolean(data.get("neat_packing")) is True:
        note = "neat_packing packs"
        derive_switch(sheet, "batch.packing", note, ("neat_packing",))
    elif data.get("packing") is not None:
        put(sheet, "batch.packing", boolean(data["packing"]), ("packing",))
    elif data.get("stage", "sft") in ("sft", "pt"):
        is_packed = data.get("stage") == "pt"
        note = "packing is not set: on in stage pt, off in the others"
        sheet.default("batch.packing", is_packed, note)


def _resuming(sheet: FactSheet, data: Arguments) -> None:
    """Without a checkpoint to start from, the newest one of output_dir is taken."""
    leaf = "checkpoint.resume"
    stated = data.get("resume_from_checkpoint")
    if lower_text(data.get("stage")) in _NEVER_RESUMED:
        note = f"stage {data['stage']} does not resume"
        derive_switch(sheet, leaf, note, ("stage",), is_on=False)
    elif stated is not None:
        put(sheet, leaf, resume(stated), ("resume_from_checkpoint",))
    elif boolean(data.get("overwrite_output_dir")) is True:
        note = "overwrite_output_dir starts anew"
        derive_switch(sheet, leaf, note, ("overwrite_output_dir",), is_on=False)
    else:
        note = "LLaMA-Factory continues from the newest checkpoint in output_dir"
        sheet.default(leaf, value=True, note=note)


def _sinks(sheet: FactSheet, data: Arguments) -> None:
    if boolean(data.get("use_swanlab")) is True:
        names = [fact for fact in sheet.facts if fact.name == "telemetry.sinks"]
        others = names[0].value if names and isinstance(names[0].value, tuple) else ()
        for fact in names:
            sheet.facts.remove(fact)
        at: KeyPath = ("use_swanlab",)
        sinks = tuple(dict.fromkeys((*others, "swanlab")))
        sheet.derive("telemetry.sinks", sinks, "use_swanlab", at)


def _recompute(sheet: FactSheet, data: Arguments) -> None:
    """Layers are recomputed unless that is turned off, whatever the Trainer is told."""
    leaf = "memory.recompute_mode"
    sheet.facts[:] = [fact for fact in sheet.facts if fact.name != leaf]
    key = "disable_gradient_checkpointing"
    switch = boolean(data.get(key))
    if isinstance(switch, bool):
        mode = "none" if switch else "full"
        sheet.derive(leaf, mode, f"{key}: {str(switch).lower()}", (key,))
    else:
        sheet.default(leaf, "full", f"{key} is not set: layers are recomputed")


def _megatron(sheet: FactSheet, data: Arguments) -> None:
    """State what the back ends on Megatron take."""
    apply(sheet, data, MEGATRON_FIELDS)
    key = next(key for key in MEGATRON_SIGNS if data.get(key) is not None)
    sheet.derive("parallelism.engine", "megatron", f"{key} is set", (key,))
    add_defaults(sheet, MEGATRON_ONLY)


def state_version_1(sheet: FactSheet, data: Arguments) -> None:
    """State what a file of the schema of version 1 trains."""
    apply(sheet, data, VERSION_1_FIELDS)
    sheet.derive("run.framework", FRAMEWORK, "version 1 of LLaMA-Factory", ())
    steps = integer_text(data.get("max_steps"))
    if isinstance(steps, int) and steps > 0:
        sheet.state("run.steps", steps, ("max_steps",))
    _saving(sheet, data, steps)
    _distribution(sheet, data)
    _peft(sheet, data)
    recompute = boolean(data.get("enable_activation_checkpointing"))
    if isinstance(recompute, bool):
        mode = "full" if recompute else "none"
        at: KeyPath = ("enable_activation_checkpointing",)
        sheet.state("memory.recompute_mode", mode, at)
    add_defaults(sheet, VERSION_1_ONLY)


def _saving(sheet: FactSheet, data: Arguments, steps: object) -> None:
    if data.get("save_steps") is not None:
        at: KeyPath = ("save_steps",)
        derive_switch(sheet, "checkpoint.enabled", "save_steps is set", at)
        sheet.derive("checkpoint.interval_unit", "steps", "save_steps is set", at)
        leaf = "checkpoint.interval_steps"
        state_interval(sheet, leaf, data["save_steps"], steps, at)
    if data.get("resume_from_checkpoint") is not None:
        at = ("resume_from_checkpoint",)
        put(sheet, "checkpoint.resume", resume(data["resume_from_checkpoint"]), at)


def _distribution(sheet: FactSheet, data: Arguments) -> None:
    block = section(data, "dist_config")
    at: KeyPath = ("dist_config", "name")
    name = lower_text(block.get("name", ""))
    if name == "fsdp2":
        sheet.derive("parallelism.engine", "fsdp2", "dist_config.name", at)
        _fsdp(sheet, block)
    elif name in {"deepspeed", "ddp"}:
        sheet.derive("parallelism.engine", name, "dist_config.name", at)
    # Ulysses is the only way of context parallelism in version 1.
    degree = data.get("cp_size")
    if degree is not None and data.get("cp_mode", "ulysses") == "ulysses":
        put(sheet, "parallelism.ulysses_size", integer_text(degree), ("cp_size",))
    elif degree is None:
        sheet.default("parallelism.ulysses_size", 1, "cp_size is not set: 1")


def _fsdp(sheet: FactSheet, block: Arguments) -> None:
    reshard = boolean(block.get("reshard_after_forward"))
    leaf = "parallelism.sharding_stage"
    if isinstance(reshard, bool):
        stage = FULL_SHARD if reshard else SHARD_GRAD_OP
        at: KeyPath = ("dist_config", "reshard_after_forward")
        sheet.derive(leaf, stage, f"reshard_after_forward: {reshard}".lower(), at)
    offload = boolean(block.get("offload_params"))
    if isinstance(offload, bool):
        state_offload(sheet, ("dist_config", "offload_params"), is_on=offload)
    note = "FSDP2 of LLaMA-Factory does so unless told otherwise"
    values: dict[str, object] = {
        leaf: FULL_SHARD,
        "precision.gradient_reduce_dtype": "fp32",
        "checkpoint.format": "sharded",
    }
    add_defaults(sheet, fixed_defaults(note, values))


def _peft(sheet: FactSheet, data: Arguments) -> None:
    block = data.get("peft_config")
    name = lower_text(section(block).get("name", ""))
    at: KeyPath = ("peft_config", "name")
    if name == "lora":
        sheet.derive("model.adapter", "lora", "peft_config", at)
        sheet.derive("run.role", "lora", "peft_config", at)
    elif name == "freeze":
        sheet.derive("model.adapter", "freeze", "some layers are trained", at)
    elif block is None:
        sheet.default("model.adapter", "none", "no peft_config is set")

"""LLaMA-Factory's YAML: arguments of its classes, and the schema of its version 1.

OmegaConf loads the file, so that `1e-5` is a number; what it refers to (`${...}`) stays
as it is written (OmegaConf.to_container without resolve). HfArgumentParser then takes
the values as they are and refuses keys that no class has.
Sources: LLaMA-Factory 0.7.1 to 0.9.5, src/llamafactory/hparams/*.py,
model/model_utils/checkpointing.py; version 1: src/llamafactory/v1/config/*.py,
accelerator/interface.py, plugins/trainer_plugins/distributed/fsdp2.py.
"""

from collections.abc import Callable, Mapping
from functools import cache

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.convert import (
    boolean,
    integer_text,
    lower_text,
    mebibytes,
    negation,
    number,
    one_of,
    text,
    texts,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    SHARD_GRAD_OP,
    resume,
    sinks,
    state_interval,
    state_liger,
    state_offload,
)
from speccheck.validator.sources.formats.hf_trainer import (
    state_arguments,
    state_defaults,
)
from speccheck.validator.sources.keyed import keyed_file
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    add_defaults,
    apply,
    derive_switch,
    fixed_defaults,
    put,
    section,
    tabulated_defaults,
    texts_for_values,
    weak_default,
    words_loaded_as_false,
)
from speccheck.validator.sources.reader import Reader, Reading, Reference

_ATTENTION = one_of(
    {"disabled": "eager", "sdpa": "sdpa", "fa2": "flash", "fa3": "flash"}
)
# What a file for merging, export or chat says of the model, and of nothing else.
_MODEL_FIELDS: Fields = {
    "model_name_or_path": ("model.name_of_model", text),
    "trust_remote_code": ("security.trusts_remote_code", boolean),
}
_TRAINING_FIELDS: Fields = {
    **_MODEL_FIELDS,
    # TrainingArguments, as the Trainer has them
    "per_device_train_batch_size": ("batch.micro_batch_size", integer_text),
    "gradient_accumulation_steps": ("batch.gradient_accumulation_steps", integer_text),
    "bf16": ("precision.bf16", boolean),
    "fp16": ("precision.fp16", boolean),
    "tf32": ("precision.tf32", boolean),
    "torch_compile": ("kernels.compiled", boolean),
    "optim": ("optimizer.name_of_optimizer", lower_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "adam_beta1": ("optimizer.beta1", number),
    "adam_beta2": ("optimizer.beta2", number),
    "weight_decay": ("optimizer.weight_decay", number),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "lr_scheduler_type": ("optimizer.schedule", lower_text),
    "warmup_ratio": ("optimizer.warmup_ratio", number),
    "ddp_timeout": ("communication.timeout_seconds", number),
    "ddp_bucket_cap_mb": ("communication.gradient_bucket_bytes", mebibytes),
    "output_dir": ("checkpoint.directory", text),
    "save_total_limit": ("checkpoint.keep_last", integer_text),
    "save_only_model": ("checkpoint.save_optimizer", negation),
    "load_best_model_at_end": ("checkpoint.saves_best_model", boolean),
    "dataset_dir": ("data.paths", texts),
    "dataloader_num_workers": ("data.workers", integer_text),
    "dataloader_pin_memory": ("data.pin_memory", boolean),
    "dataloader_prefetch_factor": ("data.prefetch_factor", integer_text),
    "dataloader_persistent_workers": ("data.persistent_workers", boolean),
    "dataloader_drop_last": ("data.drop_last", boolean),
    "group_by_length": ("data.group_by_length", boolean),
    "ignore_data_skip": ("data.resumable", negation),
    "data_seed": ("data.seed", integer_text),
    "report_to": ("telemetry.sinks", sinks),
    "include_tokens_per_second": ("telemetry.throughput", boolean),
    "num_train_epochs": ("run.epochs", number),
    "seed": ("run.seed", integer_text),
    "full_determinism": ("run.deterministic", boolean),
    # LLaMA-Factory's own
    "cutoff_len": ("batch.sequence_length", integer_text),
    "streaming": ("data.streaming", boolean),
    "fp8": ("precision.fp8", boolean),
    "flash_attn": ("kernels.attention_backend", _ATTENTION),
    "enable_torch_profiler": ("telemetry.profiler", boolean),
}
# Of the back ends on Megatron (hparams/megatron_bridge_args.py, MCoreAdapter).
_MEGATRON_FIELDS: Fields = {
    "tensor_model_parallel_size": ("parallelism.tensor_parallel_size", integer_text),
    "pipeline_model_parallel_size": (
        "parallelism.pipeline_parallel_size",
        integer_text,
    ),
    "virtual_pipeline_model_parallel_size": (
        "parallelism.virtual_stages",
        integer_text,
    ),
    "context_parallel_size": ("parallelism.context_parallel_size", integer_text),
    "expert_model_parallel_size": ("parallelism.expert_parallel_size", integer_text),
    "sequence_parallel": ("parallelism.sequence_parallel", boolean),
    "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
    "overlap_param_gather": ("communication.overlap_parameter_gather", boolean),
    "overlap_grad_reduce": ("communication.overlap_gradient_reduce", boolean),
    "recompute_granularity": ("memory.recompute_mode", lower_text),
    "recompute_method": ("memory.recompute_method", lower_text),
    "recompute_num_layers": ("memory.recompute_layers", integer_text),
    "use_packed_sequences": ("batch.packing", boolean),
}
# Any of these, and one of the back ends on Megatron trains.
_MEGATRON_SIGNS = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "use_distributed_optimizer",
    "use_mca",
    "use_megatron_bridge",
)
_DEFAULTS = (
    TabulatedDefault("cutoff_len", "batch.sequence_length", integer_text),
    TabulatedDefault("logging_steps", "telemetry.log_interval_steps", integer_text),
    TabulatedDefault("streaming", "data.streaming", boolean),
)
_MEGATRON_ONLY = fixed_defaults(
    "not set; 1 in Megatron",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.ulysses_size": 1,
    },
)
_VERSION_1_FIELDS: Fields = {
    "model": ("model.name_of_model", text),
    "trust_remote_code": ("security.trusts_remote_code", boolean),
    "output_dir": ("checkpoint.directory", text),
    "micro_batch_size": ("batch.micro_batch_size", integer_text),
    "global_batch_size": ("batch.global_batch_size", integer_text),
    "cutoff_len": ("batch.sequence_length", integer_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "bf16": ("precision.bf16", boolean),
    "num_train_epochs": ("run.epochs", number),
    "seed": ("run.seed", integer_text),
    "full_determinism": ("run.deterministic", boolean),
    "dist_timeout": ("communication.timeout_seconds", number),
    "save_total_limit": ("checkpoint.keep_last", integer_text),
    "logging_steps": ("telemetry.log_interval_steps", integer_text),
    "flash_attn": ("kernels.attention_backend", _ATTENTION),
}
_VERSION_1_ONLY = fixed_defaults(
    "version 1 of LLaMA-Factory has no such parallelism",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "run.uses_torch": True,
        "batch.mode": "fixed",
    },
)
_Arguments = Mapping[str, object]
_FORMAT = "llamafactory"
_FRAMEWORK = "llamafactory"
_FULL = ("full", "freeze")
_ADAPTERS = ("lora", "oft")
_PREFERENCE_STAGES = ("rm", "ppo", "dpo", "kto")
_NEVER_RESUMED = ("rm", "ppo")
# Of these a training has two or more, and export or chat has the template.
_OWN_KEYS = ("stage", "finetuning_type", "template", "cutoff_len")
_SERVING_KEYS = ("infer_backend", "export_dir", "adapter_name_or_path")
_VERSION_1_KEYS = (
    "model_class",
    "dist_config",
    "kernel_config",
    "peft_config",
    "quant_config",
    "init_config",
    "sample_backend",
    "train_dataset",
)
_FEWEST_OWN_KEYS = 2
# Words that YAML 1.1 loads as false; a Trainer stops on each of them.
_STRATEGIES = ("save_strategy", "eval_strategy", "evaluation_strategy")


def detect(document: Document) -> float:
    """By the name of the model and LLaMA-Factory's own keys, or those of version 1."""
    data = section(document.data)
    if _is_version_1(data):
        return 0.95
    if "model_name_or_path" not in data:
        return 0.0
    own = sum(key in data for key in _OWN_KEYS)
    if own >= _FEWEST_OWN_KEYS:
        return 0.98
    is_served = any(key in data for key in _SERVING_KEYS)
    return 0.8 if "template" in data and is_served else 0.0


def _is_version_1(data: Mapping[str, object]) -> bool:
    signs = sum(key in data for key in _VERSION_1_KEYS)
    return isinstance(data.get("model"), str) and signs >= _FEWEST_OWN_KEYS


def read(document: Document) -> Reading:
    """What the file states, and what LLaMA-Factory does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    if _is_version_1(data):
        _state_version_1(sheet, data)
        keyed = keyed_file(document, _FORMAT, _version_1_table())
        return Reading(sheet, keyed, references=_version_1_references(sheet, data))
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    if boolean(data.get("do_train")) is not True:
        _state_model(sheet, data)
        return Reading(sheet, keyed)
    _state_training(sheet, data)
    loaded_as = (
        *words_loaded_as_false(document, _STRATEGIES, fatal=True),
        *texts_for_values(keyed.keys, keyed.catalogue, _in_quotes(document)),
    )
    return Reading(
        sheet, keyed._replace(loaded_as=loaded_as), references=_references(sheet, data)
    )


@cache
def _version_1_table() -> FrameworkKeys | None:
    """The keys of one commit of a schema in the making: only slips of them count."""
    table = keys_of_format(_FORMAT)
    return None if table is None else table._replace(policies=(), open_at_top=True)


def _in_quotes(document: Document) -> Callable[[KeyPath], bool | None]:
    """A number in quotes stays a text; how late it is noticed nobody knows."""

    def judge(path: KeyPath) -> bool | None:
        raw = document.raw(path) if len(path) == 1 else None
        return False if raw is not None and raw.quoted else None

    return judge


def _references(sheet: FactSheet, data: Mapping[str, object]) -> tuple[Reference, ...]:
    return tuple(
        Reference(target, sheet.place((key,)))
        for key in ("deepspeed", "fsdp_config")
        if isinstance(target := data.get(key), str) and target
    )


def _version_1_references(
    sheet: FactSheet, data: Mapping[str, object]
) -> tuple[Reference, ...]:
    target = section(data, "dist_config").get("config_file")
    if not isinstance(target, str) or not target:
        return ()
    return (Reference(target, sheet.place(("dist_config", "config_file"))),)


def _state_model(sheet: FactSheet, data: _Arguments) -> None:
    """State what a file says that merges, exports, serves or evaluates a model."""
    apply(sheet, data, _MODEL_FIELDS)
    sheet.derive("run.framework", _FRAMEWORK, "LLaMA-Factory's arguments", ())
    _quantization(sheet, data)
    if data.get("export_dir") is not None:
        note = "export_dir is set: nothing is trained"
        sheet.derive("run.role", "conversion", note, ("export_dir",))


def _state_training(sheet: FactSheet, data: _Arguments) -> None:
    """State what a file trains, and what holds where it is silent."""
    apply(sheet, data, _TRAINING_FIELDS)
    state_arguments(sheet, data)
    sheet.derive("run.framework", _FRAMEWORK, "LLaMA-Factory's arguments", ())
    _quantization(sheet, data)
    _method(sheet, data)
    _half_precision(sheet, data)
    _small_optimizer(sheet, data)
    _packing(sheet, data)
    _resuming(sheet, data)
    _sinks(sheet, data)
    state_liger(sheet, data, "enable_liger_kernel")
    if any(data.get(key) is not None for key in _MEGATRON_SIGNS):
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
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS, None, "hf"))


def _quantization(sheet: FactSheet, data: _Arguments) -> None:
    bits = integer_text(data.get("quantization_bit"))
    if isinstance(bits, int):
        sheet.state("model.quantized_bits", bits, ("quantization_bit",))


def _method(sheet: FactSheet, data: _Arguments) -> None:
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


def _half_precision(sheet: FactSheet, data: _Arguments) -> None:
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


def _small_optimizer(sheet: FactSheet, data: _Arguments) -> None:
    """These replace the optimizer that `optim` names, and keep less than it."""
    leaf = "optimizer.name_of_optimizer"
    for key in ("use_galore", "use_apollo", "use_badam"):
        if boolean(data.get(key)) is True:
            sheet.facts[:] = [fact for fact in sheet.facts if fact.name != leaf]
            name = f"{key.removeprefix('use_')}_adamw"
            sheet.derive(leaf, name, f"{key}: true", (key,))


def _packing(sheet: FactSheet, data: _Arguments) -> None:
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


def _resuming(sheet: FactSheet, data: _Arguments) -> None:
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


def _sinks(sheet: FactSheet, data: _Arguments) -> None:
    if boolean(data.get("use_swanlab")) is True:
        names = [fact for fact in sheet.facts if fact.name == "telemetry.sinks"]
        others = names[0].value if names and isinstance(names[0].value, tuple) else ()
        for fact in names:
            sheet.facts.remove(fact)
        at: KeyPath = ("use_swanlab",)
        sinks = tuple(dict.fromkeys((*others, "swanlab")))
        sheet.derive("telemetry.sinks", sinks, "use_swanlab", at)


def _recompute(sheet: FactSheet, data: _Arguments) -> None:
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


def _megatron(sheet: FactSheet, data: _Arguments) -> None:
    """State what the back ends on Megatron take."""
    apply(sheet, data, _MEGATRON_FIELDS)
    key = next(key for key in _MEGATRON_SIGNS if data.get(key) is not None)
    sheet.derive("parallelism.engine", "megatron", f"{key} is set", (key,))
    add_defaults(sheet, _MEGATRON_ONLY)


def _state_version_1(sheet: FactSheet, data: _Arguments) -> None:
    """State what a file of the schema of version 1 trains."""
    apply(sheet, data, _VERSION_1_FIELDS)
    sheet.derive("run.framework", _FRAMEWORK, "version 1 of LLaMA-Factory", ())
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
    add_defaults(sheet, _VERSION_1_ONLY)


def _saving(sheet: FactSheet, data: _Arguments, steps: object) -> None:
    if data.get("save_steps") is not None:
        at: KeyPath = ("save_steps",)
        derive_switch(sheet, "checkpoint.enabled", "save_steps is set", at)
        sheet.derive("checkpoint.interval_unit", "steps", "save_steps is set", at)
        leaf = "checkpoint.interval_steps"
        state_interval(sheet, leaf, data["save_steps"], steps, at)
    if data.get("resume_from_checkpoint") is not None:
        at = ("resume_from_checkpoint",)
        put(sheet, "checkpoint.resume", resume(data["resume_from_checkpoint"]), at)


def _distribution(sheet: FactSheet, data: _Arguments) -> None:
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


def _fsdp(sheet: FactSheet, block: _Arguments) -> None:
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


def _peft(sheet: FactSheet, data: _Arguments) -> None:
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


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("finetuning_type", "template", "cutoff_len", *_VERSION_1_KEYS),
)

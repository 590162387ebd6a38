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
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    SHARD_GRAD_OP,
    default_bits,
    resume,
    state_interval,
    state_liger,
    state_offload,
)
from speccheck.validator.sources.formats.hf_trainer import (
    TRAINING_ARGUMENTS,
    state_arguments,
    state_defaults,
)
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    add_defaults,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    one_of,
    section,
    tabulated_defaults,
    text,
    texts,
    texts_for_values,
    weak_default,
    words_loaded_as_false,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Reader,
    Reading,
    Reference,
    keyed_file,
)

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
    **TRAINING_ARGUMENTS,
    "dataset_dir": ("data.paths", texts),
    "cutoff_len": ("batch.sequence_length", integer_text),
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
_FORMAT = "llamafactory"
_FRAMEWORK = "llamafactory"
_FULL = ("full", "freeze")
_ADAPTERS = ("lora", "oft")
_ROLES = {
    "pt": "continued",
    "sft": "sft",
    **dict.fromkeys(("rm", "ppo", "dpo", "kto"), "rl"),
}
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
    """Recognise it by the model's name and own keys, or by keys of version 1."""
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
    """Return what the file states, and the defaults for what it does not."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    config = Config(sheet, data)
    if _is_version_1(data):
        _state_version_1(config)
        keyed = keyed_file(document, _FORMAT, _version_1_table())
        return Reading(sheet, keyed, references=_version_1_references(sheet, data))
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    if boolean(data.get("do_train")) is not True:
        _state_model(config)
        return Reading(sheet, keyed)
    _state_training(config)
    loaded_as = (
        *words_loaded_as_false(document, _STRATEGIES, fatal=True),
        *texts_for_values(keyed.keys, keyed.catalogue, _in_quotes(document)),
    )
    return Reading(
        sheet, keyed._replace(loaded_as=loaded_as), references=_references(sheet, data)
    )


@cache
def _version_1_table() -> FrameworkKeys | None:
    """Return keys of one commit of an unfinished schema: only slips of them count."""
    table = keys_of_format(_FORMAT)
    return None if table is None else table._replace(policies=(), open_at_top=True)


def _in_quotes(document: Document) -> Callable[[KeyPath], bool | None]:
    """Return a judge of numbers in quotes: each stays a text, noticed late."""

    def judge(path: KeyPath) -> bool | None:
        raw = document.raw(path) if len(path) == 1 else None
        return False if raw is not None and raw.quoted else None

    return judge


def _references(sheet: FactSheet, data: Mapping[str, object]) -> tuple[Reference, ...]:
    return tuple(
        Reference(target, sheet.place((key,)), is_opened=True)
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


def _state_model(config: Config) -> None:
    """State what a file says that merges, exports, serves or evaluates a model."""
    config.apply(_MODEL_FIELDS)
    config.sheet.derive("run.framework", _FRAMEWORK, "LLaMA-Factory's arguments", ())
    _quantization(config)
    if config.get("export_dir") is not None:
        note = "export_dir is set: nothing is trained"
        config.derive("run.role", "conversion", note, "export_dir")


def _state_training(config: Config) -> None:
    """State what a file trains, and what holds where it is silent."""
    sheet = config.sheet
    config.apply(_TRAINING_FIELDS)
    state_arguments(config)
    sheet.derive("run.framework", _FRAMEWORK, "LLaMA-Factory's arguments", ())
    _quantization(config)
    if "quantization_bit" not in config:
        note = "quantization_bit is not set: weights in 16 bits"
        default_bits(config, config.get("model_name_or_path"), note)
    _method(config)
    if config.switch("use_kt") is True:  # KTransformers
        leaf, note = "memory.parameter_offload_device", "experts stay in host memory"
        config.derive(leaf, "cpu", f"use_kt: {note}", "use_kt")
    # `pure_bf16` keeps the weights and the optimizer's states in bf16 as well.
    if config.switch("pure_bf16") is True:
        for part in ("parameter", "compute", "optimizer_state"):
            note = "pure_bf16: no copy of the weights in fp32"
            config.derive(f"precision.{part}_dtype", "bf16", note, "pure_bf16")
    # These replace the optimizer that `optim` names, and keep less than it.
    leaf = "optimizer.name_of_optimizer"
    for name in ("galore", "apollo", "badam"):
        key = f"use_{name}"
        if config.switch(key) is True:
            config.drop(leaf)
            config.derive(leaf, f"{name}_adamw", f"{key}: true", key)
    note = "optim is not set: AdamW in every tabulated version of transformers"
    config.default(leaf, "adamw_torch", note)
    _packing(config)
    _resuming(config)
    _sinks(config)
    state_liger(config, "enable_liger_kernel")
    if any(config.get(key) is not None for key in _MEGATRON_SIGNS):
        config.apply(_MEGATRON_FIELDS)
        key = next(key for key in _MEGATRON_SIGNS if config.get(key) is not None)
        config.derive("parallelism.engine", "megatron", f"{key} is set", key)
        add_defaults(sheet, _MEGATRON_ONLY)
    else:
        _recompute(config)
    workers, key = config.whole("ray_num_workers"), "ray_num_workers"
    if workers is not None:  # read only where USE_RAY is set
        leaf, note = "cluster.world_size", "a GPU for each"
        weak_default(sheet, leaf, workers, note, config.at(key))
    state_defaults(config)
    # TRL has another interval than the Trainer; LLaMA-Factory has the Trainer's.
    leaf = "telemetry.log_interval_steps"
    sheet.facts[:] = [fact for fact in sheet.facts if fact.name != leaf or fact.places]
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS, None, "hf"))


def _quantization(config: Config) -> None:
    bits = config.whole("quantization_bit")
    if bits is not None:
        config.state("model.quantized_bits", bits, "quantization_bit")


def _method(config: Config) -> None:
    """State the method; `finetuning_type` is lora and `stage` sft by default."""
    method = lower_text(config.get("finetuning_type", "lora"))
    stage = lower_text(config.get("stage", "sft"))
    keys = [key for key in ("finetuning_type", "stage") if key in config]
    keys = keys or ["do_train"]
    note = f"stage: {stage}, finetuning_type: {method}"
    adapter, role = "", "lora"
    if method in _ADAPTERS:
        has_bits = config.whole("quantization_bit") is not None
        adapter = "qlora" if method == "lora" and has_bits else str(method)
    elif method in _FULL:
        adapter = "freeze" if method == "freeze" else "none"
        is_new = config.switch("train_from_scratch") is True
        role = _ROLES.get(str(stage), "")
        role = "pretrain" if is_new and role == "continued" else role
    if adapter:
        config.derive("model.adapter", adapter, note, keys[0])
    if adapter and role:
        config.derive("run.role", role, note, *keys)


def _packing(config: Config) -> None:
    """State that `neat_packing` packs; pre-training packs unless set otherwise."""
    leaf, stage = "batch.packing", config.get("stage", "sft")
    if config.switch("neat_packing") is True:
        config.turn(leaf, "neat_packing packs", "neat_packing")
    elif not config.put_first(leaf, boolean, "packing") and stage in ("sft", "pt"):
        note = "packing is not set: on in stage pt, off in the others"
        config.default(leaf, stage == "pt", note)


def _resuming(config: Config) -> None:
    """State that without a checkpoint to start from, output_dir's newest is taken."""
    leaf, key = "checkpoint.resume", "overwrite_output_dir"
    if config.word("stage") in _NEVER_RESUMED:
        note = f"stage {config.get('stage')} does not resume"
        config.turn(leaf, note, "stage", is_on=False)
    elif config.put_first(leaf, resume, "resume_from_checkpoint"):
        return
    elif config.switch(key) is True:
        config.turn(leaf, f"{key} starts anew", key, is_on=False)
    else:
        note = "LLaMA-Factory continues from the newest checkpoint in output_dir"
        config.default(leaf, value=True, note=note)


def _sinks(config: Config) -> None:
    leaf, key = "telemetry.sinks", "use_swanlab"
    if config.switch(key) is True:
        facts = [fact for fact in config.sheet.facts if fact.name == leaf]
        others = facts[0].value if facts and isinstance(facts[0].value, tuple) else ()
        config.drop(leaf)
        config.derive(leaf, tuple(dict.fromkeys((*others, "swanlab"))), key, key)


def _recompute(config: Config) -> None:
    """State that layers are recomputed unless that is off, unlike in the Trainer."""
    leaf, key = "memory.recompute_mode", "disable_gradient_checkpointing"
    config.drop(leaf)
    switch = config.switch(key)
    if switch is not None:
        mode = "none" if switch else "full"
        config.derive(leaf, mode, f"{key}: {str(switch).lower()}", key)
    else:
        config.default(leaf, "full", f"{key} is not set: layers are recomputed")


def _state_version_1(config: Config) -> None:
    """State what a file of the schema of version 1 trains."""
    config.apply(_VERSION_1_FIELDS)
    note = "version 1 of LLaMA-Factory"
    config.sheet.derive("run.framework", _FRAMEWORK, note, ())
    steps = config.whole("max_steps")
    if steps is not None and steps > 0:
        config.state("run.steps", steps, "max_steps")
    key = "save_steps"
    if config.get(key) is not None:
        note = f"{key} is set"
        config.turn("checkpoint.enabled", note, key)
        config.derive("checkpoint.interval_unit", "steps", note, key)
        state_interval(config, "checkpoint.interval_steps", key, steps)
    config.put("checkpoint.resume", "resume_from_checkpoint", resume)
    _distribution(config)
    block, key = config.get("peft_config"), "peft_config.name"
    name, leaf = lower_text(config.get(key, "")), "model.adapter"
    if name == "lora":
        config.derive(leaf, "lora", "peft_config", key)
        config.derive("run.role", "lora", "peft_config", key)
    elif name == "freeze":
        config.derive(leaf, "freeze", "some layers are trained", key)
    elif block is None:
        config.default(leaf, "none", "no peft_config is set")
    key = "enable_activation_checkpointing"
    recompute = config.switch(key)
    if recompute is not None:
        config.state("memory.recompute_mode", "full" if recompute else "none", key)
    add_defaults(config.sheet, _VERSION_1_ONLY)


def _distribution(config: Config) -> None:
    block = config.section("dist_config")
    name = lower_text(block.get("name", ""))
    if name in {"fsdp2", "deepspeed", "ddp"}:
        block.derive("parallelism.engine", name, "dist_config.name", "name")
    if name == "fsdp2":
        _fsdp(block)
    # Ulysses is the only way of context parallelism in version 1.
    leaf, key = "parallelism.ulysses_size", "cp_size"
    if config.get(key) is None:
        config.default(leaf, 1, f"{key} is not set: 1")
    elif config.get("cp_mode", "ulysses") == "ulysses":
        config.put(leaf, key, integer_text)


def _fsdp(block: Config) -> None:
    leaf, key = "parallelism.sharding_stage", "reshard_after_forward"
    reshard = block.switch(key)
    if reshard is not None:
        stage = FULL_SHARD if reshard else SHARD_GRAD_OP
        block.derive(leaf, stage, f"{key}: {reshard}".lower(), key)
    offload = block.switch("offload_params")
    if offload is not None:
        state_offload(block.sheet, block.at("offload_params"), is_on=offload)
    note = "FSDP2 of LLaMA-Factory does so unless told otherwise"
    values: dict[str, object] = {
        leaf: FULL_SHARD,
        "precision.gradient_reduce_dtype": "fp32",
        "checkpoint.format": "sharded",
    }
    add_defaults(block.sheet, fixed_defaults(note, values))


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("finetuning_type", "template", "cutoff_len", *_VERSION_1_KEYS),
)

"""NeMo Automodel's YAML recipes.

Its loader is `yaml.safe_load` with `ast.literal_eval` on every text (nemo_automodel/
components/config/loader.py): `1e-5` is a number, and `none` is null. Of `${...}` it
replaces variables of the environment alone, so that no such text is worked out here.
Sources: NVIDIA-NeMo/Automodel nemo_automodel/recipes/{_dist_utils,base_recipe}.py,
recipes/llm/train_ft.py, components/distributed/{config,mesh_utils}.py and
components/training/step_scheduler.py.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.stated_keys import StatedKey
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.convert import (
    Unusable,
    boolean,
    integer_text,
    lower_text,
    minutes,
    number,
    one_of,
    placeholder,
    text,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    attention,
    dtype,
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
    put_numbers,
    section,
    tabulated_defaults,
)
from speccheck.validator.sources.reader import Reader, Reading

_Settings = Mapping[str, object]
_DEGREES = {
    "tp_size": "parallelism.tensor_parallel_size",
    "pp_size": "parallelism.pipeline_parallel_size",
    "cp_size": "parallelism.context_parallel_size",
    "ep_size": "parallelism.expert_parallel_size",
    "dp_replicate_size": "parallelism.replicate_size",
}
_ENGINES = {
    "fsdp2": "fsdp2",
    "ddp": "ddp",
    "megatron_fsdp": "megatron-fsdp",
    "megatron-fsdp": "megatron-fsdp",
    "mfsdp": "megatron-fsdp",
}
# `_target_` of releases before 0.3 names the class.
_CLASSES = (
    ("fsdp2", "fsdp2"),
    ("megatronfsdp", "megatron-fsdp"),
    ("nvfsdp", "megatron-fsdp"),
    ("ddp", "ddp"),
)
_DIFFUSION = "fsdp"  # the section that diffusion recipes read instead
_PARALLELIZER = "parallelizer"  # of MoE models, from 0.2.0
_FULL, _NONE = ("full", "true", "on", "enabled"), ("none", "false", "off", "disabled")
_SINKS = ("wandb", "mlflow", "comet")
_LENGTHS = ("seq_length", "seq_len")
_FUSED_LOSSES = ("FusedLinearCrossEntropy", "TEParallelCrossEntropy")
_DISTILLING = ("teacher_model", "kd_ratio")
_GPT2: Fields = {
    "n_embd": ("model.hidden_size", integer_text),
    "n_layer": ("model.layers", integer_text),
    "n_head": ("model.attention_heads", integer_text),
    "n_positions": ("model.maximum_positions", integer_text),
    "vocab_size": ("model.vocabulary_size", integer_text),
}
_FOUR_BITS, _EIGHT_BITS = 4, 8
_FORMAT = "nemo-automodel"
_SCHEDULER_SIGNS = frozenset(
    {
        "ckpt_every_steps",
        "global_batch_size",
        "local_batch_size",
        "val_every_steps",
        "max_steps",
        "num_epochs",
    }
)
_COMPANIONS = frozenset(
    {
        "checkpoint",
        "dist_env",
        "distributed",
        "fsdp",
        "loss_fn",
        "packed_sequence",
        "recipe",
        "rng",
        "validation_dataset",
    }
)
_FEWEST_COMPANIONS = 2
# Transformer Engine chooses among flash and cuDNN kernels, all of them fused.
_BACKEND_ATTENTION = one_of({"te": "fused", "sdpa": "sdpa", "flex": "flex"})
# `${NAME,default}` and `${oc.env:NAME,default}` (resolve_yaml_env_vars in the loader).
_VARIABLE = lazy_pattern(r"\$\{(?:oc\.env:)?[\w.]+,([^}]*)\}$")


def _count(value: object) -> object:
    """A whole number; `none` is null in this loader, which states nothing."""
    if isinstance(value, str) and value.lower() == "none":
        return Unusable("none: not set")
    return integer_text(value)


_FIELDS: Fields = {
    "step_scheduler": {
        "global_batch_size": ("batch.global_batch_size", integer_text),
        "ckpt_every_steps": ("checkpoint.interval_steps", integer_text),
        "max_steps": ("run.steps", _count),
        "num_epochs": ("run.epochs", number),
        "log_remote_every_steps": ("telemetry.log_interval_steps", integer_text),
    },
    "dist_env": {"timeout_minutes": ("communication.timeout_seconds", minutes)},
    "model": {
        "pretrained_model_name_or_path": ("model.name_of_model", text),
        "attn_implementation": ("kernels.attention_backend", attention),
        "trust_remote_code": ("security.trusts_remote_code", boolean),
        # of new weights, from_config
        "config": {"pretrained_model_name_or_path": ("model.name_of_model", text)},
    },
    "fp8": {"enabled": ("precision.fp8", boolean)},
    "compile": {"enabled": ("kernels.compiled", boolean)},
    "optimizer": {
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
    },
    "clip_grad_norm": {"max_norm": ("optimizer.clip_norm", number)},
    "lr_scheduler": {
        "lr_decay_style": ("optimizer.schedule", lower_text),
        "lr_warmup_steps": ("optimizer.warmup_steps", integer_text),
        "lr_decay_steps": ("optimizer.decay_steps", integer_text),
        "min_lr": ("optimizer.minimum_learning_rate", number),
    },
    "checkpoint": {
        "enabled": ("checkpoint.enabled", boolean),
        "checkpoint_dir": ("checkpoint.directory", text),
        "is_async": ("checkpoint.asynchronous", boolean),
        "max_recent_checkpoints": ("checkpoint.keep_last", integer_text),
    },
    "dataloader": {
        "num_workers": ("data.workers", integer_text),
        "pin_memory": ("data.pin_memory", boolean),
        "prefetch_factor": ("data.prefetch_factor", integer_text),
        "persistent_workers": ("data.persistent_workers", boolean),
        "drop_last": ("data.drop_last", boolean),
    },
    "rng": {"seed": ("run.seed", integer_text)},
}
_DEFAULTS = (
    TabulatedDefault("checkpoint.is_async", "checkpoint.asynchronous", boolean),
    TabulatedDefault("compile.enabled", "kernels.compiled", boolean),
    TabulatedDefault("fp8.enabled", "precision.fp8", boolean),
    TabulatedDefault(
        "step_scheduler.log_remote_every_steps",
        "telemetry.log_interval_steps",
        integer_text,
    ),
)
_FIXED = fixed_defaults(
    "NeMo Automodel has no other way",
    {
        "parallelism.ulysses_size": 1,
        "batch.mode": "fixed",
        "checkpoint.format": "sharded",
        "checkpoint.interval_unit": "steps",
        "checkpoint.save_optimizer": True,
        "run.uses_torch": True,
    },
)
_UNSET = fixed_defaults(
    "not set: all checkpoints are kept", {"checkpoint.keep_last": 0}
)


def detect(document: Document) -> float:
    """By `step_scheduler` with its keys, `model`, and two of the other sections."""
    data = section(document.data)
    scheduler = section(data, "step_scheduler")
    if _SCHEDULER_SIGNS.isdisjoint(scheduler) or "model" not in data:
        return 0.0
    companions = len(_COMPANIONS.intersection(data))
    if companions < _FEWEST_COMPANIONS:
        return 0.0
    return min(0.98, 0.7 + 0.06 * companions)


def read(document: Document) -> Reading:
    """What the file states, and what the recipes do where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", "nemo-automodel", "NeMo Automodel's settings", ())
    backend = section(data, "model", "backend").get("attn")
    if (
        backend is not None
        and section(data, "model").get("attn_implementation") is None
    ):
        at = {"backend": {"attn": ("kernels.attention_backend", _BACKEND_ATTENTION)}}
        apply(sheet, section(data, "model"), at, ("model",))
    _state_parallelism(sheet, data)
    _state_run(sheet, data)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    add_defaults(sheet, _FIXED)
    add_defaults(sheet, _UNSET)
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    return Reading(sheet, keyed._replace(keys=tuple(map(_filled, keyed.keys))))


def _filled(key: StatedKey) -> StatedKey:
    """A variable of the environment with a default is no text left to fill in."""
    value = key.value
    found = _VARIABLE.match(value) if isinstance(value, str) else None
    return key._replace(value=found[1]) if found else key


def _distributed_of(data: _Settings) -> tuple[str, _Settings]:
    """The section with the degrees, and its name."""
    name = "distributed"
    if not isinstance(data.get(name), dict) and isinstance(data.get(_DIFFUSION), dict):
        name = _DIFFUSION
    return name, section(data, name)


def _state_parallelism(sheet: FactSheet, data: _Settings) -> None:
    """State degrees, engine, batch and number formats."""
    name, block = _distributed_of(data)
    _degrees(sheet, name, block)
    engine = _engine(sheet, name, block)
    _batch(sheet, data, name, block)
    _recompute(sheet, data, name, block)
    _offload(sheet, name, block)
    _precision(sheet, data, name, engine)
    if engine == "megatron-fsdp":
        _megatron_fsdp(sheet, name, block)


def _is_set(value: object) -> bool:
    return value is not None and not (
        isinstance(value, str) and value.lower() == "none"
    )


def _degrees(sheet: FactSheet, name: str, block: _Settings) -> None:
    """Null takes the default; a data-parallel size without number fills the world."""
    for key, leaf in _DEGREES.items():
        if _is_set(block.get(key)):
            put(sheet, leaf, integer_text(block[key]), (name, key))
        else:
            sheet.default(leaf, 1, f"{key} is not set: 1")
    if _is_set(block.get("dp_size")):
        leaf, at = "parallelism.data_parallel_size", (name, "dp_size")
        put(sheet, leaf, integer_text(block["dp_size"]), at)
    if block.get("sequence_parallel") is not None:
        leaf = "parallelism.sequence_parallel"
        switch = boolean(block["sequence_parallel"])
        put(sheet, leaf, switch, (name, "sequence_parallel"))


def _engine(sheet: FactSheet, name: str, block: _Settings) -> str | None:
    """FSDP2 unless a strategy, or the class of an old release, is named."""
    leaf, stage = "parallelism.engine", "parallelism.sharding_stage"
    target = block.get("_target_")
    strategy = block.get("strategy")
    at: KeyPath = (name, "strategy")
    engine: str | None = None
    if isinstance(strategy, str):
        engine = _ENGINES.get(strategy.lower())
        if engine is not None:
            sheet.state(leaf, engine, at)
    elif isinstance(target, str):
        at = (name, "_target_")
        last = target.rpartition(".")[2].lower()
        engine = next((found for part, found in _CLASSES if part in last), None)
        if engine is not None:
            sheet.derive(leaf, engine, target, at)
    elif strategy is None:
        engine = "fsdp2"
        sheet.default(leaf, engine, "strategy is not set: fsdp2")
        sheet.default(stage, FULL_SHARD, "FSDP2 shards fully")
        return engine
    if engine == "fsdp2":
        sheet.derive(stage, FULL_SHARD, "FSDP2 shards fully", at)
    elif engine == "ddp":
        sheet.derive(stage, 0, "DDP shards nothing", at)
    return engine


def _megatron_fsdp(sheet: FactSheet, name: str, block: _Settings) -> None:
    stage, key = "parallelism.sharding_stage", "zero_dp_strategy"
    if block.get(key) is not None:
        put(sheet, stage, integer_text(block[key]), (name, key))
    else:
        sheet.default(stage, FULL_SHARD, f"{key} is not set: 3")
    for key, leaf in (
        ("overlap_grad_reduce", "communication.overlap_gradient_reduce"),
        ("overlap_param_gather", "communication.overlap_parameter_gather"),
    ):
        if block.get(key) is not None:
            put(sheet, leaf, boolean(block[key]), (name, key))


def _batch(sheet: FactSheet, data: _Settings, name: str, block: _Settings) -> None:
    """A rank's batch is cut into pipeline micro-batches where there is a pipeline."""
    local = section(data, "step_scheduler").get("local_batch_size")
    at: KeyPath = ("step_scheduler", "local_batch_size")
    leaf = "batch.micro_batch_size"
    stages = integer_text(block.get("pp_size")) if _is_set(block.get("pp_size")) else 1
    if stages == 1:
        if local is not None:
            put(sheet, leaf, integer_text(local), at)
        return
    if not isinstance(stages, int):
        return
    sheet.default("parallelism.pipeline_engine", "torch", "pipelining of PyTorch")
    key = "pp_microbatch_size"
    for place in ((name, "pipeline"), ("autopipeline",)):
        size = section(data, *place).get(key)
        if size is not None:
            put(sheet, leaf, integer_text(size), (*place, key))
            return
    sheet.default(leaf, 1, f"{key} is not set: 1")


def _recompute(sheet: FactSheet, data: _Settings, name: str, block: _Settings) -> None:
    leaf, key = "memory.recompute_mode", "activation_checkpointing"
    stated = block.get(key)
    if stated is None and section(data, _PARALLELIZER).get(key) is not None:
        name, stated = _PARALLELIZER, section(data, _PARALLELIZER)[key]
    if stated is None:
        sheet.default(leaf, "none", f"{key} is not set: off")
        return
    word = lower_text(stated)
    if word in _FULL:
        sheet.state(leaf, "full", (name, key))
    elif word in _NONE:
        sheet.state(leaf, "none", (name, key))
    elif word == "selective":
        sheet.state(leaf, "selective", (name, key))
    else:
        found = word if isinstance(word, Unusable) else Unusable(f"unknown: {word}")
        sheet.unusable(leaf, found.reason, (name, key))


def _offload(sheet: FactSheet, name: str, block: _Settings) -> None:
    """A policy is set for parameters and optimizer states together."""
    leaves = ("memory.parameter_offload_device", "memory.optimizer_offload_device")
    policy, switch = block.get("offload_policy"), boolean(block.get("cpu_offload"))
    for leaf in leaves:
        if isinstance(policy, dict):
            at: KeyPath = (name, "offload_policy")
            sheet.derive(leaf, "cpu", "the section offload_policy", at)
        elif isinstance(switch, bool):
            device = "cpu" if switch else "none"
            note = f"cpu_offload: {str(switch).lower()}"
            sheet.derive(leaf, device, note, (name, "cpu_offload"))
        elif policy is None:
            sheet.default(leaf, "none", "offload_policy is not set")


def _precision(
    sheet: FactSheet, data: _Settings, name: str, engine: str | None
) -> None:
    """FSDP2 computes in bf16 and reduces in fp32 unless its policy says otherwise."""
    policy: KeyPath = (name, "mp_policy")
    block = section(data, name, "mp_policy")
    compute, reduce = block.get("param_dtype"), block.get("reduce_dtype")
    leaf = "precision.compute_dtype"
    if compute is not None:
        _compute(sheet, _torch_dtype(compute), (*policy, "param_dtype"))
    elif engine == "fsdp2" and not isinstance(
        section(data, name).get("mp_policy"), dict
    ):
        note = "mp_policy is not set: FSDP2 computes in bf16"
        sheet.default(leaf, "bf16", note)
        sheet.default("precision.bf16", value=True, note=note)
        sheet.default("precision.fp16", value=False, note=note)
    leaf = "precision.gradient_reduce_dtype"
    if reduce is not None:
        put(sheet, leaf, _torch_dtype(reduce), (*policy, "reduce_dtype"))
    elif section(data, name).get("reduce_dtype") is not None:  # diffusion recipes
        found = _torch_dtype(section(data, name)["reduce_dtype"])
        put(sheet, leaf, found, (name, "reduce_dtype"))
    elif engine == "fsdp2" and not block:
        note = "mp_policy is not set: FSDP2 reduces in fp32"
        sheet.default(leaf, "fp32", note)
    weights = section(data, "model").get("torch_dtype")
    if isinstance(weights, str) and weights != "auto":
        at: KeyPath = ("model", "torch_dtype")
        put(sheet, "precision.parameter_dtype", _torch_dtype(weights), at)


def _compute(sheet: FactSheet, found: object, at: KeyPath) -> None:
    put(sheet, "precision.compute_dtype", found, at)
    if isinstance(found, str):
        note = f"param_dtype: {found}"
        derive_switch(sheet, "precision.bf16", note, at, is_on=found == "bf16")
        derive_switch(sheet, "precision.fp16", note, at, is_on=found == "fp16")


def _torch_dtype(value: object) -> object:
    """`bf16`, `bfloat16` and `torch.bfloat16` are the same."""
    return dtype(value.removeprefix("torch.") if isinstance(value, str) else value)


def _state_run(sheet: FactSheet, data: _Settings) -> None:
    """State what the other sections mean together."""
    _optimizer(sheet, data)
    _sequence(sheet, data)
    _loader(sheet, section(data, "dataloader"))
    _resume(sheet, section(data, "checkpoint"))
    _model(sheet, data)
    _sinks(sheet, data)
    if section(data, "rng").get("seed") is None and data.get("seed") is not None:
        put(sheet, "run.seed", integer_text(data["seed"]), ("seed",))
    _eight_bits(sheet, data)


def _eight_bits(sheet: FactSheet, data: _Settings) -> None:
    """FP8 of torchao, or of Transformer Engine where `te_fp8` is set."""
    recipe = section(data, "fp8").get("recipe_name")
    if boolean(section(data, "fp8").get("enabled")) is True:
        if isinstance(recipe, str):
            sheet.state("precision.fp8_recipe", recipe, ("fp8", "recipe_name"))
        return
    at = ("model", "backend", "te_fp8")
    if section(data, "model", "backend").get("te_fp8") is not None:
        sheet.facts[:] = [one for one in sheet.facts if one.name != "precision.fp8"]
        derive_switch(sheet, "precision.fp8", "te_fp8 is set", at)
        recipe = section(data, *at).get("recipe")
        if isinstance(recipe, str):
            sheet.state("precision.fp8_recipe", recipe, (*at, "recipe"))


def _target(block: _Settings) -> str:
    """The callable that a section names; empty without one."""
    name = block.get("_target_")
    return name if isinstance(name, str) and placeholder(name) is None else ""


def _optimizer(sheet: FactSheet, data: _Settings) -> None:
    block = section(data, "optimizer")
    betas = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, betas, block.get("betas"), ("optimizer", "betas"))
    name = _target(block).rpartition(".")[2]
    at: KeyPath = ("optimizer", "_target_")
    leaf = "kernels.fused_optimizer"
    if name:
        sheet.derive("optimizer.name_of_optimizer", name.lower(), name, at)
    if name.startswith("Fused"):
        derive_switch(sheet, leaf, name, at)
    elif block.get("fused") is not None:
        put(sheet, leaf, boolean(block["fused"]), ("optimizer", "fused"))
    loss = _target(section(data, "loss_fn")).rpartition(".")[2]
    if loss in _FUSED_LOSSES:
        place: KeyPath = ("loss_fn", "_target_")
        derive_switch(sheet, "kernels.fused_cross_entropy", loss, place)


def _sequence(sheet: FactSheet, data: _Settings) -> None:
    """A pack has its size; without packing the data set cuts at its own length."""
    block = section(data, "packed_sequence")
    for key in ("packed_sequence_size", "pack_size"):
        size = integer_text(block.get(key))
        at: KeyPath = ("packed_sequence", key)
        if isinstance(size, int):
            note = f"{key}: {size:,}"
            derive_switch(sheet, "batch.packing", note, at, is_on=size > 0)
            if size > 0:
                sheet.state("batch.sequence_length", size, at)
                return
    if not block:
        sheet.default("batch.packing", value=False, note="packed_sequence is not set")
    for key in _LENGTHS:
        stated = section(data, "dataset").get(key)
        if stated is not None:
            length = integer_text(stated)
            put(sheet, "batch.sequence_length", length, ("dataset", key))
            return


def _loader(sheet: FactSheet, block: _Settings) -> None:
    """Loaders of torch and torchdata work in the training process unless told."""
    name = _target(block).rpartition(".")[2]
    at: KeyPath = ("dataloader", "_target_")
    if name == "StatefulDataLoader":
        derive_switch(sheet, "data.resumable", "StatefulDataLoader", at)
    if name in {"StatefulDataLoader", "DataLoader"} and "num_workers" not in block:
        sheet.default("data.workers", 0, f"num_workers is not set: 0 in {name}")


def _resume(sheet: FactSheet, block: _Settings) -> None:
    """Without restore_from the newest checkpoint of checkpoint_dir is loaded."""
    leaf, stated = "checkpoint.resume", block.get("restore_from")
    at: KeyPath = ("checkpoint", "restore_from")
    if stated is None:
        note = "restore_from is not set: the newest checkpoint of checkpoint_dir"
        sheet.default(leaf, value=True, note=note)
    elif stated == "LATEST":
        derive_switch(sheet, leaf, "LATEST: the newest checkpoint", at)
    else:
        fixed = Unusable("a fixed path: it may not be the newest checkpoint")
        sheet.unusable(leaf, (placeholder(stated) or fixed).reason, at)


def _model(sheet: FactSheet, data: _Settings) -> None:
    model = section(data, "model")
    built = _target(model)
    if built.endswith("build_gpt2_model"):
        apply(sheet, model, _GPT2, ("model",))
    _adapter(sheet, data)
    at: KeyPath = ("model", "_target_")
    made_up = _target(section(data, "dataset"))
    if isinstance(data.get("benchmark"), dict):
        sheet.derive("run.role", "debug", "the section benchmark", ("benchmark",))
    elif ".mock" in made_up:
        place: KeyPath = ("dataset", "_target_")
        sheet.derive("run.role", "debug", f"{made_up}: made-up data", place)
    elif isinstance(data.get("peft"), dict):
        sheet.derive("run.role", "lora", "the section peft", ("peft",))
    elif any(key in data for key in _DISTILLING):
        return
    elif built.endswith((".from_config", "build_gpt2_model")):
        sheet.derive("run.role", "pretrain", f"{built}: new weights", at)
    elif data.get("recipe") == "FinetuneRecipeForVLM":
        sheet.derive("run.role", "sft", "FinetuneRecipeForVLM", ("recipe",))


def _adapter(sheet: FactSheet, data: _Settings) -> None:
    block = section(data, "quantization")
    leaf = "model.adapter"
    bits = next(
        (
            (count, key)
            for key, count in (
                ("load_in_4bit", _FOUR_BITS),
                ("load_in_8bit", _EIGHT_BITS),
            )
            if boolean(block.get(key)) is True
        ),
        None,
    )
    if bits is not None:
        note = f"{bits[1]}: true"
        sheet.derive("model.quantized_bits", bits[0], note, ("quantization", bits[1]))
    if not isinstance(data.get("peft"), dict):
        if data.get("peft") is None:
            sheet.default(leaf, "none", "peft is not set")
        return
    name = "qlora" if bits is not None and bits[0] == _FOUR_BITS else "lora"
    sheet.derive(leaf, name, "the section peft", ("peft",))


def _sinks(sheet: FactSheet, data: _Settings) -> None:
    on = tuple(
        name
        for name in _SINKS
        if isinstance(data.get(name), dict)
        and boolean(section(data, name).get("enable", True)) is not False
    )
    leaf = "telemetry.sinks"
    if on:
        sheet.derive(leaf, on, "sections of sinks", *((name,) for name in on))
    else:
        sheet.default(leaf, ("file",), "no sink is on: metrics go to files")


READER = Reader(_FORMAT, "config", detect, read, keys=("step_scheduler",))

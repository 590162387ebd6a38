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
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config, defaults_of
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    attention,
    dtype,
)
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    minutes,
    number,
    one_of,
    placeholder,
    section,
    tabulated_defaults,
    text,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

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
_RECOMPUTE: dict[str, object] = {
    **dict.fromkeys(("full", "true", "on", "enabled"), "full"),
    **dict.fromkeys(("none", "false", "off", "disabled"), "none"),
    "selective": "selective",
}
_SINKS = ("wandb", "mlflow", "comet")
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
    """Return a whole number; `none` is null in this loader, which states nothing."""
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
_DEFAULTS = defaults_of(
    _FIELDS,
    "checkpoint.is_async",
    "compile.enabled",
    "fp8.enabled",
    "step_scheduler.log_remote_every_steps",
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
    """Recognise it by `step_scheduler`, `model`, and two of the other sections."""
    data = section(document.data)
    scheduler = section(data, "step_scheduler")
    if _SCHEDULER_SIGNS.isdisjoint(scheduler) or "model" not in data:
        return 0.0
    companions = len(_COMPANIONS.intersection(data))
    if companions < _FEWEST_COMPANIONS:
        return 0.0
    return min(0.98, 0.7 + 0.06 * companions)


def read(document: Document) -> Reading:
    """Return what the file states, and what the recipes do where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", "nemo-automodel", "NeMo Automodel's settings", ())
    config = Config(sheet, data)
    if config.get("model.attn_implementation") is None:
        leaf = "kernels.attention_backend"
        config.put(leaf, "model.backend.attn", _BACKEND_ATTENTION)
    _state_parallelism(config)
    _state_run(config)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    add_defaults(sheet, _FIXED)
    add_defaults(sheet, _UNSET)
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    return Reading(sheet, keyed._replace(keys=tuple(map(_filled, keyed.keys))))


def _filled(key: StatedKey) -> StatedKey:
    """Return a key without placeholders: defaults count, and `None` is null."""
    value = key.value
    if isinstance(value, str) and value in {"None", "none"}:
        return key._replace(value=None)
    match = _VARIABLE.match(value) if isinstance(value, str) else None
    return key._replace(value=match[1]) if match else key


def _state_parallelism(config: Config) -> None:
    """State degrees, engine, batch and number formats."""
    is_diffusion = isinstance(config.get(_DIFFUSION), dict)
    has_degrees = isinstance(config.get("distributed"), dict)
    name = _DIFFUSION if is_diffusion and not has_degrees else "distributed"
    block = config.section(name)
    _degrees(block)
    engine = _engine(block)
    _batch(config, block)
    _recompute(config, block)
    _offload(block)
    _precision(config, block, engine)
    if engine == "megatron-fsdp":
        _megatron_fsdp(block)


def _is_set(value: object) -> bool:
    return value is not None and not (
        isinstance(value, str) and value.lower() == "none"
    )


def _degrees(block: Config) -> None:
    """State the degrees.

    Null takes the default, an open data-parallel size the rest.
    """
    for key, leaf in _DEGREES.items():
        if _is_set(block.get(key)):
            block.put(leaf, key, integer_text)
        else:
            block.default(leaf, 1, f"{key} is not set: 1")
    if _is_set(block.get("dp_size")):
        block.put("parallelism.data_parallel_size", "dp_size", integer_text)
    block.put("parallelism.sequence_parallel", "sequence_parallel", boolean)


def _engine(block: Config) -> str | None:
    """Return FSDP2 unless a strategy, or the class of an old release, is named."""
    leaf, stage = "parallelism.engine", "parallelism.sharding_stage"
    target, strategy = block.get("_target_"), block.get("strategy")
    key, engine = "strategy", None
    if isinstance(strategy, str):
        engine = _ENGINES.get(strategy.lower())
        if engine is not None:
            block.state(leaf, engine, key)
    elif isinstance(target, str):
        key = "_target_"
        last = target.rpartition(".")[2].lower()
        engine = next((item for part, item in _CLASSES if part in last), None)
        if engine is not None:
            block.derive(leaf, engine, target, key)
    elif strategy is None:
        block.default(leaf, "fsdp2", "strategy is not set: fsdp2")
        block.default(stage, FULL_SHARD, "FSDP2 shards fully")
        return "fsdp2"
    block.first(
        stage,
        (engine == "fsdp2", FULL_SHARD, "FSDP2 shards fully", key),
        (engine == "ddp", 0, "DDP shards nothing", key),
    )
    return engine


def _megatron_fsdp(block: Config) -> None:
    stage, key = "parallelism.sharding_stage", "zero_dp_strategy"
    block.put(stage, key, integer_text)
    if block.get(key) is None:
        block.default(stage, FULL_SHARD, f"{key} is not set: 3")
    block.put("communication.overlap_gradient_reduce", "overlap_grad_reduce", boolean)
    block.put("communication.overlap_parameter_gather", "overlap_param_gather", boolean)


def _batch(config: Config, block: Config) -> None:
    """State that a rank's batch is cut into micro-batches if there is a pipeline."""
    leaf, key = "batch.micro_batch_size", "pp_microbatch_size"
    stages = block.whole("pp_size") if _is_set(block.get("pp_size")) else 1
    if stages == 1:
        config.put(leaf, "step_scheduler.local_batch_size", integer_text)
    elif stages is not None:
        config.default("parallelism.pipeline_engine", "torch", "pipelining of PyTorch")
        if not block.put_first(
            leaf, integer_text, f"pipeline.{key}"
        ) and not config.put_first(leaf, integer_text, f"autopipeline.{key}"):
            config.default(leaf, 1, f"{key} is not set: 1")


def _mode(value: object) -> object:
    word = lower_text(value)
    if isinstance(word, Unusable):
        return word
    return _RECOMPUTE.get(str(word), Unusable(f"unknown: {word}"))


def _recompute(config: Config, block: Config) -> None:
    leaf, key = "memory.recompute_mode", "activation_checkpointing"
    if not block.put_first(leaf, _mode, key) and not config.put_first(
        leaf, _mode, f"{_PARALLELIZER}.{key}"
    ):
        config.default(leaf, "none", f"{key} is not set: off")


def _offload(block: Config) -> None:
    """State the offload of parameters and optimizer states, which one policy sets."""
    policy, switch = block.get("offload_policy"), block.switch("cpu_offload")
    for leaf in ("memory.parameter_offload_device", "memory.optimizer_offload_device"):
        if isinstance(policy, dict):
            block.derive(leaf, "cpu", "the section offload_policy", "offload_policy")
        elif switch is not None:
            device, note = "cpu" if switch else "none", str(switch).lower()
            block.derive(leaf, device, f"cpu_offload: {note}", "cpu_offload")
        elif policy is None:
            block.default(leaf, "none", "offload_policy is not set")


def _precision(config: Config, block: Config, engine: str | None) -> None:
    """State that FSDP2 computes in bf16 and reduces in fp32, policies aside."""
    leaf, key = "precision.compute_dtype", "mp_policy.param_dtype"
    if block.put_first(leaf, _torch_dtype, key):
        result = _torch_dtype(block.get(key))
        if isinstance(result, str):
            block.turn_halves(result, f"param_dtype: {result}", key)
    elif engine == "fsdp2" and not isinstance(block.get("mp_policy"), dict):
        note = "mp_policy is not set: FSDP2 computes in bf16"
        config.default(leaf, "bf16", note)
        config.default("precision.bf16", value=True, note=note)
        config.default("precision.fp16", value=False, note=note)
    leaf = "precision.gradient_reduce_dtype"
    # The second key is that of diffusion recipes.
    keys = ("mp_policy.reduce_dtype", "reduce_dtype")
    is_stated = block.put_first(leaf, _torch_dtype, *keys)
    if not is_stated and engine == "fsdp2" and not block.section("mp_policy").data:
        note = "mp_policy is not set: FSDP2 reduces in fp32"
        config.default(leaf, "fp32", note)
    weights = config.get("model.torch_dtype")
    if isinstance(weights, str) and weights != "auto":
        config.put("precision.parameter_dtype", "model.torch_dtype", _torch_dtype)


def _torch_dtype(value: object) -> object:
    """Return the dtype; `bf16`, `bfloat16` and `torch.bfloat16` are the same."""
    return dtype(value.removeprefix("torch.") if isinstance(value, str) else value)


def _state_run(config: Config) -> None:
    """State what the other sections mean together."""
    _optimizer(config)
    _sequence(config)
    # Loaders of torch and torchdata work in the training process unless set otherwise.
    name, key = _target(config, "dataloader"), "dataloader._target_"
    if name.rpartition(".")[2] == "StatefulDataLoader":
        config.turn("data.resumable", "StatefulDataLoader", key)
    name = name.rpartition(".")[2]
    has_workers = "dataloader.num_workers" in config
    if name in {"StatefulDataLoader", "DataLoader"} and not has_workers:
        config.default("data.workers", 0, f"num_workers is not set: 0 in {name}")
    _resume(config)
    _model(config)
    on = tuple(
        name
        for name in _SINKS
        if isinstance(config.get(name), dict)
        and boolean(config.get(f"{name}.enable", True)) is not False
    )
    leaf = "telemetry.sinks"
    if on:
        config.derive(leaf, on, "sections of sinks", *on)
    else:
        config.default(leaf, ("file",), "no sink is on: metrics go to files")
    if config.get("rng.seed") is None:
        config.put("run.seed", "seed", integer_text)
    _eight_bits(config)


def _eight_bits(config: Config) -> None:
    """State FP8 of torchao, or of Transformer Engine where `te_fp8` is set."""
    leaf, key = "precision.fp8", "model.backend.te_fp8"
    recipe_key = f"{key}.recipe"
    if config.switch("fp8.enabled") is True:
        recipe_key = "fp8.recipe_name"
    elif config.get(key) is None:
        return
    else:
        config.drop(leaf)
        config.turn(leaf, "te_fp8 is set", key)
    recipe = config.get(recipe_key)
    if isinstance(recipe, str):
        config.state("precision.fp8_recipe", recipe, recipe_key)


def _target(config: Config, name: str) -> str:
    """Return the callable that a section names; empty without one."""
    target = config.get(f"{name}._target_")
    is_known = isinstance(target, str) and placeholder(target) is None
    return str(target) if is_known else ""


def _optimizer(config: Config) -> None:
    config.put_betas("optimizer.betas")
    name = _target(config, "optimizer").rpartition(".")[2]
    leaf, key = "kernels.fused_optimizer", "optimizer._target_"
    if name:
        config.derive("optimizer.name_of_optimizer", name.lower(), name, key)
    if name.startswith("Fused"):
        config.turn(leaf, name, key)
    else:
        config.put(leaf, "optimizer.fused", boolean)
    loss = _target(config, "loss_fn").rpartition(".")[2]
    if loss in _FUSED_LOSSES:
        config.turn("kernels.fused_cross_entropy", loss, "loss_fn._target_")


def _sequence(config: Config) -> None:
    """State the sequence: a pack has its size, otherwise the data set cuts."""
    leaf = "batch.sequence_length"
    packs = config.section("packed_sequence")
    for key in ("packed_sequence_size", "pack_size"):
        size = packs.whole(key)
        if size is not None:
            packs.turn("batch.packing", f"{key}: {size:,}", key, is_on=size > 0)
            if size > 0:
                packs.state(leaf, size, key)
                return
    if not packs.data:
        config.default("batch.packing", value=False, note="packed_sequence is not set")
    config.put_first(leaf, integer_text, "dataset.seq_length", "dataset.seq_len")


def _resume(config: Config) -> None:
    """State that without restore_from checkpoint_dir's newest checkpoint is loaded."""
    leaf, key = "checkpoint.resume", "checkpoint.restore_from"
    stated = config.get(key)
    if stated is None:
        note = "restore_from is not set: the newest checkpoint of checkpoint_dir"
        config.default(leaf, value=True, note=note)
    elif stated == "LATEST":
        config.turn(leaf, "LATEST: the newest checkpoint", key)
    else:
        fixed = Unusable("a fixed path: it may not be the newest checkpoint")
        config.unusable(leaf, (placeholder(stated) or fixed).reason, key)


def _model(config: Config) -> None:
    built, made_up = _target(config, "model"), _target(config, "dataset")
    if built.endswith("build_gpt2_model"):
        config.section("model").apply(_GPT2)
    _adapter(config)
    has_adapter = isinstance(config.get("peft"), dict)
    is_benchmark = isinstance(config.get("benchmark"), dict)
    is_mock, data_note = ".mock" in made_up, f"{made_up}: made-up data"
    role = "run.role"
    if not config.first(
        role,
        (is_benchmark, "debug", "the section benchmark", "benchmark"),
        (is_mock, "debug", data_note, "dataset._target_"),
        (has_adapter, "lora", "the section peft", "peft"),
    ) and not any(key in config for key in _DISTILLING):
        is_new = built.endswith((".from_config", "build_gpt2_model"))
        recipe = "FinetuneRecipeForVLM"
        config.first(
            role,
            (is_new, "pretrain", f"{built}: new weights", "model._target_"),
            (config.get("recipe") == recipe, "sft", recipe, "recipe"),
        )


def _adapter(config: Config) -> None:
    leaf, bits = "model.adapter", None
    for key, count in (("load_in_4bit", _FOUR_BITS), ("load_in_8bit", _EIGHT_BITS)):
        if bits is None and config.switch(f"quantization.{key}") is True:
            bits, name = count, f"quantization.{key}"
            config.derive("model.quantized_bits", bits, f"{key}: true", name)
    if isinstance(config.get("peft"), dict):
        name = "qlora" if bits == _FOUR_BITS else "lora"
        config.derive(leaf, name, "the section peft", "peft")
    elif config.get("peft") is None:
        config.default(leaf, "none", "peft is not set")


READER = Reader(_FORMAT, "config", detect, read, keys=("step_scheduler",))

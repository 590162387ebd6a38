"""The model of a NeMo 1 file: parallelism, batch, optimizer and dimensions.

Source: NVIDIA/NeMo nemo/collections/nlp/models/language_modeling/
megatron_base_model.py and megatron_gpt_model.py, releases 1.17 to 2.0.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer_text,
    lower_text,
    mebibytes,
    number,
    one_of,
    put,
    put_numbers,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

MEGATRON_KEYS = frozenset(
    {
        "tensor_model_parallel_size",
        "pipeline_model_parallel_size",
        "micro_batch_size",
        "global_batch_size",
        "encoder_seq_length",
        "megatron_amp_O2",
        "mcore_gpt",
    }
)
DISTRIBUTED = frozenset({"distributed_fused_adam", "mcore_distributed_optim"})
_FUSED = DISTRIBUTED | {"fused_adam", "megatron_fused_adam"}
_ENCODER_DECODER = frozenset(
    {"encoder", "decoder", "decoder_seq_length", "pipeline_model_parallel_split_rank"}
)
_HYBRID = frozenset({"mamba_state_dim", "mamba_num_groups", "hybrid_override_pattern"})
# nemo/collections/nlp/parts/utils_funcs.py: these have a second, gating projection.
_GATED = frozenset(
    {"swiglu", "geglu", "reglu", "fast-swiglu", "fast-geglu", "fast-reglu"}
)
_FSDP_STAGES = {"full": 3, "hybrid": 3, "grad": 2}
_DTYPES: Mapping[str, object] = {
    "16": "fp16",
    "fp16": "fp16",
    "bf16": "bf16",
    "32": "fp32",
    "fp32": "fp32",
    "float32": "fp32",
    "bfloat16": "bf16",
}
_DTYPE = one_of(_DTYPES)
_DEGREES: Fields = {
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
}
_TRAINING: Fields = {
    "activations_checkpoint_method": ("memory.recompute_method", lower_text),
    "activations_checkpoint_num_layers": ("memory.recompute_layers", integer_text),
    "cpu_offloading": ("memory.activation_offload", boolean),
    "ub_tp_comm_overlap": ("communication.overlap_tensor_parallel", boolean),
    "cross_entropy_loss_fusion": ("kernels.fused_cross_entropy", boolean),
    "enable_cuda_graph": ("kernels.cuda_graphs", boolean),
    "seed": ("run.seed", integer_text),
    "nsys_profile": {"enabled": ("telemetry.profiler", boolean)},
    "dist_ckpt_format": (
        "checkpoint.format",
        one_of({"torch_dist": "sharded", "zarr": "sharded"}),
    ),
    "optim": {
        "name": ("optimizer.name_of_optimizer", lower_text),
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "overlap_grad_sync": ("communication.overlap_gradient_reduce", boolean),
        "overlap_param_sync": ("communication.overlap_parameter_gather", boolean),
        "bucket_cap_mb": ("communication.gradient_bucket_bytes", mebibytes),
        "check_for_nan_in_grad": ("recovery.non_finite_guard", boolean),
        "sched": {
            "name": ("optimizer.schedule", lower_text),
            "warmup_steps": ("optimizer.warmup_steps", integer_text),
            "warmup_ratio": ("optimizer.warmup_ratio", number),
            "min_lr": ("optimizer.minimum_learning_rate", number),
        },
    },
}
_DIMENSIONS: Fields = {
    "hidden_size": ("model.hidden_size", integer_text),
    "num_attention_heads": ("model.attention_heads", integer_text),
    "num_query_groups": ("model.key_value_heads", integer_text),
    "kv_channels": ("model.head_dimension", integer_text),
    "max_position_embeddings": ("model.maximum_positions", integer_text),
    "make_vocab_size_divisible_by": ("model.vocabulary_multiple", integer_text),
    "override_vocab_size": ("model.vocabulary_size", integer_text),
    "share_embeddings_and_output_weights": ("model.tied_embeddings", boolean),
    "num_moe_experts": ("model.experts", integer_text),
    "moe_router_topk": ("model.experts_per_token", integer_text),
    "moe_ffn_hidden_size": ("model.expert_feed_forward_size", integer_text),
}
# Of a model with an encoder and a decoder these speak of one of the two.
_DEPTH: Fields = {
    "num_layers": ("model.layers", integer_text),
    "ffn_hidden_size": ("model.feed_forward_size", integer_text),
}
_LOADER: Fields = {
    "num_workers": ("data.workers", integer_text),
    "pin_memory": ("data.pin_memory", boolean),
    "drop_last": ("data.drop_last", boolean),
}
_NO_PARALLELISM = fixed_defaults(
    "not set: 1",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.virtual_stages": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.sequence_parallel": False,
    },
)
# A model restored from a checkpoint takes what is not set from there.
_NEW_MODEL = fixed_defaults(
    "not set: 1",
    {
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
    },
)


def is_recipe(data: Settings) -> bool:
    """Whether a mapping is a recipe with the settings of another library."""
    own = data.get("training_config")
    return isinstance(own, dict) and isinstance(data.get("trainer"), dict)


def is_megatron(data: Settings) -> bool:
    """Whether the model is one of NeMo's Megatron models, not a speech model."""
    model = section(data, "model")
    return not (MEGATRON_KEYS.isdisjoint(model) and MEGATRON_KEYS.isdisjoint(data))


def is_evaluation(data: Settings) -> bool:
    """Whether the file only runs a model that another one trained."""
    model = section(data, "model")
    if "optim" in model:
        return False
    sets = section(model, "data")
    is_tested = "test_ds" in sets or "validation_ds" in sets
    has_flat_degrees = not MEGATRON_KEYS.isdisjoint(data)
    return (
        "inference" in data
        or has_flat_degrees
        or (is_tested and "train_ds" not in sets)
    )


def state_model(sheet: FactSheet, data: Settings, *, is_training: bool) -> None:
    """State what `model` says; evaluations keep their degrees at the top."""
    model = section(data, "model")
    apply(sheet, data, _DEGREES)
    apply(sheet, model, _DEGREES, ("model",))
    add_defaults(sheet, _NO_PARALLELISM)
    if not _is_restored(data, model):
        add_defaults(sheet, _NEW_MODEL)
    _dimensions(sheet, data, model)
    _attention(sheet, model)
    _fp8(sheet, model)
    if is_training:
        _batch(sheet, model)
        apply(sheet, model, _TRAINING, ("model",))
        _recompute(sheet, model)
        _optimizer(sheet, section(model, "optim"))
        _sharding(sheet, model)
        _gradients(sheet, model)
        _loader(sheet, model)
        _role(sheet, data, model)


def _is_restored(data: Settings, model: Settings) -> bool:
    keys = ("restore_from_path", "language_model_path", "pretrained_checkpoint")
    return any(one.get(key) is not None for one in (data, model) for key in keys)


def _batch(sheet: FactSheet, model: Settings) -> None:
    """Fine-tuning takes the batch of `data.train_ds` before that of the model."""
    train = section(model, "data", "train_ds")
    inner: KeyPath = ("model", "data", "train_ds")
    for key in ("micro_batch_size", "global_batch_size"):
        leaf = f"batch.{key}"
        if train.get(key) is not None:
            put(sheet, leaf, integer_text(train[key]), (*inner, key))
        elif model.get(key) is not None:
            put(sheet, leaf, integer_text(model[key]), ("model", key))
    leaf = "batch.sequence_length"
    if train.get("max_seq_length") is not None:
        at: KeyPath = (*inner, "max_seq_length")
        put(sheet, leaf, integer_text(train["max_seq_length"]), at)
    elif model.get("encoder_seq_length") is not None:
        at = ("model", "encoder_seq_length")
        put(sheet, leaf, integer_text(model["encoder_seq_length"]), at)
    elif (length := section(model, "data").get("seq_length")) is not None:
        put(sheet, leaf, integer_text(length), ("model", "data", "seq_length"))
    if train.get("packed_sequence") is not None:
        at = (*inner, "packed_sequence")
        put(sheet, "batch.packing", boolean(train["packed_sequence"]), at)
    if model.get("rampup_batch_size") is not None:
        at = ("model", "rampup_batch_size")
        sheet.derive("batch.mode", "rampup", "rampup_batch_size is set", at)
    else:
        sheet.default("batch.mode", "fixed", "rampup_batch_size is not set")


def _recompute(sheet: FactSheet, model: Settings) -> None:
    key, leaf = "activations_checkpoint_granularity", "memory.recompute_mode"
    at: KeyPath = ("model", key)
    if model.get(key) is not None:
        words = one_of({"full": "full", "selective": "selective"})
        put(sheet, leaf, words(model[key]), at)
    elif key in model:
        sheet.derive(leaf, "none", f"{key}: null", at)
    else:
        sheet.default(leaf, "none", f"{key} is not set: null")


def _optimizer(sheet: FactSheet, optim: Settings) -> None:
    betas = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, betas, optim.get("betas"), ("model", "optim", "betas"))
    if lower_text(optim.get("name")) in _FUSED:
        at = ("model", "optim", "name")
        note = f"optimizer {optim['name']}"
        derive_switch(sheet, "kernels.fused_optimizer", note, at)


def _sharding(sheet: FactSheet, model: Settings) -> None:
    """FSDP of torch, or Megatron with or without its distributed optimizer."""
    stage, engine = "parallelism.sharding_stage", "parallelism.engine"
    if boolean(model.get("fsdp")) is True:
        sheet.derive(engine, "fsdp1", "model.fsdp", ("model", "fsdp"))
        key = "fsdp_sharding_strategy"
        word = lower_text(model.get(key) or "full")
        if isinstance(word, str) and word in _FSDP_STAGES:
            at: KeyPath = ("model", key if key in model else "fsdp")
            sheet.derive(stage, _FSDP_STAGES[word], f"{key}: {word}", at)
        return
    sheet.default(engine, "megatron", "NeMo's Megatron models")
    name = lower_text(section(model, "optim").get("name"))
    if isinstance(name, str):
        at = ("model", "optim", "name")
        is_on = name in DISTRIBUTED
        note = f"optimizer {name}"
        derive_switch(sheet, "optimizer.is_distributed", note, at, is_on=is_on)
        sheet.derive(stage, int(is_on), note, at)


def _gradients(sheet: FactSheet, model: Settings) -> None:
    """The dtype of gradient sums: fp32 with a distributed optimizer unless set.

    That of Megatron Core adds them up in the buffer that it reduces
    (DistributedDataParallelConfig.grad_reduce_in_fp32).
    """
    optim = section(model, "optim")
    key = "grad_sync_dtype"
    at: KeyPath = ("model", "optim", key)
    reduced = "precision.gradient_reduce_dtype"
    accumulated = "precision.gradient_accumulate_dtype"
    name = lower_text(optim.get("name"))
    if name in DISTRIBUTED and boolean(model.get("fsdp")) is not True:
        if optim.get(key) is not None:
            dtype = _DTYPE(optim[key])
            put(sheet, reduced, dtype, at)
            if name == "mcore_distributed_optim" and isinstance(dtype, str):
                note = "added up in the buffer that is reduced"
                sheet.derive(accumulated, dtype, note, at)
        else:
            sheet.default(reduced, "fp32", f"{key} is not set: fp32")
            sheet.default(accumulated, "fp32", f"{key} is not set: fp32")
    elif boolean(model.get("fsdp")) is True:
        key = "fsdp_grad_reduce_dtype"
        if model.get(key) is not None:
            put(sheet, reduced, _DTYPE(model[key]), ("model", key))


def _loader(sheet: FactSheet, model: Settings) -> None:
    names = ("data", "train_ds") if section(model, "data", "train_ds") else ("data",)
    apply(sheet, section(model, *names), _LOADER, ("model", *names))


def _role(sheet: FactSheet, data: Settings, model: Settings) -> None:
    """What is trained: an adapter, all of a restored model, or a new one."""
    scheme = section(model, "peft").get("peft_scheme")
    at: KeyPath = ("model", "peft", "peft_scheme")
    if "virtual_prompt_style" in model:
        at = ("model", "virtual_prompt_style")
        sheet.derive("model.adapter", "ptuning", "virtual_prompt_style", at)
        sheet.derive("run.role", "lora", "only a prompt encoder is trained", at)
    elif "peft_scheme" in section(model, "peft"):
        name = "none" if scheme is None else lower_text(scheme)
        put(sheet, "model.adapter", name, at)
        if isinstance(name, str):
            role = "sft" if name == "none" else "lora"
            sheet.derive("run.role", role, f"peft_scheme: {name}", at)
    elif isinstance(data.get("restore_from_path"), str):
        at = ("restore_from_path",)
        sheet.derive("run.role", "continued", "restore_from_path", at)


def _dimensions(sheet: FactSheet, data: Settings, model: Settings) -> None:
    """Sizes of the model, where one block of layers makes it."""
    apply(sheet, model, _DIMENSIONS, ("model",))
    is_restored = _is_restored(data, model)
    if not _ENCODER_DECODER.isdisjoint(model):
        _family(sheet, "encoder-decoder")
        return
    apply(sheet, model, _DEPTH, ("model",))
    if "mm_cfg" in model:
        _family(sheet, "multimodal")
    elif not _HYBRID.isdisjoint(model):
        _family(sheet, "hybrid")
    else:
        _family(sheet, "transformer")
    heads = integer_text(model.get("num_attention_heads"))
    if model.get("num_query_groups") is None and isinstance(heads, int):
        note = "num_query_groups is not set: one for each head"
        at: KeyPath = ("model", "num_attention_heads")
        sheet.derive("model.key_value_heads", heads, note, at)
    if "share_embeddings_and_output_weights" not in model and not is_restored:
        note = "share_embeddings_and_output_weights is not set: true"
        sheet.default("model.tied_embeddings", value=True, note=note)
    if isinstance(activation := model.get("activation"), str):
        at = ("model", "activation")
        is_on = activation in _GATED
        note = f"activation {activation}"
        derive_switch(sheet, "model.gated_feed_forward", note, at, is_on=is_on)


def _family(sheet: FactSheet, name: str) -> None:
    sheet.default("model.family", name, f"a NeMo {name} model")


def _attention(sheet: FactSheet, model: Settings) -> None:
    if boolean(model.get("use_flash_attention")) is True:
        at: KeyPath = ("model", "use_flash_attention")
        sheet.derive("kernels.attention_backend", "flash", "use_flash_attention", at)


def _fp8(sheet: FactSheet, model: Settings) -> None:
    """Transformer Engine's fp8, with its delayed scaling unless a recipe is named."""
    if model.get("fp8") is None:
        return
    at: KeyPath = ("model", "fp8")
    put(sheet, "precision.fp8", boolean(model["fp8"]), at)
    recipe = model.get("fp8_recipe")
    if isinstance(recipe, str):
        sheet.state("precision.fp8_recipe", recipe.lower(), ("model", "fp8_recipe"))
    elif boolean(model["fp8"]) is True:
        sheet.default("precision.fp8_recipe", "delayed", "NeMo 1 scales with delay")

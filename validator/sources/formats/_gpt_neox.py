"""What the keys of GPT-NeoX beside those of DeepSpeed state.

Sources: EleutherAI/gpt-neox megatron/neox_arguments/{arguments,neox_args}.py,
megatron/model/transformer.py, megatron/training.py, megatron/checkpointing.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    items,
    lower_text,
    negation,
    number,
    one_of,
    put,
    section,
    tabulated_defaults,
    text,
    texts,
    weak_default,
    without_place,
)
from speccheck.validator.sources.reader import FactSheet

Arguments = Mapping[str, object]

_FORMAT = "gpt-neox"
_GATED = frozenset({"geglu", "reglu", "swiglu", "bilinear", "glu"})
_FAMILIES = {"mamba": "ssm", "rwkv": "rnn", "gmlp": "mlp", "amlp": "mlp"}
_SINKS = {"use_wandb": "wandb", "use_comet": "comet"}
_DATA = frozenset({"data_path", "train_data_paths", "pos_train_data_paths"})
_LENGTHS = frozenset({"train_iters", "train_epochs"})
_COMPUTE = one_of({"fp16": "fp16", "bfloat16": "bf16", "fp32": "fp32"})
_PRECISIONS = {"bf16": "bfloat16", "fp16": "fp16"}
_PREFERENCES = frozenset({"dpo", "kto", "reinforce", "rm"})
_BUCKETS = (
    "communication.gradient_bucket_bytes",
    "communication.parameter_bucket_bytes",
)
_OPEN = frozenset({"default", "unknown"})
_ELSEWHERE = "is not set here: another of the merged files may set it"


def _degree(value: object) -> object:
    """A number of ranks; 0 means none (NeoXArgs.calculate_derived)."""
    size = integer(value)
    return max(size, 1) if isinstance(size, int) else size


def _nodes(value: object) -> object:
    """A number of nodes; -1 takes all of the host file."""
    count = integer(value)
    if isinstance(count, int) and count < 1:
        return Unusable(f"{count}: all nodes of the host file")
    return count


def _is_more_than_one(value: object) -> object:
    count = integer(value)
    if isinstance(count, int) and count <= 1:
        return Unusable("1: no mixture of experts")
    return count


def _padding(value: object) -> object:
    """What the vocabulary is padded to a multiple of; with 1 it is not padded."""
    multiple = integer(value)
    return Unusable("1: the vocabulary is not padded") if multiple == 1 else multiple


_FIELDS: Fields = {
    "num_nodes": ("cluster.nodes", _nodes),
    "num_gpus": ("cluster.gpus_per_node", integer),
    "model_parallel_size": ("parallelism.tensor_parallel_size", _degree),
    "pipe_parallel_size": ("parallelism.pipeline_parallel_size", _degree),
    "sequence_parallel": ("parallelism.sequence_parallel", boolean),
    "seq_length": ("batch.sequence_length", integer),
    "precision": ("precision.compute_dtype", _COMPUTE),
    "checkpoint_in_cpu": ("memory.activation_offload", boolean),
    "layernorm_fusion": ("kernels.fused_normalization", boolean),
    "rmsnorm_fusion": ("kernels.fused_normalization", boolean),
    "min_lr": ("optimizer.minimum_learning_rate", number),
    "weight_decay": ("optimizer.weight_decay", number),
    "lr_decay_style": ("optimizer.schedule", lower_text),
    "lr_decay_iters": ("optimizer.decay_steps", integer),
    "warmup": ("optimizer.warmup_ratio", number),
    "save": ("checkpoint.directory", text),
    "save_interval": ("checkpoint.interval_steps", integer),
    "keep_last_n_checkpoints": ("checkpoint.keep_last", integer),
    "no_save_optim": ("checkpoint.save_optimizer", negation),
    "no_save_rng": ("checkpoint.save_random_state", negation),
    "eval_interval": ("checkpoint.evaluation_interval_steps", integer),
    "data_path": ("data.paths", texts),
    "num_workers": ("data.workers", integer),
    "log_interval": ("telemetry.log_interval_steps", integer),
    "num_layers": ("model.layers", integer),
    "hidden_size": ("model.hidden_size", integer),
    "num_attention_heads": ("model.attention_heads", integer),
    "num_kv_heads": ("model.key_value_heads", integer),
    "padded_vocab_size": ("model.vocabulary_size", integer),
    "make_vocab_size_divisible_by": ("model.vocabulary_multiple", _padding),
    "max_position_embeddings": ("model.maximum_positions", integer),
    "no_weight_tying": ("model.tied_embeddings", negation),
    "moe_num_experts": ("model.experts", _is_more_than_one),
    "train_iters": ("run.steps", integer),
    "train_epochs": ("run.epochs", number),
    "seed": ("run.seed", integer),
}
_FIXED = (
    *fixed_defaults(
        "GPT-NeoX has no groups of that kind",
        {"parallelism.context_parallel_size": 1, "parallelism.ulysses_size": 1},
    ),
    *fixed_defaults("GPT-NeoX runs on PyTorch", {"run.uses_torch": True}),
    *fixed_defaults(
        "GPT-NeoX logs samples per second with each log line",
        {"telemetry.throughput": True},
    ),
    *fixed_defaults(
        "DeepSpeed saves the parts of each rank", {"checkpoint.format": "sharded"}
    ),
)
# Defaults of a file that holds the training: number of layers and length of the run.
_OF_TRAINING = (
    TabulatedDefault(
        "gradient_accumulation_steps", "batch.gradient_accumulation_steps", integer
    ),
    TabulatedDefault(
        "model_parallel_size", "parallelism.tensor_parallel_size", _degree
    ),
    TabulatedDefault(
        "pipe_parallel_size", "parallelism.pipeline_parallel_size", _degree
    ),
    TabulatedDefault("sequence_parallel", "parallelism.sequence_parallel", boolean),
    TabulatedDefault("lr_decay_style", "optimizer.schedule", lower_text),
    TabulatedDefault("min_lr", "optimizer.minimum_learning_rate", number),
    TabulatedDefault("warmup", "optimizer.warmup_ratio", number),
    TabulatedDefault(
        "make_vocab_size_divisible_by", "model.vocabulary_multiple", integer
    ),
    TabulatedDefault("no_weight_tying", "model.tied_embeddings", negation),
    TabulatedDefault("seed", "run.seed", integer),
)
_GLOBAL_ATTENTION = fixed_defaults(
    "attention_config is not set: global attention in all layers",
    {"model.family": "transformer", "kernels.attention_backend": "eager"},
)
_OF_MODEL = (
    *fixed_defaults("activation is not set: gelu", {"model.gated_feed_forward": False}),
    *fixed_defaults(
        "checkpoint_activations is not set", {"memory.recompute_mode": "none"}
    ),
)
# And of one that names the data besides: nothing is left for a further file.
_OF_WHOLE = (
    TabulatedDefault("num_workers", "data.workers", integer),
    TabulatedDefault("no_save_optim", "checkpoint.save_optimizer", negation),
    TabulatedDefault("no_save_rng", "checkpoint.save_random_state", negation),
)
_NOT_SET = (
    *fixed_defaults(
        "keep_last_n_checkpoints is not set: all", {"checkpoint.keep_last": 0}
    ),
    *fixed_defaults("GPT-NeoX waits for each save", {"checkpoint.asynchronous": False}),
)


def state_arguments(sheet: FactSheet, data: Arguments) -> None:
    """State what the keys say; of several files that are merged, this one."""
    apply(sheet, data, _FIELDS)
    _correct_deepspeed(sheet, data)
    _state_precision(sheet, data)
    if _state_attention(sheet, data) == "transformer":
        _state_feed_forward(sheet, data)
    _state_memory(sheet, data)
    _state_checkpoints(sheet, data)
    _state_run(sheet, data)
    _state_defaults(sheet, data)


def _drop(sheet: FactSheet, *leaves: str) -> None:
    sheet.facts = [one for one in sheet.facts if one.name not in leaves]


def _count(value: object) -> int | None:
    """A whole number above zero, else None."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    return None


def _correct_deepspeed(sheet: FactSheet, data: Arguments) -> None:
    """What GPT-NeoX decides although DeepSpeed has a key for it.

    It builds the optimizer itself, by Apex where that is installed; its parameter
    groups take the decay from the top (get_params_for_weight_decay_optimization).
    """
    _drop(sheet, "kernels.fused_optimizer")
    nested: KeyPath = ("optimizer", "params", "weight_decay")
    place = sheet.place(nested)
    sheet.facts = [one for one in sheet.facts if place not in one.places]
    if not any("enabled" in section(data, switch) for switch in _PRECISIONS):
        _drop(sheet, *_BUCKETS)  # their size follows from a dtype that is not there


def _state_precision(sheet: FactSheet, data: Arguments) -> None:
    """`precision`, or what the blocks of DeepSpeed switch on; both must agree."""
    leaf = "precision.compute_dtype"
    precision = data.get("precision")
    if section(data, "fp16").get("type") == "bfloat16":  # how releases to 2.0 write it
        at: KeyPath = ("fp16", "type")
        _drop(sheet, "precision.fp16", "precision.bf16")
        derive_switch(sheet, "precision.bf16", "type: bfloat16", at)
        derive_switch(sheet, "precision.fp16", "type: bfloat16", at, is_on=False)
        return
    for switch, name in _PRECISIONS.items():
        block = section(data, switch)
        if block.get("enabled") is True and precision is not None:
            sheet.state(leaf, switch, (switch, "enabled"))
        elif "enabled" not in block and isinstance(_COMPUTE(precision), str):
            is_on = precision == name
            note = f"precision: {precision}"
            sheet.derive(f"precision.{switch}", is_on, note, ("precision",))
    if data.get("fp32_allreduce") is True:
        leaf = "precision.gradient_reduce_dtype"
        sheet.derive(leaf, "fp32", "fp32_allreduce: true", ("fp32_allreduce",))


def _state_attention(sheet: FactSheet, data: Arguments) -> str:
    """Of the kinds of layers: the family of the model and the kernel of attention."""
    heads, at_heads = _count(data.get("num_attention_heads")), ("num_attention_heads",)
    if heads:
        note = "num_kv_heads is not set: all heads"
        weak_default(sheet, "model.key_value_heads", heads, note, at_heads)
    at: KeyPath = ("attention_config",)
    kinds = {
        str(kind)
        for group in items(data.get("attention_config"))
        for kinds_of_group in items(group)[:1]
        for kind in items(kinds_of_group)
    }
    if not kinds:
        return "transformer"
    note = f"layers of the kind {', '.join(sorted(kinds)):.60}"
    families = {_FAMILIES.get(kind, "transformer") for kind in kinds}
    family = families.pop() if len(families) == 1 else "hybrid"
    sheet.derive("model.family", family, note, at)
    if kinds == {"flash"}:
        sheet.derive("kernels.attention_backend", "flash", note, at)
    elif kinds <= {"global", "local"}:
        sheet.derive("kernels.attention_backend", "eager", note, at)
    if kinds == {"mamba"}:
        reason = "num_attention_heads is ignored: all layers are of the kind mamba"
        _drop(sheet, "model.attention_heads", "model.key_value_heads")
        sheet.unusable("model.attention_heads", reason, at)
    return family


def _state_feed_forward(sheet: FactSheet, data: Arguments) -> None:
    """The width of the feed-forward layer.

    ParallelMLP: of a gated one two thirds, half of it for each input of the gate,
    rounded up to mlp_multiple_of. Earlier releases widened a gated layer otherwise, so
    that without intermediate_size nothing is known.
    """
    leaf, activation = "model.feed_forward_size", data.get("activation")
    size = _count(data.get("intermediate_size"))
    is_gated = isinstance(activation, str) and activation.lower() in _GATED
    if isinstance(activation, str):
        derive_switch(
            sheet,
            "model.gated_feed_forward",
            f"activation: {activation:.20}",
            ("activation",),
            is_on=is_gated,
        )
    multiple = _count(data.get("mlp_multiple_of", 1))
    if is_gated and size and multiple:
        width = -(-(size * 2 // 3 // 2) // multiple) * multiple
        note = f"{size:,} x 2/3 / 2 in steps of {multiple:,} = {width:,}"
        sheet.derive(leaf, width, note, ("intermediate_size",))
    elif size and isinstance(activation, str):
        sheet.state(leaf, size, ("intermediate_size",))
    hidden = _count(data.get("hidden_size"))
    if hidden and not size and not is_gated and "expansion_factor" not in data:
        weak_default(sheet, leaf, 4 * hidden, "4 x hidden", ("hidden_size",))


def _state_memory(sheet: FactSheet, data: Arguments) -> None:
    """Recomputed are whole layers, checkpoint_num_layers of them at once."""
    switch = data.get("checkpoint_activations")
    if isinstance(switch, bool):
        note = f"checkpoint_activations: {str(switch).lower()}"
        mode = "full" if switch else "none"
        sheet.derive("memory.recompute_mode", mode, note, ("checkpoint_activations",))
    stages = _count(data.get("pipe_parallel_size"))
    # With one stage the releases differ: PipelineModule runs from 1 or from 2 on.
    if stages and stages > 1:
        note = f"{stages} stages run under DeepSpeed's pipeline engine"
        name = "parallelism.pipeline_engine"
        sheet.derive(name, "deepspeed", note, ("pipe_parallel_size",))


def _state_checkpoints(sheet: FactSheet, data: Arguments) -> None:
    """GPT-NeoX saves where `save` is set, and demands an interval beside it."""
    factor, scale = data.get("checkpoint_factor"), data.get("checkpoint_scale")
    if factor is not None:
        at: KeyPath = ("checkpoint_factor",)
        leaf = "checkpoint.interval_steps"
        if scale is None or scale == "linear":
            put(sheet, leaf, integer(factor), at)
            sheet.default("checkpoint.interval_unit", "steps", "checkpoint_factor")
        else:
            reason = f"checkpoint_scale: {scale!s:.20}: the interval grows"
            sheet.unusable(leaf, reason, at)
    save, load = data.get("save"), data.get("load")
    if not isinstance(save, str):
        without_place(sheet, "checkpoint.enabled", f"save {_ELSEWHERE}")
        return
    derive_switch(sheet, "checkpoint.enabled", "save is set", ("save",))
    if not isinstance(load, str):
        without_place(sheet, "checkpoint.resume", f"load {_ELSEWHERE}")
    else:
        same = load.rstrip("/") == save.rstrip("/")
        which = "the folder" if same else "another folder than that"
        note = f"load names {which} of save"
        sheet.derive("checkpoint.resume", same, note, ("load",), ("save",))


def _state_run(sheet: FactSheet, data: Arguments) -> None:
    sheet.derive("run.framework", "gpt-neox", "keys of GPT-NeoX", ())
    sinks = [(key, sink) for key, sink in _SINKS.items() if data.get(key) is True]
    if isinstance(data.get("tensorboard_dir"), str):
        sinks.insert(0, ("tensorboard_dir", "tensorboard"))
    if sinks:
        names = tuple(name for _, name in sinks)
        sheet.state("telemetry.sinks", names, (sinks[0][0],))
    experts = _count(data.get("moe_num_experts"))
    if experts and experts > 1 and data.get("moe_top_k") is not None:
        leaf, count = "model.experts_per_token", integer(data["moe_top_k"])
        put(sheet, leaf, count, ("moe_top_k",))
    method = data.get("train_impl")
    if isinstance(method, str) and method in _PREFERENCES:
        sheet.derive("run.role", "rl", f"train_impl: {method}", ("train_impl",))


def _state_defaults(sheet: FactSheet, data: Arguments) -> None:
    """The defaults of keys that no further file will set.

    A run is made of several files, as a rule one of the model and its training and
    one of paths; what the one leaves out may stand in the other.
    """
    is_training = "num_layers" in data and not _LENGTHS.isdisjoint(data)
    if not is_training:
        sheet.facts = [
            one for one in sheet.facts if one.places or one.status not in _OPEN
        ]
        add_defaults(sheet, _FIXED)
        return
    add_defaults(sheet, tabulated_defaults(_FORMAT, _OF_TRAINING))
    add_defaults(sheet, _OF_MODEL)
    if data.get("attention_config") is None:
        add_defaults(sheet, _GLOBAL_ATTENTION)
    steps = [one for one in sheet.facts if one.name == "run.steps" and one.value]
    if steps and "lr_decay_iters" not in data:
        note = "lr_decay_iters is not set: train_iters"
        weak_default(
            sheet, "optimizer.decay_steps", steps[0].value, note, ("train_iters",)
        )
    if not _DATA.isdisjoint(data):
        add_defaults(sheet, tabulated_defaults(_FORMAT, _OF_WHOLE))
        add_defaults(sheet, _NOT_SET)
    add_defaults(sheet, _FIXED)

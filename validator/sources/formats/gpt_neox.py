"""EleutherAI's GPT-NeoX: YAML or JSON, dashes or underscores, several files to a run.

Each file is read by itself: a plan is made of those that `deepy.py` is given together.
Keys of DeepSpeed stand at the top among those of the model and the training.
Sources: EleutherAI/gpt-neox megatron/neox_arguments/{arguments,neox_args}.py,
megatron/model/transformer.py, megatron/training.py, megatron/checkpointing.py.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.stated_keys import KeyedFile, LoadedAs, StatedKey
from speccheck.validator.evidence.value import KeyPath, Place, Span
from speccheck.validator.sources.documents.document import (
    Document,
    RawScalar,
    Resolution,
    path_step,
)
from speccheck.validator.sources.formats._config import Config, defaults_of
from speccheck.validator.sources.formats.deepspeed import state_deepspeed
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    boolean,
    fixed_defaults,
    integer,
    items,
    lower_text,
    negation,
    number,
    one_of,
    section,
    tabulated_defaults,
    text,
    texts,
    texts_for_values,
    weak_default,
    without_place,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_Arguments = Mapping[str, object]
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
# Names that no other framework has; Megatron-LM, its ancestor, has no files of them.
_OWN = frozenset(
    {
        "attention_config",
        "checkpoint_activations",
        "checkpoint_factor",
        "checkpoint_validation_with_forward_pass",
        "deepspeed_slurm",
        "gpt_j_residual",
        "keep_last_n_checkpoints",
        "mlp_multiple_of",
        "model_parallel_size",
        "no_weight_tying",
        "output_layer_parallelism",
        "partition_activations",
        "pipe_parallel_size",
        "pos_emb",
        "rotary_pct",
        "scaled_upper_triang_masked_softmax_fusion",
        "synchronize_each_layer",
        "text_gen_type",
    }
)
_DATA_SIGNS = frozenset({"data_path", "train_data_paths", "vocab_file"})
_BESIDE_DATA = frozenset(
    {
        "checkpoint_factor",
        "data_impl",
        "hostfile",
        "keep_last_n_checkpoints",
        "load",
        "log_dir",
        "merge_file",
        "save",
        "tensorboard_dir",
        "test_data_paths",
        "tokenizer_type",
        "use_wandb",
        "valid_data_paths",
        "wandb_project",
        "wandb_team",
    }
)
_FEW, _ENOUGH = 2, 4
# Sections of Megatron-LM's YAML, which has many of these names beside them.
_OF_OTHERS = ("language_model", "model_parallel", "trainer", "model")
_FLOAT = lazy_pattern(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9_]+)(?:[eE][-+][0-9]+)?")
_AS_WRITTEN = frozenset({"optimizer", "scheduler"})
_BY_RELEASE = frozenset({"fp16", "bf16"})


# Blocks of DeepSpeed here, plain values in other configurations of Megatron's names.
_BLOCKS = ("fp16", "bf16", "optimizer", "scheduler")
_FEW_PLAIN = 2


def detect(document: Document) -> float:
    """Recognise it by names of its own, or by paths of data, vocabulary and logs."""
    data = section(document.data)
    if any(isinstance(data.get(name), dict) for name in _OF_OTHERS):
        return 0.0
    plain = [name for name in _BLOCKS if isinstance(data.get(name), str | bool)]
    if len(plain) >= _FEW_PLAIN:
        return 0.0
    names = {_underscored(name) for name in data}
    own = len(_OWN & names)
    if own >= _FEW:
        return min(0.97, 0.7 + 0.05 * own)
    data_names = len(_DATA_SIGNS & names)
    paths = data_names + own + len(_BESIDE_DATA & names)
    return min(0.85, 0.5 + 0.05 * paths) if data_names and paths >= _ENOUGH else 0.0


def read(document: Document) -> Reading:
    """Return what one of the files of a run states."""
    view = UnderscoredDocument(document)
    sheet = FactSheet.of(view)
    data = section(view.data)
    state_deepspeed(sheet, data)
    _state_arguments(Config(sheet, data))
    return Reading(sheet, _keyed(document, view))


class UnderscoredDocument(Document):
    """A view of a document: keys with underscores, places where they are written.

    Of two spellings of one key the last holds; `twins` names their pairs.
    """

    __slots__ = ("_whole", "_written", "twins")

    def __init__(self, whole: Document) -> None:
        """Take a document with a mapping at its top; anything else gives no keys."""
        data: dict[str, object] = {}
        written: dict[str, str | int] = {}
        twins: list[tuple[str | int, str | int]] = []
        for key, value in section(whole.data).items():
            name, step = _underscored(key), path_step(key)
            if name in data:
                twins.append((written[name], step))
            data[name] = value
            written[name] = step
        super().__init__(
            name=whole.name,
            language=whole.language,
            text=whole.text,
            data=data,
            find_nodes=whole.nodes,
            index=whole.index,
            duplicates=whole.duplicates,
            relaxed=whole.relaxed,
        )
        self._whole = whole
        self._written = written
        self.twins = tuple(twins)

    def as_written(self, path: KeyPath) -> KeyPath:
        """Return the path with the spelling of the file."""
        if not path or not isinstance(path[0], str):
            return path
        return (self._written.get(path[0], path[0]), *path[1:])

    def span(
        self, path: KeyPath, *, part: Literal["key", "value"] = "value"
    ) -> Span | None:
        """Return where a key or a value stands; None for a path that does not exist."""
        return self._whole.span(self.as_written(path), part=part)

    def raw(self, path: KeyPath) -> RawScalar | None:
        """Return a scalar as written; None for a mapping, list or unknown path."""
        return self._whole.raw(self.as_written(path))

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key path, with the spelling of the file."""
        return self._whole.place(self.as_written(path))

    def resolution(self, path: KeyPath) -> Resolution | None:
        """Return how the value at a path was worked out; None for a plain one."""
        return self._whole.resolution(self.as_written(path))

    @property
    def prefix(self) -> KeyPath:
        """Where `data` lies in the file."""
        return self._whole.prefix

    @property
    def own_data(self) -> object:
        """The part of `data` that stands in this file."""
        return self.data


def _keyed(document: Document, view: UnderscoredDocument) -> KeyedFile:
    """Return the keys with underscores, each where it is written.

    Of a key that stands twice the last one counts, for PyYAML reads the file.
    """
    catalogue = keys_of_format(_FORMAT)
    whole = keyed_file(document, _FORMAT, catalogue)
    keys = tuple(_with_underscores(key) for key in whole.keys)
    texts = texts_for_values(keys, catalogue, _is_fatal)
    if document.language == "json":
        texts += tuple(_floats_that_yaml_reads_as_texts(keys, view))
    return whole._replace(keys=keys, loaded_as=texts)


def _with_underscores(key: StatedKey) -> StatedKey:
    first, *below = key.path
    if not isinstance(first, str) or "-" not in first:
        return key
    path = (first.replace("-", "_"), *below)
    return StatedKey(path, key.value, key.place, key.is_block)


def _is_fatal(path: KeyPath) -> bool | None:
    """Return whether it is fatal; NeoXArgs demands declared types (validate_types)."""
    if len(path) == 1 or path[0] in _AS_WRITTEN:
        return True
    return False if path[0] in _BY_RELEASE else None


def _floats_that_yaml_reads_as_texts(
    keys: tuple[StatedKey, ...], view: UnderscoredDocument
) -> Iterator[LoadedAs]:
    """Yield floats such as `1e-5` that are texts for PyYAML, which reads the file."""
    for key in keys:
        fatal = _is_fatal(key.path) if isinstance(key.value, float) else None
        raw = view.raw(key.path) if fatal is not None else None
        if fatal is None or raw is None or _FLOAT.fullmatch(raw.text):
            continue
        place = key.place._replace(part="value")
        loaded = f"the text {raw.text!r:.60}"
        yield LoadedAs(place.key, raw.text, loaded, "a number", place, fatal)


def _underscored(key: object) -> str:
    """Return a key as GPT-NeoX takes it (NeoXArgs.from_ymls)."""
    return str(key).replace("-", "_")


def _degree(value: object) -> object:
    """Return a number of ranks; 0 means none (NeoXArgs.calculate_derived)."""
    size = integer(value)
    return max(size, 1) if isinstance(size, int) else size


def _nodes(value: object) -> object:
    """Return a number of nodes; -1 takes all of the host file."""
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
    """Return the number whose multiple the vocabulary is padded to; 1 pads nothing."""
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
    *defaults_of(
        _FIELDS,
        "model_parallel_size",
        "pipe_parallel_size",
        "sequence_parallel",
        "lr_decay_style",
        "min_lr",
        "warmup",
    ),
    TabulatedDefault(
        "make_vocab_size_divisible_by", "model.vocabulary_multiple", integer
    ),
    *defaults_of(_FIELDS, "no_weight_tying", "seed"),
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
_OF_WHOLE = defaults_of(_FIELDS, "num_workers", "no_save_optim", "no_save_rng")
_NOT_SET = (
    *fixed_defaults(
        "keep_last_n_checkpoints is not set: all", {"checkpoint.keep_last": 0}
    ),
    *fixed_defaults("GPT-NeoX waits for each save", {"checkpoint.asynchronous": False}),
)


def _state_arguments(config: Config) -> None:
    """State what the keys say; of several files that are merged, this one."""
    config.apply(_FIELDS)
    _correct_deepspeed(config)
    _state_precision(config)
    if _state_attention(config) == "transformer":
        _state_feed_forward(config)
    _state_memory(config)
    _state_checkpoints(config)
    _state_run(config)
    _state_defaults(config)


def _count(value: object) -> int | None:
    """Return a whole number above zero, else None."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    return None


def _correct_deepspeed(config: Config) -> None:
    """Correct what GPT-NeoX decides although DeepSpeed has a key for it.

    It builds the optimizer itself, by Apex where that is installed; its parameter
    groups take the decay from the top (get_params_for_weight_decay_optimization).
    """
    config.drop("kernels.fused_optimizer")
    place = config.sheet.place(config.at("optimizer.params.weight_decay"))
    facts = config.sheet.facts
    facts[:] = [fact for fact in facts if place not in fact.places]
    if not any(f"{switch}.enabled" in config for switch in _PRECISIONS):
        config.drop(*_BUCKETS)  # their size follows from a dtype that is not there


def _state_precision(config: Config) -> None:
    """State `precision`, or what the blocks of DeepSpeed switch on; both must agree."""
    precision = config.get("precision")
    if config.get("fp16.type") == "bfloat16":  # how releases to 2.0 write it
        config.drop("precision.fp16", "precision.bf16")
        config.turn_halves("bf16", "type: bfloat16", "fp16.type")
        return
    for switch, name in _PRECISIONS.items():
        key = f"{switch}.enabled"
        if config.get(key) is True and precision is not None:
            config.state("precision.compute_dtype", switch, key)
        elif key not in config and isinstance(_COMPUTE(precision), str):
            leaf, note = f"precision.{switch}", f"precision: {precision}"
            config.turn(leaf, note, "precision", is_on=precision == name)
    key = "fp32_allreduce"
    if config.get(key) is True:
        leaf = "precision.gradient_reduce_dtype"
        config.derive(leaf, "fp32", f"{key}: true", key)


def _state_attention(config: Config) -> str:
    """State the model's family and the kernel of attention, by the kinds of layers."""
    heads, leaf = _count(config.get("num_attention_heads")), "model.key_value_heads"
    if heads:
        note = "num_kv_heads is not set: all heads"
        weak_default(config.sheet, leaf, heads, note, ("num_attention_heads",))
    key = "attention_config"
    kinds = {
        str(kind)
        for group in items(config.get(key))
        for kinds_of_group in items(group)[:1]
        for kind in items(kinds_of_group)
    }
    if not kinds:
        return "transformer"
    note = f"layers of the kind {', '.join(sorted(kinds)):.60}"
    families = {_FAMILIES.get(kind, "transformer") for kind in kinds}
    family = families.pop() if len(families) == 1 else "hybrid"
    config.derive("model.family", family, note, key)
    config.first(
        "kernels.attention_backend",
        (kinds == {"flash"}, "flash", note, key),
        (kinds <= {"global", "local"}, "eager", note, key),
    )
    if kinds == {"mamba"}:
        reason = "num_attention_heads is ignored: all layers are of the kind mamba"
        config.drop("model.attention_heads", leaf)
        config.unusable("model.attention_heads", reason, key)
    return family


def _state_feed_forward(config: Config) -> None:
    """State the width of the feed-forward layer.

    ParallelMLP: of a gated one two thirds, half of it for each input of the gate,
    rounded up to mlp_multiple_of. Earlier releases widened a gated layer otherwise, so
    that without intermediate_size nothing is known.
    """
    leaf, key = "model.feed_forward_size", "intermediate_size"
    activation = config.get("activation")
    size = _count(config.get(key))
    is_gated = isinstance(activation, str) and activation.lower() in _GATED
    if isinstance(activation, str):
        note = f"activation: {activation:.20}"
        config.turn("model.gated_feed_forward", note, "activation", is_on=is_gated)
    multiple = _count(config.get("mlp_multiple_of", 1))
    if is_gated and size and multiple:
        width = -(-(size * 2 // 3 // 2) // multiple) * multiple
        note = f"{size:,} x 2/3 / 2 in steps of {multiple:,} = {width:,}"
        config.derive(leaf, width, note, key)
    elif size and isinstance(activation, str):
        config.state(leaf, size, key)
    hidden = _count(config.get("hidden_size"))
    if hidden and not size and not is_gated and "expansion_factor" not in config:
        weak_default(config.sheet, leaf, 4 * hidden, "4 x hidden", ("hidden_size",))


def _state_memory(config: Config) -> None:
    """State that whole layers are recomputed, checkpoint_num_layers of them at once."""
    key = "checkpoint_activations"
    switch = config.get(key)
    if isinstance(switch, bool):
        mode, note = "full" if switch else "none", f"{key}: {str(switch).lower()}"
        config.derive("memory.recompute_mode", mode, note, key)
    key = "pipe_parallel_size"
    stages = _count(config.get(key))
    # With one stage the releases differ: PipelineModule runs from 1 or from 2 on.
    if stages and stages > 1:
        note = f"{stages} stages run under DeepSpeed's pipeline engine"
        config.derive("parallelism.pipeline_engine", "deepspeed", note, key)


def _state_checkpoints(config: Config) -> None:
    """State that GPT-NeoX saves if `save` is set, and demands an interval."""
    key, scale = "checkpoint_factor", config.get("checkpoint_scale")
    leaf = "checkpoint.interval_steps"
    if config.get(key) is not None and scale in (None, "linear"):
        config.put(leaf, key, integer)
        config.default("checkpoint.interval_unit", "steps", key)
    elif config.get(key) is not None:
        reason = f"checkpoint_scale: {scale!s:.20}: the interval grows"
        config.unusable(leaf, reason, key)
    save, load = config.get("save"), config.get("load")
    if not isinstance(save, str):
        without_place(config.sheet, "checkpoint.enabled", f"save {_ELSEWHERE}")
        return
    config.turn("checkpoint.enabled", "save is set", "save")
    if not isinstance(load, str):
        without_place(config.sheet, "checkpoint.resume", f"load {_ELSEWHERE}")
    else:
        same = load.rstrip("/") == save.rstrip("/")
        which = "the folder" if same else "another folder than that"
        note = f"load names {which} of save"
        config.derive("checkpoint.resume", same, note, "load", "save")


def _state_run(config: Config) -> None:
    config.sheet.derive("run.framework", "gpt-neox", "keys of GPT-NeoX", ())
    sinks = [(key, sink) for key, sink in _SINKS.items() if config.get(key) is True]
    if isinstance(config.get("tensorboard_dir"), str):
        sinks.insert(0, ("tensorboard_dir", "tensorboard"))
    if sinks:
        names = tuple(name for _, name in sinks)
        config.state("telemetry.sinks", names, sinks[0][0])
    experts = _count(config.get("moe_num_experts"))
    if experts and experts > 1:
        config.put("model.experts_per_token", "moe_top_k", integer)
    method = config.get("train_impl")
    if isinstance(method, str) and method in _PREFERENCES:
        config.derive("run.role", "rl", f"train_impl: {method}", "train_impl")


def _state_defaults(config: Config) -> None:
    """State the defaults of keys that no further file will set.

    A run is made of several files, as a rule one of the model and its training and
    one of paths; what the one leaves out may stand in the other.
    """
    sheet, data = config.sheet, config.data
    is_training = "num_layers" in data and not _LENGTHS.isdisjoint(data)
    if not is_training:
        sheet.facts = [
            fact for fact in sheet.facts if fact.places or fact.status not in _OPEN
        ]
        add_defaults(sheet, _FIXED)
        return
    add_defaults(sheet, tabulated_defaults(_FORMAT, _OF_TRAINING))
    add_defaults(sheet, _OF_MODEL)
    if config.get("attention_config") is None:
        add_defaults(sheet, _GLOBAL_ATTENTION)
    steps = [
        fact.value for fact in sheet.facts if fact.name == "run.steps" and fact.value
    ]
    if steps and "lr_decay_iters" not in data:
        leaf, note = "optimizer.decay_steps", "lr_decay_iters is not set: train_iters"
        weak_default(sheet, leaf, steps[0], note, ("train_iters",))
    if not _DATA.isdisjoint(data):
        add_defaults(sheet, tabulated_defaults(_FORMAT, _OF_WHOLE))
        add_defaults(sheet, _NOT_SET)
    add_defaults(sheet, _FIXED)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=tuple(
        spelling
        for name in (
            "checkpoint_factor",
            "data_path",
            "model_parallel_size",
            "pipe_parallel_size",
            "pos_emb",
            "train_data_paths",
            "vocab_file",
        )
        for spelling in (name, name.replace("_", "-"))
    ),
    merges=True,
)

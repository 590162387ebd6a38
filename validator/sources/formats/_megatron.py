"""Flags of Megatron-LM, wherever they are written, and what they state together.

A command line gives words, a file gives keys: both become flags, so that the same code
says what they mean. Sources: NVIDIA/Megatron-LM megatron/training/arguments.py
(validate_args) and training.py with the configuration classes, at the commits of the
key table. Flags of forks that the table does not hold: microsoft/Megatron-DeepSpeed
megatron/arguments.py, and Megatron-LM 2.5 (activations-checkpoint, checkpoint).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from speccheck.validator.evidence.forks import CommandParser
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import LoadedAs
from speccheck.validator.evidence.value import Place
from speccheck.validator.models.parameters import megatron_feed_forward_size
from speccheck.validator.sources.launching import (
    Leaf,
    is_sure,
    option_place,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import (
    TabulatedDefault,
    Unusable,
    add_defaults,
    fixed_defaults,
    integer_text,
    lower_text,
    minutes,
    number,
    one_of,
    parse_number,
    put,
    tabulated_defaults,
    text,
    texts,
    without_place,
)
from speccheck.validator.sources.reader import Fact, FactSheet
from speccheck.validator.sources.shell.script import Option

_NUMBERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}


class Flag(Record):
    """A flag with its values.

    Attributes:
        name: with its dashes.
        texts: of its values.
        place: of the first value, or of the flag where it has none.
        named_at: where the flag stands.
        doubt: why it may not be given at all; empty when it surely is.
        unknown: why its first value is not known; empty when it is.
    """

    name: str
    texts: tuple[str, ...]
    place: Place
    named_at: Place
    doubt: str = ""
    unknown: str = ""

    @property
    def text(self) -> str | None:
        """The first value, where there is one and it is known."""
        return None if self.unknown or not self.texts else self.texts[0]


# The flags of one run by name.
# --fake-process-group of Megatron-LM, and what forks that simulate a job call theirs.
_SIMULATED = ("--fake-process-group", "--fake-world-size")
Given = Mapping[str, Flag]


TIMEOUT = "--distributed-timeout-minutes"
TIMEOUT_AFTER = "--distributed-timeout-seconds-after-init"
_FINEST = 2
_RECOMPUTE = one_of({"full": "full", "selective": "selective", "none": "none"})
_BACKENDS = one_of(
    {"flash": "flash", "fused": "fused", "unfused": "eager", "local": "eager"}
)
_DTYPE = one_of(
    {"fp32": "fp32", "float32": "fp32", "bf16": "bf16", "fp16": "fp16", "fp8": "fp8"}
)
_FORMAT = one_of(
    {
        "torch": "full",
        "torch_dist": "sharded",
        "torch_dcp": "sharded",
        "fsdp_dtensor": "sharded",
        "zarr": "sharded",
    }
)
# Any of these flags makes stages of unequal depth; which does not matter to a rule.
_UNEVEN = Leaf("parallelism.pipeline_layout", text, "uneven")
_FIRST_STAGE = "parallelism.first_stage_layers"
_LAST_STAGE = "parallelism.last_stage_layers"
_HYBRID = ("--hybrid-override-pattern", "--hybrid-layer-pattern", "--is-hybrid-model")
_RECOMPUTE_FLAGS = (
    "--recompute-granularity",
    "--recompute-activations",
    "--checkpoint-activations",
    "--deepspeed-activation-checkpointing",
)
_FSDP = {
    "--use-torch-fsdp2": "fsdp2",
    "--use-megatron-fsdp": "megatron-fsdp",
    "--use-custom-fsdp": "megatron-fsdp",
}
_STRATEGIES: Mapping[str, object] = {
    "no_shard": 0,
    "optim": 1,
    "optim_grads": 2,
    "optim_grads_params": 3,
}
_SINKS = {
    "--tensorboard-dir": "tensorboard",
    "--wandb-project": "wandb",
    "--wandb-exp-name": "wandb",
}
# The second is that of MindSpeed-LLM.
_LATENT = ("--multi-latent-attention", "--multi-head-latent-attention")
_OLD_RECOMPUTE = ("--checkpoint-activations", "--activations-checkpoint-method")
_INTERVALS = ("--save-interval", "--persistent-save-interval")
_DECAY = {"--lr-decay-iters", "--lr-decay-samples"}
_EACH = "communication.reduces_each_micro_batch"
_REDUCE = "precision.gradient_reduce_dtype"
_ACCUMULATE = "precision.gradient_accumulate_dtype"
_FP32_BYTES, _BF16_BYTES = 4, 2
_TABLE = "megatron-cli"
# Full recomputation needs these beside its own flag: they may be among hidden ones.
_PARTS = ("memory.recompute_method", "memory.recompute_layers")
# Flags with which Megatron-LM takes others from elsewhere (training/checkpointing.py
# load_args_from_checkpoint, training/yaml_arguments.py).
_ELSEWHERE = {
    "--use-checkpoint-args": "the checkpoint of --use-checkpoint-args",
    "--use-mp-args-from-checkpoint-args": "the checkpoint",
    "--yaml-cfg": "the file of --yaml-cfg",
}
_FIXED = (
    *fixed_defaults(
        "Megatron-LM has no Ulysses groups", {"parallelism.ulysses_size": 1}
    ),
    *fixed_defaults("Megatron-LM keeps every checkpoint", {"checkpoint.keep_last": 0}),
    *fixed_defaults("Megatron-LM runs on PyTorch", {"run.uses_torch": True}),
)


def _attention(value: object) -> object:
    """Return the backend of attention; auto leaves the choice to Transformer Engine."""
    if value == "auto":
        return Unusable("auto: Transformer Engine chooses at start")
    return _BACKENDS(value)


def _uses_graphs(value: object) -> object:
    """Return whether graphs are used: `--cuda-graph-impl local`; none is off."""
    return lower_text(value) != "none"


def _is_some(value: object) -> object:
    """Return whether a number of layers is above zero."""
    count = integer_text(value)
    return count > 0 if isinstance(count, int) else count


def _is_fine(value: object) -> object:
    """Return whether the level times every operation: 2 (--timing-log-level)."""
    level = integer_text(value)
    return level >= _FINEST if isinstance(level, int) else level


def _uses_fp8(value: object) -> object:
    """Return whether `--fp8-format` is `hybrid` or `e4m3`."""
    return lower_text(value) not in {"none", "null"}


def _whole(leaf: str) -> Leaf:
    return Leaf(leaf, integer_text)


def _turned(leaf: str, *, is_on: bool = True) -> Leaf:
    return Leaf(leaf, text, present=is_on)


LEAVES: Mapping[str, Leaf] = {
    "--tensor-model-parallel-size": _whole("parallelism.tensor_parallel_size"),
    "--pipeline-model-parallel-size": _whole("parallelism.pipeline_parallel_size"),
    "--context-parallel-size": _whole("parallelism.context_parallel_size"),
    "--expert-model-parallel-size": _whole("parallelism.expert_parallel_size"),
    "--expert-tensor-parallel-size": _whole("parallelism.expert_tensor_parallel_size"),
    "--num-layers-per-virtual-pipeline-stage": _whole(
        "parallelism.layers_per_virtual_stage"
    ),
    "--num-virtual-stages-per-pipeline-rank": _whole("parallelism.virtual_stages"),
    "--pipeline-model-parallel-layout": _UNEVEN,
    "--decoder-first-pipeline-num-layers": _whole(_FIRST_STAGE),
    "--decoder-last-pipeline-num-layers": _whole(_LAST_STAGE),
    "--account-for-embedding-in-pipeline-split": _UNEVEN,
    "--account-for-loss-in-pipeline-split": _UNEVEN,
    "--num-layers-in-first-pipeline-stage": _whole(_FIRST_STAGE),
    "--num-layers-in-last-pipeline-stage": _whole(_LAST_STAGE),
    "--model-parallel-size": _whole("parallelism.tensor_parallel_size"),
    "--ds-sequence-parallel-size": _whole("parallelism.ulysses_size"),
    "--num-distributed-optimizer-instances": _whole("parallelism.replicate_size"),
    "--zero-stage": _whole("parallelism.sharding_stage"),
    "--sequence-parallel": _turned("parallelism.sequence_parallel"),
    "--micro-batch-size": _whole("batch.micro_batch_size"),
    "--batch-size": _whole("batch.micro_batch_size"),
    "--global-batch-size": _whole("batch.global_batch_size"),
    "--eval-micro-batch-size": _whole("batch.evaluation_micro_batch_size"),
    "--eval-global-batch-size": _whole("batch.evaluation_global_batch_size"),
    "--seq-length": _whole("batch.sequence_length"),
    "--encoder-seq-length": _whole("batch.sequence_length"),
    "--rampup-batch-size": Leaf("batch.mode", text, "rampup"),
    "--step-batch-size-schedule": Leaf("batch.mode", text, "rampup"),
    "--bf16": _turned("precision.bf16"),
    "--fp16": _turned("precision.fp16"),
    "--fp8-format": Leaf("precision.fp8", _uses_fp8),
    "--fp8-hybrid": _turned("precision.fp8"),
    "--fp8-e4m3": _turned("precision.fp8"),
    # NVFP4 counts as fp8 with a recipe of its own.
    "--fp4-format": Leaf("precision.fp8", _uses_fp8),
    "--fp8-recipe": Leaf("precision.fp8_recipe", lower_text),
    "--main-grads-dtype": Leaf("precision.gradient_accumulate_dtype", _DTYPE),
    "--exp-avg-dtype": Leaf("precision.optimizer_state_dtype", _DTYPE),
    "--grad-reduce-in-bf16": Leaf("precision.gradient_reduce_dtype", text, "bf16"),
    "--loss-scale": Leaf("precision.loss_scale", number),
    "--loss-scale-window": _whole("precision.loss_scale_window"),
    "--min-loss-scale": Leaf("precision.minimum_loss_scale", number),
    "--hysteresis": _whole("precision.hysteresis"),
    "--recompute-granularity": Leaf("memory.recompute_mode", _RECOMPUTE),
    "--recompute-activations": Leaf("memory.recompute_mode", text, "selective"),
    "--checkpoint-activations": Leaf("memory.recompute_mode", text, "full"),
    "--deepspeed-activation-checkpointing": Leaf("memory.recompute_mode", text, "full"),
    "--recompute-method": Leaf("memory.recompute_method", lower_text),
    "--activations-checkpoint-method": Leaf("memory.recompute_method", lower_text),
    "--recompute-num-layers": _whole("memory.recompute_layers"),
    "--activations-checkpoint-num-layers": _whole("memory.recompute_layers"),
    "--checkpoint-num-layers": _whole("memory.recompute_layers"),
    "--cpu-offloading-num-layers": Leaf("memory.activation_offload", _is_some),
    "--fine-grained-activation-offloading": _turned("memory.activation_offload"),
    "--optimizer-cpu-offload": Leaf("memory.optimizer_offload_device", text, "cpu"),
    "--attention-backend": Leaf("kernels.attention_backend", _attention),
    "--cross-entropy-loss-fusion": _turned("kernels.fused_cross_entropy"),
    "--cuda-graph-impl": Leaf("kernels.cuda_graphs", _uses_graphs),
    "--enable-cuda-graph": _turned("kernels.cuda_graphs"),
    "--external-cuda-graph": _turned("kernels.cuda_graphs"),
    "--use-flash-attn": Leaf("kernels.attention_backend", text, "flash"),
    "--optimizer": Leaf("optimizer.name_of_optimizer", lower_text),
    "--lr": Leaf("optimizer.learning_rate", number),
    "--min-lr": Leaf("optimizer.minimum_learning_rate", number),
    "--adam-beta1": Leaf("optimizer.beta1", number),
    "--adam-beta2": Leaf("optimizer.beta2", number),
    "--weight-decay": Leaf("optimizer.weight_decay", number),
    "--clip-grad": Leaf("optimizer.clip_norm", number),
    "--lr-decay-style": Leaf("optimizer.schedule", lower_text),
    "--lr-warmup-iters": _whole("optimizer.warmup_steps"),
    "--lr-warmup-fraction": Leaf("optimizer.warmup_ratio", number),
    "--lr-decay-iters": _whole("optimizer.decay_steps"),
    "--use-distributed-optimizer": _turned("optimizer.is_distributed"),
    "--overlap-grad-reduce": _turned("communication.overlap_gradient_reduce"),
    "--overlap-param-gather": _turned("communication.overlap_parameter_gather"),
    "--tp-comm-overlap": _turned("communication.overlap_tensor_parallel"),
    TIMEOUT: Leaf("communication.initialization_timeout_seconds", minutes),
    TIMEOUT_AFTER: Leaf("communication.timeout_seconds", number),
    "--save": Leaf("checkpoint.directory", text),
    "--save-interval": _whole("checkpoint.interval_steps"),
    "--persistent-save-interval": _whole("checkpoint.interval_steps"),
    "--async-save": _turned("checkpoint.asynchronous"),
    "--ckpt-format": Leaf("checkpoint.format", _FORMAT),
    "--no-save-optim": _turned("checkpoint.save_optimizer", is_on=False),
    "--no-save-rng": _turned("checkpoint.save_random_state", is_on=False),
    "--non-persistent-save-interval": _whole("checkpoint.local_interval_steps"),
    "--non-persistent-local-ckpt-dir": Leaf("checkpoint.local_directory", text),
    "--inprocess-restart": _turned("recovery.in_process_restart"),
    "--exit-duration-in-mins": _turned("recovery.exit_before_walltime"),
    "--no-check-for-nan-in-loss-and-grad": _turned(
        "recovery.non_finite_guard", is_on=False
    ),
    "--check-for-spiky-loss": _turned("recovery.spike_guard"),
    "--exit-signal-handler": _turned("recovery.exit_before_walltime"),
    "--num-workers": _whole("data.workers"),
    "--log-interval": _whole("telemetry.log_interval_steps"),
    "--timing-log-level": Leaf("telemetry.time_breakdown", _is_fine),
    "--log-throughput": _turned("telemetry.throughput"),
    "--profile": _turned("telemetry.profiler"),
    "--num-layers": _whole("model.layers"),
    "--hidden-size": _whole("model.hidden_size"),
    "--ffn-hidden-size": _whole("model.feed_forward_size"),
    "--num-attention-heads": _whole("model.attention_heads"),
    "--kv-channels": _whole("model.head_dimension"),
    "--vocab-size": _whole("model.vocabulary_size"),
    "--make-vocab-size-divisible-by": _whole("model.vocabulary_multiple"),
    "--max-position-embeddings": _whole("model.maximum_positions"),
    "--swiglu": _turned("model.gated_feed_forward"),
    "--untie-embeddings-and-output-weights": _turned(
        "model.tied_embeddings", is_on=False
    ),
    "--num-experts": _whole("model.experts"),
    "--moe-router-topk": _whole("model.experts_per_token"),
    "--moe-ffn-hidden-size": _whole("model.expert_feed_forward_size"),
    "--train-iters": _whole("run.steps"),
    "--seed": _whole("run.seed"),
    "--deterministic-mode": _turned("run.deterministic"),
}


def _tabulated(*flags: str) -> tuple[TabulatedDefault, ...]:
    return tuple(
        TabulatedDefault(flag, LEAVES[flag].name, LEAVES[flag].convert)
        for flag in flags
    )


# Defaults that the key table settles for every tabulated version.
TABULATED = _tabulated(
    "--tensor-model-parallel-size",
    "--pipeline-model-parallel-size",
    "--context-parallel-size",
    "--expert-model-parallel-size",
    "--log-interval",
    "--num-workers",
    "--make-vocab-size-divisible-by",
)
# Those that DeepSpeed's engine decides instead in the Megatron-DeepSpeed fork.
TABULATED_ENGINE = (
    *_tabulated("--clip-grad", "--optimizer"),
    TabulatedDefault(TIMEOUT, "communication.timeout_seconds", minutes),
    *_tabulated(TIMEOUT),
)
# A switch that is absent is off, in every version.
SWITCHES: Mapping[str, str] = {
    "--sequence-parallel": "parallelism.sequence_parallel",
    "--bf16": "precision.bf16",
    "--fp16": "precision.fp16",
    "--fp8-format": "precision.fp8",
    "--async-save": "checkpoint.asynchronous",
    "--swiglu": "model.gated_feed_forward",
    "--log-throughput": "telemetry.throughput",
    "--load": "checkpoint.resume",
}
SWITCHES_ENGINE: Mapping[str, str] = {
    "--overlap-grad-reduce": "communication.overlap_gradient_reduce",
    "--overlap-param-gather": "communication.overlap_parameter_gather",
    "--use-distributed-optimizer": "optimizer.is_distributed",
}
# Where the parser lacks one of these, its absence does not say what the program does.
_ADVISED = frozenset(
    {
        "--async-save",
        "--log-throughput",
        "--overlap-grad-reduce",
        "--overlap-param-gather",
        "--use-distributed-optimizer",
    }
)
# Fields that a fork may settle whatever its flags.
_SETTLED = ("telemetry.throughput",)
# What an absent flag means where that is no number of the table.
ABSENT: tuple[tuple[str, object, str], ...] = (
    ("checkpoint.save_optimizer", True, "--no-save-optim is not given"),
    ("checkpoint.save_random_state", True, "--no-save-rng is not given"),
    ("model.tied_embeddings", True, "--untie-embeddings-and-output-weights is absent"),
    ("memory.recompute_mode", "none", "no flag asks for recomputation"),
)
ABSENT_ENGINE: tuple[tuple[str, object, str], ...] = (
    ("memory.optimizer_offload_device", "none", "--optimizer-cpu-offload is not given"),
)
# DeepSpeed's file says these, whatever the flag: the optimizer of Megatron, which
# would scale the loss, is never made (megatron/optimizer/__init__.py).
OF_DEEPSPEED = frozenset(
    {"--loss-scale", "--loss-scale-window", "--min-loss-scale", "--hysteresis"}
)


def flag_of_option(file: str, option: Option) -> Flag:
    """Return the flag that stands in a script."""
    name, values, word = option
    unknown = unresolved(values[0]) if values and not values[0].resolved else ""
    return Flag(
        name,
        tuple(value.text for value in values),
        option_place(file, option),
        word_place(file, name, word),
        "" if is_sure(option) else f"{name} is given only under a condition",
        unknown,
    )


def state_flag(sheet: FactSheet, leaf: Leaf, flag: Flag) -> None:
    """State on the sheet what a flag says."""
    if flag.doubt:
        sheet.unusable(leaf.name, flag.doubt, flag.named_at)
    elif leaf.present is not None:
        sheet.state(leaf.name, leaf.present, flag.named_at)
    elif flag.unknown:
        sheet.unusable(leaf.name, flag.unknown, flag.place)
    elif flag.texts:
        value = leaf.convert(flag.texts[0])
        if isinstance(value, Unusable):
            sheet.unusable(leaf.name, value.reason, flag.place)
        else:
            sheet.state(leaf.name, value, flag.place)


def refused_text(flag: Flag, catalogue: FrameworkKeys) -> LoadedAs | None:
    """Return a text of which argparse cannot make the number that its flag takes."""
    if len(flag.texts) != 1 or flag.unknown:
        return None
    row = catalogue.lookup((flag.name,))
    if row is None or row.choices or row.type not in _NUMBERS:
        return None
    (written,) = flag.texts
    number_of, expected = _NUMBERS[row.type]
    try:
        number_of(written)
    except ValueError:
        loaded = f"the text {written!r:.60}"
        return LoadedAs(flag.name, written, loaded, expected, flag.place, fatal=True)
    return None


def state_combinations(sheet: FactSheet, given: Given, *, is_whole: bool) -> None:
    """State what follows from several flags, or from one beside the lack of another.

    Args:
        sheet: takes the facts.
        given: the flags of one command.
        is_whole: there are no others, so that the lack of one means something.
    """
    _choose_recompute(sheet, given)
    _state_data(sheet, given)
    if "--fp4-format" in given:
        note = "--fp4-format asks for NVFP4"
        sheet.derive(
            "precision.fp8_recipe", "nvfp4", note, *_places(given, "--fp4-format")
        )
    _state_engine(sheet, given)
    state_layout(sheet)
    _state_family(sheet, given)
    if is_whole:
        _state_feed_forward(sheet, given)
        _state_timeout(sheet, given)
        _state_guard(sheet, given)
    if is_whole or "--group-query-attention" in given:
        _state_key_value_heads(sheet, given)
    _state_steps(sheet, given)
    _state_checkpoints(sheet, given)
    _state_sinks(sheet, given)
    if "--deepspeed" not in given:
        _state_gradients(sheet, given)


def _number(given: Given, flag: str) -> int | None:
    """Return the whole number that an option states, if it can be worked out."""
    result = given.get(flag)
    if result is None or result.doubt or result.text is None:
        return None
    count = integer_text(result.text)
    return count if isinstance(count, int) else None


def _places(given: Given, *flags: str) -> list[Place]:
    return [given[flag].place for flag in flags if flag in given]


def _choose_recompute(sheet: FactSheet, given: Given) -> None:
    """Apply --recompute-activations, by which the granularity is selective."""
    leaf = "memory.recompute_mode"
    if "--recompute-activations" in given and "--recompute-granularity" in given:
        sheet.facts[:] = [fact for fact in sheet.facts if fact.name != leaf]
        option = given["--recompute-activations"]
        state_flag(sheet, Leaf(leaf, text, "selective"), option)
    if "--activations-checkpoint-method" in given and not any(
        flag in given for flag in _RECOMPUTE_FLAGS
    ):
        note = "--activations-checkpoint-method recomputes whole layers"
        sheet.derive(
            leaf, "full", note, *_places(given, "--activations-checkpoint-method")
        )
    _complete_recompute(sheet, given)


def _complete_recompute(sheet: FactSheet, given: Given) -> None:
    """State the recomputation that flags up to 2.7 imply: layer by layer, uniformly.

    --checkpoint-num-layers and its successor are 1 where they are not given
    (bigscience-workshop/Megatron-DeepSpeed megatron/arguments.py).
    """
    old = [flag for flag in _OLD_RECOMPUTE if flag in given and not given[flag].doubt]
    if not old or "--recompute-granularity" in given:
        return
    mentioned = {fact.name for fact in sheet.facts}
    note = f"{old[0]} alone: layer by layer, uniformly"
    for leaf, value in (
        ("memory.recompute_method", "uniform"),
        ("memory.recompute_layers", 1),
    ):
        if leaf not in mentioned:
            sheet.derive(leaf, value, note, *_places(given, old[0]))


def _state_engine(sheet: FactSheet, given: Given) -> None:
    """State DeepSpeed's pipeline engine for Megatron-DeepSpeed, unless forbidden."""
    leaf = "parallelism.engine"
    if "--deepspeed" in given:
        state_flag(sheet, Leaf(leaf, text, "deepspeed"), given["--deepspeed"])
        if "--no-pipeline-parallel" not in given:
            name = "parallelism.pipeline_engine"
            state_flag(sheet, Leaf(name, text, "deepspeed"), given["--deepspeed"])
        return
    for flag, engine in _FSDP.items():
        if flag in given:
            state_flag(sheet, Leaf(leaf, text, engine), given[flag])
            _state_sharding(sheet, given, flag)
            return
    sheet.default(leaf, "megatron", "no FSDP or DeepSpeed flag is given")
    leaf, note = _EACH, "Megatron-LM reduces gradients with the last micro-batch"
    sheet.default(leaf, value=False, note=note)


def _state_sharding(sheet: FactSheet, given: Given, flag: str) -> None:
    """State what an FSDP of Megatron-LM shards.

    Its own one's default changed in 0.18.
    """
    leaf = "parallelism.sharding_stage"
    if flag == "--use-torch-fsdp2":
        note = "torch's FSDP2 shards parameters, gradients and optimizer"
        sheet.derive(leaf, 3, note, *_places(given, flag))
        return
    name = "--data-parallel-sharding-strategy"
    if name in given:
        state_flag(sheet, Leaf(leaf, one_of(_STRATEGIES)), given[name])


def _state_family(sheet: FactSheet, given: Given) -> None:
    family = "hybrid" if any(flag in given for flag in _HYBRID) else "transformer"
    sheet.default("model.family", family, f"Megatron-LM trains a {family} model")


def _state_feed_forward(sheet: FactSheet, given: Given) -> None:
    """State feed-forward size, which follows from the hidden size without its flag."""
    hidden = _number(given, "--hidden-size")
    if not hidden or "--ffn-hidden-size" in given:
        return
    is_gated = "--swiglu" in given
    if is_gated and given["--swiglu"].doubt:
        return
    size = megatron_feed_forward_size(hidden, is_gated=is_gated)
    how = "8/3 x hidden in steps of 64, with --swiglu" if is_gated else "4 x hidden"
    note = f"without --ffn-hidden-size: {how} = {size:,}"
    places = _places(given, "--hidden-size", "--swiglu")
    sheet.derive("model.feed_forward_size", size, note, *places)


def _state_key_value_heads(sheet: FactSheet, given: Given) -> None:
    """State the key-value heads, which count only with --group-query-attention."""
    leaf = "model.key_value_heads"
    grouped, groups = "--group-query-attention", "--num-query-groups"
    if any(flag in given for flag in _LATENT):
        return
    if grouped in given:
        if given[grouped].doubt:
            state_flag(sheet, Leaf(leaf, text, 1), given[grouped])
        elif groups in given:
            state_flag(sheet, Leaf(leaf, integer_text), given[groups])
        else:
            sheet.default(leaf, 1, "--num-query-groups is not given: 1")
        return
    heads = _number(given, "--num-attention-heads")
    if heads:
        note = "without --group-query-attention each head has its own keys and values"
        places = _places(given, "--num-attention-heads", groups)
        sheet.derive(leaf, heads, note, *places)


def _state_steps(sheet: FactSheet, given: Given) -> None:
    """State the lengths in samples as steps, and the decay that lasts the whole run."""
    batch = _number(given, "--global-batch-size")
    is_fixed = not any(fact.name == "batch.mode" for fact in sheet.facts)
    lengths = (
        ("--train-samples", "run.steps"),
        ("--lr-decay-samples", "optimizer.decay_steps"),
        ("--lr-warmup-samples", "optimizer.warmup_steps"),
    )
    for flag, leaf in lengths:
        samples = _number(given, flag)
        if samples and batch and is_fixed:
            note = f"{samples:,} samples / {batch:,} a step = {samples // batch:,}"
            places = _places(given, flag, "--global-batch-size")
            sheet.derive(leaf, samples // batch, note, *places)
    steps = [fact for fact in sheet.facts if fact.name == "run.steps"]
    if steps and steps[0].value and not given.keys() & _DECAY:
        note = "the learning rate decays over the whole run"
        decay = steps[0]._replace(
            name="optimizer.decay_steps", status="default", note=note
        )
        sheet.facts.append(decay)


def _state_checkpoints(sheet: FactSheet, given: Given) -> None:
    """State that Megatron-LM saves every --save-interval steps, given --save."""
    leaf = "checkpoint.enabled"
    if "--save" in given and any(flag in given for flag in _INTERVALS):
        places = (*_places(given, "--save", *_INTERVALS),)
        note = "--save and --save-interval"
        fact = Fact(leaf, value=True, status="derived", places=places, note=note)
        sheet.facts.append(fact)
        sheet.default("checkpoint.interval_unit", "steps", "--save-interval")
    elif "--save" not in given:
        sheet.default(leaf, value=False, note="--save is not given")
    else:
        reason = "--save without an interval saves at the end of the run only"
        sheet.unusable(leaf, reason, _places(given, "--save")[0])
    _state_resume(sheet, given)
    if "--save-retain-interval" in given:
        reason = "--save-retain-interval deletes what lies between"
        without_place(sheet, "checkpoint.keep_last", reason)


def _state_resume(sheet: FactSheet, given: Given) -> None:
    """State that a restart takes the newest checkpoint if --load and --save agree."""
    if "--load" not in given or "--save" not in given:
        return
    leaf, source, target = "checkpoint.resume", given["--load"], given["--save"]
    if source.doubt or not source.texts or not target.texts:
        return
    places = _places(given, "--load", "--save")
    same = source.texts[0].rstrip("/") == target.texts[0].rstrip("/")
    unknown = source.unknown or target.unknown
    if same or not unknown:
        which = "the folder" if same else "another folder than that"
        sheet.derive(leaf, same, f"--load names {which} of --save", *places)
    else:
        sheet.unusable(leaf, unknown, places[0])


def state_layout(sheet: FactSheet) -> None:
    """State that outer stages of another depth make the layout uneven."""
    for fact in list(sheet.facts):
        if fact.name in {_FIRST_STAGE, _LAST_STAGE}:
            note = "the outer stages have layers of their own"
            sheet.derive("parallelism.pipeline_layout", "uneven", note, *fact.places)
            return


def _state_timeout(sheet: FactSheet, given: Given) -> None:
    """State the timeouts; the start-up one holds for the whole run if it is alone."""
    if TIMEOUT not in given or TIMEOUT_AFTER in given:
        return
    start = "communication.initialization_timeout_seconds"
    for fact in list(sheet.facts):
        if fact.name == start and fact.value is not None:
            note = "the start-up timeout holds for the whole run"
            sheet.derive(
                "communication.timeout_seconds", fact.value, note, *fact.places
            )


def _state_guard(sheet: FactSheet, given: Given) -> None:
    """State that releases that look for spikes look for infinite values as well."""
    off = "--no-check-for-nan-in-loss-and-grad"
    if "--check-for-spiky-loss" in given and off not in given:
        note = f"{off} is not given"
        sheet.default("recovery.non_finite_guard", value=True, note=note)


def _state_sinks(sheet: FactSheet, given: Given) -> None:
    leaf = "telemetry.sinks"
    named = [flag for flag in _SINKS if flag in given]
    sinks = [flag for flag in named if not given[flag].doubt]
    if sinks:
        names = tuple(dict.fromkeys(_SINKS[flag] for flag in sinks))
        sheet.state(leaf, names, _places(given, *sinks)[0])
    elif named:
        sheet.unusable(leaf, given[named[0]].doubt, given[named[0]].named_at)


def _state_data(sheet: FactSheet, given: Given) -> None:
    """State the data: `PATH ...`, or `WEIGHT PATH ...`; a path begins files' names.

    Megatron-LM takes one of these options, or makes data up.
    """
    flag = given.get("--data-path") or given.get("--train-data-path")
    if flag is None or flag.doubt or flag.unknown or "--mock-data" in given:
        return
    paths = tuple(item for item in flag.texts if parse_number(item) is None)
    if paths:
        put(sheet, "data.paths", texts([*paths]), flag.place)


def _state_gradients(sheet: FactSheet, given: Given) -> None:
    """State the dtype of gradient sums, and the size of their buckets.

    Gradients are accumulated in the buffer that is reduced. With bf16 validate_args
    makes it fp32; with fp16 it stays fp16 unless a flag says otherwise.
    """
    mentioned = {fact.name for fact in sheet.facts}
    in_bf16, in_fp32 = "--grad-reduce-in-bf16", "--accumulate-allreduce-grads-in-fp32"
    in_half = "--fp16" in given and in_fp32 not in given
    note = "Megatron-LM sums gradients in fp32"
    if "--fp16" in given:
        note = f"--fp16 {'without' if in_half else 'with'} {in_fp32}"
    if in_bf16 in given and not given[in_bf16].doubt and _ACCUMULATE not in mentioned:
        why = "accumulated in the buffer that is reduced"
        sheet.derive(_ACCUMULATE, "bf16", why, *_places(given, in_bf16))
        mentioned.add(_ACCUMULATE)
    for leaf in (_REDUCE, _ACCUMULATE):
        if leaf not in mentioned:
            sheet.default(leaf, "fp16" if in_half else "fp32", note)
    elements = _number(given, "--ddp-bucket-size")
    if elements:
        size = _BF16_BYTES if "--grad-reduce-in-bf16" in given else _FP32_BYTES
        note = f"{elements:,} elements x {size} bytes"
        places = _places(given, "--ddp-bucket-size")
        leaf = "communication.gradient_bucket_bytes"
        sheet.derive(leaf, elements * size, note, *places)


def state_arguments(
    sheet: FactSheet,
    given: Given,
    *,
    hidden: str = "",
    parser: CommandParser | None = None,
) -> None:
    """State what the flags of one run say, and what absent ones mean.

    Args:
        sheet: takes the facts.
        given: the flags.
        hidden: a text that may hold further flags.
        parser: what is known of the program that takes them.
    """
    for name, flag in given.items():
        leaf = LEAVES.get(name)
        is_ignored = name in OF_DEEPSPEED and "--deepspeed" in given
        if leaf is not None and not is_ignored:
            state_flag(sheet, leaf, flag)
    state_combinations(sheet, given, is_whole=not hidden)
    add_defaults(sheet, _absent(given, parser))
    if hidden:
        reason = f"may be given in {hidden[:60]}"
        sheet.facts = [_open(fact, reason) for fact in sheet.facts]
        add_defaults(
            sheet, [Fact(leaf, None, "unknown", (), reason) for leaf in _PARTS]
        )
    add_defaults(sheet, _FIXED)
    _state_ranks(sheet, given)


def _state_ranks(sheet: FactSheet, given: Given) -> None:
    """Leave the ranks open where they are not those that the launcher starts."""
    for name, flag in given.items():
        if name.startswith(_SIMULATED):
            reason = f"{name}: the ranks of the run are simulated"
            sheet.unusable("cluster.world_size", reason, flag.named_at)
            return


def given_elsewhere(names: Iterable[str]) -> str:
    """Return what may hold further arguments, by the flags of a run; else empty."""
    return next((_ELSEWHERE[name] for name in names if name in _ELSEWHERE), "")


def _open(fact: Fact, reason: str) -> Fact:
    """Return a fact, unknown for a default where a flag may be hidden."""
    if fact.status != "default":
        return fact
    return fact._replace(value=None, status="unknown", note=reason)


def _absent(given: Given, parser: CommandParser | None) -> list[Fact]:
    """Return what the flags that are not given mean."""
    settled = [*_of_parser(parser, given)]
    facts = [*settled, *tabulated_defaults(_TABLE, TABULATED)]
    switches = dict(SWITCHES)
    absent = ABSENT
    if "--deepspeed" not in given:
        absent += ABSENT_ENGINE
        facts.extend(tabulated_defaults(_TABLE, TABULATED_ENGINE))
        switches.update(SWITCHES_ENGINE)
    for flag, leaf in switches.items():
        if flag in given or any(fact.name == leaf for fact in settled):
            continue
        if flag in _ADVISED and parser is not None and not parser.has(flag):
            reason = f"{parser.name} has no {flag}"
            facts.append(Fact(leaf, None, "unknown", (), reason))
        else:
            facts.append(_fact(leaf, value=False, note=f"{flag} is not given"))
    facts.extend(_fact(name, value, note) for name, value, note in absent)
    if "--global-batch-size" not in given:
        note = "without --global-batch-size a step is one micro-batch on each rank"
        facts.append(_fact("batch.gradient_accumulation_steps", 1, note))
    if "--fp16" in given and "--deepspeed" not in given:
        note = "dynamic without --loss-scale"
        facts.append(_fact("precision.loss_scale", 0.0, note))
    return facts


def _of_parser(parser: CommandParser | None, given: Given) -> Iterator[Fact]:
    """Yield what the program settles by itself.

    Parsers of 2023 and before recompute one layer at a time where no number is given
    (deepspeedai/Megatron-DeepSpeed megatron/arguments.py:851).
    """
    if parser is None:
        return
    if parser.is_copied and "--recompute-method" in given:
        yield _fact("memory.recompute_layers", 1, f"the default of {parser.name}")
    for leaf in _SETTLED:
        settled = parser.settles(leaf)
        if settled is not None:
            value, because = settled
            yield _fact(leaf, value, f"{parser.name}: {because}")


def _fact(leaf: str, value: object, note: str) -> Fact:
    return Fact(leaf, value, "default", (), note)

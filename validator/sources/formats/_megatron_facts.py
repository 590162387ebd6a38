"""What flags of Megatron-LM mean beside each other.

Sources: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args) and
training.py; microsoft/Megatron-DeepSpeed megatron/arguments.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import Place
from speccheck.validator.models.parameters import megatron_feed_forward_size
from speccheck.validator.sources.formats._megatron import TIMEOUT, TIMEOUT_AFTER
from speccheck.validator.sources.formats._megatron_flags import Given, state_flag
from speccheck.validator.sources.launching import Leaf
from speccheck.validator.sources.mapping import (
    integer_text,
    one_of,
    parse_number,
    put,
    text,
    texts,
    without_place,
)
from speccheck.validator.sources.reader import Fact, FactSheet

_HYBRID = ("--hybrid-override-pattern", "--hybrid-layer-pattern", "--is-hybrid-model")
_RECOMPUTE = (
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
    """The whole number that an option states, if it can be worked out."""
    found = given.get(flag)
    if found is None or found.doubt or found.text is None:
        return None
    count = integer_text(found.text)
    return count if isinstance(count, int) else None


def _places(given: Given, *flags: str) -> list[Place]:
    return [given[flag].place for flag in flags if flag in given]


def _choose_recompute(sheet: FactSheet, given: Given) -> None:
    """--recompute-activations overwrites --recompute-granularity with selective."""
    leaf = "memory.recompute_mode"
    if "--recompute-activations" in given and "--recompute-granularity" in given:
        sheet.facts[:] = [fact for fact in sheet.facts if fact.name != leaf]
        option = given["--recompute-activations"]
        state_flag(sheet, Leaf(leaf, text, "selective"), option)
    if "--activations-checkpoint-method" in given and not any(
        flag in given for flag in _RECOMPUTE
    ):
        note = "--activations-checkpoint-method recomputes whole layers"
        sheet.derive(
            leaf,
            "full",
            note,
            *_places(given, "--activations-checkpoint-method"),
        )
    _complete_recompute(sheet, given)


def _complete_recompute(sheet: FactSheet, given: Given) -> None:
    """The flags of Megatron-LM up to 2.7 need no others: layer by layer, uniformly.

    --checkpoint-num-layers and its successor are 1 where they are not given
    (bigscience-workshop/Megatron-DeepSpeed megatron/arguments.py).
    """
    old = [flag for flag in _OLD_RECOMPUTE if flag in given and not given[flag].doubt]
    if not old or "--recompute-granularity" in given:
        return
    spoken_of = {fact.name for fact in sheet.facts}
    note = f"{old[0]} alone: layer by layer, uniformly"
    for leaf, value in (
        ("memory.recompute_method", "uniform"),
        ("memory.recompute_layers", 1),
    ):
        if leaf not in spoken_of:
            sheet.derive(leaf, value, note, *_places(given, old[0]))


def _state_engine(sheet: FactSheet, given: Given) -> None:
    """Megatron-DeepSpeed runs DeepSpeed's pipeline engine unless told not to."""
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
    """What an FSDP of Megatron-LM shards; the default of its own changed in 0.18."""
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
    """Without its flag the feed-forward size follows from the hidden size."""
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
    """--num-query-groups counts only with --group-query-attention."""
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
    """Lengths in samples as steps, and the decay that lasts the whole run."""
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
    """Megatron-LM saves every --save-interval steps, and only with --save."""
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
    """A restart takes the newest checkpoint where --load names the folder of --save."""
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
        note = f"--load names {which} of --save"
        sheet.derive(leaf, same, note, *places)
    else:
        sheet.unusable(leaf, unknown, places[0])


def _state_timeout(sheet: FactSheet, given: Given) -> None:
    """Without the second flag, the start-up timeout holds for the whole run."""
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
    """Releases that look for spikes look for values that are not finite as well."""
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
    """`PATH ...`, or `WEIGHT PATH ...`; a path is what the names of files begin with.

    Megatron-LM takes one of these options, or makes data up.
    """
    flag = given.get("--data-path") or given.get("--train-data-path")
    if flag is None or flag.doubt or flag.unknown or "--mock-data" in given:
        return
    paths = tuple(one for one in flag.texts if parse_number(one) is None)
    if paths:
        put(sheet, "data.paths", texts([*paths]), flag.place)


def _state_gradients(sheet: FactSheet, given: Given) -> None:
    """The dtype of gradient sums, and the size of their buckets.

    Gradients are accumulated in the buffer that is reduced. With bf16 validate_args
    makes it fp32; with fp16 it stays fp16 until it is told otherwise.
    """
    spoken_of = {fact.name for fact in sheet.facts}
    in_bf16, in_fp32 = "--grad-reduce-in-bf16", "--accumulate-allreduce-grads-in-fp32"
    in_half = "--fp16" in given and in_fp32 not in given
    note = "Megatron-LM sums gradients in fp32"
    if "--fp16" in given:
        note = f"--fp16 {'without' if in_half else 'with'} {in_fp32}"
    if in_bf16 in given and not given[in_bf16].doubt and _ACCUMULATE not in spoken_of:
        why = "accumulated in the buffer that is reduced"
        sheet.derive(_ACCUMULATE, "bf16", why, *_places(given, in_bf16))
        spoken_of.add(_ACCUMULATE)
    for leaf in (_REDUCE, _ACCUMULATE):
        if leaf not in spoken_of:
            sheet.default(leaf, "fp16" if in_half else "fp32", note)
    elements = _number(given, "--ddp-bucket-size")
    if elements:
        size = _BF16_BYTES if "--grad-reduce-in-bf16" in given else _FP32_BYTES
        note = f"{elements:,} elements x {size} bytes"
        places = _places(given, "--ddp-bucket-size")
        leaf = "communication.gradient_bucket_bytes"
        sheet.derive(leaf, elements * size, note, *places)

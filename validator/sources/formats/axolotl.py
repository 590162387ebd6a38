"""Axolotl's YAML file.

Its schema converts texts to numbers (axolotl/utils/schemas/), so `2e-4` is a number.
Sources of behaviour: axolotl/core/builders/base.py, utils/config/__init__.py, 0.12.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._axolotl import state_run
from speccheck.validator.sources.formats._huggingface import (
    attention,
    hand_to_deepspeed,
    resume,
    state_interval,
    state_liger,
    state_optimizer_kernel,
    state_recompute,
)
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer_text,
    lower_text,
    mebibytes,
    negation,
    number,
    put,
    section,
    tabulated_defaults,
    text,
    without_place,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Reader,
    Reading,
    Reference,
    keyed_file,
)

_FORMAT = "axolotl"
_COMPANIONS = frozenset(
    {
        "micro_batch_size",
        "sequence_len",
        "datasets",
        "pretraining_dataset",
        "adapter",
        "sample_packing",
        "num_epochs",
        "val_set_size",
        "gradient_accumulation_steps",
        "dataset_prepared_path",
    }
)
_FOREIGN_KEYS = frozenset({"merge_method", "models", "slices"})  # mergekit
_FEWEST_COMPANIONS = 2
_OFFLOAD_WORDS = ("legacy", "disk", "hidden_states")


def _offload(value: object) -> object:
    """A switch, or the word for where activations go."""
    return True if value in _OFFLOAD_WORDS else boolean(value)


_FIELDS: Fields = {
    "micro_batch_size": ("batch.micro_batch_size", integer_text),
    "gradient_accumulation_steps": (
        "batch.gradient_accumulation_steps",
        integer_text,
    ),
    "sequence_len": ("batch.sequence_length", integer_text),
    "sample_packing": ("batch.packing", boolean),
    "fp16": ("precision.fp16", boolean),
    "fp8": ("precision.fp8", boolean),
    "tf32": ("precision.tf32", boolean),
    "tensor_parallel_size": ("parallelism.tensor_parallel_size", integer_text),
    "context_parallel_size": ("parallelism.context_parallel_size", integer_text),
    "sequence_parallel_degree": ("parallelism.context_parallel_size", integer_text),
    "expert_parallel_size": ("parallelism.expert_parallel_size", integer_text),
    "dp_shard_size": ("parallelism.shard_size", integer_text),
    "dp_replicate_size": ("parallelism.replicate_size", integer_text),
    "activation_offloading": ("memory.activation_offload", _offload),
    "attn_implementation": ("kernels.attention_backend", attention),
    "torch_compile": ("kernels.compiled", boolean),
    "flash_attn_cross_entropy": ("kernels.fused_cross_entropy", boolean),
    "cut_cross_entropy": ("kernels.fused_cross_entropy", boolean),
    "liger_fused_linear_cross_entropy": ("kernels.fused_cross_entropy", boolean),
    "liger_rms_norm": ("kernels.fused_normalization", boolean),
    "optimizer": ("optimizer.name_of_optimizer", lower_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "adam_beta1": ("optimizer.beta1", number),
    "adam_beta2": ("optimizer.beta2", number),
    "weight_decay": ("optimizer.weight_decay", number),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "lr_scheduler": ("optimizer.schedule", lower_text),
    "warmup_steps": ("optimizer.warmup_steps", integer_text),
    "warmup_ratio": ("optimizer.warmup_ratio", number),
    "ddp_timeout": ("communication.timeout_seconds", number),
    "ddp_bucket_cap_mb": ("communication.gradient_bucket_bytes", mebibytes),
    "output_dir": ("checkpoint.directory", text),
    "save_total_limit": ("checkpoint.keep_last", integer_text),
    "save_only_model": ("checkpoint.save_optimizer", negation),
    "load_best_model_at_end": ("checkpoint.saves_best_model", boolean),
    "dataloader_num_workers": ("data.workers", integer_text),
    "dataloader_pin_memory": ("data.pin_memory", boolean),
    "dataloader_prefetch_factor": ("data.prefetch_factor", integer_text),
    "dataloader_drop_last": ("data.drop_last", boolean),
    "group_by_length": ("data.group_by_length", boolean),
    "streaming": ("data.streaming", boolean),
    "logging_steps": ("telemetry.log_interval_steps", integer_text),
    "include_tokens_per_second": ("telemetry.throughput", boolean),
    "base_model": ("model.name_of_model", text),
    "num_epochs": ("run.epochs", number),
    "seed": ("run.seed", integer_text),
    "trust_remote_code": ("security.trusts_remote_code", boolean),
    "trl": {"num_generations": ("run.generations_per_prompt", integer_text)},
}
_OLD_ATTENTION = {
    "flash_attention": "flash",
    "xformers_attention": "fused",
    "sdp_attention": "sdpa",
    "flex_attention": "flex",
    "eager_attention": "eager",
}
_DEFAULTS = (
    TabulatedDefault("micro_batch_size", "batch.micro_batch_size", integer_text),
    TabulatedDefault("sequence_len", "batch.sequence_length", integer_text),
    TabulatedDefault("output_dir", "checkpoint.directory", text),
    TabulatedDefault("save_only_model", "checkpoint.save_optimizer", negation),
)
# What the schema leaves at null, the Trainer below decides (training_args.py).
_TRAINER_DEFAULTS = (
    TabulatedDefault("ddp_timeout", "communication.timeout_seconds", number),
    TabulatedDefault("dataloader_pin_memory", "data.pin_memory", boolean),
    TabulatedDefault("max_grad_norm", "optimizer.clip_norm", number),
)
_BUILDER_DEFAULTS = fixed_defaults(
    "not set: decided by axolotl's trainer builder",
    {"checkpoint.keep_last": 4, "batch.mode": "fixed", "run.uses_torch": True},
)
_EVERY_EPOCH = fixed_defaults(
    "no save key is set: axolotl saves every epoch",
    {"checkpoint.enabled": True, "checkpoint.interval_unit": "epoch"},
)
_NO_MODEL_PARALLELISM = fixed_defaults(
    "not set; axolotl runs without it",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.expert_parallel_size": 1,
    },
)


def detect(document: Document) -> float:
    """By `base_model` and two of its companions."""
    data = section(document.data)
    if "base_model" not in data or not _FOREIGN_KEYS.isdisjoint(data):
        return 0.0
    companions = len(_COMPANIONS.intersection(data))
    if companions < _FEWEST_COMPANIONS:
        return 0.0
    return min(0.98, 0.6 + 0.06 * companions)


def read(document: Document) -> Reading:
    """What the file states, and what axolotl does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    steps = _steps(sheet, data)
    _accumulation(sheet, data)
    _half_precision(sheet, data)
    _saving(sheet, data, steps)
    _kernels(sheet, data)
    state_run(sheet, data)
    if data.get("resume_from_checkpoint") is not None:
        at: KeyPath = ("resume_from_checkpoint",)
        put(sheet, "checkpoint.resume", resume(data["resume_from_checkpoint"]), at)
    elif boolean(data.get("auto_resume_from_checkpoints")) is True:
        note = "the newest checkpoint of output_dir"
        at = ("auto_resume_from_checkpoints",)
        derive_switch(sheet, "checkpoint.resume", note, at)
    for defaults in (
        tabulated_defaults(_FORMAT, _DEFAULTS),
        tabulated_defaults("hf-trainer", _TRAINER_DEFAULTS, None, "trainer"),
        _BUILDER_DEFAULTS,
        _NO_MODEL_PARALLELISM,
    ):
        add_defaults(sheet, defaults)
    if data.get("deepspeed"):
        hand_to_deepspeed(sheet, ("deepspeed",))
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    return Reading(sheet, keyed, references=_references(sheet, data))


def _steps(sheet: FactSheet, data: Mapping[str, object]) -> int | None:
    steps = integer_text(data.get("max_steps"))
    if isinstance(steps, int) and steps > 0:
        sheet.state("run.steps", steps, ("max_steps",))
        return steps
    return None


def _accumulation(sheet: FactSheet, data: Mapping[str, object]) -> None:
    """`batch_size` is that of one rank; it may stand in place of the accumulation."""
    if data.get("gradient_accumulation_steps") is not None:
        return
    name = "batch.gradient_accumulation_steps"
    size = integer_text(data.get("batch_size"))
    micro = integer_text(data.get("micro_batch_size") or 1)
    if isinstance(size, int) and isinstance(micro, int) and micro > 0:
        note = f"batch_size {size} / micro_batch_size {micro}"
        sheet.derive(name, size // micro, note, ("batch_size",))
    elif data.get("batch_size") is None:
        sheet.default(name, 1, "gradient_accumulation_steps is not set: 1")


def _half_precision(sheet: FactSheet, data: Mapping[str, object]) -> None:
    """`full` keeps the weights in bf16 too; `auto` asks the GPU when the job starts."""
    key = "bf16" if data.get("bf16") is not None else "bfloat16"
    stated = data.get(key)
    leaf, weights = "precision.bf16", "precision.parameter_dtype"
    if stated == "auto":
        reason = "auto: bf16 where the GPU has it, else fp16"
        sheet.unusable(leaf, reason, (key,))
    elif stated == "full":
        derive_switch(sheet, leaf, "bf16: full", (key,))
        sheet.derive(weights, "bf16", "bf16: full", (key,))
    elif stated is not None:
        put(sheet, leaf, boolean(stated), (key,))
    elif boolean(data.get("fp16")) is not True:
        without_place(sheet, leaf, "bf16 is not set: auto, as the GPU allows")
    if boolean(data.get("float16")) is True:
        sheet.derive(weights, "fp16", "float16: true", ("float16",))
    if boolean(stated) is True and data.get("fp16") is None:
        sheet.default("precision.fp16", value=False, note="fp16 is not set")


def _saving(sheet: FactSheet, data: Mapping[str, object], steps: int | None) -> None:
    """`save_steps` wins over `save_strategy`; without both it is every epoch."""
    parts = integer_text(data.get("saves_per_epoch"))
    strategy = data.get("save_strategy")
    if data.get("save_steps"):
        at: KeyPath = ("save_steps",)
        derive_switch(sheet, "checkpoint.enabled", "save_steps is set", at)
        sheet.derive("checkpoint.interval_unit", "steps", "save_steps is set", at)
        leaf = "checkpoint.interval_steps"
        state_interval(sheet, leaf, data["save_steps"], steps, at)
    elif isinstance(parts, int) and parts > 0:
        at = ("saves_per_epoch",)
        note = f"{parts} in each epoch"
        derive_switch(sheet, "checkpoint.enabled", note, at)
        sheet.derive("checkpoint.interval_unit", "epoch", note, at)
        reason = f"{note}: the steps of an epoch are not known"
        sheet.unusable("checkpoint.interval_steps", reason, at)
    elif strategy is not None:
        at = ("save_strategy",)
        word = "no" if strategy is False else lower_text(strategy)
        if isinstance(word, Unusable):
            sheet.unusable("checkpoint.enabled", word.reason, at)
            return
        derive_switch(sheet, "checkpoint.enabled", str(word), at, is_on=word != "no")
        unit = {"no": "never", "epoch": "epoch", "steps": "steps"}.get(str(word))
        if unit is not None:
            sheet.derive("checkpoint.interval_unit", unit, str(word), at)
    else:
        add_defaults(sheet, _EVERY_EPOCH)


def _kernels(sheet: FactSheet, data: Mapping[str, object]) -> None:
    if data.get("attn_implementation") is None:
        for key, name in _OLD_ATTENTION.items():
            if boolean(data.get(key)) is True:
                note = f"{key}: true"
                sheet.derive("kernels.attention_backend", name, note, (key,))
                break
    if data.get("dataloader_num_workers") is None:
        reason = (
            "dataloader_num_workers is not set: 0, or one for each GPU in newer ones"
        )
        without_place(sheet, "data.workers", reason)
    _recompute(sheet, data.get("gradient_checkpointing"))
    state_optimizer_kernel(sheet, data.get("optimizer"), ("optimizer",))
    state_liger(sheet, data, "use_liger_kernel")


def _recompute(sheet: FactSheet, value: object) -> None:
    at: KeyPath = ("gradient_checkpointing",)
    if isinstance(value, str) and value.startswith("offload"):
        note = f"gradient_checkpointing: {value}"
        sheet.derive("memory.recompute_mode", "full", note, at)
        add_defaults(sheet, fixed_defaults(note, {"memory.activation_offload": True}))
    else:
        state_recompute(sheet, "gradient_checkpointing", value, at)


def _references(sheet: FactSheet, data: Mapping[str, object]) -> tuple[Reference, ...]:
    target = data.get("deepspeed")
    if not isinstance(target, str) or not target:
        return ()
    return (Reference(target, sheet.place(("deepspeed",))),)


READER = Reader(_FORMAT, "config", detect, read, keys=("base_model",))

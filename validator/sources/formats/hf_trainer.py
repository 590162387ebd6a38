"""Arguments of the Hugging Face Trainer and TRL, as a YAML or JSON file.

Also the files of alignment-handbook, open-r1 and open-instruct, whose keys extend them.
ms-swift hands the same keys on to the Trainer beside its own: they are read, but
neither the Trainer's defaults nor its loader are assumed. LLaMA-Factory has a loader
of its own and is not read here.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._hf_arguments import (
    TRL_KEYS,
    is_open_instruct,
    state_arguments,
    state_defaults,
)
from speccheck.validator.sources.formats._huggingface import (
    attention,
    dtype,
    resume,
    sinks,
)
from speccheck.validator.sources.mapping import (
    Fields,
    apply,
    boolean,
    integer_text,
    lower_text,
    mebibytes,
    negation,
    number,
    section,
    text,
    texts_for_values,
    words_loaded_as_false,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Reader,
    Reading,
    Reference,
    keyed_file,
)

_FORMAT = "hf-trainer"
_COMMON_KEYS = frozenset(
    {
        "per_device_train_batch_size",
        "learning_rate",
        "num_train_epochs",
        "gradient_accumulation_steps",
        "output_dir",
        "bf16",
        "logging_steps",
        "lr_scheduler_type",
    }
)
# At least one of these: the others are in many frameworks.
_OWN_KEYS = frozenset(
    {
        "per_device_train_batch_size",
        "per_device_eval_batch_size",
        "num_train_epochs",
        "lr_scheduler_type",
        "save_strategy",
        "eval_strategy",
        "evaluation_strategy",
        "gradient_checkpointing_kwargs",
        "dataloader_num_workers",
        "report_to",
    }
)
_FOREIGN_KEYS = frozenset(
    {
        # LLaMA-Factory, and the schema of its version 1
        "stage",
        "finetuning_type",
        "template",
        "cutoff_len",
        "dataset_dir",
        "model_class",
        "dist_config",
        "kernel_config",
        "sample_backend",
        # axolotl, accelerate, DeepSpeed, Hydra configurations
        "base_model",
        "distributed_type",
        "train_micro_batch_size_per_gpu",
        "_target_",
        "_component_",
        "trainer",
    }
)
_FEWEST_COMMON_KEYS = 3
_MS_SWIFT_KEYS = frozenset({"tuner_type", "train_type", "attn_impl", "use_ray"})

_FIELDS: Fields = {
    "per_device_train_batch_size": ("batch.micro_batch_size", integer_text),
    "gradient_accumulation_steps": (
        "batch.gradient_accumulation_steps",
        integer_text,
    ),
    "accelerator_config": {
        "gradient_accumulation_kwargs": {
            "sync_each_batch": (
                "communication.reduces_each_micro_batch",
                boolean,
            ),
        },
    },
    "max_seq_length": ("batch.sequence_length", integer_text),
    "max_length": ("batch.sequence_length", integer_text),
    "packing": ("batch.packing", boolean),
    "bf16": ("precision.bf16", boolean),
    "fp16": ("precision.fp16", boolean),
    "tf32": ("precision.tf32", boolean),
    "torch_dtype": ("precision.parameter_dtype", dtype),
    "dtype": ("precision.parameter_dtype", dtype),
    "activation_offloading": ("memory.activation_offload", boolean),
    "attn_implementation": ("kernels.attention_backend", attention),
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
    "keep_last_n_checkpoints": ("checkpoint.keep_last", integer_text),
    "save_only_model": ("checkpoint.save_optimizer", negation),
    "resume_from_checkpoint": ("checkpoint.resume", resume),
    "load_best_model_at_end": ("checkpoint.saves_best_model", boolean),
    "dataloader_num_workers": ("data.workers", integer_text),
    "dataloader_pin_memory": ("data.pin_memory", boolean),
    "dataloader_prefetch_factor": ("data.prefetch_factor", integer_text),
    "dataloader_persistent_workers": ("data.persistent_workers", boolean),
    "dataloader_drop_last": ("data.drop_last", boolean),
    "group_by_length": ("data.group_by_length", boolean),
    "streaming": ("data.streaming", boolean),
    "dataset_streaming": ("data.streaming", boolean),
    "ignore_data_skip": ("data.resumable", negation),
    "data_seed": ("data.seed", integer_text),
    "report_to": ("telemetry.sinks", sinks),
    "include_tokens_per_second": ("telemetry.throughput", boolean),
    "model_name_or_path": ("model.name_of_model", text),
    "num_train_epochs": ("run.epochs", number),
    "num_generations": ("run.generations_per_prompt", integer_text),
    "seed": ("run.seed", integer_text),
    "full_determinism": ("run.deterministic", boolean),
    "trust_remote_code": ("security.trusts_remote_code", boolean),
}


def detect(document: Document) -> float:
    """By keys of TrainingArguments, unless a key of a look-alike is there."""
    data = section(document.data)
    common = len(_COMMON_KEYS.intersection(data))
    if common < _FEWEST_COMMON_KEYS or _OWN_KEYS.isdisjoint(data):
        return 0.0
    return 0.0 if _is_foreign(data) else min(0.95, 0.5 + 0.06 * common)


def _is_foreign(data: object) -> bool:
    return not _FOREIGN_KEYS.isdisjoint(section(data))


def read(document: Document) -> Reading:
    """What the file states, and what the Trainer does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    state_arguments(sheet, data)
    sheet.derive("run.framework", "transformers", "arguments of its Trainer", ())
    if not _MS_SWIFT_KEYS.isdisjoint(data):
        return Reading(sheet, references=_references(sheet, data))
    state_defaults(sheet, data)
    catalogue = keys_of_format(_FORMAT)
    keyed = keyed_file(document, _FORMAT, catalogue)
    loaded_as = words_loaded_as_false(
        document, ("save_strategy", "eval_strategy", "evaluation_strategy"), fatal=True
    )
    # TRL's parser converts texts: it hands them to argparse as defaults
    # (trl/scripts/utils.py, set_defaults_with_config). parse_yaml_file does not.
    if TRL_KEYS.isdisjoint(data) and not is_open_instruct(data):
        loaded_as += texts_for_values(keyed.keys, catalogue, _may_be_fatal)
    return Reading(
        sheet,
        keyed._replace(loaded_as=loaded_as),
        _variables(sheet, data.get("env")),
        _references(sheet, data),
    )


def _references(sheet: FactSheet, data: Mapping[str, object]) -> tuple[Reference, ...]:
    return tuple(
        Reference(target, sheet.place((key,)))
        for key in ("deepspeed", "fsdp_config")
        if isinstance(target := data.get(key), str) and target
    )


def _may_be_fatal(path: KeyPath) -> bool | None:
    """Which parser reads the file is not known: it may convert the text."""
    return False if len(path) == 1 else None


def _variables(sheet: FactSheet, block: object) -> tuple[Variable, ...]:
    """TRL sets the variables of an `env` block before it trains."""
    return tuple(
        Variable(name, str(value), sheet.place(("env", name)), str(value))
        for name, value in section(block).items()
    )


READER = Reader(_FORMAT, "config", detect, read, keys=(*sorted(_OWN_KEYS),))

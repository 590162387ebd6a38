"""LitGPT's YAML file of one command: pretraining, full fine-tuning, LoRA, adapters.

jsonargparse reads it with a loader of its own that takes `4e-4` for a number, and
refuses keys that the command lacks. Keys and defaults: schemas/catalogues/frameworks/
litgpt.yaml.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._litgpt import state_job
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    apply,
    boolean,
    integer,
    items,
    number,
    one_of,
    placeholder,
    put,
    put_numbers,
    section,
    text,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "litgpt"
_TRAIN = frozenset(
    {
        "epochs",
        "global_batch_size",
        "log_interval",
        "lr_warmup_fraction",
        "lr_warmup_steps",
        "max_norm",
        "max_seq_length",
        "max_steps",
        "max_tokens",
        "micro_batch_size",
        "min_lr",
        "save_interval",
        "tie_embeddings",
    }
)
_COMPANIONS = frozenset(
    {
        "checkpoint_dir",
        "devices",
        "eval",
        "initial_checkpoint_dir",
        "logger_name",
        "lora_r",
        "model_name",
        "num_nodes",
        "out_dir",
        "precision",
        "quantize",
        "tokenizer_dir",
    }
)
_FEWEST = 2


def _optimizer_name(value: object) -> object:
    """The class, without the modules that hold it."""
    if isinstance(value, str):
        return placeholder(value) or value.rpartition(".")[2].lower()
    return Unusable(f"{value!r:.60} names no class")


def _positive(value: object) -> object:
    """A limit in steps; 0 sets none."""
    steps = integer(value)
    return Unusable("0: no limit") if steps == 0 else steps


_PRECISIONS = {
    "bf16-true": ("bf16", "bf16"),
    "bf16-mixed": ("bf16", "fp32"),
    "16-true": ("fp16", "fp16"),
    "16-mixed": ("fp16", "fp32"),
    "32-true": ("fp32", "fp32"),
}
_BITS = one_of(
    {
        "bnb.nf4": 4,
        "bnb.nf4-dq": 4,
        "bnb.fp4": 4,
        "bnb.fp4-dq": 4,
        "bnb.int8-training": 8,
    }
)
_GATED = one_of(
    {"gptneoxmlp": False, "llamamlp": True, "gemmamlp": True, "llamamoe": True}
)
_FIELDS: Fields = {
    "num_nodes": ("cluster.nodes", integer),
    "out_dir": ("checkpoint.directory", text),
    "quantize": ("model.quantized_bits", _BITS),
    "seed": ("run.seed", integer),
    "model_name": ("model.name_of_model", text),
    "train": {
        "global_batch_size": ("batch.global_batch_size", integer),
        "micro_batch_size": ("batch.micro_batch_size", integer),
        "max_seq_length": ("batch.sequence_length", integer),
        "lr_warmup_steps": ("optimizer.warmup_steps", integer),
        "max_norm": ("optimizer.clip_norm", number),
        "epochs": ("run.epochs", number),
        "max_steps": ("run.steps", _positive),
        "save_interval": ("checkpoint.interval_steps", integer),
        "log_interval": ("telemetry.log_interval_steps", integer),
        "tie_embeddings": ("model.tied_embeddings", boolean),
        # up to v0.3.1, before the optimizer had keys of its own
        "beta1": ("optimizer.beta1", number),
        "beta2": ("optimizer.beta2", number),
        "learning_rate": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
    },
    "optimizer": {
        "class_path": ("optimizer.name_of_optimizer", _optimizer_name),
        "init_args": {
            "lr": ("optimizer.learning_rate", number),
            "weight_decay": ("optimizer.weight_decay", number),
            "fused": ("kernels.fused_optimizer", boolean),
        },
    },
    "data": {
        "init_args": {
            "num_workers": ("data.workers", integer),
            "seed": ("data.seed", integer),
        }
    },
    "model_config": {
        "n_layer": ("model.layers", integer),
        "n_embd": ("model.hidden_size", integer),
        "n_head": ("model.attention_heads", integer),
        "n_query_groups": ("model.key_value_heads", integer),
        "head_size": ("model.head_dimension", integer),
        "intermediate_size": ("model.feed_forward_size", integer),
        "padded_vocab_size": ("model.vocabulary_size", integer),
        "padding_multiple": ("model.vocabulary_multiple", integer),
        "block_size": ("model.maximum_positions", integer),
        "n_expert": ("model.experts", integer),
        "n_expert_per_token": ("model.experts_per_token", integer),
        "moe_intermediate_size": ("model.expert_feed_forward_size", integer),
        "mlp_class_name": ("model.gated_feed_forward", _GATED),
    },
}


def detect(document: Document) -> float:
    """By the keys of `train` and those of a command beside it."""
    data = section(document.data)
    train = len(_TRAIN.intersection(section(data, "train")))
    companions = len(_COMPANIONS.intersection(data))
    if train < _FEWEST or companions < _FEWEST:
        return 0.0
    return min(0.97, 0.45 + 0.03 * train + 0.05 * companions)


def read(document: Document) -> Reading:
    """What the file states, and what the command does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    _optimizer(sheet, data.get("optimizer"))
    _precision(sheet, data)
    state_job(sheet, data)
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _optimizer(sheet: FactSheet, value: object) -> None:
    """The name of a class of torch, or a class with its arguments."""
    if isinstance(value, str):
        leaf = "optimizer.name_of_optimizer"
        put(sheet, leaf, _optimizer_name(value), ("optimizer",))
    betas = section(value, "init_args").get("betas")
    if items(betas):
        at: KeyPath = ("optimizer", "init_args", "betas")
        put_numbers(sheet, ("optimizer.beta1", "optimizer.beta2"), betas, at)


def _precision(sheet: FactSheet, data: Mapping[str, object]) -> None:
    stated = data.get("precision")
    if stated is None:
        return
    at: KeyPath = ("precision",)
    known = _PRECISIONS.get(stated) if isinstance(stated, str) else None
    if known is None:
        reason = f"{stated!r:.60} is none of {', '.join(_PRECISIONS)}"
        sheet.unusable("precision.compute_dtype", reason, at)
        return
    compute, weights = known
    sheet.derive("precision.compute_dtype", compute, str(stated), at)
    sheet.derive("precision.parameter_dtype", weights, str(stated), at)
    for name in ("bf16", "fp16"):
        sheet.derive(f"precision.{name}", name == compute, str(stated), at)
    # Fabric's FSDPPrecision reduces in the half precision (lightning/fabric/plugins/
    # precision/fsdp.py); on one GPU nothing is reduced.
    sheet.derive("precision.gradient_reduce_dtype", compute, str(stated), at)


READER = Reader(
    _FORMAT, "config", detect, read, keys=("out_dir", "logger_name", "devices")
)

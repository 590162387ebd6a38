"""torchtune's YAML: recipes of fine-tuning, and those that only run a model.

Keys: schemas/catalogues/frameworks/torchtune.yaml. OmegaConf loads the file
(torchtune/config/_parse.py) and builds every map with a `_component_`; the recipe reads
the keys that it knows and no others.
"""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._torchtune import (
    component,
    state_model,
    state_recipe,
)
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer,
    number,
    put_numbers,
    section,
    text,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "torchtune"
_COMPONENT = "_component_"
_PACKAGE = "torchtune."


def _last(value: object) -> object:
    """The last part of a dotted name, in lower case."""
    word = text(value)
    return word.rpartition(".")[2].lower() if isinstance(word, str) else word


def _schedule(value: object) -> object:
    """`get_cosine_schedule_with_warmup` is the schedule `cosine`."""
    word = _last(value)
    if not isinstance(word, str):
        return word
    return word.removeprefix("get_").partition("_schedule")[0]


def _compiled(value: object) -> object:
    """A switch, or a map that says what is compiled."""
    if isinstance(value, dict):
        return value.get("model", True) is not False
    return boolean(value)


def _clipped(value: object) -> object:
    """`inf` only measures the norm."""
    return 0.0 if str(value).lower() in {"inf", ".inf"} else number(value)


_TRAINING: Fields = {
    "clip_grad_norm": ("optimizer.clip_norm", _clipped),
    "compile": ("kernels.compiled", _compiled),
    "enable_activation_offloading": ("memory.activation_offload", boolean),
    "optimizer": {
        _COMPONENT: ("optimizer.name_of_optimizer", _last),
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "fused": ("kernels.fused_optimizer", boolean),
    },
    "checkpointer": {
        "output_dir": ("checkpoint.directory", text),
        "keep_last_n_checkpoints": ("checkpoint.keep_last", integer),
    },
    "seed": ("run.seed", integer),
}
_FIELDS: Fields = {
    **_TRAINING,
    "training": _TRAINING,
    "tokenizer": {"max_seq_len": ("batch.sequence_length", integer)},
    "tensor_parallel_dim": ("parallelism.tensor_parallel_size", integer),
    "context_parallel_dim": ("parallelism.context_parallel_size", integer),
    "data_parallel_replicate_dim": ("parallelism.replicate_size", integer),
    "data_parallel_shard_dim": ("parallelism.shard_size", integer),
    "enable_fp8_training": ("precision.fp8", boolean),
    "fp8_recipe_name": ("precision.fp8_recipe", text),
    "lr_scheduler": {
        _COMPONENT: ("optimizer.schedule", _schedule),
        "num_warmup_steps": ("optimizer.warmup_steps", integer),
    },
    "enable_async_checkpointing": ("checkpoint.asynchronous", boolean),
    "resume_from_checkpoint": ("checkpoint.resume", boolean),
    "dataloader": {
        "num_workers": ("data.workers", integer),
        "pin_memory": ("data.pin_memory", boolean),
        "prefetch_factor": ("data.prefetch_factor", integer),
    },
    "log_every_n_steps": ("telemetry.log_interval_steps", integer),
    "profiler": {"enabled": ("telemetry.profiler", boolean)},
    "epochs": ("run.epochs", number),
    "cudnn_deterministic_mode": ("run.deterministic", boolean),
    "grpo_samples": ("run.generations_per_prompt", integer),
}
_MODEL: Fields = {
    "model": {
        "embed_dim": ("model.hidden_size", integer),
        "intermediate_dim": ("model.feed_forward_size", integer),
        "num_heads": ("model.attention_heads", integer),
        "num_kv_heads": ("model.key_value_heads", integer),
        "num_layers": ("model.layers", integer),
        "vocab_size": ("model.vocabulary_size", integer),
    },
}
_ALWAYS = fixed_defaults("torchtune runs on PyTorch", {"run.uses_torch": True})
_BETAS = ("optimizer.beta1", "optimizer.beta2")


def detect(document: Document) -> float:
    """By a section that names a component; surely by one of torchtune itself."""
    data = section(document.data)
    named = [component(data, str(key)) for key in data]
    found = [name for name in named if name]
    if not found:
        return 0.0
    return 0.95 if any(name.startswith(_PACKAGE) for name in found) else 0.6


def read(document: Document) -> Reading:
    """What a recipe states; one that does not train only tells its model."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    at: KeyPath = ()
    sheet.derive("run.framework", "torchtune", "components of torchtune", at)
    state_model(sheet, data)
    apply(sheet, data, _MODEL)
    if section(data, "optimizer") or section(data, "training", "optimizer"):
        apply(sheet, data, _FIELDS)
        betas = section(data, "optimizer").get("betas")
        put_numbers(sheet, _BETAS, betas, ("optimizer", "betas"))
        state_recipe(sheet, data)
    add_defaults(sheet, _ALWAYS)
    keyed = keyed_file(
        document,
        _FORMAT,
        keys_of_format(_FORMAT),
        # OmegaConf.load raises on a key that stands twice (omegaconf/_utils.py).
        refuses_duplicates=True,
    )
    return Reading(sheet, keyed)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("checkpointer", "tokenizer"),
    interpolates=True,
)

"""NeMo Automodel's YAML recipes.

Its loader is `yaml.safe_load` with `ast.literal_eval` on every text (nemo_automodel/
components/config/loader.py): `1e-5` is a number, and `none` is null. Of `${...}` it
replaces variables of the environment alone, so that no such text is worked out here.
"""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.stated_keys import StatedKey
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._huggingface import attention
from speccheck.validator.sources.formats._nemo_automodel import (
    count,
    state_parallelism,
)
from speccheck.validator.sources.formats._nemo_automodel_run import state_run
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    minutes,
    number,
    one_of,
    section,
    tabulated_defaults,
    text,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

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

_FIELDS: Fields = {
    "step_scheduler": {
        "global_batch_size": ("batch.global_batch_size", integer_text),
        "ckpt_every_steps": ("checkpoint.interval_steps", integer_text),
        "max_steps": ("run.steps", count),
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
_DEFAULTS = (
    TabulatedDefault("checkpoint.is_async", "checkpoint.asynchronous", boolean),
    TabulatedDefault("compile.enabled", "kernels.compiled", boolean),
    TabulatedDefault("fp8.enabled", "precision.fp8", boolean),
    TabulatedDefault(
        "step_scheduler.log_remote_every_steps",
        "telemetry.log_interval_steps",
        integer_text,
    ),
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
    """By `step_scheduler` with its keys, `model`, and two of the other sections."""
    data = section(document.data)
    scheduler = section(data, "step_scheduler")
    if _SCHEDULER_SIGNS.isdisjoint(scheduler) or "model" not in data:
        return 0.0
    companions = len(_COMPANIONS.intersection(data))
    if companions < _FEWEST_COMPANIONS:
        return 0.0
    return min(0.98, 0.7 + 0.06 * companions)


def read(document: Document) -> Reading:
    """What the file states, and what the recipes do where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", "nemo-automodel", "NeMo Automodel's settings", ())
    backend = section(data, "model", "backend").get("attn")
    if (
        backend is not None
        and section(data, "model").get("attn_implementation") is None
    ):
        at = {"backend": {"attn": ("kernels.attention_backend", _BACKEND_ATTENTION)}}
        apply(sheet, section(data, "model"), at, ("model",))
    state_parallelism(sheet, data)
    state_run(sheet, data)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    add_defaults(sheet, _FIXED)
    add_defaults(sheet, _UNSET)
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    return Reading(sheet, keyed._replace(keys=tuple(map(_filled, keyed.keys))))


def _filled(key: StatedKey) -> StatedKey:
    """A variable of the environment with a default is no text left to fill in."""
    value = key.value
    found = _VARIABLE.match(value) if isinstance(value, str) else None
    return key._replace(value=found[1]) if found else key


READER = Reader(_FORMAT, "config", detect, read, keys=("step_scheduler",))

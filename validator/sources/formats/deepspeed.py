"""DeepSpeed's configuration file, JSON or HJSON."""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._deepspeed import state_deepspeed
from speccheck.validator.sources.mapping import section, texts_for_values
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "deepspeed"
# Each of these alone may be another framework's key; two together are DeepSpeed's.
_OWN_KEYS = frozenset(
    {
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "steps_per_print",
        "gradient_clipping",
        "zero_allow_untested_optimizer",
        "wall_clock_breakdown",
        "prescale_gradients",
        "activation_checkpointing",
        "communication_data_type",
        "flops_profiler",
        "comms_logger",
        "elasticity",
    }
)
# gpt-neox and other trainers take DeepSpeed's keys into a file of their own.
_FOREIGN_KEYS = frozenset(
    {
        "pipe_parallel_size",
        "pipe-parallel-size",
        "model_parallel_size",
        "model-parallel-size",
        "num_layers",
        "num-layers",
        "hidden_size",
        "hidden-size",
        "seq_length",
        "seq-length",
        "train_iters",
        "train-iters",
        "pos_emb",
        "pos-emb",
        "attention_config",
        "data_path",
        "data-path",
        "distributed_type",
        "per_device_train_batch_size",
        "base_model",
        "model_name_or_path",
        "model",
        "trainer",
    }
)
# Read key by key from the dictionary, without conversion (runtime/config.py), or handed
# to a constructor as they are.
_AS_WRITTEN = frozenset({"optimizer", "scheduler"})
# Dictionaries up to 0.16, models that convert texts from 0.17 on.
_CONVERTED_SINCE_0_17 = frozenset({"fp16", "bf16", "bfloat16"})


def detect(document: Document) -> float:
    """By a ZeRO block, or by two keys that DeepSpeed alone has at top level."""
    data = section(document.data)
    if not data or not _FOREIGN_KEYS.isdisjoint(data):
        return 0.0
    own = len(_OWN_KEYS.intersection(data))
    own += sum(1 for name in ("fp16", "bf16") if "enabled" in section(data, name))
    if isinstance(data.get("zero_optimization"), dict):
        return 0.95 if own else 0.8
    if isinstance(data.get("zero_optimization"), bool):
        own += 1
    return min(0.9, 0.4 + 0.15 * own) if own > 1 else 0.0


def read(document: Document) -> Reading:
    """What the file states, and what DeepSpeed does where it states nothing."""
    sheet = FactSheet.of(document)
    state_deepspeed(sheet, document.data)
    catalogue = keys_of_format(_FORMAT)
    keyed = keyed_file(document, _FORMAT, catalogue, refuses_duplicates=True)
    loaded_as = texts_for_values(keyed.keys, catalogue, _is_fatal)
    return Reading(sheet, keyed._replace(loaded_as=loaded_as))


def _is_fatal(path: KeyPath) -> bool | None:
    if len(path) == 1 or path[0] in _AS_WRITTEN:
        return True
    return False if path[0] in _CONVERTED_SINCE_0_17 else None


READER = Reader(
    _FORMAT,
    "engine",
    detect,
    read,
    keys=(*sorted(_OWN_KEYS), "bf16", "fp16", "zero_optimization"),
)

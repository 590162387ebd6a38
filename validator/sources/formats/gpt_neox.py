"""EleutherAI's GPT-NeoX: YAML or JSON, dashes or underscores, several files to a run.

Each file is read by itself: a plan is made of those that `deepy.py` is given together.
Keys of DeepSpeed stand at the top among those of the model and the training.
"""

from collections.abc import Iterator

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.stated_keys import KeyedFile, LoadedAs, StatedKey
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._deepspeed import state_deepspeed
from speccheck.validator.sources.formats._gpt_neox import state_arguments
from speccheck.validator.sources.formats._underscored import (
    UnderscoredDocument,
    underscored,
)
from speccheck.validator.sources.mapping import section, texts_for_values
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "gpt-neox"
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
_DATA = frozenset({"data_path", "train_data_paths", "vocab_file"})
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


def detect(document: Document) -> float:
    """By names of its own, or by paths of data, vocabulary and logs."""
    data = section(document.data)
    if any(isinstance(data.get(name), dict) for name in _OF_OTHERS):
        return 0.0
    names = {underscored(name) for name in data}
    own = len(_OWN & names)
    if own >= _FEW:
        return min(0.97, 0.7 + 0.05 * own)
    data_names = len(_DATA & names)
    paths = data_names + own + len(_BESIDE_DATA & names)
    return min(0.85, 0.5 + 0.05 * paths) if data_names and paths >= _ENOUGH else 0.0


def read(document: Document) -> Reading:
    """What one of the files of a run states."""
    view = UnderscoredDocument(document)
    sheet = FactSheet.of(view)
    data = section(view.data)
    state_deepspeed(sheet, data)
    state_arguments(sheet, data)
    return Reading(sheet, _keyed(document, view))


def _keyed(document: Document, view: UnderscoredDocument) -> KeyedFile:
    """The keys with underscores, each where it is written.

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
    """NeoXArgs demands the declared type at the top (validate_types)."""
    if len(path) == 1 or path[0] in _AS_WRITTEN:
        return True
    return False if path[0] in _BY_RELEASE else None


def _floats_that_yaml_reads_as_texts(
    keys: tuple[StatedKey, ...], view: UnderscoredDocument
) -> Iterator[LoadedAs]:
    """`1e-5` is a number in JSON, and a text for PyYAML, which reads the file."""
    for key in keys:
        fatal = _is_fatal(key.path) if isinstance(key.value, float) else None
        raw = view.raw(key.path) if fatal is not None else None
        if fatal is None or raw is None or _FLOAT.fullmatch(raw.text):
            continue
        place = key.place._replace(part="value")
        loaded = f"the text {raw.text!r:.60}"
        yield LoadedAs(place.key, raw.text, loaded, "a number", place, fatal)


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

"""LLaMA-Factory's YAML: arguments of its classes, and the schema of its version 1.

OmegaConf loads the file, so that `1e-5` is a number; what it refers to (`${...}`) stays
as it is written (OmegaConf.to_container without resolve). HfArgumentParser then takes
the values as they are and refuses keys that no class has. Sources: LLaMA-Factory
src/llamafactory/hparams/parser.py, src/llamafactory/v1/config/arg_parser.py.
"""

from collections.abc import Callable, Mapping
from functools import cache

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._llamafactory import (
    state_model,
    state_training,
    state_version_1,
)
from speccheck.validator.sources.mapping import (
    boolean,
    section,
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

_FORMAT = "llamafactory"
# Of these a training has two or more, and export or chat has the template.
_OWN_KEYS = ("stage", "finetuning_type", "template", "cutoff_len")
_SERVING_KEYS = ("infer_backend", "export_dir", "adapter_name_or_path")
_VERSION_1_KEYS = (
    "model_class",
    "dist_config",
    "kernel_config",
    "peft_config",
    "quant_config",
    "init_config",
    "sample_backend",
    "train_dataset",
)
_FEWEST_OWN_KEYS = 2
# Words that YAML 1.1 loads as false; a Trainer stops on each of them.
_STRATEGIES = ("save_strategy", "eval_strategy", "evaluation_strategy")


def detect(document: Document) -> float:
    """By the name of the model and LLaMA-Factory's own keys, or those of version 1."""
    data = section(document.data)
    if _is_version_1(data):
        return 0.95
    if "model_name_or_path" not in data:
        return 0.0
    own = sum(key in data for key in _OWN_KEYS)
    if own >= _FEWEST_OWN_KEYS:
        return 0.98
    is_served = any(key in data for key in _SERVING_KEYS)
    return 0.8 if "template" in data and is_served else 0.0


def _is_version_1(data: Mapping[str, object]) -> bool:
    signs = sum(key in data for key in _VERSION_1_KEYS)
    return isinstance(data.get("model"), str) and signs >= _FEWEST_OWN_KEYS


def read(document: Document) -> Reading:
    """What the file states, and what LLaMA-Factory does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    if _is_version_1(data):
        state_version_1(sheet, data)
        keyed = keyed_file(document, _FORMAT, _version_1_table())
        return Reading(sheet, keyed, references=_version_1_references(sheet, data))
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    if boolean(data.get("do_train")) is not True:
        state_model(sheet, data)
        return Reading(sheet, keyed)
    state_training(sheet, data)
    loaded_as = (
        *words_loaded_as_false(document, _STRATEGIES, fatal=True),
        *texts_for_values(keyed.keys, keyed.catalogue, _in_quotes(document)),
    )
    return Reading(
        sheet,
        keyed._replace(loaded_as=loaded_as),
        references=_references(sheet, data),
    )


@cache
def _version_1_table() -> FrameworkKeys | None:
    """The keys of one commit of a schema in the making: only slips of them count."""
    table = keys_of_format(_FORMAT)
    return None if table is None else table._replace(policies=(), open_at_top=True)


def _in_quotes(document: Document) -> Callable[[KeyPath], bool | None]:
    """A number in quotes stays a text; how late it is noticed nobody knows."""

    def judge(path: KeyPath) -> bool | None:
        raw = document.raw(path) if len(path) == 1 else None
        return False if raw is not None and raw.quoted else None

    return judge


def _references(sheet: FactSheet, data: Mapping[str, object]) -> tuple[Reference, ...]:
    return tuple(
        Reference(target, sheet.place((key,)))
        for key in ("deepspeed", "fsdp_config")
        if isinstance(target := data.get(key), str) and target
    )


def _version_1_references(
    sheet: FactSheet, data: Mapping[str, object]
) -> tuple[Reference, ...]:
    target = section(data, "dist_config").get("config_file")
    if not isinstance(target, str) or not target:
        return ()
    return (Reference(target, sheet.place(("dist_config", "config_file"))),)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("finetuning_type", "template", "cutoff_len", *_VERSION_1_KEYS),
)

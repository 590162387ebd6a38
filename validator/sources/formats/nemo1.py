"""NeMo 1's YAML: Hydra files of NeMo, of the NeMo Framework Launcher and of MLPerf.

The Launcher keeps each recipe below a key of its stage (`training:`); the recipes of
SageMaker HyperPod have the same `run` and `trainer`, and settings of another library
below `training_config`. Sources of behaviour: NVIDIA/NeMo nemo/utils/exp_manager.py,
nemo/collections/nlp/models/language_modeling/megatron_base_model.py, 1.17 to 2.0.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.stated_keys import KeyedFile
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document, SectionDocument
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.formats._hydra import hydra_parents
from speccheck.validator.sources.formats._nemo1 import (
    MEGATRON_KEYS,
    Settings,
    is_evaluation,
    is_megatron,
    is_recipe,
    state_cluster,
    state_experiment,
    state_model,
    state_precision,
    state_training,
)
from speccheck.validator.sources.mapping import items, section
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "nemo1"
_TRAINER_SIGNS = ("num_nodes", "devices", "precision")
_FEWEST_SIGNS = 3
# Sections that every collection of NeMo reads alike.
_COMMON = frozenset({"trainer", "exp_manager", "run"})
# Stages of the Launcher whose settings train a model.
_STAGES = (
    "training",
    "fine_tuning",
    "peft",
    "prompt_learning",
    "adapter_learning",
    "ia3_learning",
)


def detect(document: Document) -> float:
    """Recognise it by `trainer`, `exp_manager`, and Megatron's words in `model`."""
    data = section(document.data)
    if _is_launcher(data):
        return 0.9
    inner = section(data, "training")
    return max(_likeness(data), _likeness(inner) - 0.02 if inner else 0.0)


def _is_launcher(data: Settings) -> bool:
    """Return whether this is the file of the Launcher that chooses the recipes."""
    return "launcher_scripts_path" in data and "stages" in data


def _likeness(data: Settings) -> float:
    trainer, model = section(data, "trainer"), section(data, "model")
    if "class_path" in model or "actor_rollout_ref" in data:
        return 0.0  # the Lightning command line, verl
    if is_recipe(data):
        return 0.9
    own = int(isinstance(data.get("exp_manager"), dict))
    own += len(MEGATRON_KEYS.intersection(model))
    own += len(MEGATRON_KEYS.intersection(data)) if trainer else 0
    signs = own + sum(key in trainer for key in _TRAINER_SIGNS)
    if not own or not (trainer or "exp_manager" in data):
        return 0.0
    if signs >= _FEWEST_SIGNS:
        return min(0.98, 0.6 + 0.05 * signs)
    return 0.6 if signs > 1 else 0.0


def read(document: Document) -> Reading:
    """Return what the file states, and what NeMo does where it states nothing."""
    reading = read_recipe(_recipe_in(document))
    if not _is_launcher(section(document.data)):
        return reading
    from speccheck.validator.sources.formats._hyperpod import (  # noqa: PLC0415 - rare
        state_launcher,
    )

    return state_launcher(reading, document)


def _recipe_in(document: Document) -> Document:
    """Return the recipe of the stage that runs, or the document itself."""
    data = section(document.data)
    if "trainer" in data or "model" in data:
        return document
    result = items(data.get("stages"))
    for stage in sorted(_STAGES, key=lambda name: name not in result):
        if section(data, stage):
            return SectionDocument(document, (stage,))
    return document


def read_recipe(document: Document) -> Reading:
    """Return what one recipe states: of NeMo, or of HyperPod for another library."""
    data = section(document.data)
    if is_recipe(data):
        from speccheck.validator.sources.formats._hyperpod import (  # noqa: PLC0415
            read_wrapped,
        )

        return read_wrapped(document)
    sheet = FactSheet.of(document)
    sheet.derive("run.framework", _FORMAT, "NeMo's sections", _first(data))
    config = Config(sheet, data)
    state_cluster(config)
    state_precision(config)
    is_training = not is_evaluation(data)
    if is_megatron(data):
        state_model(config, is_training=is_training)
    if is_training:
        state_training(config)
        state_experiment(config)
    return Reading(sheet, _keyed(document, data))


def _keyed(document: Document, data: Settings) -> KeyedFile:
    """Return the keys of the file; models outside the collection define their own.

    Speech, vision and translation models are built from `_target_` blocks.
    """
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    if is_megatron(data):
        return keyed
    keys = tuple(key for key in keyed.keys if key.path[0] in _COMMON)
    return keyed._replace(keys=keys)


def _first(data: Mapping[str, object]) -> KeyPath:
    """Return a section to point at."""
    return next(((key,) for key in ("exp_manager", "trainer") if key in data), ())


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("exp_manager", "trainer", "training", "launcher_scripts_path"),
    interpolates=True,
    parents=hydra_parents,
)

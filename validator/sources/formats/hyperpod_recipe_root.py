"""The file of SageMaker HyperPod's launcher: a recipe, and what it runs on.

It is Hydra's primary file, whose `recipes` group is the recipe, or what the launcher
writes when it has composed the two. Source: aws/sagemaker-hyperpod-recipes,
recipes_collection/config.yaml and launcher/.
"""

from speccheck.validator.sources.documents.document import Document, SectionDocument
from speccheck.validator.sources.formats._hydra import hydra_parents
from speccheck.validator.sources.formats._hyperpod import state_launcher
from speccheck.validator.sources.formats.nemo1 import read_recipe
from speccheck.validator.sources.mapping import items, section
from speccheck.validator.sources.reader import Reader, Reading

_FORMAT = "hyperpod-recipe-root"
_SIGNS = (
    "cluster_type",
    "base_results_dir",
    "instance_type",
    "launcher_scripts_path",
    "git",
    "env_vars",
)
_FEWEST_SIGNS = 3


def detect(document: Document) -> float:
    """Recognise it by `recipes`, here or in the defaults, and the launcher's keys."""
    data = section(document.data)
    chosen = (section(entry) for entry in items(data.get("defaults")))
    if not section(data, "recipes") and not any("recipes" in item for item in chosen):
        return 0.0
    signs = sum(key in data for key in _SIGNS)
    return min(0.98, 0.6 + 0.07 * signs) if signs >= _FEWEST_SIGNS else 0.0


def read(document: Document) -> Reading:
    """Return what the recipe and the launcher's own settings state."""
    return state_launcher(
        read_recipe(SectionDocument(document, ("recipes",))), document
    )


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("recipes", "cluster_type"),
    interpolates=True,
    parents=hydra_parents,
)

"""Ask MaxText: its pydantic models, made of a file over the base configuration."""

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock, patch

import yaml

from oracles.drivers.serving import NotAskable, serve

# The configuration imports what trains, serves and writes; it needs none of that.
STAND_INS = frozenset(
    {
        *("cloud_tpu_diagnostics", "datasets", "drjax", "fastapi", "google", "grain"),
        *("google_cloud_mldiagnostics", "jetstream", "ml_goodput_measurement"),
        *("pathwaysutils", "qwix", "tensorboardX", "tensorflow", "transformers"),
        *("tunix", "uvicorn", "sentencepiece", "tokamax", "aqt", "optax", "orbax"),
        *(
            "flax",
            "requests",
            "huggingface_hub",
            "psutil",
            "safetensors",
            "tiktoken",
            "vllm",
        ),
    }
)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules that are not installed and not needed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a stand-in for a module of the list."""
        del path, target
        if name.partition(".")[0] not in STAND_INS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return a module that has every attribute."""
        module = MagicMock(name=spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


sys.meta_path.append(StandIns())
pyconfig = importlib.import_module("maxtext.configs.pyconfig")
CONFIGS = Path(str(pyconfig.__file__)).parent


def check(main: Path) -> None:
    """Load the file as `maxtext.train FILE` does, without starting devices.

    A file that names no base is taken over base.yml, as models and users' keys are.
    """
    document = yaml.safe_load(main.read_text(encoding="utf-8"))
    keys = dict(document)
    base = str(keys.setdefault("base_config", "base.yml"))
    if not Path(CONFIGS, base).is_file():
        message = f"{base} is not among the files"
        raise NotAskable(message)
    over = main.with_name("over.yml")
    over.write_text(yaml.safe_dump(keys), encoding="utf-8")
    starting = "maybe_initialize_jax_distributed_system"
    with patch.object(pyconfig.max_utils, starting, lambda _: None):
        pyconfig.initialize_pydantic(["train", str(over)])


if __name__ == "__main__":
    sys.exit(serve("maxtext", check))

"""Ask Axolotl: its validation of a file for machines with GPUs of a recent kind."""

import importlib
import sys
from pathlib import Path
from unittest.mock import MagicMock

import yaml

from oracles.drivers.serving import NotAskable, serve

sys.modules.setdefault("ring_flash_attn", MagicMock())  # is only looked for
config = importlib.import_module("axolotl.utils.config")
dicts = importlib.import_module("axolotl.utils.dict")

GPU = {
    "bf16": True,
    "fp8": True,
    "tf32": True,
    "n_gpu": 8,
    "n_node": 1,
    "compute_capability": "sm_90",
}


def check(main: Path) -> None:
    """Load the file as `axolotl train` does, and validate it."""
    document = yaml.safe_load(main.read_text(encoding="utf-8"))
    cfg = dicts.DictDefault(document)
    if cfg.plugins:
        message = "plugins are imported, and bring their own packages"
        raise NotAskable(message)
    config.validate_config(
        cfg, capabilities=dict(GPU), env_capabilities={"torch_version": "2.11.0"}
    )


if __name__ == "__main__":
    sys.exit(serve("axolotl", check))

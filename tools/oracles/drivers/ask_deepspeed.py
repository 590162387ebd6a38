"""Ask DeepSpeed: a configuration as DeepSpeedConfig takes it, on no GPU.

Values that are `auto` are filled in by whoever calls DeepSpeed: the blocks that
transformers and accelerate fill are asked with these values omitted.
"""

import importlib
import json
import sys
from pathlib import Path

from oracles.drivers.serving import serve

config = importlib.import_module("deepspeed.runtime.config")
reading = importlib.import_module("deepspeed.runtime.config_utils")


def check(main: Path) -> None:
    """Make a DeepSpeedConfig of the file."""
    with main.open(encoding="utf-8") as file:
        document = json.load(
            file, object_pairs_hook=reading.dict_raise_error_on_duplicate_keys
        )
    config.DeepSpeedConfig(without_auto(document))


def without_auto(block: object) -> object:
    """Return a block without the values that a caller fills in."""
    if isinstance(block, dict):
        return {
            name: without_auto(value)
            for name, value in block.items()
            if value != "auto"
        }
    return block


if __name__ == "__main__":
    sys.exit(serve("deepspeed", check, "json"))

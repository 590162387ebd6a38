"""Ask DeepSpeed: a configuration as DeepSpeedConfig and the engine take it, on no GPU.

The engine is asked for what it looks at before there is a model: its own checks, its
schedule, and the expert parallelism.

Values that are `auto` are filled in by whoever calls DeepSpeed: the blocks that
transformers and accelerate fill are asked with these values omitted.
"""

import importlib
import json
import sys
from pathlib import Path
from unittest.mock import patch

from oracles.drivers.serving import serve

accelerators = importlib.import_module("deepspeed.accelerator")
config = importlib.import_module("deepspeed.runtime.config")
engines = importlib.import_module("deepspeed.runtime.engine")
experts = importlib.import_module("deepspeed.module_inject.auto_ep_config")
torch = importlib.import_module("torch")
reading = importlib.import_module("deepspeed.runtime.config_utils")


def check(main: Path) -> None:
    """Make a DeepSpeedConfig of the file."""
    with main.open(encoding="utf-8") as file:
        document = json.load(
            file, object_pairs_hook=reading.dict_raise_error_on_duplicate_keys
        )
    made = config.DeepSpeedConfig(without_auto(document))
    engine = engines.DeepSpeedEngine.__new__(engines.DeepSpeedEngine)
    torch.nn.Module.__init__(engine)
    engine._config = made  # noqa: SLF001
    engine.client_optimizer = engine.client_lr_scheduler = None
    engine.pipeline_parallelism = False
    with patch.object(accelerators.get_accelerator(), "is_fp16_supported", _yes):
        engine._do_sanity_check()  # noqa: SLF001
    weights = [torch.nn.Parameter(torch.zeros(1))]
    engine._scheduler_from_config(torch.optim.SGD(weights, lr=1.0, momentum=0.9))  # noqa: SLF001
    experts.validate_autoep_config(made.expert_parallel_config, 1, 1, 1, 1)


def _yes() -> bool:
    """Take the machine to compute in fp16."""
    return True


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

"""Ask DeepSpeed: a configuration as `initialize` takes it, on no GPU.

The engine is made of two small layers, in a group of ranks that do not exist: one, or
as many as stand beside the file. What it compiles is left off.

Values that are `auto` are filled in by whoever calls DeepSpeed: the blocks that
transformers and accelerate fill are asked with these values omitted.
"""

import importlib
import json
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

from oracles.drivers.serving import serve

# Apex is taken to be there; it hands back what it is given.
sys.modules["apex"] = apex = MagicMock()
apex.amp.initialize = lambda model, optimizer, **_: (model, optimizer)
apex.amp.__path__ = []
apex.optimizers.FusedAdam = type("FusedAdam", (), {})
deepspeed = importlib.import_module("deepspeed")
accelerators = importlib.import_module("deepspeed.accelerator")
adam = importlib.import_module("deepspeed.ops.adam")
builders = importlib.import_module("deepspeed.ops.op_builder.builder")
others = importlib.import_module("deepspeed.ops.op_builder.cpu")
communication = importlib.import_module("deepspeed.comm.torch")
config = importlib.import_module("deepspeed.runtime.config")
engines = importlib.import_module("deepspeed.runtime.engine")
experts = importlib.import_module("deepspeed.module_inject.auto_ep_config")
layers = importlib.import_module("deepspeed.module_inject.auto_ep_layer")
torch = importlib.import_module("torch")
fakes = importlib.import_module("torch.testing._internal.distributed.fake_pg")
reading = importlib.import_module("deepspeed.runtime.config_utils")


def check(main: Path) -> None:
    """Make an engine of the file."""
    with main.open(encoding="utf-8") as file:
        document = json.load(
            file, object_pairs_hook=reading.dict_raise_error_on_duplicate_keys
        )
    stated = Path("world_size")
    ranks = int(stated.read_text()) if stated.exists() else 1
    with ExitStack() as stack:
        for target, name, value in _REPLACED:
            stack.enter_context(patch.object(target, name, value))
        _enter_group(ranks)
        settings = without_auto(document)
        _check(settings, ranks)


def _check(settings: Any, ranks: int) -> None:  # noqa: ANN401 - of any file
    made = config.DeepSpeedConfig(settings)
    sequence = settings.get("sequence_parallel_size", 1)
    experts.validate_autoep_config(made.expert_parallel_config, ranks, 1, 1, sequence)
    dense = {key: value for key, value in settings.items() if key != "expert_parallel"}
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    weights = [*model.parameters()]
    own = None  # that of the script, where the file states none
    if "optimizer" not in settings:
        offload = made.zero_config.offload_optimizer
        is_on_cpu = offload is not None and offload.device != "none"
        own = (adam.DeepSpeedCPUAdam if is_on_cpu else torch.optim.AdamW)(weights)
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=weights, config=dense, optimizer=own
    )
    with patch.object(engine, "client_lr_scheduler", None):
        sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 1.0, momentum=0.9)
        engine._scheduler_from_config(sgd)  # noqa: SLF001
    if made.expert_parallel_config.enabled and engine.zero_optimization_stage() > 2:  # noqa: PLR2004
        expert = layers.AutoEPMoELayer.__new__(layers.AutoEPMoELayer)
        torch.nn.Module.__init__(expert)
        engine.module.add_module("experts", expert)
        engine.has_moe_layers = True
        engine.sequence_parallel_size = sequence
        engine._validate_zero3_moe_compatibility()  # noqa: SLF001
    if engine.is_deepcompile_enabled():
        with suppress(AttributeError, RuntimeError):  # operators for GPUs
            engine.compile()


def _enter_group(ranks: int) -> None:
    """Enter a group of ranks of which this is the first and no other exists."""
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(ranks), LOCAL_SIZE="1")
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29500")
    torch.distributed.init_process_group(
        "fake", rank=0, world_size=ranks, store=fakes.FakeStore()
    )
    deepspeed.init_distributed()


def _yes(*_: object) -> bool:
    """Take the machine to have it."""
    return True


_REPLACED = (
    (type(accelerators.get_accelerator()), "is_fp16_supported", _yes),
    (builders.OpBuilder, "load", lambda *_, **__: MagicMock()),
    (others.NotImplementedBuilder, "load", lambda *_, **__: MagicMock()),
    (communication, "build_shm_op", lambda: None),
)


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

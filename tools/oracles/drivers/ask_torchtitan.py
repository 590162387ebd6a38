"""Ask torchtitan: the Trainer of a TOML file, on ranks that do not exist.

The model is made without memory, and data and words are left off. As many ranks as the
degrees ask for are taken to be there, or as many as stand beside the file.
"""

import dataclasses
import importlib
import math
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

from oracles.drivers.serving import serve

# Kernels for GPUs, and what draws curves: the configuration needs none of them.
for _name in ("torchtitan.models.moe.kernels", "torch.utils.tensorboard"):
    sys.modules[_name] = MagicMock()

torch = importlib.import_module("torch")
torch._utils._get_available_device_type = lambda: "cpu"  # noqa: SLF001 - as it is imported
specs = importlib.import_module("torchtitan.protocols.train_spec")
metrics = importlib.import_module("torchtitan.components.metrics")
checkpoints = importlib.import_module("torchtitan.components.checkpoint")
training = importlib.import_module("torchtitan.train")
profiling = importlib.import_module("torchtitan.tools.profiling")
config = importlib.import_module("torchtitan.config")
formats = [
    importlib.import_module(f"torchtitan.components.quantization.{name}")
    for name in ("float8", "mx")
]


class Trainer(training.Trainer):  # type: ignore[misc, name-defined]
    """The Trainer, which looks ahead to its last step in place of training."""

    def train(self) -> None:
        """Ask what training asks for after the first step."""
        made = self.job_config
        checkpointer = self.checkpointer
        if checkpointer.enable:
            checkpointer._states_to_load(model_only=False)  # noqa: SLF001
            checkpointer._save_last_step(made.training.steps)  # noqa: SLF001
        with profiling.maybe_enable_profiling(made.profiling, base_folder="."):
            pass


def check(main: Path) -> None:
    """Start as `torchtitan.train` does."""
    made = config.ConfigManager().parse_args([f"--job.config_file={main}"])
    made.comm.mode = "fake_backend"
    stated = Path("world_size")
    world = int(stated.read_text()) if stated.exists() else _ranks(made)
    os.environ.update(NGPU=str(world), WORLD_SIZE=str(world), RANK="0", LOCAL_RANK="0")
    with ExitStack() as stack:
        for target, name, value in _replaced(made.model.name):
            stack.enter_context(patch.object(target, name, value))
        parsed = SimpleNamespace(parse_args=lambda: made)
        stack.enter_context(patch.object(training, "ConfigManager", lambda: parsed))
        training.main(Trainer)


def _ranks(made: Any) -> int:  # noqa: ANN401 - a class of the framework
    degrees = made.parallelism
    sizes: list[int] = [
        degrees.data_parallel_replicate_degree,
        degrees.data_parallel_shard_degree,
        degrees.context_parallel_degree,
        degrees.tensor_parallel_degree,
        degrees.pipeline_parallel_degree,
    ]
    return abs(math.prod(sizes))


def _replaced(model: str) -> list[tuple[Any, str, object]]:
    """Return what a machine without GPUs, data and memory cannot do."""
    spec = specs.get_train_spec(model)
    bare = dataclasses.replace(spec, build_tokenizer_fn=None, build_dataloader_fn=None)
    monitor = MagicMock()
    monitor.device_name = "NVIDIA H100"
    monitor.get_peak_stats.return_value = MagicMock(
        max_reserved_gib=0.0, max_reserved_pct=0.0
    )
    return [
        (training.train_spec_module, "get_train_spec", lambda _: bare),
        (spec.model_cls, "init_weights", lambda *_, **__: None),
        (torch.nn.Module, "to_empty", lambda module, **_: module),
        (metrics, "build_device_memory_monitor", lambda: monitor),
        (checkpoints.CheckpointManager, "dcp_save", lambda *_, **__: None),
        (torch.cpu, "set_device", lambda _: None),
        (torch.profiler, "profile", lambda **_: MagicMock()),
        *((each, "has_cuda_capability", lambda *_: True) for each in formats),
    ]


if __name__ == "__main__":
    sys.exit(serve("torchtitan", check, "toml"))

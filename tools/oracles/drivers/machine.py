"""Take the machine to have what a file asks for: bf16, TF32, several GPUs."""

import importlib
from collections.abc import Collection, Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

_TRAINING = importlib.import_module("transformers.training_args")
_SHARDED = ("fsdp", "deepspeed")


@contextmanager
def modern_machine(keys: Collection[str] = ()) -> Generator[None]:
    """Let arguments and trainers be made as on GPUs of today.

    keys: of the file; torchrun starts those that shard, with several processes.
    """
    answers = {
        "is_torch_bf16_gpu_available": lambda: True,
        "is_torch_tf32_available": lambda: True,
        "enable_tf32": lambda _: None,
    }
    with ExitStack() as stack:
        for name, answer in answers.items():
            if hasattr(_TRAINING, name):
                stack.enter_context(patch.object(_TRAINING, name, answer))
        if any(name in keys for name in _SHARDED):
            _enter_several_gpus(stack)
        yield


def _enter_several_gpus(stack: ExitStack) -> None:
    """Let the arguments of a job of several processes be made in this one."""
    plugins = importlib.import_module("accelerate.utils.dataclasses")
    cuda = importlib.import_module("torch.cuda")
    arguments = _TRAINING.TrainingArguments
    mode = _TRAINING.ParallelMode.DISTRIBUTED
    stack.enter_context(patch.object(arguments, "parallel_mode", mode))
    stack.enter_context(patch.object(plugins, "is_cuda_available", lambda: True))
    stack.enter_context(patch.object(cuda, "current_device", lambda: 0))
    states = importlib.import_module("accelerate.state").AcceleratorState
    initialize = states.__init__

    def with_plugin(state: Any, *args: Any, **more: Any) -> None:  # noqa: ANN401
        """Keep the plugin of FSDP, which a state of a single process drops."""
        initialize(state, *args, **more)
        if more.get("fsdp_plugin") is not None:
            state.fsdp_plugin = more["fsdp_plugin"]

    stack.enter_context(patch.object(states, "__init__", with_plugin))

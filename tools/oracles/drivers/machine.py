"""Take the machine to have what a file asks for: bf16, TF32."""

import importlib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

_TRAINING = importlib.import_module("transformers.training_args")


@contextmanager
def modern_machine() -> Generator[None]:
    """Let the arguments of transformers be made as on a GPU of today."""
    answers = {
        "is_torch_bf16_gpu_available": lambda: True,
        "is_torch_tf32_available": lambda: True,
        "enable_tf32": lambda _: None,
    }
    with ExitStack() as stack:
        for name, answer in answers.items():
            if hasattr(_TRAINING, name):
                stack.enter_context(patch.object(_TRAINING, name, answer))
        yield

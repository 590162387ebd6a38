"""Ask LLaMA-Factory: the arguments of `llamafactory-cli train FILE`."""

import importlib
import os
import sys
from pathlib import Path
from unittest.mock import patch

import yaml
from serving import serve

os.environ["DISABLE_VERSION_CHECK"] = "1"
hparams = importlib.import_module("llamafactory.hparams.parser")
training = importlib.import_module("transformers.training_args")


def check(main: Path) -> None:
    """Parse the file; machine and packages are taken to be what it asks for."""
    document = yaml.safe_load(main.read_text(encoding="utf-8"))
    with (
        patch.object(training, "is_torch_bf16_gpu_available", lambda: True),
        patch.object(hparams, "is_torch_bf16_gpu_available", lambda: True),
        patch.object(training, "is_torch_tf32_available", lambda: True),
        patch.object(hparams, "check_version", lambda *_, **__: None),
    ):
        hparams.get_train_args(document)


if __name__ == "__main__":
    sys.exit(serve("llamafactory", check))

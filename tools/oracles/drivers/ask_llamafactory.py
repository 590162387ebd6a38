"""Ask LLaMA-Factory: the arguments of `llamafactory-cli train FILE`."""

import importlib
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import yaml

from oracles.drivers.machine import modern_machine
from oracles.drivers.serving import serve

os.environ["DISABLE_VERSION_CHECK"] = "1"
hparams = importlib.import_module("llamafactory.hparams.parser")


def _present(*_: object, **__: object) -> None:
    """Take any package to be installed."""


def _yes() -> bool:
    """Take the machine to compute in bf16."""
    return True


def check(main: Path) -> None:
    """Parse the file; machine and packages are taken to be what it asks for."""
    document = yaml.safe_load(main.read_text(encoding="utf-8"))
    with ExitStack() as stack:
        stack.enter_context(modern_machine(document))
        stack.enter_context(patch.object(hparams, "check_version", _present))
        stack.enter_context(patch.object(hparams, "is_torch_bf16_gpu_available", _yes))
        hparams.get_train_args(document)


if __name__ == "__main__":
    sys.exit(serve("llamafactory", check))

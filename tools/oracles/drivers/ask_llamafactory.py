"""Ask LLaMA-Factory: `llamafactory-cli train FILE` of a tiny model, up to a first step.

A file without `do_train` that names an engine of inference is one of
`llamafactory-cli chat`. Data that are called `identity` are of the stage at hand.
"""

import importlib
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import yaml

from oracles.drivers import tiny
from oracles.drivers.machine import modern_machine
from oracles.drivers.serving import NotAskable, serve

os.environ["DISABLE_VERSION_CHECK"] = "1"
sys.modules["torchaudio"] = MagicMock()  # of models that hear
hparams = importlib.import_module("llamafactory.hparams.parser")
tuner = importlib.import_module("llamafactory.train.tuner")
transformers = importlib.import_module("transformers")

_MODEL, _DATA = "m", "identity"  # as the base of the examples names them
_ALPACA = {"instruction": "a", "input": "", "output": "b"}
_PAIRS: dict[str, Any] = {
    "instruction": "a",
    "input": "",
    "chosen": "b",
    "rejected": "c",
}
_KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pt": ({"text": "a b c " * 2000}, {"columns": {"prompt": "text"}}),
    "dpo": (
        _PAIRS,
        {
            "ranking": True,
            "columns": {
                "prompt": "instruction",
                "chosen": "chosen",
                "rejected": "rejected",
            },
        },
    ),
    "kto": (
        {**_ALPACA, "tag": True},
        {"columns": {"prompt": "instruction", "response": "output", "kto_tag": "tag"}},
    ),
}
_KINDS["rm"] = _KINDS["dpo"]


# What lies in further files, or in packages.
_ELSEWHERE = (
    *("adapter_name_or_path", "eval_dataset", "ref_model", "reward_model"),
    *("fp8", "fp8_enable_fsdp_float8_all_gather", "new_special_tokens_config"),
    *("streaming", "tokenized_path", "use_badam"),
)


class _Reached(BaseException):
    """The first step."""


def _present(*_: object, **__: object) -> None:
    """Take any package to be installed."""


def _yes() -> bool:
    """Take the machine to compute in bf16."""
    return True


def _reach(trainer: Any, *_: object, **__: object) -> None:  # noqa: ANN401
    """End where training begins, with an optimizer."""
    trainer.create_optimizer_and_scheduler(num_training_steps=10)
    raise _Reached


def check(main: Path) -> None:
    """Start as the command does; machine and packages are what the file asks for."""
    document = yaml.safe_load(main.read_text(encoding="utf-8"))
    with ExitStack() as stack:
        stack.enter_context(modern_machine(document))
        stack.enter_context(patch.object(hparams, "check_version", _present))
        stack.enter_context(patch.object(hparams, "is_torch_bf16_gpu_available", _yes))
        if "infer_backend" in document and "do_train" not in document:
            hparams.get_infer_args(document)
            return
        hparams.get_train_args(dict(document))
        if not document.get("do_train") or not _is_plain(document):
            return  # its model or its data are elsewhere
        document["model_name_or_path"] = tiny.model_folder()
        document["dataset_dir"] = _data_folder(document.get("stage", "sft"))
        for name in ("train", "evaluate", "predict"):
            trainer = transformers.Trainer
            stack.enter_context(patch.object(trainer, name, _reach))
        try:
            tuner._training_function({"args": document, "callbacks": []})  # noqa: SLF001
        except _Reached:
            return
        except (NameError, RuntimeError) as error:
            raise NotAskable(str(error)) from error  # a package that is not there


def _is_plain(document: dict[str, Any]) -> bool:
    """Return whether a file needs no more than a model and data of its stage."""
    return (
        document.get("model_name_or_path") == _MODEL
        and document.get("dataset") == _DATA
        and not any(document.get(key) for key in _ELSEWHERE)
    )


def _data_folder(stage: str) -> str:
    """Write data of a stage; return their folder."""
    folder = Path("data")
    folder.mkdir(exist_ok=True)
    row, listed = _KINDS.get(stage, (_ALPACA, {}))
    (folder / "rows.json").write_text(json.dumps([row] * 8))
    info = {_DATA: {"file_name": "rows.json", **listed}}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    return str(folder)


if __name__ == "__main__":
    sys.exit(serve("llamafactory", check))

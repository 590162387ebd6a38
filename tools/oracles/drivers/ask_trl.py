"""Ask TRL: the file of `trl <method> --config`, and the trainer of its method.

The method is the one that knows most keys of the file; its trainer is made of a tiny
model. Scripts hand further dataclasses to the parser: keys of others are let through.
"""

import dataclasses
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from oracles.drivers import tiny
from oracles.drivers.machine import modern_machine
from oracles.drivers.serving import serve

trl = importlib.import_module("trl")

_PAIR: dict[str, object] = {"prompt": "a", "chosen": "b </s>", "rejected": "c </s>"}
_COLUMNS: dict[str, dict[str, object]] = {
    "SFT": {"text": "a b c"},
    "DPO": _PAIR,
    "GRPO": {"prompt": "a"},
    "RLOO": {"prompt": "a"},
    "KTO": {"prompt": "a", "completion": "b </s>", "label": True},
    "Reward": {"chosen": "a b", "rejected": "a c"},
}
_REWARDED = ("GRPO", "RLOO")


class Method(NamedTuple):
    """A way of training: its arguments, its trainer, and data for it."""

    name: str
    arguments: type
    trainer: type
    rows: object


METHODS = [
    Method(
        name,
        getattr(trl, f"{name}Config"),
        getattr(trl, f"{name}Trainer"),
        tiny.rows(columns),
    )
    for name, columns in _COLUMNS.items()
]

# Named here, so that they are imported once and not in the process of each case.
Parser, Script, Model = trl.TrlParser, trl.ScriptArguments, trl.ModelConfig


def check(main: Path) -> None:
    """Make the trainer; the machine is taken to have what the file asks for."""
    document = yaml.safe_load(main.read_text(encoding="utf-8"))

    def known(method: Method) -> int:
        fields = {field.name for field in dataclasses.fields(method.arguments)}
        return len(fields & set(document))

    method = max(METHODS, key=known)
    parser = Parser([Script, method.arguments, Model])
    with modern_machine(document):
        _, arguments, *_ = parser.parse_args_and_config(
            ["--config", str(main)], fail_with_unknown_args=False
        )
        more = {"reward_funcs": _lengths} if method.name in _REWARDED else {}
        method.trainer(
            model=tiny.classifier() if method.name == "Reward" else tiny.model_folder(),
            args=arguments,
            train_dataset=method.rows,
            eval_dataset=method.rows,
            processing_class=tiny.words(),
            **more,
        )


def _lengths(completions: Sequence[object], **_: object) -> list[float]:
    """Reward completions by their lengths."""
    return [float(len(str(text))) for text in completions]


if __name__ == "__main__":
    sys.exit(serve("trl", check))

"""Ask TRL: the file of `trl <method> --config`, by the arguments of its method.

The method is the one that knows most keys of the file. Scripts hand further dataclasses
to the parser, so keys of others are let through.
"""

import dataclasses
import importlib
import sys
from pathlib import Path

import yaml

from oracles.drivers.machine import modern_machine
from oracles.drivers.serving import serve

trl = importlib.import_module("trl")

METHODS = [
    getattr(trl, name)
    for name in ("SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "RewardConfig")
]

# Named here, so that they are imported once and not in the process of each case.
Parser, Script, Model = trl.TrlParser, trl.ScriptArguments, trl.ModelConfig


def check(main: Path) -> None:
    """Parse the file; the machine is taken to have what the file asks for."""
    document = yaml.safe_load(main.read_text(encoding="utf-8"))

    def known(method: type) -> int:
        fields = {field.name for field in dataclasses.fields(method)}
        return len(fields & set(document))

    parser = Parser([Script, max(METHODS, key=known), Model])
    with modern_machine():
        parser.parse_args_and_config(
            ["--config", str(main)], fail_with_unknown_args=False
        )


if __name__ == "__main__":
    sys.exit(serve("trl", check))

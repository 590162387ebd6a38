"""Ask transformers: a YAML file of TrainingArguments, and the Trainer of a tiny model.

Scripts hand further dataclasses to the parser, so keys of others are let through.
"""

import importlib
import sys
from pathlib import Path

import yaml

from oracles.drivers import tiny
from oracles.drivers.machine import modern_machine
from oracles.drivers.serving import serve

transformers = importlib.import_module("transformers")

# Named here, so that they are imported once and not in the process of each case.
Parser, Arguments = transformers.HfArgumentParser, transformers.TrainingArguments
Trainer = transformers.Trainer
ROWS = tiny.rows({"input_ids": [4, 5, 6], "labels": [4, 5, 6]})


def check(main: Path) -> None:
    """Make a Trainer; the machine is taken to have what the file asks for."""
    parser = Parser([Arguments])
    document = yaml.safe_load(main.read_text(encoding="utf-8"))
    with modern_machine(document):
        arguments, *_ = parser.parse_yaml_file(str(main), allow_extra_keys=True)
        Trainer(tiny.model(), arguments, train_dataset=ROWS, eval_dataset=ROWS)


if __name__ == "__main__":
    sys.exit(serve("transformers", check))

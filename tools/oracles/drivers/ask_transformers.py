"""Ask transformers: a YAML file of TrainingArguments by HfArgumentParser.

Scripts hand further dataclasses to the parser, so keys of others are let through.
"""

import importlib
import sys
from pathlib import Path

from oracles.drivers.machine import modern_machine
from oracles.drivers.serving import serve

transformers = importlib.import_module("transformers")

# Named here, so that they are imported once and not in the process of each case.
Parser, Arguments = transformers.HfArgumentParser, transformers.TrainingArguments


def check(main: Path) -> None:
    """Parse the file; the machine is taken to have what the file asks for."""
    parser = Parser([Arguments])
    with modern_machine():
        parser.parse_yaml_file(str(main), allow_extra_keys=True)


if __name__ == "__main__":
    sys.exit(serve("transformers", check))

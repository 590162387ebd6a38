"""Ask transformers: a YAML file of TrainingArguments by HfArgumentParser.

Scripts hand further dataclasses to the parser, so keys of others are let through.
"""

import importlib
import sys
from pathlib import Path
from unittest.mock import patch

from serving import serve

transformers = importlib.import_module("transformers")
training = importlib.import_module("transformers.training_args")


def check(main: Path) -> None:
    """Parse the file; the machine is taken to have what the file asks for."""
    parser = transformers.HfArgumentParser([transformers.TrainingArguments])
    with (
        patch.object(training, "is_torch_bf16_gpu_available", lambda: True),
        patch.object(training, "is_torch_tf32_available", lambda: True),
        patch.object(training, "enable_tf32", lambda _: None),
    ):
        parser.parse_yaml_file(str(main), allow_extra_keys=True)


if __name__ == "__main__":
    sys.exit(serve("transformers", check))

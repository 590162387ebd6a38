"""Ask nanotron: its dataclasses, made of a YAML file."""

import importlib
import sys
from pathlib import Path
from unittest.mock import MagicMock

from serving import serve

# Its logging and its configuration import each other; the latter needs no logger.
sys.modules["nanotron.logging"] = MagicMock()
config = importlib.import_module("nanotron.config")


def check(main: Path) -> None:
    """Make the configuration as `run_train.py --config-file` does."""
    config.get_config_from_file(str(main))


if __name__ == "__main__":
    sys.exit(serve("nanotron", check))

"""Ask MaxText: `pyconfig.initialize_pydantic` of a file over its base configuration."""

import importlib
import sys
from pathlib import Path

from serving import serve

pyconfig = importlib.import_module("maxtext.configs.pyconfig")


def check(main: Path) -> None:
    """Load the file as `maxtext.train FILE` does, without starting devices."""
    pyconfig.initialize_pydantic(["train", str(main)])


if __name__ == "__main__":
    sys.exit(serve("maxtext", check))

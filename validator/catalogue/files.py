"""Where the catalogues lie, and how their compiled form is read."""

import json
import os.path
from typing import Any

# Next to this package both in the repository and as installed.
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
CATALOGUES = os.path.join(_ROOT, "schemas", "catalogues")


def compiled_path(name: str) -> str:
    """Return the file that holds the compiled catalogue of that name."""
    return os.path.join(CATALOGUES, "compiled", f"{name}.json")


def read_compiled(name: str) -> Any:  # noqa: ANN401 - JSON; each loader types its own
    """Return the compiled catalogue of that name; raises FileNotFoundError."""
    with open(compiled_path(name), encoding="utf-8") as file:
        return json.load(file)

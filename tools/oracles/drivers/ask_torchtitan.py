"""Ask torchtitan: the ConfigManager of its last releases with TOML files."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from oracles.drivers.serving import serve

# The package imports every model, and with them kernels for GPUs; the configuration
# needs none of them.
_spec = importlib.util.find_spec("torchtitan")
_package = ModuleType("torchtitan")
if _spec is not None:
    _package.__path__ = list(_spec.submodule_search_locations or ())
sys.modules["torchtitan"] = _package
config = importlib.import_module("torchtitan.config")


def check(main: Path) -> None:
    """Parse the file as `torchtitan.train --job.config_file` does."""
    config.ConfigManager().parse_args([f"--job.config_file={main}"])


if __name__ == "__main__":
    sys.exit(serve("torchtitan", check, "toml"))

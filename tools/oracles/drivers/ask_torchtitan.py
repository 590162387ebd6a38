"""Ask torchtitan: the ConfigManager of its last releases with TOML files, ParallelDims.

As many ranks as the degrees ask for are taken to be there.
"""

import importlib
import importlib.util
import math
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
dims = importlib.import_module("torchtitan.distributed.parallel_dims")


def check(main: Path) -> None:
    """Parse the file as `torchtitan.train` does, and lay out its ranks."""
    made = config.ConfigManager().parse_args([f"--job.config_file={main}"])
    degrees = made.parallelism
    dense = (
        degrees.data_parallel_replicate_degree,
        degrees.data_parallel_shard_degree,
        degrees.context_parallel_degree,
        degrees.tensor_parallel_degree,
        degrees.pipeline_parallel_degree,
    )
    experts = degrees.expert_parallel_degree, degrees.expert_tensor_parallel_degree
    dims.ParallelDims(*dense, *experts, world_size=abs(math.prod(dense)))


if __name__ == "__main__":
    sys.exit(serve("torchtitan", check, "toml"))

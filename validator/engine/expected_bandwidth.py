"""What a collective should reach on machines that nobody measured yet."""

import json

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import read_file


def question(
    collective: str, context: Context, gpus: int, sizes: tuple[int, ...]
) -> tuple[CollectiveRun, Conditions]:
    """A run that nobody made, and what is known of its machines.

    Args:
        collective: all_reduce, ...
        context: type and number of machines.
        gpus: of each.
        sizes: of messages, in bytes.

    """
    nodes = context.nodes or 1
    run = {
        "collective": collective,
        "backend": "nccl",
        "ranks": gpus * nodes,
        "nodes": nodes,
        "size_bytes": list(sizes),
    }
    text = json.dumps({"schema": "speccheck-snapshot/1", "collective_runs": [run]})
    _, files = read_file("what is expected", text=text)
    evidence = assemble(files, context)
    return evidence[CollectiveRuns].each()[0], evidence[Conditions]

"""Two nodes that show the same GPU.

Why it hurts: one machine under two names, or a copied report, counts twice. The node
that it stands for was never looked at, and may be the broken one.

What passes: GPUs that no other node shows.

Where it does not apply: reports that name no GPU.

Source: an engineering default; the UUID of a GPU is its own (NVML).

Bad::

    node07: GPU-9f0c... node08: GPU-9f0c...

Good::

    node07: GPU-9f0c... node08: GPU-41ab...
"""

from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="FT-043")
def machine_reported_as_two_nodes(fleet: Fleet) -> Verdicts:
    """Name both nodes of each pair."""
    names = {node.file: node.name for node in fleet.nodes}
    known = {*names.values()}
    pairs = [
        repeated for repeated in fleet.attendance.repeated if repeated.name not in known
    ]
    for pair in pairs:
        hosts = tuple(sorted({names.get(file, file) for file in pair.files}))
        yield fail(
            f"{pair.problem}; each machine must be one node",
            measured=len(hosts),
            required=1,
            cost="one of them was never looked at",
            hosts=hosts,
        )
    if not pairs and "gpus.order" in fleet.shared:
        yield passed(f"no GPU was seen on two of {len(known):,} nodes")

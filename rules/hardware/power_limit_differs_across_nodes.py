"""A power cap that is not the same on all nodes.

Why it hurts: GPUs under a lower cap clock lower under load, and a collective waits for
them in each step: one capped node takes its share of speed from all.

What passes: one limit of power over the GPUs of all nodes.

Where it does not apply: a fleet of one node; nodes whose own GPUs differ, which rules
on each node find.

Source: an engineering default; nvidia-smi -pl sets it.

Bad::

    nvidia-smi --query-gpu=power.limit    # 700 W on 63 nodes, 500 W on one

Good::

    nvidia-smi --query-gpu=power.limit    # 700 W on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("gpus.power_limit_watts", "power limit (W)", is_of_parts=True),
)
_ADVICE = Advice(
    required="one cap over all GPUs of a job is required",
    remedy="Set the limit of the others on {nodes} (nvidia-smi -pl WATTS), and in what "
    "sets it at boot.",
    cost="all ranks wait for the GPUs that clock lower",
    action="FIX_CONFIG",
)


@rule(clause="ENER-004")
def power_limit_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare the limits."""
    yield from uniform(fleet, _LEAVES, _ADVICE)

"""Servers of several products in one job.

Why it hurts: it may not. Products of one shape differ in cooling, firmware and slots,
which explains why some nodes are slower than others.

What passes: one vendor, one product and one board.

Where it does not apply: a fleet of one node.

Source: an engineering default.

Bad::

    cat /sys/class/dmi/id/product_name    # two names over the nodes

Good::

    cat /sys/class/dmi/id/product_name    # one name
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("host.vendor", "vendor", is_needed=False),
    ComparedNodes("host.product", "product", is_needed=False),
    ComparedNodes("host.board", "board", is_needed=False),
)
_ADVICE = Advice(
    required="one product is to be expected",
    remedy="Nothing, unless {nodes} are slower than the others.",
    action="MONITOR",
)


@rule(clause="HW-168")
def host_product_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare what the firmware calls the machine."""
    yield from uniform(fleet, _LEAVES, _ADVICE)

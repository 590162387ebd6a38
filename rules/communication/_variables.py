"""Environment variables over the nodes of a fleet."""

from speccheck.validator.comparison.differences import (
    ComparedNodes,
    Differences,
    differing,
)
from speccheck.validator.evidence.fleet import VARIABLES, Fleet
from speccheck.validator.evidence.nccl_variables import AcrossNodes, NcclVariables


def compared(
    fleet: Fleet, catalogue: NcclVariables, across_nodes: AcrossNodes
) -> Differences:
    """Return the variables of that kind over all nodes; nothing where none is set.

    A node whose variables are not listed is undecided: result lines tell none.
    """
    comparisons = []
    for shared in fleet.variables():
        name = shared.leaf.removeprefix(VARIABLES)
        row = catalogue.lookup(name)
        if ("" if row is None else row.across_nodes) == across_nodes:
            # As people write it: NCCL_ALGO Ring instead of not set.
            comparisons.append((ComparedNodes(shared.leaf, name), shared))
    return differing(fleet, comparisons)

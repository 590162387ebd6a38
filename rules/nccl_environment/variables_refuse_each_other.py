"""Two variables that NCCL refuses together.

Why it hurts: each is fine by itself; together they leave NCCL without a network to use,
and initialisation stops after the allocation is granted.

What passes: one of the two, or both with values that agree.

Where it does not apply: neither is set.

Source: NVIDIA/nccl src/transport/net_ib/init.cc and docs, environment variables. The
pairs stand in the catalogue of relations.

Bad::

    NCCL_NET=IB
    NCCL_IB_DISABLE=1

Good::

    NCCL_NET=IB
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(clause="COMM-060", about=("NCCL_NET",))
def variables_refuse_each_other(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `refused`."""
    yield from related(
        "refused",
        variables,
        cost="initialisation stops on every rank",
    )

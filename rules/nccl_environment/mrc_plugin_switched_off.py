"""A way to MRC chosen and switched off.

Why it hurts: the plugin is loaded and declines every card, or the verbs that the shim
stands in for are not used; NCCL goes on over another transport, and no path is spread.

What passes: the MRC plugin without NCCL_IBEXT_DISABLE, which it reads before release
1.0, and without NCCL_IB_DISABLE, which it reads from there on; the RDMA plugin without
the first, the shim without the second; or with 0.

Where it does not apply: none of the three ways is chosen.

Source: microsoft/mrc-nccl-plugin src/net_mrc_plugin.c; src/transport/net_ib/init.cc of
release 1.0.0.

Bad::

    NCCL_NET_PLUGIN=mrc
    NCCL_IBEXT_DISABLE=1

Good::

    NCCL_NET_PLUGIN=mrc
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(clause="MRC-020", about=("NCCL_IBVERBS_LIB", "NCCL_IB_MRC", "NCCL_NET_PLUGIN"))
def mrc_plugin_switched_off(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `mrc_off`."""
    yield from related(
        "mrc_off",
        variables,
        cost="traffic goes over another transport than the one that is chosen",
    )

"""The MRC plugin chosen and switched off.

Why it hurts: the plugin is loaded and declines every card; NCCL goes on over its own
verbs transport or over sockets, and no path is spread.

What passes: the plugin without NCCL_IBEXT_DISABLE, which it reads before release 1.0,
and without NCCL_IB_DISABLE, which it reads from there on; or with 0.

Where it does not apply: another plugin, or none.

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


@rule(clause="MRC-020", about=("NCCL_NET_PLUGIN",))
def mrc_plugin_switched_off(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `mrc_off`."""
    yield from related(
        "mrc_off",
        variables,
        cost="traffic goes over another transport than the one that is chosen",
    )

"""A setting of a way to MRC that nothing reads.

Why it hurts: the retry counts reach the card in no release up to 1.0.0, and without the
plugin, its switch or the shim none of their variables is read: detection times are
believed to be set and are not.

What passes: the plugin with its timeout, and the retry counts at their defaults; the
switch of the RDMA plugin with its settings; the shim with what loads it.

Where it does not apply: no variable of the three ways is set.

Source: microsoft/mrc-nccl-plugin MRC_ENV_VARIABLES.md, src/p2p_plugin.c,
src/transport/net_ib/connect.cc.

Bad::

    NCCL_MRC_RETRY_CNT_EXP=10

Good::

    NCCL_MRC_TIMEOUT=20
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(
    clause="MRC-021",
    about=(
        "NCCL_MRC_RETRY_CNT_EXP",
        "NCCL_MRC_RETRY_CNT_LINEAR",
        "NCCL_IB_MRC_*",
        "NCCL_NET",
        "NCCL_NET_PLUGIN",
        "VMRC_LIBMRC_SO",
    ),
)
def mrc_setting_without_effect(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `mrc_no_effect`."""
    yield from related(
        "mrc_no_effect",
        variables,
        cost="the setting has no effect, and nothing says so",
    )

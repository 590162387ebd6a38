"""A setting beside the MRC plugin that is worth a second look.

Why it hurts: MRC has its own timers and its own paths; what was tuned for verbs
connections does not carry over.

What passes: the plugin with the defaults of the verbs transport.

Where it does not apply: debug runs; another plugin, or none.

Source: microsoft/mrc-nccl-plugin MRC_ENV_VARIABLES.md;
opencomputeproject/OCP-Multipath-Reliable-Connection.

Bad::

    NCCL_NET_PLUGIN=mrc
    NCCL_IB_TIMEOUT=22

Good::

    NCCL_NET_PLUGIN=mrc
    NCCL_MRC_TIMEOUT=20
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(clause="MRC-022", about=("NCCL_MRC_CC_*", "NCCL_MRC_TIMEOUT", "NCCL_NET_PLUGIN"))
def mrc_setting_to_reconsider(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `mrc_advice`."""
    yield from related(
        "mrc_advice",
        variables,
        cost="a dead path is noticed at another time than is believed",
        spares_debug_runs=True,
        advises=True,
    )

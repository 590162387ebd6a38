"""A text that the parser of the library drops or takes for something else.

Why it hurts: the library never says so. A blank becomes part of a name that nothing
has, a range without its length is no range, a policy of an unknown name is the default,
and Gloo looks for an interface called ^lo.

What passes: lists without blanks, ranges as 10.4.0.0/16, plain names for Gloo.

Where it does not apply: the variables are not set, or set outside the files.

Source: NVIDIA/nccl src/misc/socket.cc, src/misc/utils.cc, src/graph/tuning.cc;
pytorch/gloo.

Bad::

    NCCL_SOCKET_IFNAME="eth0, eth1"

Good::

    NCCL_SOCKET_IFNAME=eth0,eth1
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(
    clause="CONF-061",
    about=(
        "GLOO_SOCKET_IFNAME",
        "NCCL_ALGO",
        "NCCL_COMM_ID",
        "NCCL_CONF_FILE",
        "NCCL_CTA_POLICY",
        "NCCL_DEBUG_FILE",
        "NCCL_DEBUG_SUBSYS",
        "NCCL_IB_ADDR_RANGE",
        "NCCL_IB_CC_HINTS",
        "NCCL_IB_HCA",
        "NCCL_IB_HINTS",
        "NCCL_NETDEVS_POLICY",
        "NCCL_NET_MERGE_POLICY",
        "NCCL_PROTO",
        "NCCL_PROXY_CPUSET",
        "NCCL_SOCKET_IFNAME",
        "NCCL_WORK_FIFO_BYTES",
        "TP_SOCKET_IFNAME",
    ),
)
def text_dropped_by_parser(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `ignored_text`."""
    yield from related(
        "ignored_text",
        variables,
        cost="the setting is lost, or the group of processes never forms",
    )

"""A RoCE port whose chosen address cannot cross the fabric.

Why it hurts: an entry of RoCE v1, or a link-local one, works between ports of one
switch and times out, or is refused, across the fabric.

What passes: NCCL_IB_GID_INDEX points to a RoCE v2 entry with an IPv4 or global address
on each training port; or it is not set, NCCL chooses itself (from the release of the
clause on), and each port has such an entry.

Where it does not apply: nodes without an active Ethernet port that trains.

Source: NVIDIA/nccl documentation, NCCL_IB_GID_INDEX; issues 426, 718, 769, 1131.

Bad::

    NCCL_IB_GID_INDEX=0     # show_gids: 0 fe80::... v1

Good::

    unset NCCL_IB_GID_INDEX  # NCCL 2.21 or newer
"""

from speccheck.rules.fabric._rails import ETHERNET, rails
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen, release
from speccheck.validator.evidence.node.host import NodeVariables
from speccheck.validator.evidence.node.rdma import RdmaPort, RdmaPorts
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule

_ROUTABLE = ("ipv4", "global")


class Version(Numbers):
    """The version of RoCE, and the release of NCCL that chooses by itself."""

    roce_version: int
    choosing_release: str


@rule(clause="FAB-002")
def gid_not_routable(
    ports: RdmaPorts,
    variables: NodeVariables,
    environment: Environment,
    cluster: Cluster,
    run: Run,
    limit: Version,
) -> Verdicts:
    """Judge the entry that NCCL takes on each training port."""
    trained = rails(ports, cluster, environment)
    for port in (
        rdma_port for rdma_port in trained if rdma_port.link_layer.need() == ETHERNET
    ):
        if port.state.need() != "ACTIVE":
            continue
        kinds, types = port.gid_kinds.need(), port.gid_types.need()
        good = [
            index
            for index, (kind, type_) in enumerate(zip(kinds, types, strict=False))
            if kind in _ROUTABLE and type_ == f"RoCE v{limit.roce_version}"
        ]
        if not good:
            yield _fail(port, "has no routable RoCE v2 address", "an address")
            continue
        variable = environment.find("NCCL_IB_GID_INDEX")
        if variable is not None and variable.value:
            index = integer_seen(variable.value)
            if index is not None and index >= 0:
                yield _at_index(port, index, good)
                continue
        elif variable is None:
            variables.each()
        if release(run.nccl_version.need()) < release(limit.choosing_release):
            yield _at_index(port, 0, good)
            continue
        yield passed(at=[port.gid_types, port.gid_kinds])


def _at_index(port: RdmaPort, index: int, good: list[int]) -> Verdict:
    if index in good:
        return passed(at=[port.gid_types, port.gid_kinds], measured=index)
    kinds, types = port.gid_kinds.need(), port.gid_types.need()
    there = "nothing"
    if index < min(len(kinds), len(types)):
        there = f"{types[index] or 'an entry that is not set'} ({kinds[index]})"
    listed = ", ".join(map(str, good))
    return _fail(port, f"has {there} at index {index}; {listed} would do", str(good[0]))


def _fail(port: RdmaPort, text: str, required: str) -> Verdict:
    return fail(
        f"{port.title} {text}",
        at=[port.gid_types, port.gid_kinds],
        required=required,
        cost="connections across the fabric time out or are refused",
        remedy="Give the interface of the port an address, and unset NCCL_IB_GID_INDEX "
        "(NCCL 2.21 or newer), or set it to the RoCE v2 entry that show_gids lists.",
        action="FIX_CONFIG",
    )

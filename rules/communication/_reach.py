"""The connections over the network of a communicator, with GPUDirect and without."""

from speccheck.rules.communication._ran import several_nodes
from speccheck.validator.evidence.measurement.collective import Communicator
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdict, fail, passed, unknown


def reach_of(
    communicator: Communicator, cluster: Cluster, machine: InstanceProfile, remedy: str
) -> Verdict | None:
    """Judge them; None where none is to be expected."""
    if not communicator.links_by_network.value and (
        communicator.is_mnnvl.value or not several_nodes(communicator)
    ):
        return None
    if communicator.socket_links.value:
        return None
    links, reached = (
        communicator.links_by_network.need(),
        communicator.links_by_gpudirect.need(),
    )
    at = [
        communicator.links_by_gpudirect,
        communicator.links_by_network,
        communicator.no_gpudirect_adapters,
    ]
    if links and reached == links:
        return passed(at=at, measured=reached, required=links)
    if links == 0:
        return unknown(
            "the log shows no connection between the nodes",
            missing=[communicator.links_by_network.name],
            at=at,
        )
    cluster.fabric.need()
    adapters, gpus = machine.network_adapters.value, machine.gpus.value
    if reached and (adapters is None or gpus is None or adapters < gpus):
        return unknown(
            f"{reached} of {links} connections over the network use GPUDirect RDMA; "
            "whether each GPU has an adapter near it is not known",
            missing=["profile.network_adapters"],
            at=at,
        )
    return fail(
        f"{links - reached} of {links} connections over the network run without "
        "GPUDirect RDMA; all of them should use it",
        at=at,
        measured=reached,
        required=links,
        cost="half the bandwidth between nodes or less: host memory is in the way",
        remedy=remedy,
        action="FIX_CONFIG",
    )

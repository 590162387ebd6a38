"""RDMA devices with other names than the machine type gives them.

Why it hurts: lists of adapters (NCCL_IB_HCA) and topology files that are written for
the type match none of them, or others than they mean.

What passes: the names that images of the provider give the adapters of that type.

Where it does not apply: types whose names are not fixed, and nodes that lack an
adapter: that is judged elsewhere.

Source: Azure/azurehpc-health-checks conf; oracle-quickstart/oci-hpc check_gpu_setup.py.

Bad::

    ls /sys/class/infiniband   # mlx5_0 mlx5_1 ... on Standard_ND96isr_H100_v5

Good::

    ls /sys/class/infiniband   # mlx5_ib0 mlx5_ib1 ... mlx5_ib7
"""

from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_WITHOUT_RDMA = {"tcpx", "tcpxo"}
_ANY = "*"


class Names(Numbers):
    """The most device names of the machine type that a node may lack."""

    missing_max: int


@rule(clause="TOPO-056")
def adapters_renamed(
    adapters: RdmaDevices, machine: InstanceProfile, limit: Names
) -> Verdicts:
    """Judge the names against those of the type."""
    if machine.id and not machine.network_names.is_known:
        return
    wanted = [text for text in machine.network_names.need() if text]
    if any(text.endswith(_ANY) for text in wanted):
        return
    if machine.network_kind.need() in _WITHOUT_RDMA:
        return
    names = [rdma_device.name.need() for rdma_device in adapters.each()]
    lacking = [text for text in wanted if text not in names]
    at = [rdma_device.name for rdma_device in adapters.each()]
    if len(lacking) <= limit.missing_max:
        yield passed(at=at, measured=len(names), required=len(wanted))
    elif len(names) >= len(wanted):
        yield fail(
            f"of the {len(wanted)} names of {machine.id} {len(lacking)} are missing "
            f"({', '.join(lacking)}); found are {', '.join(names)}",
            at=at,
            measured=len(wanted) - len(lacking),
            required=len(wanted),
            remedy="Name them by the udev rules of the image of the provider, or write "
            f"the names found into NCCL_IB_HCA: export NCCL_IB_HCA={','.join(names)}.",
            action="FIX_CONFIG",
        )

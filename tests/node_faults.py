"""Single faults of a machine, and the rules that find them."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from healthy_nodes import healthy_node

Snapshot = dict[str, Any]
Change = Callable[[Snapshot], object]


class Fault(NamedTuple):
    """One thing that is wrong with a machine of a type."""

    instance: str
    change: Change

    def snapshot(self) -> Snapshot:
        """A machine with nothing else wrong."""
        found = deepcopy(healthy_node(self.instance))
        self.change(found)
        return found


def _gpu(number: int, **leaves: object) -> Change:
    return lambda node: node["gpus"][number].update(leaves)


def _all_gpus(**leaves: object) -> Change:
    return lambda node: [gpu.update(leaves) for gpu in node["gpus"]]


def _port(number: int, **leaves: object) -> Change:
    return lambda node: node["rdma_ports"][number].update(leaves)


def _part(kind: str, **leaves: object) -> Change:
    return lambda node: node[kind].update(leaves)


def _variable(name: str, value: str) -> Change:
    leaves = {"name": name, "value": value, "layer": "environment"}
    return lambda node: node["variables"].append(leaves)


def _logged(node: Snapshot, address: str, **leaves: object) -> None:
    known = deepcopy(node["kernel_events"][0])
    node["kernel_events"].append({**known, "pci_address": address, **leaves})


def _fallen_off_the_bus(node: Snapshot) -> None:
    gpu = node["gpus"][3]
    gpu.update(is_lost=True, recovery_action=2)
    text = f"Xid (PCI:{gpu['pci_address']}): 79, GPU has fallen off the bus."
    _logged(
        node,
        gpu["pci_address"],
        event="xid",
        code=79,
        text=text,
        is_of_application=False,
    )


def _switch_fault(node: Snapshot) -> None:
    text = "SXid (PCI:0000:c0:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    leaves = {"event": "sxid", "code": 20034, "is_fatal": True, "text": text}
    leaves["is_of_application"] = False
    # A driver that does not tell whether the GPUs have recovered.
    for gpu in node["gpus"]:
        gpu["recovery_action"] = {"status": "not_supported", "source": "NVML"}
    _logged(node, "0000:c0:00.0", **leaves)


def _gpu_gone(node: Snapshot) -> None:
    """One GPU less than the type has: the driver does not list it any more."""
    node["gpus"].pop()
    for gpu in node["gpus"]:
        for leaf in ("common_ancestors", "peer_read_status", "peer_nvlink_status"):
            gpu[leaf].pop()


def _link_down(node: Snapshot) -> None:
    gpu = node["gpus"][5]
    gpu["nvlink_is_active"][17] = False
    for leaf, found in gpu.items():
        if leaf.startswith("nvlink_") and isinstance(found, list) and len(found) > 17:
            found[17] = None if leaf != "nvlink_is_active" else found[17]


def _adapter_gone(node: Snapshot) -> None:
    lost = node["rdma_devices"].pop()["pci_address"]
    node["rdma_ports"].pop()
    by_address = (("network_interfaces", "pci_address"), ("pci_devices", "address"))
    for kind, leaf in by_address:
        node[kind] = [one for one in node[kind] if one[leaf] != lost]


def _without_module(name: str) -> Change:
    def change(node: Snapshot) -> None:
        node["driver"]["modules"].remove(name)
        node["driver"]["dma_buf_is_exported"] = False

    return change


def _unknown_hardware(node: Snapshot) -> None:
    """A machine that nobody has a profile of: nothing is wrong, and nothing is sure."""
    node["host"]["instance_type"] = "sun-ultra-5"
    for gpu in node["gpus"]:
        gpu.update(name="NVIDIA Graphics Device", pci_device_id="0x777710de")


FAULTS: dict[str, Fault] = {
    "GPU missing": Fault("dgx-h100", _gpu_gone),
    "GPU lost": Fault("dgx-h100", _gpu(3, is_lost=True)),
    "reset required": Fault("dgx-h100", _gpu(3, needs_reset=True)),
    "recovery action": Fault("dgx-h200", _gpu(3, recovery_action=2)),
    "other GPU": Fault("dgx-h100", _gpu(2, name="NVIDIA H100 PCIe")),
    "less memory": Fault("dgx-h100", _gpu(2, memory_total_bytes=70 * 2**30)),
    "17 of 18 links": Fault("dgx-h100", _link_down),
    "GPU in generation 4": Fault("dgx-h100", _gpu(1, pcie_generation_maximum=4)),
    "GPU at eight lanes": Fault("dgx-h100", _gpu(1, pcie_width=8)),
    "row to remap": Fault("dgx-h100", _gpu(0, remap_is_pending=True)),
    "row not remapped": Fault("dgx-h100", _gpu(0, remap_has_failed=True)),
    "uncorrected errors": Fault("dgx-h100", _gpu(0, ecc_uncorrected_volatile=2)),
    "error correction off": Fault("dgx-h100", _gpu(6, ecc_is_on=False)),
    "partitioned": Fault("dgx-h100", _gpu(6, mig_is_on=True)),
    "power brake": Fault("dgx-h100", _gpu(4, clock_event_reasons=0x80)),
    "thermal slowdown": Fault("dgx-h100", _gpu(4, clock_event_reasons=0x40)),
    "limited power": Fault("dgx-h100", _gpu(4, power_limit_watts=400.0)),
    "stray process": Fault(
        "dgx-h100", _gpu(4, compute_processes=1, memory_used_bytes=2**33)
    ),
    "exclusive mode": Fault("dgx-h100", _all_gpus(compute_mode=3)),
    "no persistence": Fault("dgx-h100", _all_gpus(persistence_is_on=False)),
    "registering for ever": Fault("dgx-h100", _gpu(7, fabric_state=2)),
    "registration failed": Fault("dgx-h100", _gpu(7, fabric_status=999)),
    "degraded fabric": Fault("dgx-gb200", _gpu(1, fabric_health_mask=1)),
    "other clique": Fault("dgx-gb200", _gpu(1, fabric_clique=4)),
    "fabric manager down": Fault(
        "dgx-h100", _part("driver", fabric_manager_is_running=False)
    ),
    "fabric manager of another release": Fault(
        "dgx-h100", _part("driver", fabric_manager_version="550.54.15")
    ),
    "library of another release": Fault(
        "dgx-h100", _part("driver", version="550.54.15")
    ),
    "no memory to the NIC": Fault("dgx-h100", _without_module("nvidia_peermem")),
    "port polling": Fault("dgx-h100", _port(2, state="DOWN", physical_state="Polling")),
    "port at a quarter": Fault("dgx-h100", _port(2, rate_gbit_per_second=100.0)),
    "link that went down": Fault("dgx-h100", _port(2, link_downed=7)),
    "no subnet manager": Fault("dgx-h100", _port(2, subnet_manager_lid=0)),
    "adapter missing": Fault("oci-h100-8", _adapter_gone),
    "HCA that is not there": Fault(
        "dgx-h100", _variable("NCCL_IB_HCA", "mlx5_20,mlx5_21")
    ),
    "interface that is not there": Fault(
        "dgx-h100", _variable("NCCL_SOCKET_IFNAME", "bond7")
    ),
    "GID that is not there": Fault("oci-h100-8", _variable("NCCL_IB_GID_INDEX", "9")),
    "topology file of another type": Fault(
        "azure-nd96isr-h100-v5",
        _variable("NCCL_TOPO_FILE", "/opt/microsoft/ndv4-topo.xml"),
    ),
    "NVLS off": Fault("dgx-h100", _variable("NCCL_NVLS_ENABLE", "0")),
    "Xid 79": Fault("dgx-h100", _fallen_off_the_bus),
    "fatal SXid": Fault("dgx-h100", _switch_fault),
    "little locked memory": Fault("dgx-h100", _part("host", locked_memory_bytes=65536)),
    "small /dev/shm": Fault("dgx-h100", _part("host", shared_memory_bytes=64 * 2**20)),
    "clock adrift": Fault("dgx-h100", _part("host", clock_is_synchronised=False)),
    "stuck processes": Fault("dgx-h100", _part("host", stuck_processes=12)),
    "full disk": Fault("dgx-h100", _part("host", root_used_share=0.99)),
    "type that nobody knows": Fault("dgx-h100", _unknown_hardware),
}

# The rules that fail, at the level of a warning or an error, and no others do. Faults
# that no rule judges yet are not here.
FOUND_BY: dict[str, set[str]] = {
    "GPU missing": {"gpu_missing"},
    "GPU lost": {"gpu_needs_recovery"},
    "reset required": {"gpu_needs_recovery"},
    "recovery action": {"gpu_needs_recovery"},
    "other GPU": {"gpus_differ", "device_order_left_open"},
    "less memory": {"gpus_differ"},
    "error correction off": {"error_correction_off"},
    "partitioned": {"gpu_partitioned"},
    "power brake": {"power_brake_active"},
    "thermal slowdown": {"slowed_by_hardware"},
    "limited power": {"power_limited"},
    "exclusive mode": {"mode_unfit_for_training"},
    "no persistence": {"mode_unfit_for_training"},
    "library of another release": {"driver_and_library_differ", "gpu_firmware_differs"},
    "no memory to the NIC": {"gpudirect_rdma_missing"},
    "port polling": {"rail_missing", "one_port_down_among_equals"},
    "port at a quarter": {"rail_missing", "one_port_down_among_equals"},
    "no subnet manager": {"port_without_subnet_manager"},
    "adapter missing": {"rail_missing"},
    "HCA that is not there": {"adapter_list_misses_ports"},
    "interface that is not there": {"bootstrap_interface_unusable"},
    "GID that is not there": {"gid_not_routable"},
    "little locked memory": {"locked_memory_limited"},
    "small /dev/shm": {"shared_memory_below_share"},
    "clock adrift": {"clock_off"},
    "stuck processes": {"kernel_in_trouble"},
    "full disk": {"root_disk_full"},
    "row to remap": {"memory_fault_pending"},
    "row not remapped": {"memory_fault_pending"},
    "uncorrected errors": {"memory_fault_pending"},
    "topology file of another type": {"value_known_to_hurt"},
    "Xid 79": {"gpu_needs_recovery", "fatal_xid"},
    "fatal SXid": {"switch_error_logged"},
}

"""The network of a healthy machine: RDMA devices, ports and interfaces of each kind."""

from speccheck.validator.simulation.shape import ABSENT, Leaves

_INFINIBAND = (
    "symbol_errors",
    "link_downed",
    "link_recoveries",
    "local_integrity_errors",
    "buffer_overruns",
    "receive_errors",
    "transmit_discards",
    "virtual_lane_15_dropped",
    "transmit_waits",
)
_HARDWARE = (
    "out_of_sequence",
    "acknowledgement_timeouts",
    "packet_sequence_errors",
    "receiver_not_ready_retries_exceeded",
)
_CONGESTION = (
    "slow_restarts",
    "congestion_marked_packets",
    "congestion_notifications_handled",
)
_EFA = (
    "efa_receive_drops",
    "efa_retransmit_timeouts",
    "efa_command_errors",
    "efa_commands_unanswered",
)
# As the vendor's driver sets it by default, for all of its adapters.
_ALL_PRIORITIES: Leaves = {
    "congestion_answered_priorities": [*range(8)],
    "congestion_heeded_priorities": [*range(8)],
}


def network(instance: Leaves) -> Leaves:
    """The parts of the network of an instance type."""
    kind = instance.get("network_kind", "")
    count = instance.get("network_adapters", 0)
    rate = float(instance.get("network_gbit_per_second", 0))
    names = _names(instance.get("network_names", []), count)
    front = _interface("eth0", "ena", 0xF0, 100_000)
    if kind not in {"infiniband", "roce", "efa"}:  # TCPX moves GPU data over Ethernet
        others = [_interface(name, "gve", 0x80, -1) for name in names]
        return {
            "rdma_devices": [],
            "rdma_ports": [],
            "network_interfaces": [front, *others],
        }
    if kind == "roce":
        front |= _ALL_PRIORITIES
    interfaces = [] if kind == "efa" else [_of_rdma(kind, n) for n in range(count)]
    return {
        "rdma_devices": [_device(name, n, instance) for n, name in enumerate(names)],
        "rdma_ports": [_port(name, n, kind, rate) for n, name in enumerate(names)],
        "network_interfaces": [front, *interfaces],
    }


def _names(patterns: list[str], count: int) -> list[str]:
    if len(patterns) == 1 and patterns[0].endswith("*"):
        start = patterns[0].removesuffix("*")
        return [f"{start}{number}" for number in range(count)]
    return patterns


def adapter_address(number: int) -> str:
    """Where an adapter sits on the bus."""
    return f"0000:{0xA0 + number:02x}:00.0"  # GPUs come before


def _device(name: str, number: int, instance: Leaves) -> Leaves:
    is_efa = instance.get("network_kind") == "efa"
    return {
        "name": name,
        "driver": instance.get("network_driver", "mlx5_core"),
        "pci_address": adapter_address(number),
        "is_virtual_function": bool(instance.get("is_virtual")) and not is_efa,
        "numa_node": number * 2 // max(1, instance["network_adapters"]),
        "firmware_version": "28.43.1014",
        "board_id": "MT_0000000838",
        "type": "EFA" if is_efa else "MT4129",
        "node_guid": f"guid-digest-{number}",
    }


def _port(device: str, number: int, kind: str, rate: float) -> Leaves:
    is_infiniband, is_roce = kind == "infiniband", kind == "roce"
    layers = {"infiniband": "InfiniBand", "roce": "Ethernet", "efa": "Unspecified"}
    counters: Leaves = {}
    for names, has in (
        (_INFINIBAND, kind != "efa"),
        (_HARDWARE, kind != "efa"),
        (_CONGESTION, is_roce),
        (_EFA, kind == "efa"),
    ):
        counters |= dict.fromkeys(names, 0 if has else ABSENT)
    return {
        "device": device,
        "number": 1,
        "state": "ACTIVE",
        "physical_state": "LinkUp",
        "link_layer": layers[kind],
        "rate_gbit_per_second": rate,
        "active_mtu_bytes": 4096,
        "lid": number + 10 if is_infiniband else 0,
        "subnet_manager_lid": 1 if is_infiniband else 0,
        "partition_keys": ["0xffff"],
        "network_interface": ABSENT
        if kind == "efa"
        else _of_rdma(kind, number)["name"],
        "gid_kinds": [
            "link_local",
            *(["link_local", "ipv4", "ipv4"] if is_roce else []),
        ],
        "gid_types": (
            ["IB/RoCE v1", "RoCE v2", "IB/RoCE v1", "RoCE v2"]
            if is_roce
            else ["IB/RoCE v1"]
        ),
        **counters,
    }


def _of_rdma(kind: str, number: int) -> Leaves:
    name = f"{'ib' if kind == 'infiniband' else 'rdma'}{number}"
    found = _interface(name, "mlx5_core", 0xA0 + number, 400_000)
    if kind == "infiniband":
        return {**found, "mtu_bytes": 4092, "has_ipv4": False}
    return {**found, **_ALL_PRIORITIES}


def _interface(name: str, driver: str, bus: int, mbit_per_second: int) -> Leaves:
    unknown = {"status": "failed", "source": "speed", "message": "Invalid argument"}
    return {
        "name": name,
        "state": "up",
        "mtu_bytes": 9000,
        "speed_mbit_per_second": mbit_per_second if mbit_per_second > 0 else unknown,
        "driver": driver,
        "pci_address": f"0000:{bus:02x}:00.0",
        "carrier_changes": 2,  # up, down and up again while it starts
        "has_ipv4": True,
        "has_ipv6": False,
        "address": f"digest-{name}",
        "congestion_answered_priorities": ABSENT,
        "congestion_heeded_priorities": ABSENT,
    }

"""The GPUs of a healthy machine, as NVML shows them when nobody uses them.

Links idle at a lower generation, PCIe replays have happened since boot, application
clocks are below the maximum, and what a type has not is not supported.
"""

from speccheck.validator.simulation.shape import (
    ABSENT,
    DRIVER,
    GIB,
    NOT_SUPPORTED,
    Leaves,
    Shape,
    gpu_address,
    numa_node,
    profiles,
)

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
    """Return the parts of the network of an instance type."""
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
    """Return where an adapter sits on the bus."""
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
    result = _interface(name, "mlx5_core", 0xA0 + number, 400_000)
    if kind == "infiniband":
        return {**result, "mtu_bytes": 4092, "has_ipv4": False}
    return {**result, **_ALL_PRIORITIES}


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


_GIGATRANSFERS = {3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
_IDLE = 2.5
_SWITCHES = {3: 6, 4: 4}  # NVSwitches by generation of NVLink; later ones hide
_OF_A_BOARD = 8  # GPUs that switches on the board itself join
_BRIDGE = {"vendor": "0x1000", "device": "0xc030", "pci_class": "0x060400"}
# Users see the first 64 bytes of the configuration space; this one was privileged.
_NO_CONTROL = {"status": "not_supported", "source": "config"}


def pci_devices(shape: Shape) -> list[Leaves]:
    """Return GPUs, network adapters, NVSwitches and drives, with bridges above them."""
    is_virtual = bool(shape.instance.get("is_virtual"))
    result: list[Leaves] = []
    for number in range(shape.gpus):
        numa = numa_node(shape, number)
        above = [] if is_virtual else _bridges(number)
        result += [
            _buses_device(address, numa, above[:depth], shape)
            | _BRIDGE
            | {"driver": "pcieport", "acs_control": 0}
            for depth, address in enumerate(above)
        ]
        result.append(
            _buses_device(gpu_address(number), numa, above, shape) | _gpu(shape)
        )
    for number in range(_adapters(shape)):
        if not is_virtual:
            result.append(_adapter_port(shape, number))
        result.append(_adapter(shape, number))
    for number in range(shape.instance.get("nvme_drives", 0)):
        result += _drive(
            shape, number, [] if is_virtual else [f"0001:00:{number:02x}.0"]
        )
    return result + ([] if is_virtual else _switches(shape))


def _adapters(shape: Shape) -> int:
    count: int = shape.instance.get("network_adapters", 0)
    return count


def _bridges(number: int) -> list[str]:
    """Return the root port, and the ports of the switch that lead to the GPU."""
    bus = 0x10 + 0x10 * number
    return [
        f"0000:{bus - 8:02x}:01.0",
        f"0000:{bus - 7:02x}:00.0",
        f"0000:{bus - 6:02x}:00.0",
    ]


def _adapter_bridges(shape: Shape, number: int) -> list[str]:
    """Return the bridges of the same switch, with a port for each adapter."""
    root, switch, port = _bridges(number * shape.gpus // _adapters(shape))
    return [root, switch, f"{port[:-4]}{number + 1:02x}.0"]


def _gpu(shape: Shape) -> Leaves:
    devices = profiles()["gpus"][shape.instance["gpu"]]["devices"]
    of_gpu: int = shape.gpu.get("pcie_generation_maximum_of_gpu", 4)
    return {
        "vendor": "0x10de",
        "device": f"0x{devices[0] if devices else 'ffff'}",
        "pci_class": "0x030200",
        "driver": "nvidia",
        # It idles; the slot may give less than the GPU could take.
        "speed_gigatransfers_per_second": _IDLE,
        "speed_maximum_gigatransfers_per_second": _GIGATRANSFERS[of_gpu],
        "acs_control": _NO_CONTROL,
    }


def _adapter_port(shape: Shape, number: int) -> Leaves:
    above = _adapter_bridges(shape, number)
    numa = numa_node(shape, number * shape.gpus // _adapters(shape))
    port = _buses_device(above[-1], numa, above[:-1], shape)
    return port | _BRIDGE | {"driver": "pcieport", "acs_control": 0}


def _adapter(shape: Shape, number: int) -> Leaves:
    gpu = number * shape.gpus // _adapters(shape)
    is_virtual = bool(shape.instance.get("is_virtual"))
    above = [] if is_virtual else _adapter_bridges(shape, number)
    numa = -1 if is_virtual else numa_node(shape, gpu)
    return _buses_device(adapter_address(number), numa, above, shape) | {
        "vendor": "0x15b3",
        "device": "0x1021",
        "pci_class": "0x020000",
        "driver": shape.instance.get("network_driver", "mlx5_core"),
        "acs_control": _NO_CONTROL,
    }


def _drive(shape: Shape, number: int, above: list[str]) -> list[Leaves]:
    """Return a drive, and the root port that it hangs on."""
    drive = _buses_device(f"0001:{number + 1:02x}:00.0", 0, above, shape)
    return [
        *(_buses_device(port, 0, [], shape) | _BRIDGE for port in above),
        drive
        | {"vendor": "0x1d0f", "device": "0xcd01", "pci_class": "0x010802"}
        | {"driver": "nvme"},
    ]


def _switches(shape: Shape) -> list[Leaves]:
    if not shape.has_switches or shape.gpus != _OF_A_BOARD:
        return []
    count = _SWITCHES.get(shape.gpu["nvlink_generation"], 0)
    return [
        _buses_device(f"0000:{0xC0 + number:02x}:00.0", 0, [], shape)
        | {"vendor": "0x10de", "device": "0x22a3", "pci_class": "0x068000"}
        | {"driver": "nvidia-nvswitch"}
        for number in range(count)
    ]


def _buses_device(address: str, numa: int, above: list[str], shape: Shape) -> Leaves:
    speed = _GIGATRANSFERS[shape.instance.get("pcie_generation_maximum", 4)]
    is_virtual = bool(shape.instance.get("is_virtual"))
    return {
        "address": address,
        "numa_node": numa,
        "ancestors": above,
        "is_virtual_function": False,
        "speed_gigatransfers_per_second": speed,
        "speed_maximum_gigatransfers_per_second": speed,
        "width": 16,
        "width_maximum": 16,
        "iommu_group": ABSENT if is_virtual else "30",
        "iommu_domain": ABSENT if is_virtual else "identity",
        "correctable_errors": 2,  # some since boot are no fault
        "non_fatal_errors": 0,
        "fatal_errors": 0,
        "acs_control": NOT_SUPPORTED,
        "maximum_read_request_bytes": 512,
    }


def healthy_gpu(shape: Shape, number: int) -> Leaves:
    """Return one GPU of that machine, with every leaf that the probe writes."""
    return {
        **_identity(shape, number),
        **_place(shape, number),
        **_state(shape),
        **_memory(shape),
        **_pace(shape),
        **_bus(shape),
        **_links(shape),
        **_fabric(shape),
    }


def _identity(shape: Shape, number: int) -> Leaves:
    devices = profiles()["gpus"][shape.instance["gpu"]]["devices"]
    return {
        "name": f"NVIDIA {shape.driver_name}",
        "brand": "NVIDIA",
        "compute_capability": shape.gpu["compute_capability"],
        "vbios_version": "96.00.74.00.01",
        "board_part_number": "699-2G520-0200-000",
        "pci_device_id": f"0x{devices[0]}10de" if devices else NOT_SUPPORTED,
        "pci_subsystem_id": "0x16c110de",
        "gsp_firmware_version": DRIVER,
        "uuid": f"GPU-digest-{number}",
        "serial": f"serial-digest-{number}",
    }


def _place(shape: Shape, number: int) -> Leaves:
    others = range(shape.gpus)
    apart = 5 if not shape.has_links else 0  # NVML: not supported
    return {
        "pci_address": gpu_address(number),
        "minor_number": number,
        "module_id": number + 1,
        # Only processors that share their memory with GPUs number it.
        "numa_node": number + 1 if shape.is_superchip else NOT_SUPPORTED,
        "cpu_affinity": _near(shape, number),
        "common_ancestors": [0 if other == number else 50 for other in others],
        "peer_read_status": [0 for _ in others],
        "peer_nvlink_status": [
            0 if other == number or _is_linked(shape, number, other) else apart or 5
            for other in others
        ],
    }


def _near(shape: Shape, number: int) -> str:
    """Return the processors of its half of the machine."""
    processors: int = shape.instance.get("processors", 192)
    half = processors // 2
    first = half if numa_node(shape, number) else 0
    return f"{first}-{first + half - 1}"


def _is_linked(shape: Shape, number: int, other: int) -> bool:
    domain: int = shape.instance["nvlink_domain_size"]
    return shape.has_links and number // domain == other // domain


def _state(shape: Shape) -> Leaves:
    partitions = bool(shape.gpu.get("can_be_partitioned"))
    is_old = shape.capability < (7, 5)
    return {
        "is_lost": False,
        "needs_reset": False,
        "recovery_action": 0 if shape.capability >= (9, 0) else NOT_SUPPORTED,
        "inforom_is_valid": True,
        "persistence_is_on": True,
        "compute_mode": 0,
        "mig_is_on": False if partitions else NOT_SUPPORTED,
        "mig_is_pending": False if partitions else NOT_SUPPORTED,
        "compute_processes": 0,
        "graphics_processes": 0,
        # Only boards before Pascal set it by itself.
        "auto_boost_is_on": True if is_old else NOT_SUPPORTED,
        "auto_boost_is_on_by_default": True if is_old else NOT_SUPPORTED,
    }


def _memory(shape: Shape) -> Leaves:
    total = shape.gpu.get("memory_total_bytes", 80 * GIB)
    remaps = shape.capability >= (8, 0)  # before Ampere, pages are retired
    rows: Leaves = {
        "remapped_rows_correctable": 0,
        "remapped_rows_uncorrectable": 0,
        "remap_is_pending": False,
        "remap_has_failed": False,
        "remap_banks": [5120, 0, 0, 0, 0],
    }
    pages: Leaves = {
        "retired_pages_single_bit": 0,
        "retired_pages_double_bit": 0,
        "retirement_is_pending": False,
    }
    sram: Leaves = {
        "sram_uncorrected_volatile": 0,
        "sram_uncorrected_aggregate": 0,
        "sram_threshold_exceeded": False,
        "memory_is_unrepairable": False,
    }
    return {
        "memory_total_bytes": total,
        "memory_used_bytes": 0,
        "memory_reserved_bytes": total // 100,
        "bar1_total_bytes": shape.gpu.get("bar1_total_bytes", 2 * total),
        "ecc_is_on": True,
        "ecc_is_on_after_reboot": True,
        "ecc_corrected_volatile": 0,
        "ecc_uncorrected_volatile": 0,
        "ecc_corrected_aggregate": 3,
        "ecc_uncorrected_aggregate": 0,
        **(rows if remaps else dict.fromkeys(rows, NOT_SUPPORTED)),
        **(dict.fromkeys(pages, NOT_SUPPORTED) if remaps else pages),
        **(sram if remaps else dict.fromkeys(sram, NOT_SUPPORTED)),
    }


def _pace(shape: Shape) -> Leaves:
    gpu = shape.gpu
    most = gpu.get("sm_clock_maximum_mhz", 1980)
    limit = float(gpu.get("power_limit_default_watts", 700))
    knows_margin = shape.capability >= (9, 0)
    return {
        "clock_event_reasons": 1,  # idle
        # Before Hopper, drivers count neither.
        "thermal_slowdown_nanoseconds": 0 if knows_margin else NOT_SUPPORTED,
        "power_brake_nanoseconds": 0 if knows_margin else NOT_SUPPORTED,
        "performance_state": 0,
        "sm_clock_mhz": 345,
        "sm_clock_maximum_mhz": most,
        "memory_clock_mhz": gpu.get("memory_clock_maximum_mhz", 2619),
        "memory_clock_maximum_mhz": gpu.get("memory_clock_maximum_mhz", 2619),
        # The factory sets less than the maximum on several boards.
        "application_sm_clock_mhz": most * 4 // 5,
        "application_sm_clock_default_mhz": most * 4 // 5,
        "power_watts": limit / 8,
        "power_limit_watts": limit,
        "power_limit_default_watts": limit,
        "power_limit_least_watts": limit / 4,
        "power_limit_most_watts": float(gpu.get("power_limit_most_watts", limit)),
        "temperature_celsius": 32,
        "temperature_margin_celsius": 55 if knows_margin else NOT_SUPPORTED,
        "temperature_slowdown_celsius": 87,
        "temperature_shutdown_celsius": 92,
        "memory_temperature_celsius": 40 if knows_margin else NOT_SUPPORTED,
        "memory_temperature_maximum_celsius": 95,
    }


def _bus(shape: Shape) -> Leaves:
    of_gpu: int = shape.gpu.get("pcie_generation_maximum_of_gpu", 4)
    slot: int = shape.instance.get("pcie_generation_maximum", of_gpu)
    board: int = shape.gpu.get("pcie_generation_maximum", of_gpu)
    best = min(slot, board)
    return {
        "pcie_generation": 1 if shape.gpu["form_factor"] == "pcie" else best,  # idle
        "pcie_generation_maximum": best,
        "pcie_generation_maximum_of_gpu": of_gpu,
        "pcie_width": shape.gpu.get("pcie_width_maximum", 16),
        "pcie_width_maximum": shape.gpu.get("pcie_width_maximum", 16),
        "pcie_replays": 3,  # training of the link counts some at boot
        "pcie_correctable_errors": 0,
        "pcie_non_fatal_errors": 0,
        "pcie_fatal_errors": 0,
        "pcie_atomics_to_gpu": 63,
        "pcie_atomics_from_gpu": 0,
    }


def _links(shape: Shape) -> Leaves:
    if not shape.gpu.get("has_nvlink"):
        return {**dict.fromkeys(_BY_LINK, NOT_SUPPORTED), **_c2c(shape)}
    all_links: int = shape.gpu.get("nvlinks_of_gpu", 12)
    up: int = shape.gpu.get("nvlinks", all_links) if shape.has_links else 0
    remote = 2 if shape.has_switches else 0

    def each(value: object, *, of: bool = True) -> list[object] | Leaves:
        if not of:
            return NOT_SUPPORTED
        return [value if link < up else None for link in range(all_links)]

    is_fifth = shape.capability >= (10, 0)
    return {
        "nvlink_is_active": [link < up for link in range(all_links)],
        "nvlink_version": each(shape.gpu.get("nvlink_version", 2)),
        "nvlink_speed_mbyte_per_second": each(
            shape.gpu.get("nvlink_speed_mbyte_per_second", 25_781)
        ),
        "nvlink_remote_type": each(remote),
        "nvlink_remote_pci_address": each("0000:c0:00.0"),
        "nvlink_crc_flit_errors": each(0, of=not is_fifth),
        "nvlink_crc_data_errors": each(0, of=shape.capability < (9, 0)),
        "nvlink_replays": each(0, of=not is_fifth),
        "nvlink_recoveries": each(0, of=not is_fifth),
        "nvlink_failed_recoveries": each(0, of=is_fifth),
        "nvlink_effective_bit_errors": each(0, of=is_fifth),
        "nvlink_bandwidth_mode": 0 if is_fifth else NOT_SUPPORTED,
        **_c2c(shape),
    }


_BY_LINK = (
    "nvlink_is_active",
    "nvlink_version",
    "nvlink_speed_mbyte_per_second",
    "nvlink_remote_type",
    "nvlink_remote_pci_address",
    "nvlink_crc_flit_errors",
    "nvlink_crc_data_errors",
    "nvlink_replays",
    "nvlink_recoveries",
    "nvlink_failed_recoveries",
    "nvlink_effective_bit_errors",
    "nvlink_bandwidth_mode",
)


def _c2c(shape: Shape) -> Leaves:
    if not shape.is_superchip:
        return {"c2c_links": NOT_SUPPORTED, "c2c_is_active": NOT_SUPPORTED}
    return {"c2c_links": 2, "c2c_is_active": [True, True]}


def _fabric(shape: Shape) -> Leaves:
    """Return the fabric: its cluster is zero if it is one node; a rack has a name.

    Of its health a Hopper tells nothing, and a Blackwell all but its configuration.
    """
    is_rack = shape.instance["nvlink_domain_size"] > shape.gpus
    result = shape.capability >= (10, 0)
    known = {
        "fabric_state": 3,
        "fabric_status": 0,
        "fabric_cluster": "cluster-digest" if is_rack else "0" * 32,
        "fabric_clique": 32766 if is_rack else 0,
        "fabric_health_mask": 0xAA if result else 0,
        "fabric_health_summary": 1 if result else NOT_SUPPORTED,
    }
    return known if shape.is_registered else dict.fromkeys(known, NOT_SUPPORTED)

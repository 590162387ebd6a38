"""The GPUs of a healthy machine, as NVML shows them when nobody uses them.

Links idle at a lower generation, PCIe replays have happened since boot, application
clocks are below the maximum, and what a type has not is not supported.
"""

from speccheck.validator.simulation.shape import (
    DRIVER,
    GIB,
    NOT_SUPPORTED,
    Leaves,
    Shape,
    gpu_address,
    numa_node,
    profiles,
)


def healthy_gpu(shape: Shape, number: int) -> Leaves:
    """One GPU of that machine, with every leaf that the probe writes."""
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
    """The processors of its half of the machine."""
    processors: int = shape.instance.get("processors", 192)
    half = processors // 2
    first = half if numa_node(shape, number) else 0
    return f"{first}-{first + half - 1}"


def _is_linked(shape: Shape, one: int, other: int) -> bool:
    domain: int = shape.instance["nvlink_domain_size"]
    return shape.has_links and one // domain == other // domain


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
    """Where one node is the fabric its cluster is zero; a rack has a name.

    Of its health a Hopper tells nothing, and a Blackwell all but its configuration.
    """
    is_rack = shape.instance["nvlink_domain_size"] > shape.gpus
    tells = shape.capability >= (10, 0)
    known = {
        "fabric_state": 3,
        "fabric_status": 0,
        "fabric_cluster": "cluster-digest" if is_rack else "0" * 32,
        "fabric_clique": 32766 if is_rack else 0,
        "fabric_health_mask": 0xAA if tells else 0,
        "fabric_health_summary": 1 if tells else NOT_SUPPORTED,
    }
    return known if shape.is_registered else dict.fromkeys(known, NOT_SUPPORTED)

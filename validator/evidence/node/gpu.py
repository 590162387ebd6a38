"""A GPU as its driver describes it.

Memory and PCIe counts are those of the management library, in its own meaning;
components-level traps stand beside the leaves that have them.
"""

from speccheck.validator.evidence.node.part import Part, Parts, Texts
from speccheck.validator.evidence.value import Value

Numbers = tuple[int | None, ...]
Flags = tuple[bool | None, ...]


class Gpu(Part):
    """One GPU. Lists of links are by link, lists of peers by GPU of the node."""

    __slots__ = ()
    kind = "gpus"

    # identity of the type
    name: Value[str]
    brand: Value[str]
    compute_capability: Value[str]  # 9.0
    vbios_version: Value[str]
    board_part_number: Value[str]
    pci_device_id: Value[str]  # device and vendor, 0x233010de
    pci_subsystem_id: Value[str]
    gsp_firmware_version: Value[str]

    # identity of the specimen
    uuid: Value[str]
    serial: Value[str]

    # place
    pci_address: Value[str]  # 0000:1b:00.0, as sysfs writes it
    minor_number: Value[int]
    module_id: Value[int]
    numa_node: Value[int]
    cpu_affinity: Value[str]  # CPU list, 0-47,96-143
    # least common ancestor with each GPU: 0 same, 10 one switch, 20 several, 30 host
    # bridge, 40 NUMA node, 50 system
    common_ancestors: Value[Numbers]
    peer_nvlinks: Value[Numbers]  # how many join it to each GPU, 0 for none
    # least common ancestor with each RDMA device, in their order
    adapter_ancestors: Value[Numbers]
    # 0 is OK, by peer, over any path and over NVLink
    peer_read_status: Value[Numbers]
    peer_nvlink_status: Value[Numbers]

    # state
    is_lost: Value[bool]  # a call returned 15 (lost)
    needs_reset: Value[bool]  # a call returned 16 (reset required)
    # 0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset
    recovery_action: Value[int]
    # values in whose place the driver gave an error: ERR!, Unknown Error
    readings_failed: Value[Texts]
    inforom_is_valid: Value[bool]
    persistence_is_on: Value[bool]
    # 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process
    compute_mode: Value[int]
    mig_is_on: Value[bool]
    mig_is_pending: Value[bool]
    compute_processes: Value[int]
    graphics_processes: Value[int]
    auto_boost_is_on: Value[bool]  # boards before Pascal set it by itself
    auto_boost_is_on_by_default: Value[bool]

    # memory
    memory_total_bytes: Value[int]
    memory_used_bytes: Value[int]  # without what the driver keeps
    memory_reserved_bytes: Value[int]
    bar1_total_bytes: Value[int]
    ecc_is_on: Value[bool]
    ecc_is_on_after_reboot: Value[bool]
    ecc_corrected_volatile: Value[int]
    ecc_uncorrected_volatile: Value[int]
    ecc_corrected_aggregate: Value[int]
    ecc_uncorrected_aggregate: Value[int]
    sram_uncorrected_volatile: Value[int]
    sram_uncorrected_aggregate: Value[int]
    sram_threshold_exceeded: Value[bool]
    remapped_rows_correctable: Value[int]
    remapped_rows_uncorrectable: Value[int]
    remap_is_pending: Value[bool]
    remap_has_failed: Value[bool]
    # banks with maximal, high, partial, low and no spare rows
    remap_banks: Value[Numbers]
    retired_pages_single_bit: Value[int]
    retired_pages_double_bit: Value[int]
    retirement_is_pending: Value[bool]
    memory_is_unrepairable: Value[bool]

    # clocks, power, temperature
    clock_event_reasons: Value[int]  # bits of nvml.h: 0x8 slowdown, 0x40 thermal
    thermal_slowdown_nanoseconds: Value[int]  # by the hardware, since driver load
    power_brake_nanoseconds: Value[int]  # since the driver was loaded
    performance_state: Value[int]  # 0 is the fastest
    sm_clock_mhz: Value[int]
    sm_clock_maximum_mhz: Value[int]
    memory_clock_mhz: Value[int]
    memory_clock_maximum_mhz: Value[int]
    application_sm_clock_mhz: Value[int]
    application_sm_clock_default_mhz: Value[int]
    power_watts: Value[float]
    power_limit_watts: Value[float]  # in force
    power_limit_default_watts: Value[float]
    power_limit_least_watts: Value[float]
    power_limit_most_watts: Value[float]
    temperature_celsius: Value[int]
    temperature_margin_celsius: Value[int]  # to the slowdown
    temperature_slowdown_celsius: Value[int]
    temperature_shutdown_celsius: Value[int]
    memory_temperature_celsius: Value[int]
    memory_temperature_maximum_celsius: Value[int]

    # PCIe; links idle at a lower generation
    pcie_generation: Value[int]
    pcie_generation_maximum: Value[int]  # of GPU and slot together
    pcie_generation_maximum_of_gpu: Value[int]
    pcie_width: Value[int]
    pcie_width_maximum: Value[int]
    pcie_replays: Value[int]  # since the driver was loaded
    pcie_correctable_errors: Value[int]
    pcie_non_fatal_errors: Value[int]
    pcie_fatal_errors: Value[int]
    # bits of nvml.h, NVML_PCIE_ATOMICS_CAP: operations that the path carries
    pcie_atomics_to_gpu: Value[int]
    pcie_atomics_from_gpu: Value[int]

    # NVLink, by link
    nvlink_is_active: Value[Flags]
    nvlink_version: Value[Numbers]  # code of the library, not the generation
    nvlink_speed_mbyte_per_second: Value[Numbers]
    nvlink_remote_type: Value[Numbers]  # 0 GPU, 1 IBM NPU, 2 switch, 255 unknown
    nvlink_remote_pci_address: Value[Texts]
    nvlink_crc_flit_errors: Value[Numbers]
    nvlink_crc_data_errors: Value[Numbers]
    nvlink_replays: Value[Numbers]
    nvlink_recoveries: Value[Numbers]
    nvlink_failed_recoveries: Value[Numbers]  # NVLink 5
    nvlink_effective_bit_errors: Value[Numbers]  # NVLink 5, coded
    nvlink_bandwidth_mode: Value[int]  # 0 full
    c2c_links: Value[int]
    c2c_is_active: Value[Flags]

    # the fabric that the GPU is registered with
    fabric_state: Value[int]  # 0 not supported, 1 not started, 2 in progress, 3 done
    fabric_status: Value[int]  # return code of the registration
    fabric_cluster: Value[str]  # UUID; all zero where one node is the fabric
    fabric_clique: Value[int]
    fabric_health_mask: Value[int]
    fabric_health_summary: Value[int]  # 1 healthy, 2 unhealthy, 3 limited


class Gpus(Parts[Gpu]):
    """All GPUs that the driver lists."""

    __slots__ = ()
    part = Gpu

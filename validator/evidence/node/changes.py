"""What it means when a leaf of a machine is another one on another day or machine.

One table beside the leaves, for all that compares snapshots: what a machine is, how it
is put together, what it counts, how it is set, and what is never the same twice. Each
leaf stands in one place (tests/test_diff_command.py).
"""

from typing import Literal

from speccheck.validator.evidence.record import Record

Group = Literal["identity", "topology", "health", "settings", "measurements", "varying"]
# The order in which they matter.
GROUPS: tuple[Group, ...] = (
    "identity",
    "topology",
    "health",
    "settings",
    "measurements",
    "varying",
)


class Counter(Record):
    """A leaf that only grows, until it begins anew.

    since: what it counts from. is_grave: growth by one is a fault already; others grow
    on healthy machines too.
    """

    since: str
    is_grave: bool = False


def _names(kind: str, words: str) -> tuple[str, ...]:
    return tuple(f"{kind}.{part}" for part in words.split())


_DRIVER_LOAD = "the driver was loaded"
_BOOT = "the machine was started"
_RESET = "the device was reset"
_LIFE = "the board was made"


def _counters(kind: str, since: str, usual: str, grave: str = "") -> dict[str, Counter]:
    result = dict.fromkeys(_names(kind, usual), Counter(since))
    result.update(dict.fromkeys(_names(kind, grave), Counter(since, is_grave=True)))
    return result


COUNTERS: dict[str, Counter] = {
    **_counters(
        "gpus",
        _DRIVER_LOAD,
        "ecc_corrected_volatile pcie_replays pcie_correctable_errors "
        "pcie_non_fatal_errors nvlink_crc_flit_errors nvlink_crc_data_errors "
        "nvlink_replays nvlink_recoveries thermal_slowdown_nanoseconds "
        "power_brake_nanoseconds",
        "ecc_uncorrected_volatile sram_uncorrected_volatile pcie_fatal_errors "
        "nvlink_failed_recoveries",
    ),
    **_counters(
        "gpus",
        _LIFE,
        "ecc_corrected_aggregate remapped_rows_correctable retired_pages_single_bit",
        "ecc_uncorrected_aggregate sram_uncorrected_aggregate "
        "remapped_rows_uncorrectable retired_pages_double_bit",
    ),
    **_counters(
        "pci_devices",
        _BOOT,
        "correctable_errors non_fatal_errors",
        "fatal_errors",
    ),
    **_counters(
        "rdma_ports",
        _RESET,
        "symbol_errors link_recoveries local_integrity_errors buffer_overruns "
        "receive_errors transmit_discards virtual_lane_15_dropped out_of_sequence "
        "acknowledgement_timeouts packet_sequence_errors slow_restarts "
        "efa_receive_drops efa_retransmit_timeouts efa_command_errors",
        "link_downed receiver_not_ready_retries_exceeded efa_commands_unanswered",
    ),
    **_counters("network_interfaces", _BOOT, "carrier_changes"),
    **_counters("host", _BOOT, "", "memory_errors_uncorrected"),
    **_counters("kernel_events", _BOOT, "", "count"),
}

_HEAT = "follows the load and the air"
_LOAD = "follows what runs just now"
_TRAFFIC = "grows with all traffic"
_CLOCK = "is of the moment"
VARYING: dict[str, str] = {
    **dict.fromkeys(
        _names(
            "gpus",
            "power_watts temperature_celsius temperature_margin_celsius "
            "memory_temperature_celsius",
        ),
        _HEAT,
    ),
    **dict.fromkeys(
        _names(
            "gpus",
            "memory_used_bytes memory_reserved_bytes compute_processes "
            "graphics_processes clock_event_reasons performance_state sm_clock_mhz "
            "memory_clock_mhz pcie_generation",
        ),
        _LOAD,
    ),
    "gpus.nvlink_effective_bit_errors": "a rate of the link at that moment",
    **dict.fromkeys(
        _names(
            "host",
            "processor_mhz memory_available_bytes free_large_blocks "
            "shared_memory_free_bytes load_one_minute stuck_processes "
            "zombie_processes root_used_share",
        ),
        _LOAD,
    ),
    "host.clock_offset_milliseconds": _CLOCK,
    "host.uptime_seconds": "grows by itself",
    "driver.longest_answer_seconds": _CLOCK,
    **dict.fromkeys(
        _names(
            "rdma_ports",
            "transmit_waits congestion_marked_packets congestion_notifications_handled",
        ),
        _TRAFFIC,
    ),
    **dict.fromkeys(
        _names("kernel_log", "lines first_seconds last_seconds"),
        "the log grows, and its oldest lines are dropped",
    ),
    **dict.fromkeys(
        _names("kernel_events", "first_seconds last_seconds text"),
        "is of the event, and the events are compared",
    ),
    **dict.fromkeys(
        _names("job_paths", "free_bytes is_empty"),
        "changes while jobs write",
    ),
    "rdma_ports.lid": "the subnet manager gives them out",
}

IDENTITY: frozenset[str] = frozenset(
    (
        *_names(
            "gpus",
            "name brand compute_capability vbios_version board_part_number "
            "pci_device_id pci_subsystem_id gsp_firmware_version uuid serial "
            "memory_total_bytes bar1_total_bytes",
        ),
        *_names(
            "host",
            "vendor product board instance_type kernel_release architecture "
            "operating_system virtualisation container name processor_model sockets "
            "cores processors processor_base_mhz memory_total_bytes "
            "services_installed",
        ),
        *_names(
            "driver",
            "version kernel_module_version kernel_module_is_open "
            "management_library_version cuda_version cuda_compatibility_is_installed "
            "fabric_manager_version modules ofed_version libraries libraries_empty "
            "nccl_version nccl_versions nccl_plugins nccl_plugin_releases "
            "mrc_api_version "
            "mpi_programs",
        ),
        *_names("pci_devices", "vendor device pci_class driver"),
        *_names(
            "rdma_devices",
            "driver is_virtual_function firmware_version board_id type node_guid",
        ),
        *_names("network_interfaces", "driver address"),
        *_names("variables", "value"),
    )
)
TOPOLOGY: frozenset[str] = frozenset(
    (
        *_names(
            "gpus",
            "pci_address minor_number module_id numa_node cpu_affinity "
            "common_ancestors adapter_ancestors peer_read_status peer_nvlink_status "
            "peer_nvlinks nvlink_version "
            "nvlink_remote_type nvlink_remote_pci_address c2c_links "
            "pcie_generation_maximum_of_gpu fabric_cluster fabric_clique",
        ),
        *_names(
            "pci_devices",
            "address numa_node ancestors is_virtual_function iommu_group "
            "speed_maximum_gigatransfers_per_second width_maximum",
        ),
        *_names("rdma_devices", "name pci_address numa_node"),
        *_names("rdma_ports", "device number link_layer network_interface"),
        *_names("network_interfaces", "name pci_address"),
        *_names("host", "numa_nodes iommu_units"),
        *_names("driver", "gpus_attached topology_file topology_file_addresses"),
    )
)
HEALTH: frozenset[str] = frozenset(
    (
        *_names(
            "gpus",
            "readings_failed is_lost needs_reset recovery_action inforom_is_valid "
            "sram_threshold_exceeded remap_is_pending remap_has_failed remap_banks "
            "retirement_is_pending memory_is_unrepairable pcie_width "
            "pcie_width_maximum pcie_generation_maximum nvlink_is_active "
            "nvlink_speed_mbyte_per_second c2c_is_active fabric_state fabric_status "
            "fabric_health_mask fabric_health_summary",
        ),
        *_names("pci_devices", "speed_gigatransfers_per_second width"),
        *_names(
            "rdma_ports",
            "state physical_state rate_gbit_per_second subnet_manager_lid",
        ),
        *_names("network_interfaces", "state speed_mbit_per_second"),
        *_names(
            "driver",
            "management_library_status cuda_start_status device_nodes "
            "device_nodes_denied fabric_manager_is_running imex_is_running "
            "persistence_daemon_is_running host_engine_is_running",
        ),
        *_names(
            "host",
            "clock_is_synchronised degraded_arrays slurm_daemon_is_running "
            "kubelet_is_running",
        ),
        *_names(
            "kernel_events",
            "event code pci_address device is_fatal is_of_application",
        ),
    )
)
SETTINGS: frozenset[str] = frozenset(
    (
        *_names(
            "gpus",
            "persistence_is_on compute_mode mig_is_on mig_is_pending "
            "auto_boost_is_on auto_boost_is_on_by_default ecc_is_on "
            "ecc_is_on_after_reboot sm_clock_maximum_mhz memory_clock_maximum_mhz "
            "application_sm_clock_mhz application_sm_clock_default_mhz "
            "power_limit_watts power_limit_default_watts power_limit_least_watts "
            "power_limit_most_watts temperature_slowdown_celsius "
            "temperature_shutdown_celsius memory_temperature_maximum_celsius "
            "pcie_atomics_to_gpu pcie_atomics_from_gpu nvlink_bandwidth_mode",
        ),
        *_names(
            "host",
            "processors_allowed governors memory_limit_bytes swap_total_bytes "
            "hugepages hugepage_bytes transparent_hugepages numa_balancing "
            "locked_memory_bytes open_files process_limit shared_memory_bytes "
            "clock_source kernel_arguments",
        ),
        *_names(
            "driver",
            "confidential_computing_is_on nvlink_bandwidth_mode imex_channels "
            "peer_memory_is_registered dma_buf_is_exported",
        ),
        *_names("pci_devices", "iommu_domain acs_control maximum_read_request_bytes"),
        *_names("rdma_ports", "active_mtu_bytes partition_keys gid_kinds gid_types"),
        *_names(
            "network_interfaces",
            "mtu_bytes has_ipv4 has_ipv6 congestion_answered_priorities "
            "congestion_heeded_priorities",
        ),
        *_names("variables", "name layer"),
        *_names(
            "job_paths",
            "name role exists is_folder nearest_folder file_system mount_point "
            "is_read_only total_bytes is_writable is_readable",
        ),
    )
)
_GROUP_OF: dict[str, Group] = {
    **dict.fromkeys(IDENTITY, "identity"),
    **dict.fromkeys(TOPOLOGY, "topology"),
    **dict.fromkeys(HEALTH, "health"),
    **dict.fromkeys(COUNTERS, "health"),
    **dict.fromkeys(SETTINGS, "settings"),
    **dict.fromkeys(VARYING, "varying"),
}


def group_of(leaf: str) -> Group:
    """Return the group of a leaf such as `gpus.power_watts`.

    Measurements by default.
    """
    return _GROUP_OF.get(leaf, "measurements")

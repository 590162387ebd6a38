"""The host: processors, memory, limits, settings of the kernel, clock and disk."""

from speccheck.validator.evidence.node.part import Part
from speccheck.validator.evidence.value import Value

Texts = tuple[str | None, ...]
Numbers = tuple[int | None, ...]


class Host(Part):
    """The machine and the limits of the process that looked."""

    __slots__ = ()
    kind = "host"
    is_single = True

    # identity of the type
    vendor: Value[str]  # of the firmware: Amazon EC2, Microsoft Corporation
    product: Value[str]
    board: Value[str]
    instance_type: Value[str]  # of the metadata service, else of the firmware
    kernel_release: Value[str]
    architecture: Value[str]
    operating_system: Value[str]
    virtualisation: Value[str]  # none, or the hypervisor: kvm, amazon, unnamed
    container: Value[str]  # none, docker, kubernetes, unnamed, ...
    # identity of the specimen
    name: Value[str]

    # processors and memory
    processor_model: Value[str]
    sockets: Value[int]
    cores: Value[int]
    processors: Value[int]  # logical
    processors_allowed: Value[str]  # CPU list of this process
    numa_nodes: Value[int]  # that have processors
    processor_mhz: Value[float]  # mean of now
    governors: Value[Texts]  # each that is in use
    memory_total_bytes: Value[int]
    memory_available_bytes: Value[int]
    memory_limit_bytes: Value[int]  # of the control group, -1: unlimited
    swap_total_bytes: Value[int]
    hugepages: Value[int]  # of the default size
    hugepage_bytes: Value[int]
    transparent_hugepages: Value[str]  # always, madvise, never
    free_large_blocks: Value[Numbers]  # zone Normal, order 8 and above, by node
    numa_balancing: Value[int]
    memory_errors_uncorrected: Value[int]  # EDAC

    # limits
    locked_memory_bytes: Value[int]  # -1: unlimited
    open_files: Value[int]
    process_limit: Value[int]
    shared_memory_bytes: Value[int]  # of /dev/shm
    shared_memory_free_bytes: Value[int]

    # time, load, disk
    clock_source: Value[str]
    clock_is_synchronised: Value[bool]  # as a time service tells the kernel
    clock_offset_milliseconds: Value[float]  # or estimated error, if larger
    uptime_seconds: Value[float]
    load_one_minute: Value[float]
    stuck_processes: Value[int]  # in uninterruptible sleep at each of three looks
    zombie_processes: Value[int]
    root_used_share: Value[float]  # of what users may fill
    kernel_arguments: Value[Texts]  # of devices, memory and processors
    iommu_units: Value[int]
    degraded_arrays: Value[Texts]  # of /proc/mdstat, and pools of ZFS
    slurm_daemon_is_running: Value[bool]
    kubelet_is_running: Value[bool]
    # programs of services whose files are there: slurmd, kubelet, nv-hostengine
    services_installed: Value[Texts]

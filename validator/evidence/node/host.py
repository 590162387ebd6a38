"""The host of a node, and what its operating system says.

Processors, memory, limits and clock; PCI functions; the driver stack; variables of NCCL
by the layer that sets them; the kernel log; the paths that the job uses.
"""

import posixpath

from speccheck.validator.evidence.node.part import NOT_IN_SNAPSHOT, Part, Parts, Texts
from speccheck.validator.evidence.value import MissingEvidence, Value

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
    processor_base_mhz: Value[float]  # that all cores hold at rated power
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


# Beginnings of class codes (PCI Code and ID Assignment Specification).
BRIDGE_CLASS = "0x0604"
NVME_CLASS = "0x010802"
NVSWITCH_CLASS = "0x0680"  # of NVIDIA's vendor; else other bridges of the board
NVIDIA_VENDOR = "0x10de"
# Bits of access control that send traffic between peers through the root complex:
# redirection of requests and of completions (PCI_ACS_RR and PCI_ACS_CR in
# include/uapi/linux/pci_regs.h).
ACCESS_REDIRECTIONS = 0x0C
# What an IOMMU does for a group: nothing, in the words of the kernel.
UNTRANSLATED = "identity"


class PciDevice(Part):
    """One function of a device that a training node is judged by."""

    __slots__ = ()
    kind = "pci_devices"

    address: Value[str]  # 0000:1b:00.0
    vendor: Value[str]  # 0x10de
    device: Value[str]
    pci_class: Value[str]  # 0x030200
    driver: Value[str]
    numa_node: Value[int]  # -1: the firmware does not say
    ancestors: Value[Texts]  # addresses from the root port down
    is_virtual_function: Value[bool]
    speed_gigatransfers_per_second: Value[float]
    speed_maximum_gigatransfers_per_second: Value[float]
    width: Value[int]
    width_maximum: Value[int]
    iommu_group: Value[str]
    iommu_domain: Value[str]  # of its group: identity, DMA, DMA-FQ
    correctable_errors: Value[int]  # AER, since boot
    non_fatal_errors: Value[int]
    fatal_errors: Value[int]
    # access control of a bridge: the bits of its control register, 0 all off
    acs_control: Value[int]
    maximum_read_request_bytes: Value[int]


class PciDevices(Parts[PciDevice]):
    """GPUs, NVSwitches, network adapters, drives, and the bridges above them."""

    __slots__ = ()
    part = PciDevice


class Driver(Part):
    """What drives GPUs and network, and which releases."""

    __slots__ = ()
    kind = "driver"
    is_single = True

    version: Value[str]  # of the library, 550.54.15
    gpus_attached: Value[int]  # that it counts, whether or not it shows each
    kernel_module_version: Value[str]
    kernel_module_is_open: Value[bool]
    management_library_version: Value[str]
    # what the library said when it was asked to start: 0, or its return code
    management_library_status: Value[int]
    # of one call of the library; of one that did not return, how long it was waited for
    longest_answer_seconds: Value[float]
    cuda_version: Value[str]  # highest that the driver runs
    cuda_compatibility_is_installed: Value[bool]  # libraries for a newer CUDA
    cuda_start_status: Value[int]  # what cuInit returns: 0, or its code (cuda.h)
    device_nodes: Value[Texts]  # nvidia0, nvidiactl, nvidia-uvm, infiniband/uverbs0
    device_nodes_denied: Value[Texts]  # that this user may not read and write
    confidential_computing_is_on: Value[bool]
    nvlink_bandwidth_mode: Value[int]  # of the system, 0 full
    fabric_manager_version: Value[str]  # that ran last, else that is installed
    fabric_manager_is_running: Value[bool]
    imex_is_running: Value[bool]
    imex_channels: Value[int]
    persistence_daemon_is_running: Value[bool]
    host_engine_is_running: Value[bool]  # of DCGM
    modules: Value[Texts]  # loaded, of those that matter here
    ofed_version: Value[str]  # of the vendor's drivers, where they are installed
    # nvidia_peermem in the list of the vendor's RDMA core, where NCCL before 2.23 looks
    peer_memory_is_registered: Value[bool]
    dma_buf_is_exported: Value[bool]  # as releases of driver and kernel imply it
    libraries: Value[Texts]  # libcuda.so.1, libnccl.so.2 ... found, not empty
    libraries_empty: Value[Texts]  # paths of those without content
    nccl_version: Value[str]  # where all that are installed are of one release
    nccl_versions: Value[Texts]  # of all libraries found
    nccl_plugins: Value[Texts]  # libnccl-net*.so and tuner plugins found
    mrc_api_version: Value[str]  # of the interface of the vendor's library of MRC
    nccl_plugin_releases: Value[Texts]  # by plugin, where its file tells it
    topology_file: Value[str]  # of NCCL_TOPO_FILE, as the job or this process sets it
    mpi_programs: Value[Texts]  # mpirun, mpiexec, in PATH or a usual home of MPI
    # PCI functions that the file of NCCL_TOPO_FILE names, 0000:1b:00.0
    topology_file_addresses: Value[Texts]


class NodeVariable(Part):
    """One variable in one layer."""

    __slots__ = ()
    kind = "variables"

    name: Value[str]
    value: Value[str]  # absent where it is no known communication variable
    layer: Value[str]  # environment, user_file, system_file


class NodeVariables(Parts[NodeVariable]):
    """Variables of the process, of ~/.nccl.conf and of /etc/nccl.conf."""

    __slots__ = ()
    part = NodeVariable


class KernelLog(Part):
    """The log as a whole: whether it could be read, and how far back it reaches."""

    __slots__ = ()
    kind = "kernel_log"
    is_single = True

    lines: Value[int]
    first_seconds: Value[float]  # after the start of the kernel
    last_seconds: Value[float]


class KernelEvent(Part):
    """A kind of line that matters, with how often it stands in the log."""

    __slots__ = ()
    kind = "kernel_events"

    # xid, sxid, pcie_bus_error, link_down, machine_check, out_of_memory, hung_task and
    # the others of kernel_lines.py beside this file
    event: Value[str]
    code: Value[int]  # of an Xid or SXid
    pci_address: Value[str]
    device: Value[str]  # network interface, RDMA device
    count: Value[int]
    first_seconds: Value[float]
    last_seconds: Value[float]
    text: Value[str]  # of the last one
    is_fatal: Value[bool]  # as the driver marks an SXid, the kernel a PCIe error
    is_of_application: Value[bool]  # an Xid that an application causes by itself


class KernelEvents(Parts[KernelEvent]):
    """All events found in the log; unknown where the log cannot be read."""

    __slots__ = ()
    part = KernelEvent


# What shells, configurations and loaders would fill in.
_TEMPLATE = frozenset("${}<>%*?[]`")
_MOST_CHARACTERS = 1024  # of a path of the system, less than its own limit


class JobPath(Part):
    """One path of a job; nothing is written to find out how it is."""

    __slots__ = ()
    kind = "job_paths"

    name: Value[str]  # the path, as `local_path` writes it
    role: Value[str]  # checkpoint, data
    # data may be named by what the names of two files begin with: .bin, .idx
    exists: Value[bool]
    is_folder: Value[bool]  # absent where it does not exist
    is_empty: Value[bool]  # of a folder
    nearest_folder: Value[str]  # that exists: itself or the next above it
    file_system: Value[str]  # of the nearest folder, as what follows: ext4, nfs4
    mount_point: Value[str]
    is_read_only: Value[bool]  # as it is mounted
    total_bytes: Value[int]
    free_bytes: Value[int]  # which users may fill
    is_writable: Value[bool]  # to the user who asks; permissions alone
    is_readable: Value[bool]  # the path itself, to the user who asks


class JobPaths(Parts[JobPath]):
    """All paths that the preflight looked at."""

    __slots__ = ()
    part = JobPath

    @property
    def were_requested(self) -> bool:
        """Whether the snapshot was taken for a job that names any."""
        return self.count.is_known or self.count.note != NOT_IN_SNAPSHOT

    def named(self, role: str, path: str) -> JobPath:
        """Return the path of that role; raises MissingEvidence for one not examined."""
        for job_path in self.shown:
            if job_path.role.value == role and job_path.name.value == path:
                return job_path
        reason = self.count.note if not self.count.is_known else ""
        raise MissingEvidence(
            self.part.kind,
            reason or f"{path} was not looked at: speccheck preflight does",
        )


def local_path(text: str | None) -> str | None:
    """Return the path of a file or a folder of a machine; None for all else.

    URLs, object stores and repositories are none, nor is what a template leaves open,
    and nothing tells below which folder a relative path lies.
    """
    path = (text or "").removeprefix("file://")
    if not path.startswith("/") or len(path) > _MOST_CHARACTERS:
        return None
    if not path.isprintable() or not _TEMPLATE.isdisjoint(path):
        return None
    return "/" + posixpath.normpath(path).lstrip("/")


def seen_by_another(in_container: Value[bool], container: Value[str]) -> bool:
    """Return whether the job sees other files under the same paths than were looked at.

    Args:
        in_container: whether the job runs in a container.
        container: in which one the paths were looked at, or `none`.

    """
    return in_container.value is True and container.value in {None, "none"}

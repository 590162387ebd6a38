"""The driver stack: drivers, libraries, daemons and modules that must match."""

from speccheck.validator.evidence.node.part import Part
from speccheck.validator.evidence.value import Value

Texts = tuple[str | None, ...]


class Driver(Part):
    """What drives GPUs and network, and which releases."""

    __slots__ = ()
    kind = "driver"
    is_single = True

    version: Value[str]  # of the library, 550.54.15
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
    nccl_plugin_releases: Value[Texts]  # by plugin, where its file tells it
    topology_file: Value[str]  # of NCCL_TOPO_FILE, as the job or this process sets it
    mpi_programs: Value[Texts]  # mpirun, mpiexec, in PATH or a usual home of MPI
    # PCI functions that the file of NCCL_TOPO_FILE names, 0000:1b:00.0
    topology_file_addresses: Value[Texts]

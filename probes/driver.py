"""Reads the driver stack below NVML: modules, device nodes, daemons, libraries."""

import re

from speccheck.probes.libraries import put_libraries
from speccheck.probes.raw_value import Absence, RawValue, Sheet, formed
from speccheck.probes.root import Root
from speccheck.probes.running import SOURCE as PROCESSES
from speccheck.probes.running import processes
from speccheck.probes.settings import layers_of

KINDS = ("driver",)
_VERSION = "/proc/driver/nvidia/version"
_MODULES = "/proc/modules"
_LOADED = "/sys/module"
_TOPOLOGY = "NCCL_TOPO_FILE"
_COMPATIBILITY = "/usr/local/cuda/compat/libcuda.so.1"
# Files of nvidia_peermem in the vendor's RDMA core; NVIDIA/nccl src/transport/net_ib.cc
_PEER_MEMORY = (
    "/sys/kernel/mm/memory_peers/nv_mem/version",
    "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
)
_CHANNELS = "/dev/nvidia-caps-imex-channels"
_PACKAGES = "/var/lib/dpkg/status"
_FABRIC_LOG = "/var/log/fabricmanager.log"
_OFED_TOOL = "/usr/bin/ofed_info"
_NODE = re.compile(
    r"nvidia\d+|nvidiactl|nvidia-(uvm|uvm-tools|modeset|nvlink)|"
    r"nvidia-nvswitch(\d+|ctl)|gdrdrv|aperture_devices|infiniband/(uverbs|umad)\d+|infiniband/rdma_cm"
)
_MATTER = frozenset(
    {
        "nvidia",
        "nvidia_uvm",
        "nvidia_modeset",
        "nvidia_drm",
        "nvidia_peermem",
        "nv_peer_mem",
        "gdrdrv",
        "nvidia_fs",
        "nouveau",
        "nova_core",
        "nova_drm",
        "mlx5_core",
        "mlx5_ib",
        "ib_core",
        "ib_uverbs",
        "ib_umad",
        "ib_ipoib",
        "rdma_cm",
        "rdma_ucm",
        "efa",
        "ena",
        "bnxt_en",
        "bnxt_re",
        "irdma",
        "ice",
        "gve",
        "idpf",
        "lustre",
        "knem",
        "xpmem",
        "nfs",
    }
)
_MODULE_VERSION = re.compile(r"Kernel Module(?: for \S+)?\s+(\d{3,4}(?:\.\d+)+)")
_OPEN = "Open Kernel Module"
_DAEMONS = {
    "fabric_manager_is_running": "nv-fabricmanager",
    "imex_is_running": "nvidia-imex",
    "persistence_daemon_is_running": "nvidia-persistenced",
    "host_engine_is_running": "nv-hostengine",
}
# Of a kernel without a vendor's patches; CUDA documentation, GPUDirect RDMA.
_DMA_BUF_KERNEL = (5, 12)
_DMA_BUF_DRIVER = 515


def probe(root: Root, sheet: Sheet, topology_file: str = "") -> None:
    """Put down what files tell of the driver stack.

    topology_file: the one that the job names, where it is known.
    """
    _kernel_module(root, sheet)
    _nodes(root, sheet)
    sheet.put("driver", "modules", _modules(root), _MODULES)
    _daemons(root, sheet)
    _network(root, sheet)
    put_libraries(root, sheet)
    _put_memory_of_peers(sheet, root)
    _put_topology_file(sheet, root, topology_file or _topology_file(root))


def _put_memory_of_peers(sheet: Sheet, root: Root) -> None:
    """Put what lets newer CUDA run, and adapters reach GPU memory."""
    result: RawValue = root.exists(_COMPATIBILITY)
    if not result and not root.exists("/usr"):
        result = Absence("absent", "/usr")
    sheet.put("driver", "cuda_compatibility_is_installed", result, _COMPATIBILITY)
    registered: RawValue = any(root.exists(path) for path in _PEER_MEMORY)
    if not registered and not root.exists("/sys/module"):
        registered = Absence("absent", "/sys/module")
    sheet.put("driver", "peer_memory_is_registered", registered, _PEER_MEMORY[0])


def _put_topology_file(sheet: Sheet, root: Root, path: str | Absence) -> None:
    sheet.put("driver", "topology_file", path, _TOPOLOGY)
    addresses: RawValue = path
    if not isinstance(path, Absence):
        addresses = formed(root.text(path), named_addresses)
    source = _TOPOLOGY if isinstance(path, Absence) else path
    sheet.put("driver", "topology_file_addresses", addresses, source)


def _topology_file(root: Root) -> str | Absence:
    """Return the topology file that NCCL is given to read."""
    layers = layers_of(root)
    if isinstance(layers, Absence):
        return layers
    for layer in layers:
        path = layer.values().get(_TOPOLOGY)
        if path:
            return path
    return Absence("absent", _TOPOLOGY, "is not set")


def named_addresses(text: str) -> RawValue:
    """Return the busid attributes of a topology file, each address once."""
    result = re.findall(r"""busid=["']([0-9a-fA-F:.]{7,16})["']""", text)
    return [*dict.fromkeys(item.lower() for item in result)]


def _kernel_module(root: Root, sheet: Sheet) -> None:
    text = root.text(_VERSION)
    path = _VERSION
    version = formed(text, module_version)
    if isinstance(version, Absence):
        other = root.line(f"{_LOADED}/nvidia/version")
        if not isinstance(other, Absence):
            version, path = other, f"{_LOADED}/nvidia/version"
    sheet.put("driver", "kernel_module_version", version, path)
    is_open = text if isinstance(text, Absence) else _OPEN in text
    sheet.put("driver", "kernel_module_is_open", is_open, _VERSION)
    release = root.line("/proc/sys/kernel/osrelease")
    source = f"{_VERSION}, /proc/sys/kernel/osrelease"
    result = dma_buf(is_open=is_open, version=version, release=release)
    sheet.put("driver", "dma_buf_is_exported", result, source)


def module_version(text: str) -> RawValue:
    """Return the version in `NVRM version: ... Kernel Module  550.54.15  ...`."""
    matched = _MODULE_VERSION.search(text)
    if matched is None:
        return Absence("failed", _VERSION, "names no version")
    return matched.group(1)


def dma_buf(
    *, is_open: bool | Absence, version: RawValue, release: str | Absence
) -> RawValue:
    """Return whether GPU memory can be registered with a network adapter by dma-buf.

    The open module does it from 515 on, with Linux 5.12 or a kernel whose vendor has
    patched it: an older one does not decide it.
    """
    if isinstance(is_open, Absence) or not is_open:
        return is_open
    match = re.match(r"(\d+)\.(\d+)", release) if isinstance(release, str) else None
    major = re.match(r"\d{3,4}(?=\.)", version) if isinstance(version, str) else None
    if match is None or major is None:
        return Absence("absent", _VERSION, "no version of driver and kernel")
    if int(major.group()) < _DMA_BUF_DRIVER:
        return False
    if (int(match.group(1)), int(match.group(2))) < _DMA_BUF_KERNEL:
        return Absence("absent", _VERSION, "an older kernel; its vendor may have it")
    return True


def _nodes(root: Root, sheet: Sheet) -> None:
    names = root.names("/dev")
    source = "/dev"
    if isinstance(names, Absence):
        for leaf in ("device_nodes", "device_nodes_denied", "imex_channels"):
            sheet.put("driver", leaf, names, source)
        return
    below = root.names("/dev/infiniband")
    if not isinstance(below, Absence):
        names += [f"infiniband/{text}" for text in below]
    texts = [name for name in names if _NODE.fullmatch(name)]
    denied = [text for text in texts if not root.is_open_to_this_user(f"/dev/{text}")]
    sheet.put("driver", "device_nodes", [*texts], source)
    sheet.put("driver", "device_nodes_denied", [*denied], source)
    channels = root.names(_CHANNELS)
    count: RawValue
    if not isinstance(channels, Absence):
        count = sum(bool(re.fullmatch(r"channel\d+", channel)) for channel in channels)
    elif channels.status == "absent" and "nvidiactl" in texts:
        count = 0  # the driver is there, and nobody made a channel
    else:
        count = channels
    sheet.put("driver", "imex_channels", count, _CHANNELS)


def _modules(root: Root) -> RawValue:
    """Return loaded modules, and those built into the kernel that have parameters."""
    text = root.text(_MODULES)
    folders = root.names(_LOADED)
    if isinstance(text, Absence) and isinstance(folders, Absence):
        return text
    lines = [] if isinstance(text, Absence) else text.splitlines()
    loaded = {line.split(" ", 1)[0] for line in lines}
    loaded |= set([] if isinstance(folders, Absence) else folders)
    return [*sorted(loaded & _MATTER)]


def _daemons(root: Root, sheet: Sheet) -> None:
    seen = processes(root)
    for leaf, name in _DAEMONS.items():
        result: RawValue = seen if isinstance(seen, Absence) else seen.has(name)
        sheet.put("driver", leaf, result, PROCESSES)
    version, source = _fabric_version(root)
    sheet.put("driver", "fabric_manager_version", version, source)


def _fabric_version(root: Root) -> tuple[RawValue, str]:
    """Return the version of the last running fabric manager, or the installed."""
    log = root.tail(_FABRIC_LOG)
    if not isinstance(log, Absence):
        result = re.findall(
            r"Fabric Manager version(?: is)?\s*:?\s*(\d+(?:\.\d+)+)", log
        )
        if result:
            return result[-1], _FABRIC_LOG
    packages = root.text(_PACKAGES)
    absence = formed(packages, packaged_fabric)
    if isinstance(absence, Absence) and isinstance(log, Absence):
        # That the log is closed says more than that there is no package.
        return (log if log.status == "not_permitted" else absence), _PACKAGES
    return absence, _PACKAGES


def packaged_fabric(text: str) -> RawValue:
    """Return the version of the installed Debian package."""
    versions: set[str] = set()
    for package in text.split("\n\n"):
        if not re.match(r"Package: nvidia-fabricmanager(-\d+)?\n", package.lstrip()):
            continue
        if "\nStatus: install ok installed" not in package:
            continue
        matched = re.search(
            r"^Version: (?:\d+:)?(\d+(?:\.\d+)+)", package, re.MULTILINE
        )
        if matched is not None:
            versions.add(matched.group(1))
    if len(versions) == 1:
        return versions.pop()
    message = "several packages" if versions else "no package of the fabric manager"
    return Absence("failed" if versions else "absent", _PACKAGES, message)


def _network(root: Root, sheet: Sheet) -> None:
    """Put the release of the network vendor's drivers; the kernel's own have none."""
    tool = root.data(_OFED_TOOL, 65_536)
    result: RawValue = Absence("absent", _OFED_TOOL)
    source = _OFED_TOOL
    if not isinstance(tool, Absence):
        matched = re.search(rb"(?:MLNX_OFED_LINUX|OFED-internal)-([\d.]+-[\d.]+)", tool)
        if matched is not None:
            result = matched.group(1).decode().rstrip(".")
    if isinstance(result, Absence):
        path = f"{_LOADED}/mlx5_core/version"
        version = root.line(path)
        # Drivers of the kernel itself wrote 5.0-0 until they wrote none.
        if isinstance(version, str) and not version.startswith("5.0-0"):
            result, source = version, path
    sheet.put("driver", "ofed_version", result, source)

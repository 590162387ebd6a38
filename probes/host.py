"""Reads the host: what it is, its limits, and in which state it is."""

import os
import re

from speccheck.probes.clock import put_clock
from speccheck.probes.memory import put_memory
from speccheck.probes.processors import labelled, put_processors
from speccheck.probes.raw_value import Absence, RawValue, Sheet, formed
from speccheck.probes.root import Root
from speccheck.probes.running import SOURCE as PROCESSES
from speccheck.probes.running import processes, stuck, zombies

KINDS = ("host",)
_POOLS = "/proc/spl/kstat/zfs"
DMI = "/sys/devices/virtual/dmi/id"
_LOCKED = "locked_memory_bytes"
_LIMITS = {
    _LOCKED: "Max locked memory",
    "open_files": "Max open files",
    "process_limit": "Max processes",
}
_UNLIMITED = -1
_STATUS = "/proc/self/status"
_CAP_IPC_LOCK = 14
# Arguments that change how devices, memory and processors behave. Others may name the
# specimen (root=UUID=...) or hold what is secret.
_ARGUMENT = re.compile(
    r"(iommu|intel_iommu|amd_iommu|iommu\.\w+|pci|pcie_\w+|numa_balancing|numa|"
    r"transparent_hugepage|(default_)?hugepages(z)?|isolcpus|nohz_full|rcu_nocbs|"
    r"mitigations|\w+\.max_cstate|idle|nosmt|maxcpus|nr_cpus|mem|clocksource|tsc|"
    r"intel_pstate|amd_pstate|cpufreq\.\w+|modprobe\.blacklist|rd\.driver\.blacklist|"
    r"nouveau\.\w+|nvidia[\w-]*\.\w+|mlx5_core\.\w+|init_on_alloc|swapaccount|"
    r"cgroup_\w+|systemd\.unified_cgroup_hierarchy|preempt|mce|edac\w*|panic)(=.*)?"
)
# Programs of services, and where installers put them.
_SERVICES = {
    "slurmd": ("/usr/sbin", "/usr/local/sbin", "/opt/slurm/sbin"),
    "kubelet": ("/usr/bin", "/usr/local/bin", "/opt/bin"),
    "nv-hostengine": ("/usr/bin",),
}
# Makers of virtual machines; some of them lend whole machines too.
_HYPERVISORS = {
    "QEMU": "kvm",
    "Amazon EC2": "amazon",
    "Google": "google",
    "Microsoft Corporation": "microsoft",
    "VMware, Inc.": "vmware",
    "Xen": "xen",
    "innotek GmbH": "oracle",
    "OpenStack Foundation": "kvm",
    "Nutanix": "kvm",
}
_CONTAINER_FILES = {
    "/run/.containerenv": "podman",
    "/.dockerenv": "docker",
    "/.singularity.d": "apptainer",
}
# A folder of the control group of the first process that is seen, or of this one.
_CONTAINER_GROUPS = {
    "kubepods": "kubernetes",
    "docker": "docker",
    "libpod": "podman",
    "lxc": "lxc",
    "containerd": "containerd",
}


def probe(root: Root, sheet: Sheet) -> None:
    """Put down all leaves of the host but those of its instance."""
    _identity(root, sheet)
    _surroundings(root, sheet)
    _limits(root, sheet)
    put_memory(root, sheet)
    put_processors(root, sheet)
    put_clock(root, sheet)
    _load(root, sheet)
    _devices(root, sheet)
    _processes(root, sheet)


def _identity(root: Root, sheet: Sheet) -> None:
    for leaf, path in (
        ("vendor", f"{DMI}/sys_vendor"),
        ("product", f"{DMI}/product_name"),
        ("board", f"{DMI}/board_name"),
        ("kernel_release", "/proc/sys/kernel/osrelease"),
        ("name", "/proc/sys/kernel/hostname"),
    ):
        sheet.put("host", leaf, root.line(path), path)
    path = "/proc/sys/kernel/arch"  # from Linux 6.1 on
    result = root.line(path)
    if isinstance(result, Absence) and root.is_live:
        path, result = "uname", os.uname().machine
    sheet.put("host", "architecture", result, path)
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        release = root.text(path)
        if not isinstance(release, Absence):
            break
    sheet.put("host", "operating_system", formed(release, release_name), path)


def release_name(text: str) -> RawValue:
    """Return PRETTY_NAME of os-release(5), without its quotes."""
    matched = re.search(r"^PRETTY_NAME=(.{1,200})$", text, re.MULTILINE)
    if matched is None:
        return Absence("absent", "/etc/os-release", "has no PRETTY_NAME")
    return matched.group(1).strip("\"' ")


def _surroundings(root: Root, sheet: Sheet) -> None:
    """Put what stands between this process and the machine."""
    result, source = _virtualisation(root)
    sheet.put("host", "virtualisation", result, source)
    result, source = _container(root)
    sheet.put("host", "container", result, source)


def _virtualisation(root: Root) -> tuple[str | Absence, str]:
    """Return the hypervisor, which x86 processors show and firmware names."""
    source = "/proc/cpuinfo"
    info = root.text(source)
    if isinstance(info, Absence):
        return info, source
    flags = labelled(info, "flags", source)
    vendor = root.line(f"{DMI}/sys_vendor")
    name = None if isinstance(vendor, Absence) else _HYPERVISORS.get(vendor)
    if not isinstance(flags, Absence):
        if "hypervisor" not in flags.split():
            return "none", source
        return name or "unnamed", f"{source}, {DMI}/sys_vendor"
    product = root.line(f"{DMI}/product_name")
    return _of_firmware(name, str(product)), f"{DMI}/product_name"


def _of_firmware(name: str | None, product: str) -> str | Absence:
    """Return the hypervisor that firmware names, if it is surely no whole machine."""
    if name is not None and ".metal" in product:
        return "none"
    only_virtual = {"kvm", "vmware", "xen", "amazon"}
    if name in only_virtual or product in {"Virtual Machine", "Google Compute Engine"}:
        return name or "unnamed"
    return Absence("absent", "/proc/cpuinfo", "the processor does not say")


def _container(root: Root) -> tuple[str | Absence, str]:
    environment = root.text("/proc/self/environ")
    if isinstance(environment, str) and "KUBERNETES_SERVICE_HOST=" in environment:
        return "kubernetes", "/proc/self/environ"
    for path, name in _CONTAINER_FILES.items():
        if root.exists(path):
            return name, path
    for path in ("/proc/1/cgroup", "/proc/self/cgroup"):
        groups = root.text(path)
        for word, name in _CONTAINER_GROUPS.items():
            # A service of that name runs on a bare host too.
            named = rf"/{word}(?!\.(service|socket))[/\-.:]"
            if isinstance(groups, str) and re.search(named, groups):
                return name, path
    path = "/proc/self/mounts"
    mounts = root.text(path)
    if isinstance(mounts, Absence):
        return mounts, path
    tops = re.findall(r"^\S+ / (\S+) ", mounts, re.MULTILINE)
    if not tops:
        return Absence("absent", path, "has no mount of /"), path
    # Live systems mount an overlay as well, but no training node boots from one.
    return ("unnamed" if tops[-1] == "overlay" else "none"), path


def _limits(root: Root, sheet: Sheet) -> None:
    path = "/proc/self/limits"
    text = root.text(path)
    for leaf, label in _LIMITS.items():
        result: RawValue = (
            text if isinstance(text, Absence) else limit(text, label, path)
        )
        source = path
        if leaf == _LOCKED and isinstance(result, int) and _may_lock_all(root):
            result, source = _UNLIMITED, _STATUS
        sheet.put("host", leaf, result, source)


def _may_lock_all(root: Root) -> bool:
    """Return whether this container's process may lock memory beyond its limit.

    Drivers let CAP_IPC_LOCK of the first user namespace lock what it wants (Linux,
    ib_umem_get: capable(CAP_IPC_LOCK)), and pods get it for RDMA. On a bare host it is
    that of root, and a job of another user has only the limit.
    """
    status, users = root.text(_STATUS), root.line("/proc/self/uid_map")
    if isinstance(status, Absence) or isinstance(users, Absence):
        return False
    matched = re.search(r"^CapEff:\s*([0-9a-f]{1,16})$", status, re.MULTILINE)
    if matched is None or not int(matched[1], 16) >> _CAP_IPC_LOCK & 1:
        return False
    is_first_namespace = users.split() == ["0", "0", str(2**32 - 1)]
    container, _ = _container(root)
    return is_first_namespace and isinstance(container, str) and container != "none"


def limit(text: str, label: str, path: str) -> int | Absence:
    """Return the soft limit in /proc/self/limits; -1 where there is none."""
    for line in text.splitlines():
        if line.startswith(label):
            soft = line[len(label) :].split()[:1]
            if soft == ["unlimited"]:
                return _UNLIMITED
            if soft and soft[0].isdecimal():
                return int(soft[0])
    return Absence("failed", path, f"has no {label}")


def _load(root: Root, sheet: Sheet) -> None:
    for leaf, path in (
        ("uptime_seconds", "/proc/uptime"),
        ("load_one_minute", "/proc/loadavg"),
    ):
        sheet.put("host", leaf, first_number(root.line(path), path), path)
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    sheet.put("host", "clock_source", root.line(path), path)
    space = root.space("/")
    result: RawValue
    if isinstance(space, Absence):
        result = space
    elif space.is_read_only:
        # An image is full by its nature.
        result = Absence("not_supported", "statvfs /", "is a read-only image")
    elif not space.used + space.free:
        result = Absence("absent", "statvfs /", "has no size")
    else:
        result = round(space.used / (space.used + space.free), 4)
    sheet.put("host", "root_used_share", result, "statvfs /")


def first_number(text: str | Absence, path: str) -> RawValue:
    """Return the first word of a line, as a number."""
    if isinstance(text, Absence):
        return text
    matched = re.match(r"\d{1,15}(\.\d+)?(?=\s|$)", text)
    if matched is None:
        return Absence("failed", path, f"holds {text[:40]!r}, no number")
    return float(matched.group())


def _devices(root: Root, sheet: Sheet) -> None:
    path = "/proc/cmdline"
    sheet.put("host", "kernel_arguments", formed(root.text(path), arguments), path)
    path = "/sys/class/iommu"
    sheet.put("host", "iommu_units", formed(root.names(path), len), path)
    path = "/proc/mdstat"
    text = root.text(path)
    # The driver of such arrays makes the file.
    if (
        isinstance(text, Absence)
        and text.status == "absent"
        and root.exists("/proc/stat")
    ):
        text = ""
    result = formed(text, degraded)
    if isinstance(result, list):
        result += _degraded_pools(root)
    sheet.put("host", "degraded_arrays", result, path)


def arguments(text: str) -> RawValue:
    """Return the arguments of the kernel that training is judged by."""
    return [part for part in text.split() if _ARGUMENT.fullmatch(part)]


def degraded(text: str) -> RawValue:
    """Return the arrays of /proc/mdstat that lack a member: `[2/1] [U_]`."""
    texts: list[str] = []
    name = ""
    for line in text.splitlines():
        if started := re.match(r"(md\S{0,40}) : ", line):
            name = started.group(1)
            if " inactive " in line:
                texts.append(name)
        elif name and re.search(r"\[\d+/\d+\] \[[U_]*_[U_]*\]", line):
            texts.append(name)
    return [*dict.fromkeys(texts)]


def _degraded_pools(root: Root) -> list[str]:
    """Return the pools of ZFS whose state is known and is not ONLINE."""
    names = root.names(_POOLS)
    if isinstance(names, Absence):
        return []
    states = {name: root.line(f"{_POOLS}/{name}/state") for name in names}
    return [
        name
        for name, state in states.items()
        if not isinstance(state, Absence) and state != "ONLINE"
    ]


def _processes(root: Root, sheet: Sheet) -> None:
    seen = processes(root)
    for leaf, name in (
        ("slurm_daemon_is_running", "slurmd"),
        ("kubelet_is_running", "kubelet"),
    ):
        result: RawValue = seen if isinstance(seen, Absence) else seen.has(name)
        sheet.put("host", leaf, result, PROCESSES)
    installed: RawValue = [
        name
        for name, folders in _SERVICES.items()
        if any(root.exists(f"{folder}/{name}") for folder in folders)
    ]
    if not root.exists("/usr"):
        installed = Absence("absent", "/usr")
    source = "files of services in /usr/bin, /usr/sbin and others"
    sheet.put("host", "services_installed", installed, source)
    counted: RawValue = seen if isinstance(seen, Absence) else stuck(root, seen)
    sheet.put("host", "stuck_processes", counted, PROCESSES)
    counted = seen if isinstance(seen, Absence) else zombies(seen)
    sheet.put("host", "zombie_processes", counted, PROCESSES)

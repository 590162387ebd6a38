"""What else a pod asks for: shared memory, processors, network, locked memory.

Sources: Kubernetes core/v1 (Volume, VolumeMount, SecurityContext, Quantity); containerd
and Docker mount /dev/shm with 64 MiB where the pod mounts nothing there.
"""

from collections.abc import Sequence

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._kubernetes_pods import Container, Pod
from speccheck.validator.sources.mapping import (
    derive_switch,
    items,
    parse_number,
    section,
)
from speccheck.validator.sources.reader import FactSheet

_SHARED = "/dev/shm"  # noqa: S108 - compared with, never opened
_VOLUME, _BYTES = "cluster.shared_memory_volume", "cluster.shared_memory_bytes"
_DEFAULT_BYTES = 64 * 2**20  # containerd pkg/oci/mounts.go, size=65536k
_UNITS = {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
}
# Kinds of volumes that are memory or disk of the host, by their key in a volume.
_KINDS = {"hostPath": "host", "emptyDir": "disk"}
_LOCKING = frozenset({"IPC_LOCK", "SYS_RESOURCE", "ALL"})
_EFA = "/efa"  # its images of nodes lift the limit of locked memory
_FABRIC_WORDS = ("rdma", "hca", "sriov", "infiniband", "roce", _EFA)


def state_resources(sheet: FactSheet, pod: Pod) -> None:
    """State what the container that trains gets, where the pod is all there."""
    if not pod.spec or not pod.containers:
        return
    container = pod.trainers()[0]
    _state_shared_memory(sheet, pod, container)
    _state_processors(sheet, pod.trainers())
    _state_fabric_device(sheet, pod, container)


def quantity(value: object) -> float | None:
    """The number of a quantity: `16Gi`, `500m`, 8; None for a placeholder."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    for suffix, factor in _UNITS.items():
        if value.endswith(suffix):
            number = parse_number(value.removesuffix(suffix))
            return None if number is None else number * factor
    return parse_number(value)


def _state_shared_memory(sheet: FactSheet, pod: Pod, container: Container) -> None:
    """The volume at /dev/shm and its size; no volume leaves the runtime's default."""
    mounts = items(container.fields.get("volumeMounts"))
    for index, item in enumerate(mounts):
        mount = section(item)
        path = mount.get("mountPath")
        if isinstance(path, str) and path.rstrip("/") == _SHARED:
            at = (*container.path, "volumeMounts", index, "mountPath")
            _state_volume(sheet, pod, mount.get("name"), at)
            return
    if pod.spec.get("hostIPC") is True:
        sheet.derive(_VOLUME, "host", "hostIPC shares that of the node", _ipc(pod))
        return
    if any(isinstance(item, str) for item in mounts):
        return  # a template fills them in
    sheet.derive(_VOLUME, "none", "nothing is mounted at /dev/shm", container.path)
    note = "the container runtime's default: 64 MiB"
    sheet.default(_BYTES, _DEFAULT_BYTES, note)


def _ipc(pod: Pod) -> KeyPath:
    return (*pod.path, "hostIPC")


def _state_volume(sheet: FactSheet, pod: Pod, name: object, at: KeyPath) -> None:
    volumes = items(pod.spec.get("volumes"))
    for index, item in enumerate(volumes):
        volume = section(item)
        if volume.get("name") != name:
            continue
        path = (*pod.path, "volumes", index)
        kind = next((one for one in _KINDS if one in volume), "")
        fields = section(volume, "emptyDir")
        is_memory = fields.get("medium") == "Memory"
        found = "memory" if is_memory else _KINDS.get(kind, "other")
        sheet.derive(_VOLUME, found, f"the volume at {_SHARED}", (*path, "name"), at)
        if is_memory and fields.get("sizeLimit") is not None:
            _state_size(sheet, fields["sizeLimit"], (*path, "emptyDir", "sizeLimit"))
        return


def _state_size(sheet: FactSheet, limit: object, at: KeyPath) -> None:
    number = quantity(limit)
    if number is None:
        sheet.unusable(_BYTES, "the size is not a number yet", at)
        return
    sheet.state(_BYTES, int(number), at)


def _state_processors(sheet: FactSheet, containers: Sequence[Container]) -> None:
    """The processors that the containers may use; a request alone is no limit."""
    leaf = "cluster.job_cpus_per_node"
    limits = [section(one.fields, one.resources, "limits") for one in containers]
    counts = [quantity(one.get("cpu")) for one in limits]
    known = [count for count in counts if count is not None]
    total = int(sum(known))
    if total and len(known) == len(counts):
        paths = [(*one.path, one.resources, "limits", "cpu") for one in containers]
        sheet.derive(leaf, total, "the limit of the pod", *paths)


def _state_fabric_device(sheet: FactSheet, pod: Pod, container: Container) -> None:
    """The network device that the container asks for, and whether it may lock memory.

    A privileged container, or one with devices of the host, needs to ask for none.
    """
    leaf = "cluster.fabric_device"
    limits = section(container.fields, container.resources, "limits")
    at = (*container.path, container.resources, "limits")
    found = next((name for name in limits if _is_of_fabric(name)), None)
    if found is not None:
        sheet.derive(leaf, found, f"{found} is asked for", (*at, found))
        if not found.endswith(_EFA):
            _state_locking(sheet, container)
    elif limits and not _has_devices_of_host(pod, container):
        sheet.derive(leaf, "none", "no device of the network is asked for", at)


def _has_devices_of_host(pod: Pod, container: Container) -> bool:
    if section(container.fields, "securityContext").get("privileged") is True:
        return True
    if any(isinstance(item, str) for item in items(pod.spec.get("volumes"))):
        return True  # a template fills them in
    paths = [
        section(volume, "hostPath").get("path")
        for volume in map(section, items(pod.spec.get("volumes")))
    ]
    return any(isinstance(path, str) and path.startswith("/dev") for path in paths)


def _state_locking(sheet: FactSheet, container: Container) -> None:
    context = section(container.fields, "securityContext")
    at = (*container.path, "securityContext")
    leaf = "cluster.may_lock_memory"
    if context.get("privileged") is True:
        path = (*at, "privileged")
        derive_switch(sheet, leaf, "a privileged container", path)
        return
    added = items(section(context, "capabilities").get("add"))
    granted = [one for one in added if isinstance(one, str) and one in _LOCKING]
    if granted:
        path = (*at, "capabilities", "add", added.index(granted[0]))
        derive_switch(sheet, leaf, f"the capability {granted[0]}", path)
        return
    sheet.default(leaf, value=False, note="no capability IPC_LOCK is added")


def _is_of_fabric(name: str) -> bool:
    """An extended resource of a device plugin: `rdma/hca_shared_devices_a`, EFA."""
    return "/" in name and any(word in name.lower() for word in _FABRIC_WORDS)

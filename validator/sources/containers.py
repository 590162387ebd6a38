"""Containers that commands start: what the process inside gets, whichever the engine.

An option of `docker run`, a key of a compose file and a flag of pyxis say the same
things. Each is brought down to a setting (schemas/catalogues/containers/engines.yaml),
and the settings of one container to the leaves of the plan.
"""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.catalogue.containers import Engine
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.mapping import derive_switch, whole_number
from speccheck.validator.sources.reader import Fact, FactSheet

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - compared with, never opened
UNLIMITED = -1
_ENGINE, _IMAGE = "container.engine", "container.image"
_VOLUME, _BYTES = "container.shared_memory_volume", "container.shared_memory_bytes"
_IPC, _NETWORK = "container.ipc", "container.network"
_LIMIT, _LOCKS = "container.locked_memory_bytes", "container.may_lock_memory"
_GPUS, _DEVICE = "container.accelerators", "container.fabric_device"
_CAPABILITIES = "container.capabilities"
TAKES_ENVIRONMENT, _VARIABLES = "container.takes_environment", "container.variables"
_MOUNTS = "container.mounts"
_FAMILY, _SEEN = "cluster.accelerator_family", "cluster.gpus_per_node"
_SIZE = lazy_pattern(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?$")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_FABRIC = ("infiniband", "uverbs", "rdma")
_FAMILIES = {
    "/dev/nvidia": "nvidia",
    "nvidia.com/gpu": "nvidia",
    "/dev/kfd": "amd",
    "amd.com/gpu": "amd",
    "/dev/dri": "",
    "/dev/accel": "",
    "/dev/davinci": "",
    "/dev/neuron": "trainium",
    "/dev/vfio": "",
    "habana": "gaudi",
}
_RUNTIMES = {"nvidia": "nvidia", "amd": "amd", "habana": "gaudi"}
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_ROOT = frozenset({"0", "root", "0:0", "root:root"})


class Setting(Record):
    """What a container is given: its text, where it stands, why it is not known."""

    text: str
    at: KeyPath | Place
    unknown: str = ""


class ContainerOptions(Record):
    """One container as it is described, by an engine's command or in a document.

    Attributes:
        engine: of the catalogue.
        settings: by name; those that may be given several times in their order.
        at: where it is described.
        hidden: a reason why it may have more settings; empty where all were seen.

    """

    engine: Engine
    settings: Mapping[str, tuple[Setting, ...]]
    at: KeyPath | Place
    hidden: str = ""

    def last(self, name: str) -> Setting | None:
        """Return the setting that counts of several."""
        return (self.settings.get(name) or (None,))[-1]

    def every(self, name: str) -> tuple[Setting, ...]:
        """Return all settings of that name."""
        return self.settings.get(name, ())


def state_container_options(sheet: FactSheet, options: ContainerOptions) -> None:
    """State what the process in a container gets."""
    sheet.derive(_ENGINE, options.engine.id, "starts the container", options.at)
    _state_text(sheet, _IMAGE, options.last("image"))
    mounts = tuple(_mounts(options))
    _state_shared_memory(sheet, options, mounts)
    _state_network(sheet, options)
    _state_accelerators(sheet, options)
    _state_fabric_device(sheet, options, mounts)
    _state_locked_memory(sheet, options)
    state_environment(sheet, options)
    known = [each for each in mounts if each.inside and "$" not in each.inside]
    if known:
        note = f"{len(known)} mounts"
        places = tuple(each.inside for each in known)
        sheet.derive(_MOUNTS, places, note, *(each.at for each in known))


class ContainerMount(Record):
    """Something mounted into a container: empty `inside` where it is not known."""

    outside: str
    inside: str
    is_memory: bool
    size: str
    at: KeyPath | Place


def _mounts(options: ContainerOptions) -> Iterator[ContainerMount]:
    for setting in options.every("mounts"):
        outside, inside = _ends(setting.text, options.engine)
        yield ContainerMount(outside, inside, is_memory=False, size="", at=setting.at)
    for setting in options.every("mount_fields"):
        parts = (part.partition("=") for part in setting.text.split(","))
        given = {name: value for name, _, value in parts}
        target = given.get("dst") or given.get("destination") or given.get("target")
        is_memory = given.get("type") == "tmpfs"
        outside = given.get("src") or given.get("source") or ""
        size = given.get("tmpfs-size", "")
        yield ContainerMount(
            outside, _normal(target or ""), is_memory, size, setting.at
        )
    for setting in options.every("tmpfs"):
        inside, _, rest = setting.text.partition(":")
        sizes = [part[5:] for part in rest.split(",") if part.startswith("size=")]
        size = sizes[-1] if sizes else ""
        yield ContainerMount(
            "", _normal(inside), is_memory=True, size=size, at=setting.at
        )


def _ends(text: str, engine: Engine) -> tuple[str, str]:
    """Return both ends of `outside:inside:flags`; one path alone names both."""
    outside, colon, rest = text.partition(":")
    if not colon:
        is_open = "$" in text and engine.default("devices") != "host"
        return text, "" if is_open else _normal(text)
    return outside, _normal(rest.partition(":")[0])


def _normal(path: str) -> str:
    return path.rstrip("/") or path


def _is_open(options: ContainerOptions, mounts: Sequence[ContainerMount]) -> str:
    """Return why not all mounts are known; empty where they are."""
    if options.engine.default("devices") == "host":
        return options.hidden
    for mount in mounts:
        if not mount.inside:
            return f"{mount.outside[:60]} may mount more"
    if options.every("inherited"):
        return "--volumes-from takes the mounts of another container"
    return options.hidden


def _state_text(sheet: FactSheet, leaf: str, setting: Setting | None) -> None:
    if setting is None:
        return
    if setting.unknown:
        sheet.unusable(leaf, setting.unknown, setting.at)
    else:
        sheet.state(leaf, setting.text, setting.at)


def _state_shared_memory(
    sheet: FactSheet, options: ContainerOptions, mounts: Sequence[ContainerMount]
) -> None:
    """Return what lies at /dev/shm, and its size; the node's has no limit."""
    ipc = options.last("ipc")
    if ipc is not None:
        _state_text(sheet, _IPC, ipc)
    elif not options.hidden:
        sheet.default(_IPC, options.engine.default("ipc"), f"of {options.engine.id}")
    mount = next((each for each in mounts if each.inside == SHARED_MEMORY), None)
    if mount is not None:
        kind = "memory" if mount.is_memory else "other"
        if mount.outside.rstrip("/") == SHARED_MEMORY:
            kind = "host"
        sheet.derive(_VOLUME, kind, f"mounted at {SHARED_MEMORY}", mount.at)
        if mount.size:
            _state_size(sheet, Setting(mount.size, mount.at))
        return
    doubt = _doubt_on_shared_memory(options, ipc, _is_open(options, mounts))
    size = options.last("shm")
    if ipc is not None and ipc.text == "host":
        sheet.derive(_VOLUME, "host", "shares that of the node", ipc.at)
    elif doubt is not None:
        sheet.unusable(_VOLUME, doubt.unknown, doubt.at)
    elif size is not None:
        sheet.derive(_VOLUME, "memory", "of its own", size.at)
        _state_size(sheet, size)
    elif options.engine.default("shm") == "host":
        sheet.derive(_VOLUME, "host", "shares that of the node", options.at)
    else:
        _state_default_memory(sheet, options)


def _doubt_on_shared_memory(
    options: ContainerOptions, ipc: Setting | None, is_open: str
) -> Setting | None:
    """Return why it is not known what lies at /dev/shm; None where it is."""
    if ipc is not None and ipc.unknown:
        return ipc
    if ipc is not None and ":" in ipc.text:
        return ipc._replace(unknown=f"{ipc.text} shares that of another")
    isolation = options.last("contained") or options.last("minimal_dev")
    if isolation is not None:
        note = "the site sets the size of a contained /dev/shm"
        return isolation._replace(unknown=note)
    if is_open and options.last("shm") is None:
        return Setting("", options.at, is_open)
    return None


def _state_default_memory(sheet: FactSheet, options: ContainerOptions) -> None:
    bytes_of_engine = int(options.engine.default("shm_bytes"))
    note = f"the default of {options.engine.id}: {bytes_of_engine // 2**20} MiB"
    sheet.derive(_VOLUME, "none", "nothing is mounted at /dev/shm", options.at)
    sheet.default(_BYTES, bytes_of_engine, note)


def _state_size(sheet: FactSheet, setting: Setting) -> None:
    match = _SIZE.match(setting.text.strip().lower())
    if setting.unknown or match is None:
        reason = setting.unknown or f"{setting.text[:40]} is no size"
        sheet.unusable(_BYTES, reason, setting.at)
        return
    size = int(float(match[1]) * 1024 ** _POWERS[match[2]])
    if size:
        sheet.state(_BYTES, size, setting.at)


def _state_network(sheet: FactSheet, options: ContainerOptions) -> None:
    setting = options.last("network")
    named = options.every("networks")
    if setting is not None:
        _state_text(sheet, _NETWORK, setting)
    elif named:
        names = " ".join(each.text for each in named)
        sheet.derive(_NETWORK, names, "networks", named[0].at)
    elif options.hidden:
        sheet.unusable(_NETWORK, options.hidden, options.at)
    else:
        network = options.engine.default("network")
        note = f"the default of {options.engine.id}"
        sheet.derive(_NETWORK, network, note, options.at)


def _state_accelerators(sheet: FactSheet, options: ContainerOptions) -> None:
    setting = options.last("gpus")
    if setting is not None and not setting.unknown and setting.text != "none":
        sheet.state(_GPUS, setting.text, setting.at)
        count = _device_count(setting.text)
        if count is not None and options.engine.default("gpus") == "none":
            sheet.derive(_SEEN, count, f"--gpus {setting.text}", setting.at)
        if options.engine.default("network") == "bridge":
            sheet.facts.append(Fact(_FAMILY, "nvidia", "default", (), "--gpus"))
        return
    given = (*options.every("devices"), *options.every("cdi"))
    for name, family in _FAMILIES.items():
        device = next((each for each in given if each.text.startswith(name)), None)
        if device is not None:
            sheet.derive(_GPUS, device.text.partition(":")[0], "", device.at)
            if family:
                sheet.facts.append(Fact(_FAMILY, family, "default", (), name))
            return
    runtime = options.last("runtime")
    doubt = _doubt_on_accelerators(options)
    if runtime is not None and runtime.text in _RUNTIMES:
        sheet.derive(_GPUS, "all", f"the runtime {runtime.text}", runtime.at)
    elif setting is not None:
        _state_text(sheet, _GPUS, setting)
    elif doubt is not None:
        sheet.unusable(_GPUS, doubt.unknown, doubt.at)
    else:
        sheet.derive(
            _GPUS, options.engine.default("gpus"), "no option names any", options.at
        )


def _device_count(text: str) -> int | None:
    """Return the devices of `4`, `"device=0,1"` or `count=2`; None for `all`."""
    bare = text.strip("\"'")
    name, _, value = bare.partition("=")
    if name == "count" or not value:
        return whole_number(value or bare)
    devices = [part for part in value.strip("\"'").split(",") if part]
    is_list = name == "device" and all("=" not in part for part in devices)
    return len(devices) if is_list and devices and "$" not in value else None


def _doubt_on_accelerators(options: ContainerOptions) -> Setting | None:
    """Return what may give a container GPUs that no option of it names."""
    if options.hidden:
        return Setting("", options.at, options.hidden)
    privileged = options.last("privileged")
    if privileged is not None:
        return privileged._replace(unknown="a privileged container has all devices")
    unresolved = next((each for each in options.every("devices") if each.unknown), None)
    visible = [
        each for each in options.every("variables") if each.text.startswith(_VISIBLE)
    ]
    if unresolved is not None or not visible:
        return unresolved
    reason = f"{_VISIBLE} is meant for the runtime of NVIDIA"
    return visible[-1]._replace(unknown=reason)


def _state_fabric_device(
    sheet: FactSheet, options: ContainerOptions, mounts: Sequence[ContainerMount]
) -> None:
    """Return the devices of the network that a container sees."""
    for device in options.every("devices"):
        if any(word in device.text for word in _FABRIC):
            name = device.text.partition(":")[0]
            sheet.derive(_DEVICE, name, f"{name} is given", device.at)
            return
    for mount in mounts:
        if mount.inside == "/dev" or mount.inside.startswith("/dev/infiniband"):
            sheet.derive(_DEVICE, mount.inside, f"{mount.inside} is mounted", mount.at)
            return
    privileged = options.last("privileged")
    isolation = options.last("contained") or options.last("minimal_dev")
    unresolved = next((each for each in options.every("devices") if each.unknown), None)
    if privileged is not None:
        note = "a privileged container has all devices"
        sheet.derive(_DEVICE, "host", note, privileged.at)
    elif unresolved is not None:
        sheet.unusable(_DEVICE, unresolved.unknown, unresolved.at)
    elif reason := _is_open(options, mounts):
        sheet.unusable(_DEVICE, reason, options.at)
    elif isolation is not None:
        sheet.derive(_DEVICE, "none", "/dev has only what is given", isolation.at)
    elif options.engine.default("devices") == "host":
        sheet.derive(_DEVICE, "host", "/dev is that of the node", options.at)
    else:
        sheet.derive(_DEVICE, "none", "no device of the network is given", options.at)


def _state_locked_memory(sheet: FactSheet, options: ContainerOptions) -> None:
    """Return the limit of locked memory; if none is set, the caller's stays.

    The capability lifts it for root alone, whom an image may not have.
    """
    added = options.every("capabilities")
    if added:
        names = tuple(each.text.removeprefix("CAP_") for each in added)
        note = f"{len(names)} capabilities"
        sheet.derive(_CAPABILITIES, names, note, *(each.at for each in added))
    for setting in reversed(options.every("limits")):
        name, _, value = setting.text.partition("=")
        if name != "memlock":
            continue
        text = value.partition(":")[0].strip()
        if setting.unknown or text == "host":
            reason = setting.unknown or "the limit of the user"
            sheet.unusable(_LOCKS, reason, setting.at)
        elif text in {"-1", "unlimited"} or whole_number(text) is not None:
            number = whole_number(text)
            limit = UNLIMITED if number is None else number
            sheet.state(_LIMIT, limit, setting.at)
            sheet.derive(_LOCKS, limit == UNLIMITED, f"memlock={text}", setting.at)
        return
    privileged = options.last("privileged")
    user = options.last("user")
    is_root = user is not None and user.text in _ROOT
    lifting = next((each for each in added if each.text.endswith("IPC_LOCK")), None)
    if privileged is not None:
        derive_switch(sheet, _LOCKS, "a privileged container", privileged.at)
    elif is_root and lifting is not None:
        derive_switch(sheet, _LOCKS, "IPC_LOCK of root", lifting.at)
    elif options.engine.default("memlock") == "caller":
        return
    elif options.hidden:
        sheet.unusable(_LOCKS, options.hidden, options.at)
    else:
        note = f"the limit of the service of {options.engine.id}"
        sheet.default(_LOCKS, value=False, note=note)


def state_environment(sheet: FactSheet, options: ContainerOptions) -> None:
    """Return which variables get in: the caller's, and those given by name."""
    given = options.every("variables")
    names = tuple(dict.fromkeys(each.text.partition("=")[0] for each in given))
    if names:
        note = f"{len(names)} variables"
        sheet.derive(_VARIABLES, names, note, *(each.at for each in given))
    cleaned = options.last("clean_environment") or options.last("contained")
    whole = options.last("whole_environment")
    unseen = next((each for each in given if "$" in each.text.partition("=")[0]), None)
    if whole is not None:
        derive_switch(sheet, TAKES_ENVIRONMENT, "the whole environment", whole.at)
    elif cleaned is not None:
        derive_switch(sheet, TAKES_ENVIRONMENT, "a clean one", cleaned.at, is_on=False)
    elif options.hidden:
        sheet.unusable(TAKES_ENVIRONMENT, options.hidden, options.at)
    elif unseen is not None or options.every("variable_files"):
        first = unseen or options.every("variable_files")[0]
        sheet.unusable(TAKES_ENVIRONMENT, f"{first.text[:60]} may name more", first.at)
    else:
        takes = options.engine.default("variables") == "caller"
        sheet.derive(
            TAKES_ENVIRONMENT, takes, f"as {options.engine.id} does", options.at
        )

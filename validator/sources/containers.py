"""Containers that commands start: what the process inside gets, whichever the engine.

An option of `docker run`, a key of a compose file and a flag of pyxis say the same
things. Each is brought down to a setting (schemas/catalogues/containers/engines.yaml),
and the settings of one container to the leaves of the plan.
"""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.catalogue.containers import (
    Engine,
    engines,
    engines_by_command,
)
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.value import KeyPath, Place, Span
from speccheck.validator.sources.launching import (
    base_name,
    launch_of,
    mentions_only,
    python_program,
    shared_facts,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import derive_switch
from speccheck.validator.sources.reader import Fact, FactSheet, Source
from speccheck.validator.sources.shell.script import (
    Directive,
    ShellAssignment,
    ShellCommand,
    ShellWord,
)

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - compared with, never opened
UNLIMITED = -1
_ENGINE, _IMAGE = "container.engine", "container.image"
_VOLUME, _BYTES = "container.shared_memory_volume", "container.shared_memory_bytes"
_IPC, _NETWORK = "container.ipc", "container.network"
_LIMIT, _LOCKS = "container.locked_memory_bytes", "container.may_lock_memory"
_GPUS, _DEVICE = "container.accelerators", "container.fabric_device"
_CAPABILITIES = "container.capabilities"
_CALLER, _VARIABLES = "container.takes_environment", "container.variables"
_MOUNTS = "container.mounts"
_FAMILY = "cluster.accelerator_family"
_SIZE = lazy_pattern(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?$")
# What another tool, or a reader, fills in: `{image}`, `<folder>`; not `${IMAGE}`.
_PLACEHOLDER = lazy_pattern(r"(?<!\$)\{\w+\}|<[^<>]+>")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_FABRIC = ("/dev/infiniband", "/dev/fuse_efa", "infiniband", "uverbs", "rdma")
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
_IMAGES = (".sif", ".simg", ".img", ".sqsh")
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_ROOT = frozenset({"0", "root", "0:0", "root:root"})
_PROGRAMS = ("accelerate", "deepspeed", "python", "torchrun")
_APPTAINER = "apptainer"
_PREFIXES = frozenset({"APPTAINER", "SINGULARITY"})  # of variables for its options
_GPUS_OF_ENGINE = {"nvidia-docker": "all"}


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
    _state_environment(sheet, options)
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
    """What lies at /dev/shm, and its size; that of the node has no limit of its own."""
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
    """The devices of the network that a container sees."""
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
    """The limit of locked memory; an engine that sets none leaves that of the caller.

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
        elif text in {"-1", "unlimited"} or text.isdecimal():
            limit = int(text) if text.isdecimal() else UNLIMITED
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


def _state_environment(sheet: FactSheet, options: ContainerOptions) -> None:
    """Which variables get in: those of the caller, and those that are given by name."""
    given = options.every("variables")
    names = tuple(dict.fromkeys(each.text.partition("=")[0] for each in given))
    if names:
        note = f"{len(names)} variables"
        sheet.derive(_VARIABLES, names, note, *(each.at for each in given))
    cleaned = options.last("clean_environment") or options.last("contained")
    whole = options.last("whole_environment")
    unseen = next((each for each in given if "$" in each.text.partition("=")[0]), None)
    if whole is not None:
        derive_switch(sheet, _CALLER, "the whole environment", whole.at)
    elif cleaned is not None:
        derive_switch(sheet, _CALLER, "a clean one", cleaned.at, is_on=False)
    elif options.hidden:
        sheet.unusable(_CALLER, options.hidden, options.at)
    elif unseen is not None or options.every("variable_files"):
        first = unseen or options.every("variable_files")[0]
        sheet.unusable(_CALLER, f"{first.text[:60]} may name more", first.at)
    else:
        takes = options.engine.default("variables") == "caller"
        sheet.derive(_CALLER, takes, f"as {options.engine.id} does", options.at)


_INSIDE = "run.in_container"
# Options of pyxis and of Slurm itself, and the programs that start containers; a line
# that only builds or fetches an image counts as well, which makes rules unsure and not
# wrong.
_STARTS = lazy_pattern(
    r"--container(?:-image|-name)?\b|--no-container-mount-home"
    r"|\b(?:apptainer|charliecloud|ch-run|docker|enroot|nerdctl|podman|sarus"
    r"|shifter|singularity|udocker)\b"
)
_COMMENT, _DIRECTIVE = "#", "#SBATCH"


def state_container(sheet: FactSheet, source: Source) -> None:
    """State that a line of a script starts a container, where one does."""
    for number, line in enumerate(source.text.splitlines(), 1):
        bare = line.lstrip()
        if bare.startswith(_COMMENT) and not bare.startswith(_DIRECTIVE):
            continue
        match = _STARTS.search(line)
        if match is not None:
            span = Span(number, match.start() + 1, len(match[0]))
            place = Place(source.name, match[0], span=span)
            derive_switch(sheet, _INSIDE, "the script starts a container", place)
            _state_started(sheet, source)
            return


def _state_started(sheet: FactSheet, source: Source) -> None:
    """State the container of the training; what several differ in is not known."""
    parts: list[list[Fact]] = []
    for options in containers_of(source):
        own = FactSheet(sheet.file)
        state_container_options(own, options)
        parts.append(own.facts)
    if parts:
        sheet.facts.extend(shared_facts(parts, "containers"))


def containers_of(
    source: Source, *, only_training: bool = False
) -> tuple[ContainerOptions, ...]:
    """Return the containers of the commands that train; all where none is seen to.

    Args:
        source: a script.
        only_training: those of commands that train, and none where one trains outside.

    """
    commands = [
        command for command in source.script.commands if not mentions_only(command)
    ]
    named = {
        name.text: started
        for command in reversed(commands)
        if (started := _started_by(source.name, command, {})) is not None
        for name in started.every("name")
        if started.last("image") is not None
    }
    training: dict[int, ContainerOptions] = {}
    others: dict[int, ContainerOptions] = {}
    for command in commands:
        holder: ShellCommand | None = command
        trains = launch_of(command) is not None or python_program(command) is not None
        while holder is not None:
            started = _started_by(source.name, holder, named)
            if started is not None:
                (training if trains else others)[holder.line] = started
                break
            holder = holder.outer
        if trains and holder is None and only_training:
            return ()
    if only_training:
        return (*training.values(),)
    chosen = training or others
    if not chosen and (by_job := _of_directives(source)) is not None:
        return (by_job,)
    exports = source.script.exports
    return tuple(
        _with_variables(each, exports, source.name) for each in chosen.values()
    )


def _with_variables(
    options: ContainerOptions, exports: Mapping[str, ShellAssignment], file: str
) -> ContainerOptions:
    """Return a container with the options that variables of apptainer set.

    Each option has one: APPTAINER_NV, APPTAINER_BIND; the command line wins.
    """
    if options.engine.id != _APPTAINER:
        return options
    settings: dict[str, list[Setting]] = {}
    for name, assignment in exports.items():
        prefix, _, rest = name.partition("_")
        setting = options.engine.options.get(f"--{rest.lower()}")
        if prefix not in _PREFIXES or setting is None or setting in options.settings:
            continue
        text = options.engine.present.get(setting, assignment.value.text)
        _add(settings, setting, text, file, assignment.value, options.engine, name)
    given = {name: tuple(values) for name, values in settings.items()}
    return options._replace(settings={**given, **options.settings})


class EnvironmentBarrier(Record):
    """A container that lets in only the variables that its command names.

    Attributes:
        engine: of the container.
        names: of the variables that get in.
        line: of the script where its command begins; what is set below it is inside.
        file: of that script.

    """

    engine: Engine
    names: frozenset[str]
    line: int
    file: str

    def keeps_out(self, name: str, place: Place) -> bool:
        """Return whether a variable that is set at a place does not get in."""
        if name in self.names or place.span is None or place.file != self.file:
            return False
        return place.span.line < self.line


def container_that_keeps_out(source: Source) -> EnvironmentBarrier | None:
    """Return the container of all training commands, where it keeps variables out.

    None where a training runs outside of it, or something unseen may name more.
    """
    if _STARTS.search(source.text) is None:
        return None
    containers = containers_of(source, only_training=True)
    sheet = FactSheet(source.name)
    for options in containers:
        _state_environment(sheet, options)
    takes = [fact.value for fact in sheet.facts if fact.name == _CALLER]
    if not takes or any(value is not False for value in takes):
        return None
    given = [
        setting.text.partition("=")[0]
        for options in containers
        for setting in options.every("variables")
    ]
    lines = [
        options.at.span.line
        for options in containers
        if isinstance(options.at, Place) and options.at.span is not None
    ]
    names = frozenset(given)
    return EnvironmentBarrier(containers[0].engine, names, min(lines), source.name)


def _started_by(
    file: str, command: ShellCommand, named: Mapping[str, ContainerOptions]
) -> ContainerOptions | None:
    """Return the container that a command starts, or enters where it is named."""
    words = command.words
    for position, word in enumerate(words):
        name = base_name(word)
        engine = engines_by_command().get(name)
        if engine is None:
            if name.startswith(_PROGRAMS) or name.endswith((".py", *SCRIPT_SUFFIXES)):
                return None
            continue
        if engine.marks:
            started = _of_starter(file, engine, words[position:])
            if started is not None:
                return _with_image(started, named)
            continue
        start, verb = _verb(engine, words, position + 1)
        if verb in engine.entering:
            return _entered(file, engine, words[start:], named)
        if verb in engine.verbs or not engine.verbs:
            return _options_of(file, engine, words[position:], start - position)
    return None


def _verb(engine: Engine, words: Sequence[ShellWord], position: int) -> tuple[int, str]:
    """Return what an engine is to do, and where its options begin."""
    if not engine.verbs:
        return position, ""
    while position < len(words) and words[position].text.startswith("-"):
        position += 1
    both = " ".join(word.text for word in words[position : position + 2])
    if both in {*engine.verbs, *engine.entering}:
        return position + 2, both
    return position + 1, both.partition(" ")[0]


def _options_of(
    file: str, engine: Engine, words: Sequence[ShellWord], position: int
) -> ContainerOptions:
    command = words[0]
    at = (
        word_place(file, f"{base_name(command)} {engine.verbs[0]}".strip(), command)
        if engine.verbs
        else word_place(file, base_name(command), command)
    )
    settings: dict[str, list[Setting]] = {}
    position, hidden = _take_options(file, engine, words, position, settings)
    if engine.id == "docker" and (gpus := _GPUS_OF_ENGINE.get(base_name(command))):
        settings.setdefault("gpus", [Setting(gpus, at)])
    if position < len(words):
        _add(settings, "image", words[position].text, file, words[position], engine)
    frozen = {name: tuple(given) for name, given in settings.items()}
    return ContainerOptions(engine, frozen, at, hidden)


def _take_options(
    file: str,
    engine: Engine,
    words: Sequence[ShellWord],
    position: int,
    settings: dict[str, list[Setting]],
) -> tuple[int, str]:
    """Read options up to the image; return where it stands, and what may hold more."""
    hidden = ""
    while position < len(words):
        word = words[position]
        text = word.text
        if text == "--":
            return position + 1, hidden
        if not text.startswith("-") or text == "-":
            if word.resolved or not _options_follow(words, position):
                return position, hidden
            hidden = hidden or f"{text[:60]} may hold more options"
            position += 1
            continue
        following = words[position + 1] if position + 1 < len(words) else None
        position += 1 + _take_option(file, engine, word, following, settings)
    return position, hidden


def _options_follow(words: Sequence[ShellWord], position: int) -> bool:
    """Return whether an unresolved word may stand for options before an image."""
    if position + 1 >= len(words):
        return False
    following = words[position + 1].text
    if following.endswith(_IMAGES):
        return True
    if following.startswith(("/", "./")) or following.endswith(SCRIPT_SUFFIXES):
        return False  # a program
    return following[:1] in {"-", "$"} or "/" in following or ":" in following


def _take_option(
    file: str,
    engine: Engine,
    word: ShellWord,
    following: ShellWord | None,
    settings: dict[str, list[Setting]],
) -> bool:
    """Add what an option sets; tell whether it took the word behind it."""
    flag, equals, value = word.text.partition("=")
    if not flag.startswith("--") and len(flag) > 2 and not engine.options.get(flag):  # noqa: PLR2004
        return _take_cluster(file, engine, word, following, settings)
    setting = engine.options.get(flag)
    if equals or not engine.takes_value(flag):
        if setting is not None and value != "false":
            text = value if equals else engine.present.get(setting, "")
            _add(settings, setting, text, file, word, engine)
        return False
    if setting is not None and following is not None:
        text = following.text
        _add(settings, setting, text, file, following, engine, flag)
    return following is not None


def _take_cluster(
    file: str,
    engine: Engine,
    word: ShellWord,
    following: ShellWord | None,
    settings: dict[str, list[Setting]],
) -> bool:
    """Add what short options written as one word set: `-it`, `-eNCCL_DEBUG=INFO`."""
    letters = word.text[1:]
    for index, letter in enumerate(letters):
        flag = f"-{letter}"
        setting = engine.options.get(flag)
        if not engine.takes_value(flag):
            if setting is not None:
                present = engine.present.get(setting, "")
                _add(settings, setting, present, file, word, engine)
            continue
        rest = letters[index + 1 :].removeprefix("=")
        if rest:
            if setting is not None:
                _add(settings, setting, rest, file, word, engine)
            return False
        if setting is not None and following is not None:
            _add(settings, setting, following.text, file, following, engine, flag)
        return following is not None
    return False


def _add(
    settings: dict[str, list[Setting]],
    name: str,
    text: str,
    file: str,
    word: ShellWord,
    engine: Engine,
    flag: str = "",
) -> None:
    """Add a setting, or several of a list; the names of variables need no value."""
    key = flag or word.text.partition("=")[0] if name != "image" else "image"
    place = word_place(file, key, word)
    reason = "" if word.resolved else unresolved(word)
    if _PLACEHOLDER.search(text) is not None:
        if name == "mounts":
            return
        reason = f"{text[:60]} is to be filled in"
    if name in {"variables", "mounts"} and "$" in word.text:
        reason = ""  # what counts of them is read part by part
    for part in text.split(",") if name in engine.lists else [text]:
        settings.setdefault(name, []).append(Setting(part, place, reason))


def _entered(
    file: str,
    engine: Engine,
    words: Sequence[ShellWord],
    named: Mapping[str, ContainerOptions],
) -> ContainerOptions | None:
    """Return the container that `docker exec` enters, with what it is given there."""
    settings: dict[str, list[Setting]] = {}
    position, _ = _take_options(file, engine, words, 0, settings)
    target = words[position].text if position < len(words) else ""
    started = named.get(target)
    if started is None:
        return None
    added = {
        name: (*started.every(name), *given)
        for name, given in settings.items()
        if name in {"variables", "variable_files", "privileged"}
    }
    return started._replace(settings={**started.settings, **added})


def _with_image(
    started: ContainerOptions, named: Mapping[str, ContainerOptions]
) -> ContainerOptions:
    """Return a container with the image that another step has given its name to."""
    name = started.last("name")
    first = named.get(name.text) if name is not None else None
    if first is None or started.last("image") is not None:
        return started
    image = first.every("image")
    return started._replace(settings={**started.settings, "image": image})


def _of_starter(
    file: str, engine: Engine, words: Sequence[ShellWord]
) -> ContainerOptions | None:
    """Return the container of an option of srun: nothing without one."""
    settings: dict[str, list[Setting]] = {}
    for position, word in enumerate(words[1:], 1):
        name = base_name(word)
        if name.startswith(_PROGRAMS) or name.endswith(".py"):
            break
        flag, equals, value = word.text.partition("=")
        setting = engine.options.get(flag)
        if setting is None:
            continue
        if equals:
            _add(settings, setting, value, file, word, engine)
        elif position + 1 < len(words):
            behind = words[position + 1]
            _add(settings, setting, behind.text, file, behind, engine, flag)
    if not {"image", "name"} & settings.keys():
        return None
    frozen = {name: tuple(given) for name, given in settings.items()}
    at = word_place(file, base_name(words[0]), words[0])
    return ContainerOptions(engine, frozen, at)


def _of_directives(source: Source) -> ContainerOptions | None:
    """Return the container of `#SBATCH --container-image`, which holds the script."""
    engine = engines()["pyxis"]
    settings: dict[str, list[Setting]] = {}
    first: Directive | None = None
    for directive in source.script.directives:
        setting = engine.options.get(directive.name)
        if setting is None:
            continue
        first = first or directive
        span = Span(directive.line, directive.column, max(1, directive.length))
        place = Place(source.name, directive.name, span=span)
        parts = (
            directive.value.split(",") if setting in engine.lists else [directive.value]
        )
        settings.setdefault(setting, []).extend(Setting(part, place) for part in parts)
    if first is None or "image" not in settings:
        return None
    frozen = {name: tuple(given) for name, given in settings.items()}
    return ContainerOptions(engine, frozen, settings["image"][0].at)

"""Launch commands in scripts: torchrun, deepspeed, accelerate launch.

Sources of the flags and defaults: pytorch torch/distributed/run.py, deepspeed
launcher/runner.py and launch.py, accelerate commands/launch.py.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.container_commands import state_container
from speccheck.validator.sources.formats._huggingface import SHARDING_STAGES
from speccheck.validator.sources.formats.slurm import gpus_per_node, tasks_per_node
from speccheck.validator.sources.launch_spread import machines_of
from speccheck.validator.sources.launching import (
    ACCELERATE,
    DEEPSPEED,
    FT_LAUNCHER,
    MODULE_FLAGS,
    TORCHRUN,
    LaunchCommand,
    Leaf,
    is_sure,
    last_options,
    launches,
    mpi_run_of,
    references,
    shared_facts,
    state_option,
    state_options,
    unabbreviated,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import (
    Unusable,
    integer_text,
    lower_text,
    number,
    one_of,
    text,
    without_place,
)
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reading,
    Reference,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.shell.script import Option, options

_FORMAT = TORCHRUN
# The sections of the key table of launchers.
_SECTIONS = {
    TORCHRUN: "torchrun",
    DEEPSPEED: "deepspeed",
    ACCELERATE: "accelerate launch",
}
_NODES = "cluster.nodes"
_GPUS = "cluster.gpus_per_node"
_PROCESSES = "recovery.processes_per_node"
_RESTARTS = "recovery.max_restarts"
_ENDPOINT = "recovery.rendezvous_endpoint"
_FILE = "recovery.launch_configuration"


def _processes(value: object) -> object:
    """Return a number; `gpu` and `auto` mean all GPUs that the node has."""
    if value in {"gpu", "auto", "cpu"}:
        return Unusable(f"{value}: as many as the node has")
    return _count(value)


def _count(value: object) -> object:
    """Return a number of nodes or processes; -1 stands for all that there are."""
    count = integer_text(value)
    if isinstance(count, int) and count < 1:
        return Unusable(f"{count}: as many as there are")
    return count


def _nodes(value: object) -> object:
    """Return `4`, or `4:4`, which leaves no choice."""
    least, _, most = str(value).partition(":")
    return _count(least if most in {"", least} else value)


_RUN = {
    "--nproc-per-node": Leaf(_PROCESSES, _processes),
    "--max-restarts": Leaf(_RESTARTS, integer_text),
    "--rdzv-backend": Leaf("recovery.rendezvous_backend", lower_text),
}
_RUNNER = {
    "--num_nodes": Leaf(_NODES, _count),
    "--num_gpus": Leaf(_PROCESSES, _count),
    "--num_accelerators": Leaf(_PROCESSES, _count),
    # DSElasticAgent is made with max_restarts=100 (launcher/launch.py).
    "--elastic_training": Leaf(_RESTARTS, text, 100),
}
_ACCELERATE = {
    "--num_machines": Leaf(_NODES, _count),
    "--num_processes": Leaf("cluster.world_size", _count),
    "--max_restarts": Leaf(_RESTARTS, integer_text),
    "--rdzv_backend": Leaf("recovery.rendezvous_backend", lower_text),
    "--config_file": Leaf(_FILE, text),
    "--use_deepspeed": Leaf("parallelism.engine", text, DEEPSPEED),
    "--zero_stage": Leaf("parallelism.sharding_stage", integer_text),
    "--gradient_accumulation_steps": Leaf(
        "batch.gradient_accumulation_steps", integer_text
    ),
    "--gradient_clipping": Leaf("optimizer.clip_norm", number),
    "--fsdp_sharding_strategy": Leaf(
        "parallelism.sharding_stage", one_of(SHARDING_STAGES)
    ),
}
_PRECISIONS = (
    "precision.bf16",
    "precision.compute_dtype",
    "precision.fp16",
    "precision.fp8",
)
# torch/distributed/run.py: --nnodes 1:1, --max-restarts 0; accelerate as torchrun.
_ONE_NODE = (_NODES, 1, "--nnodes defaults to 1")
_OWN_HOST = (_ENDPOINT, "127.0.0.1", "--master-addr defaults to 127.0.0.1")
_DEFAULTS: Mapping[str, tuple[tuple[str, int | str, str], ...]] = {
    TORCHRUN: (
        _ONE_NODE,
        _OWN_HOST,
        (_RESTARTS, 0, "torchrun restarts nothing unless --max-restarts is given"),
    ),
    FT_LAUNCHER: (_ONE_NODE,),
    ACCELERATE: (
        (_RESTARTS, 0, "accelerate restarts nothing unless --max_restarts is given"),
    ),
    DEEPSPEED: (
        (_RESTARTS, 0, "deepspeed restarts nothing without --elastic_training"),
    ),
}


def detect(source: Source) -> float:
    """Recognise it by a launch command."""
    if source.name.endswith((".conf", ".env")):
        return 0.0
    return 0.7 if launches(source) else 0.0


def read(source: Source) -> Reading:
    """Return nodes, processes on each, restarts and rendezvous of launch commands.

    A script may launch several programs; what they do not share is not a fact.
    """
    result = launches(source)
    sheet = FactSheet(source.name)
    parts = [
        [*_facts(source.name, launch), *_facts_of_hosts(source, launch)]
        for launch in result
    ]
    sheet.facts.extend(shared_facts(parts, "launch commands"))
    state_container(sheet, source)
    named = references(source)
    if result:
        _state_gpus(sheet, source, result)
    if len(result) == 1:
        named = tuple(_replacing(reference, result[0], parts[0]) for reference in named)
    return Reading(sheet, _keyed(source.name, result), references=named)


def _keyed(file: str, result: Sequence[LaunchCommand]) -> KeyedFile | None:
    """Return the options of the launcher for the rules on configuration hygiene.

    Of several commands those that they share: what one of them lacks is not known.
    """
    launchers = {launch.launcher for launch in result}
    if len(launchers) != 1 or not launchers <= _SECTIONS.keys():
        return None
    table = load_framework("launchers", _SECTIONS[result[0].launcher])
    parts = [_stated_keys(file, launch, table) for launch in result]
    first, *others = parts
    keys = [
        key
        for path, key in first.items()
        if all(path in other and other[path].value == key.value for other in others)
    ]
    hidden = next((launch.hidden for launch in result if launch.hidden), "")
    if others and not hidden:
        hidden = f"one of {len(result)} commands"
    return KeyedFile(file, _FORMAT, (*keys,), table, hidden=hidden)


def _stated_keys(
    file: str, launch: LaunchCommand, table: FrameworkKeys
) -> dict[KeyPath, StatedKey]:
    """Return the options of one command; a text that only the job knows is unsure.

    Of launchers whose flags change from release to release, those that are tabulated.
    """
    # The switch for a module is the first word of the program.
    is_module = bool(launch.program) and launch.program[0].text in MODULE_FLAGS
    words = (*launch.options, *launch.program[:is_module])
    keys: dict[KeyPath, StatedKey] = {}
    for option in options(words):
        flag, values, word = option
        name = unabbreviated(_spelling(flag, launch.launcher), table.rows)
        if launch.launcher != TORCHRUN and table.lookup((name,)) is None:
            continue
        written = values[0] if values else word
        keys[(name,)] = StatedKey(
            (name,),
            values[0].text if values else True,
            word_place(file, flag, word),
            is_sure=is_sure(option) and written.resolved,
            value_at=word_place(file, flag, written),
            only_if=written.only_if,
        )
    return keys


def _replacing(named: Reference, launch: LaunchCommand, facts: list[Fact]) -> Reference:
    """Return options of accelerate launch, which win over those of --config_file."""
    given = last_options(options(launch.options))
    if launch.launcher != ACCELERATE or "--config_file" not in given:
        return named
    _, values, _ = given["--config_file"]
    if not values or values[0].text != named.target:
        return named
    stated = {fact.name for fact in facts if fact.status != "default"}
    if "--mixed_precision" in given:
        stated.update(_PRECISIONS)
    return named._replace(replaces=tuple(sorted(stated)))


def _facts(file: str, launch: LaunchCommand) -> list[Fact]:
    sheet = FactSheet(file)
    place = word_place(file, launch.launcher, launch.word)
    sheet.state("recovery.launcher", launch.launcher, place)
    note = f"{launch.launcher} starts PyTorch"
    sheet.default("run.uses_torch", value=True, note=note)
    given = last_options(
        (_spelling(flag, launch.launcher), values, word)
        for flag, values, word in options(launch.options)
    )
    _STATE[launch.launcher](sheet, given)
    _default(sheet, launch)
    return sheet.facts


def _facts_of_hosts(source: Source, launch: LaunchCommand) -> Iterator[Fact]:
    """Yield what the hostfile of deepspeed states, where no option chooses from it."""
    given = last_options(options(launch.options))
    names = [flag for flag in ("-H", "--hostfile") if flag in given]
    if launch.launcher != DEEPSPEED or not names or launch.hidden:
        return
    if not {"-i", "--include", "-e", "--exclude"}.isdisjoint(given):
        return
    machines, places = machines_of(source, given[names[0]])
    note = f"{len(machines)} hosts in the hostfile"
    if machines and "--num_nodes" not in given:
        yield Fact(_NODES, len(machines), "derived", places, note)
    counts = {host.slots for host in machines}
    each = counts.pop() if len(counts) == 1 else None
    if each and given.keys().isdisjoint({"--num_gpus", "--num_accelerators"}):
        note = f"slots={each} on each host"
        yield Fact(_PROCESSES, each, "derived", places, note)


def _spelling(flag: str, launcher: str) -> str:
    """Return the spelling; torchrun and accelerate take dashes as underscores."""
    if launcher == ACCELERATE and flag.startswith("--"):
        return f"--{flag[2:].replace('-', '_')}"
    return flag.replace("_", "-") if launcher in {TORCHRUN, FT_LAUNCHER} else flag


def _default(sheet: FactSheet, launch: LaunchCommand) -> None:
    """State the launcher's defaults, as far as no option may be out of sight."""
    mentioned = {fact.name for fact in sheet.facts}
    if launch.hidden and launch.launcher == ACCELERATE:
        for leaf in {_FILE, _ENDPOINT} - mentioned:
            without_place(sheet, leaf, f"may be given in {launch.hidden[:60]}")
    for leaf, value, note in _DEFAULTS.get(launch.launcher, ()):
        if leaf in mentioned:
            continue
        if launch.hidden:
            without_place(sheet, leaf, f"may be given in {launch.hidden[:60]}")
        else:
            sheet.default(leaf, value, note)


def _state_run(sheet: FactSheet, given: Mapping[str, Option]) -> None:
    """State the options of torchrun and torch.distributed.launch."""
    state_options(sheet, given, _RUN)
    if "--nnodes" in given:
        _state_nodes(sheet, given["--nnodes"])
    elif "--standalone" in given:
        sheet.default(_NODES, 1, "--standalone: one node")
    if "--standalone" in given:
        sheet.default(_ENDPOINT, "localhost", "--standalone: this node")
        return
    if "--rdzv-endpoint" in given:
        state_option(sheet, Leaf(_ENDPOINT, text), given["--rdzv-endpoint"])
    elif "--master-addr" in given:
        state_option(sheet, Leaf(_ENDPOINT, text), given["--master-addr"])


def _state_nodes(sheet: FactSheet, option: Option) -> None:
    """State the nodes: `4`, or `2:4` of an elastic launch, judged as the full job."""
    flag, values, _ = option
    written = values[0].text if values else ""
    least, colon, most = written.partition(":")
    if not colon or least == most or not values[0].resolved:
        state_option(sheet, Leaf(_NODES, _nodes), option)
        return
    place = word_place(sheet.file, flag, values[0])
    bounds = (("minimum", _count(least)), ("maximum", _count(most)))
    for name, count in bounds:
        if isinstance(count, int):
            sheet.state(f"recovery.{name}_nodes", count, place)
    if isinstance(bounds[1][1], int):
        note = f"elastic, {least} to {most} nodes: judged as the full job"
        sheet.facts.append(Fact(_NODES, bounds[1][1], "default", (place,), note))


def _state_runner(sheet: FactSheet, given: Mapping[str, Option]) -> None:
    """State the options of the deepspeed launcher."""
    state_options(sheet, given, _RUNNER)
    if "--master_addr" in given:
        state_option(sheet, Leaf(_ENDPOINT, text), given["--master_addr"])
    for flag in ("--include", "-i"):
        if flag in given:
            _state_included(sheet, given[flag])


def _state_included(sheet: FactSheet, option: Option) -> None:
    """State `host-1:0,1@host-2:0,1`: hosts and, after the colon, their GPUs."""
    flag, values, _ = option
    if not values or not values[0].resolved:
        return
    place = word_place(sheet.file, flag, values[0])
    hosts = [part for part in values[0].text.split("@") if part]
    counts = {len(host.partition(":")[2].split(",")) for host in hosts if ":" in host}
    sheet.derive(_NODES, len(hosts), f"{len(hosts)} hosts in {flag}", place)
    if len(counts) == 1 and all(":" in host for host in hosts):
        sheet.derive(_PROCESSES, counts.pop(), f"the GPUs in {flag}", place)


def _state_accelerate(sheet: FactSheet, given: Mapping[str, Option]) -> None:
    """State the options of accelerate launch, which win over its file."""
    state_options(sheet, given, _ACCELERATE)
    if "--main_process_ip" in given:
        state_option(sheet, Leaf(_ENDPOINT, text), given["--main_process_ip"])
    if "--use_fsdp" in given:
        version = given.get("--fsdp_version", ("", (), None))[1]
        name = "fsdp2" if version and version[0].text == "2" else "fsdp1"
        leaf = Leaf("parallelism.engine", text, name)
        state_option(sheet, leaf, given["--use_fsdp"])
    if "--mixed_precision" in given:
        _state_precision(sheet, given["--mixed_precision"])


def _state_precision(sheet: FactSheet, option: Option) -> None:
    """State the precision; `no` says nothing for sure, as the Trainer replaces it."""
    flag, values, _ = option
    if not values:
        return
    word = values[0].text.lower()
    if not values[0].resolved:
        place = word_place(sheet.file, flag, values[0])
        sheet.unusable("precision.compute_dtype", unresolved(values[0]), place)
    elif word in {"bf16", "fp16", "fp8"}:
        place = word_place(sheet.file, flag, values[0])
        sheet.derive(f"precision.{word}", True, f"{flag} {word}", place)  # noqa: FBT003


_STATE: Mapping[str, Callable[[FactSheet, Mapping[str, Option]], None]] = {
    TORCHRUN: _state_run,
    FT_LAUNCHER: _state_run,
    DEEPSPEED: _state_runner,
    ACCELERATE: _state_accelerate,
}


def _state_gpus(
    sheet: FactSheet, source: Source, result: Sequence[LaunchCommand]
) -> None:
    """Add one process for each GPU of the node if a launcher is alone there.

    Several may run side by side there, unless they stand in branches of the script.
    """
    are_branches = all(launch.command.conditional for launch in result)
    shares_node = any(
        launch.every_task and _tasks_on_node(source, launch) != 1 for launch in result
    )
    picks_devices = any(
        assignment.name == "CUDA_VISIBLE_DEVICES"
        for assignment in (
            *source.script.assignments,
            *(item for launch in result for item in launch.command.environment),
        )
    )
    requested = gpus_per_node(source) or 0
    for fact in list(sheet.facts):
        if fact.name != _PROCESSES:
            continue
        note = f"{result[0].launcher} starts one process for each GPU"
        leaves_some = requested > (fact.value or 0)
        if fact.value is None:
            sheet.facts.append(fact._replace(name=_GPUS))
        elif len(result) > 1 and not are_branches:
            reason = f"{len(result)} launch commands may share the GPUs of a node"
            sheet.unusable(_GPUS, reason, *fact.places[:1])
        elif shares_node or picks_devices or leaves_some or len(result) > 1:
            sheet.facts.append(Fact(_GPUS, fact.value, "default", fact.places, note))
        else:
            sheet.derive(_GPUS, fact.value, note, *fact.places)


def _tasks_on_node(source: Source, launch: LaunchCommand) -> int | None:
    """Return how often MPI or Slurm starts the launcher on a node."""
    mpi_run = mpi_run_of(launch.command)
    if mpi_run is not None and mpi_run.ranks_per_node is not None:
        return mpi_run.ranks_per_node.number
    return tasks_per_node(source)


_WORDS = (
    "accelerate",
    "deepspeed",
    "ft_launcher",
    "torch.distributed",
    "torchrun",
    "tune",
)
READER = ScriptReader(_FORMAT, "launcher", detect, read, words=_WORDS)

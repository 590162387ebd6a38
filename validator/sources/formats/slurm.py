"""Slurm batch scripts: what `#SBATCH` lines and the training srun ask of the scheduler.

Source of the options: https://slurm.schedmd.com/sbatch.html and srun.html.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.container_commands import state_container
from speccheck.validator.sources.context import gpu_facts
from speccheck.validator.sources.launching import (
    base_name,
    launch_of,
    launches,
    mentions_only,
    mpi_run_of,
    python_program,
    references,
    starts_tasks,
    unabbreviated,
    word_place,
)
from speccheck.validator.sources.mapping import whole_number, without_place
from speccheck.validator.sources.reader import (
    FactSheet,
    Reading,
    Reference,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.shell.directives import doubtful_directives
from speccheck.validator.sources.shell.script import (
    Directive,
    ShellCommand,
    ShellWord,
    options,
)

_FORMAT = "slurm"
_SHORT = {
    "-C": "--constraint",
    "-c": "--cpus-per-task",
    "-G": "--gpus",
    "-N": "--nodes",
    "-n": "--ntasks",
    "-p": "--partition",
    "-t": "--time",
    "--tasks-per-node": "--ntasks-per-node",
}
# The options of srun that say how the training starts; a step takes the others from
# the job.
_OF_STEPS = frozenset(
    {
        "--nodes",
        "--ntasks",
        "--ntasks-per-node",
        "--gpus-per-node",
        "--gpus-per-task",
        "--gres",
        "--cpus-per-gpu",
        "--cpus-per-task",
    }
)
# What only an allocation takes, beside those.
_OF_ALLOCATIONS = frozenset(
    {
        "--constraint",
        "--exclusive",
        "--gpus",
        "--no-requeue",
        "--partition",
        "--requeue",
        "--signal",
        "--switches",
        "--time",
    }
)
_WRAPPERS = 4  # words in front of salloc: `nohup time salloc ...`
_COMPONENT = lazy_pattern(r"^#SBATCH[ \t]+(?:het|pack)job\b", re.MULTILINE)
# What another tool fills in: `{TIME}`, `<hours>`, `__NODES__`, `YOUR_ACCOUNT`.
_FEATURE_SIGN = lazy_pattern(r"[&,*()\s]+")
_PLACEHOLDER = lazy_pattern(
    r"\{\w+\}|<[^<>]+>|__\w+__|^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$|\[[A-Z_]+\]"
)
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60
_GPU_OPTIONS = ("--gpus", "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket")
_GPU_WORDS = ("gpu", "dgx", "a100", "h100", "h200", "b200", "v100", "mi300", "mi250")
_STARTERS = ("srun", "salloc", "sbatch")
_PART_OF_JOB = lazy_pattern(r"--overlap$|-w|--nodelist\b")
_EACH = "--ntasks-per-node"
_NODES, _TASKS = "cluster.nodes", "recovery.tasks_per_node"
_GPUS = "cluster.gpus_per_node"
_ALLOCATED = frozenset(
    {
        _NODES,
        _GPUS,
        "cluster.accelerator",
        "cluster.world_size",
        "recovery.exit_before_walltime",
        "recovery.requeue",
        "recovery.walltime_seconds",
    }
)


def detect(source: Source) -> float:
    """Recognise it by a request for GPUs, or a launch; other jobs do not train."""
    if not source.script.directives and not any(
        name in source.text for name in _STARTERS
    ):
        return 0.0
    request = request_of(source)
    if not request.job and not request.step:
        return 0.0
    if _asks_for_gpus(request) or (request.job and launches(source)):
        return 0.8
    if source.script.directives and _runs_container(source):
        return 0.6
    commands = [
        command for command in source.script.commands if not mentions_only(command)
    ]
    starts = any(
        starts_tasks(command) or python_program(command) for command in commands
    )
    nodes = request.find("--nodes")
    is_wide = nodes is not None and nodes.text.strip() != "1"
    return 0.6 if starts and is_wide else 0.4


def _runs_container(source: Source) -> bool:
    """Return whether srun starts a container of a job that speaks of GPUs.

    What it starts there, and on how many nodes, is often told by its caller, as in the
    results of MLPerf.
    """
    return "gpu" in source.text.lower() and any(
        any(word.text.startswith("--container-") for word in _own_words(step, "srun"))
        for command in source.script.commands
        if (step := _srun_of(command)) is not None
    )


class Requested(Record):
    """An option: its text without quotes, and where it is written."""

    text: str
    place: Place


class SlurmRequest(Record):
    """The options of the job by long name, and those of its training step.

    Of equal options sbatch takes the last. `has_components`: a heterogeneous job, whose
    components ask for different nodes.
    """

    job: dict[str, Requested]
    step: dict[str, Requested]
    has_components: bool

    def find(self, name: str) -> Requested | None:
        """Return what the training step gets: its own option before that of the job."""
        return self.step.get(name) or self.job.get(name)


def _asks_for_gpus(request: SlurmRequest) -> bool:
    if any(name in request.job or name in request.step for name in _GPU_OPTIONS):
        return True
    names = ("--gres", "--constraint", "--partition", "--tres-per-task")
    texts = [
        requested.text.lower() for name in names if (requested := request.find(name))
    ]
    return any(word in text for text in texts for word in _GPU_WORDS)


def read(source: Source) -> Reading:
    """Return the allocation: nodes, GPUs, tasks, wall time, requeue."""
    sheet = FactSheet(source.name)
    request = request_of(source)
    if request.has_components:
        for leaf in (_NODES, _GPUS, "cluster.world_size"):
            without_place(sheet, leaf, "the job has several components")
    else:
        _state_nodes(sheet, source, request)
        _state_gpus(sheet, source, request)
    _state_tasks(sheet, source, request)
    _state_processors(sheet, source, request)
    _state_time(sheet, request)
    _state_placement(sheet, request)
    state_container(sheet, source)
    named = references(source)
    if not source.script.directives and request.job:
        named = tuple(_submitted(reference, sheet) for reference in named)
    return Reading(sheet, _keyed(source, request), references=named)


def _keyed(source: Source, request: SlurmRequest) -> KeyedFile | None:
    """Return the options of `#SBATCH` lines for the rules on configuration hygiene.

    None where they belong to several components, and of a command line: a wrapper may
    take some of them for itself.
    """
    table = keys_of_format(_FORMAT)
    if table is None or request.has_components or not source.script.directives:
        return None
    keys: dict[str, StatedKey] = {}
    for directive in source.script.directives:
        written = _SHORT.get(directive.name, directive.name)
        name = unabbreviated(written, table.rows)
        row = table.lookup((name,))
        value: object = f"{directive.value} {directive.stray}".rstrip()
        if row is not None and "flag" in row.type:
            # a switch takes no value: sbatch refuses the word behind it, or skips it
            value = True if row.type == "flag" else directive.value or True
        is_sure = _PLACEHOLDER.search(directive.value) is None
        place = _place(source.name, written, directive)
        keys[name] = StatedKey((name,), value, place, is_sure=is_sure)
    not_read = tuple(_not_read(source, keys))
    values = (*keys.values(),)
    return KeyedFile(source.name, _FORMAT, values, table, not_read=not_read)


def _not_read(source: Source, keys: Collection[str]) -> Iterator[tuple[StatedKey, str]]:
    """Yield lines that look like options and are none, or that sbatch complains of.

    A comment may hold what was once asked for: it counts where nothing else does so.
    """
    if source.own_text != source.text:
        return
    for directive, why in doubtful_directives(source.text):
        name = _SHORT.get(directive.name, directive.name)
        if not why.startswith("a blank") or name not in keys:
            place = _place(source.name, name, directive)
            yield StatedKey((name,), directive.value, place), why


def _place(file: str, name: str, directive: Directive) -> Place:
    span = Span(directive.line, directive.column, max(1, directive.length))
    return Place(file, name, span=span)


def _submitted(named: Reference, sheet: FactSheet) -> Reference:
    """Return the options of sbatch on the command line, which win over the script's."""
    if not named.target.endswith(SCRIPT_SUFFIXES):
        return named
    stated = {fact.name for fact in sheet.facts if fact.status != "unknown"}
    return named._replace(replaces=tuple(sorted(stated & _ALLOCATED)))


def _state_nodes(sheet: FactSheet, source: Source, request: SlurmRequest) -> None:
    """State the nodes: `4`; of `2-4` the scheduler grants what is free."""
    requested = _nodes_that_train(source, request)
    if requested is not None:
        least, dash, most = requested.text.partition("-")
        bounds = (count_of(least), count_of(most if dash else least))
        if None in bounds:
            reason = f"{requested.text[:40]!r} is no number of nodes"
            sheet.unusable(_NODES, reason, requested.place)
        elif bounds[0] == bounds[1]:
            sheet.state(_NODES, bounds[0], requested.place)
        else:
            sheet.state("recovery.minimum_nodes", bounds[0], requested.place)
            sheet.state("recovery.maximum_nodes", bounds[1], requested.place)
            reason = f"{requested.text} nodes: as many as Slurm can grant"
            sheet.unusable(_NODES, reason, requested.place)
        return
    tasks, share = request.find("--ntasks"), request.find(_EACH)
    if tasks is not None and share is not None:
        total, local = count_of(tasks.text), count_of(share.text)
        if total and local and total % local == 0:
            note = f"{total} tasks / {local} a node = {total // local}"
            sheet.derive(_NODES, total // local, note, tasks.place, share.place)


def _nodes_that_train(source: Source, request: SlurmRequest) -> Requested | None:
    """Return the nodes of the job, or those on which its one step trains.

    A step on a single host may stand in a loop over all of them.
    """
    of_step = _shared([*_partial_steps(source)]).get("--nodes")
    is_whole = of_step is None or bool(request.step) or count_of(of_step.text) == 1
    return request.find("--nodes") if is_whole else of_step


def _state_gpus(sheet: FactSheet, source: Source, request: SlurmRequest) -> None:
    """State the GPUs of a node as requested by node, by task, or for the whole job."""
    known = False
    for name in ("--gpus-per-node", "--gres"):
        requested = request.find(name)
        if requested is None:
            continue
        counts = (
            gres_counts(requested.text)
            if name == "--gres"
            else gpu_counts(requested.text)
        )
        if counts:
            _state_count(sheet, _GPUS, counts, requested)
            known = True
    total = request.find("--gpus")
    if total is not None:
        _state_count(sheet, "cluster.world_size", gpu_counts(total.text), total)
    share = request.find("--gpus-per-task")
    if share is not None and not known:
        _state_share(sheet, source, request, share)
    feature = request.find("--constraint")
    if feature is not None:
        _state_feature(sheet, feature)


def _state_feature(sheet: FactSheet, requested: Requested) -> None:
    """State what follows from features that nodes must have, where they name a GPU.

    `h100&80gb` names a board in two words. One of several GPUs will do in `a100|h100`;
    no feature that a site has named for itself says anything.
    """
    if {"|", "["} & {*requested.text} or _PLACEHOLDER.search(requested.text):
        return
    words = [word for word in _FEATURE_SIGN.split(requested.text) if word]
    for name in ("-".join(words), *words):
        with suppress(UnknownName):
            gpu_facts(sheet, name, requested.place)
            return


def _state_share(
    sheet: FactSheet, source: Source, request: SlurmRequest, requested: Requested
) -> None:
    """State GPUs of a node, or of the job, where each task gets its own."""
    counts = gpu_counts(requested.text)
    each, tasks = total_of(counts), tasks_per_node(source)
    total = request.find("--ntasks")
    every = count_of(total.text) if total is not None else None
    if each is not None:
        _state_type(sheet, counts, requested.place)
    if each is not None and total is not None and every and not request.find("--nodes"):
        note = f"{every} tasks x {each} GPUs = {every * each}"
        places = (total.place, requested.place)
        sheet.derive("cluster.world_size", every * each, note, *places)
    if each is None or tasks is None:
        reason = "the tasks of a node, or the GPUs of one, cannot be worked out"
        sheet.unusable(_GPUS, reason, requested.place)
        return
    note = f"{tasks} tasks a node x {each} GPUs = {tasks * each}"
    sheet.derive(_GPUS, tasks * each, note, requested.place)


Counts = list[tuple[str, int | None]]


"""Type and number of each request for GPUs; None for a number that cannot be read."""


def gres_counts(text: str) -> Counts:
    """Return the GPUs in `gpu:8`, `gpu:h100:8`, `gpu:8(S:0-1)`, `nvme:1,gpu:a100:4`."""
    text_lists: Counts = []
    for part in text.split(","):
        name, *rest = part.strip().partition("(")[0].removeprefix("gres/").split(":")
        if name not in {"gpu", "gpus"}:
            continue
        if rest and rest[-1][:1].isalpha():
            rest.append("1")  # `gpu:h100` is one of them
        text_lists.extend(gpu_counts(":".join(rest or ["1"])))
    return text_lists


def gpu_counts(text: str) -> Counts:
    """Return the GPUs in `8`, `h100:8`, `a100:4,h100:4`."""
    text_lists: Counts = []
    for part in text.split(","):
        kind, _, number = part.strip().rpartition(":")
        text_lists.append((kind, count_of(number)))
    return text_lists


def total_of(counts: Counts) -> int | None:
    """Return the number of all requests together; None where one cannot be read."""
    numbers = [number for _, number in counts if number is not None]
    return sum(numbers) if numbers and len(numbers) == len(counts) else None


def _state_count(
    sheet: FactSheet, leaf: str, counts: Counts, requested: Requested
) -> None:
    total = total_of(counts)
    if total is None:
        sheet.unusable(
            leaf, f"{requested.text[:40]!r} is no number of GPUs", requested.place
        )
        return
    sheet.state(leaf, total, requested.place)
    _state_type(sheet, counts, requested.place)


def _state_type(sheet: FactSheet, counts: Counts, place: Place) -> None:
    """State what follows from the type of the GPUs.

    Sites may use names of their own.
    """
    types = {kind for kind, _ in counts}
    if len(types) != 1 or types == {""}:
        return
    with suppress(UnknownName):
        gpu_facts(sheet, types.pop(), place)


def _state_tasks(sheet: FactSheet, source: Source, request: SlurmRequest) -> None:
    """State tasks on each node: how often the program that srun starts runs there."""
    result = launches(source)
    if result and not any(launch.every_task for launch in result):
        note = f"{result[0].launcher} runs in the batch script itself, once"
        sheet.derive(_TASKS, 1, note)
        return
    starters = [command for command in source.script.commands if starts_tasks(command)]
    if all(_tells_tasks(starter) for starter in starters):
        return
    partial = _shared([*_partial_steps(source)])
    share = _share_of(partial)
    if share is not None and not request.step:
        at = partial.get(_EACH) or partial["--ntasks"]
        sheet.derive(_TASKS, share, "the step on each host asks for so many", at.place)
        return
    requested = request.find(_EACH)
    tasks = tasks_per_node(source)
    if requested is not None and tasks is None:
        reason = f"{requested.text[:40]!r} is no number of tasks"
        sheet.unusable(_TASKS, reason, requested.place)
    elif requested is not None:
        sheet.state(_TASKS, tasks, requested.place)
    elif tasks is not None and (total := request.find("--ntasks")) is not None:
        sheet.derive(_TASKS, tasks, f"{total.text} tasks on all nodes", total.place)
    elif tasks is not None:
        note = "Slurm starts one task on a node unless it is asked for more"
        sheet.default(_TASKS, tasks, note)


def _state_processors(sheet: FactSheet, source: Source, request: SlurmRequest) -> None:
    """State CPUs of the job on a node; all of them if it has nodes to itself."""
    leaf = "cluster.job_cpus_per_node"
    share, tasks = request.find("--cpus-per-task"), tasks_per_node(source)
    if share is None or "--exclusive" in request.job:
        return
    each = count_of(share.text)
    if each and tasks:
        note = f"{tasks} tasks a node x {each} CPUs = {tasks * each}"
        sheet.derive(leaf, tasks * each, note, share.place)


def _state_placement(sheet: FactSheet, request: SlurmRequest) -> None:
    """State whether the job is kept within few switches, as its own options say."""
    leaf = "cluster.placement_requested"
    if (requested := request.job.get("--switches")) is not None:
        sheet.state(leaf, value=True, at=requested.place)
    elif request.job:
        sheet.default(leaf, value=False, note="--switches is not asked for")


def _tells_tasks(command: ShellCommand) -> bool:
    """Return whether MPI starts the tasks of a command, by its own number."""
    mpi_run = mpi_run_of(command)
    return mpi_run is not None and mpi_run.tells_count


def _state_time(sheet: FactSheet, request: SlurmRequest) -> None:
    """State wall time, the signal before its end, and whether the job is put back."""
    if (requested := request.find("--time")) is not None:
        seconds = wall_time_seconds(requested.text)
        if seconds is not None:
            sheet.state("recovery.walltime_seconds", seconds, requested.place)
    if (requested := request.find("--signal")) is not None:
        sheet.state("recovery.exit_before_walltime", value=True, at=requested.place)
    leaf = "recovery.requeue"
    wishes = [name for name in request.job if name in {"--requeue", "--no-requeue"}]
    if wishes:
        wish = wishes[-1]
        sheet.state(leaf, wish == "--requeue", request.job[wish].place)
    elif request.job:
        reason = "not asked for: JobRequeue of the cluster's slurm.conf decides"
        without_place(sheet, leaf, reason)


def wall_time_seconds(text: str) -> float | None:
    """Return the seconds of `minutes`, `m:s`, `h:m:s`, `d-h`, `d-h:m` or `d-h:m:s`.

    None for no limit, which 0 and UNLIMITED ask for, and for what is no time.
    """
    days, dash, clock = text.strip().rpartition("-")
    known = [whole_number(part) for part in clock.split(":")]
    numbers = [number for number in known if number is not None]
    whole_days = whole_number(days) if dash else 0
    if len(numbers) < len(known) or whole_days is None:
        return None
    if dash:
        hours, minutes, seconds = [*numbers, 0, 0][:3]
    elif len(numbers) == 1:
        hours, minutes, seconds = 0, numbers[0], 0
    else:
        hours, minutes, seconds = [0, *numbers][-3:]
    total = whole_days * _DAY + hours * _HOUR + minutes * _MINUTE + seconds
    return float(total) or None


def request_of(source: Source) -> SlurmRequest:
    """Return what a script asks of Slurm: by `#SBATCH` lines, else by commands."""
    job: dict[str, Requested] = {}
    if not source.script.directives:
        job = _allocation(source)
    for directive in source.script.directives:
        name = _SHORT.get(directive.name, directive.name)
        place = _place(source.name, name, directive)
        job[name] = Requested(directive.value.strip("\"'"), place)
    has_components = _COMPONENT.search(source.text) is not None
    # Without an allocation srun makes one of its own, by the options of a job.
    allowed = _OF_STEPS if job else _OF_STEPS | _OF_ALLOCATIONS
    return SlurmRequest(job, _training_step(source, allowed), has_components)


def _allocation(source: Source) -> dict[str, Requested]:
    """Return the options of `salloc` or `sbatch` on the command line.

    Options on which several of them differ are those of different jobs.
    """
    result = [
        _requested(source, _own_words(command, name), _OF_STEPS | _OF_ALLOCATIONS)
        for command in source.script.commands
        for name in ("salloc", "sbatch")
        if command.outer is None and _is_started(command, name)
    ]
    return _shared(result)


def _is_started(command: ShellCommand, name: str) -> bool:
    """Return whether a command is this program: its first word, or behind a wrapper."""
    return not mentions_only(command) and any(
        base_name(word) == name for word in command.words[:_WRAPPERS]
    )


def _shared(result: list[dict[str, Requested]]) -> dict[str, Requested]:
    """Return the options on which all agree."""
    if not result:
        return {}
    first, *others = result
    return {
        name: requested
        for name, requested in first.items()
        if all(name in other and other[name].text == requested.text for other in others)
    }


def _training_step(source: Source, allowed: frozenset[str]) -> dict[str, Requested]:
    """Return the options of the srun that trains; none where several differ in them."""
    steps = list(_steps(source, allowed))
    trains = [item for item, command in steps if _is_training(command)]
    if not trains and len(steps) == 1:
        runs_script = any(
            word.text.endswith(SCRIPT_SUFFIXES) for word in steps[0][1].words
        )
        trains = [steps[0][0]] if runs_script else []
    return _shared(trains)


def _partial_steps(source: Source) -> Iterator[dict[str, Requested]]:
    """Yield the options of each srun that trains on some hosts of the job."""
    for command in source.script.commands:
        step = _srun_of(command)
        if step is not None and _is_partial(step) and _is_training(command):
            yield _requested(source, _own_words(step, "srun"), _OF_STEPS)


def _is_partial(step: ShellCommand) -> bool:
    """Return whether a step is a part of the job: beside others, or on named hosts."""
    return any(_PART_OF_JOB.match(word.text) for word in step.words)


def _steps(
    source: Source, allowed: frozenset[str]
) -> Iterator[tuple[dict[str, Requested], ShellCommand]]:
    for command in source.script.commands:
        step = _srun_of(command)
        if step is None or mentions_only(command):
            continue
        if not _is_partial(step):
            yield _requested(source, _own_words(step, "srun"), allowed), command


def _requested(
    source: Source, words: Sequence[ShellWord], allowed: frozenset[str]
) -> dict[str, Requested]:
    """Return the options among words, by long name, with the value that is known."""
    result: dict[str, Requested] = {}
    for flag, values, word in options(words):
        name = _SHORT.get(flag[:2], flag) if flag[1:2] != "-" else flag
        if name not in allowed:
            continue
        attached = flag[2:] if flag[1:2] != "-" else ""
        written = values[0] if values and not attached else word
        text = attached or (written.text if values else "")
        if written.resolved:
            result[name] = Requested(text, word_place(source.name, name, written))
    return result


def _srun_of(command: ShellCommand) -> ShellCommand | None:
    """Return the command whose srun starts it: itself, or one that holds it."""
    result: ShellCommand | None = command
    while result is not None:
        if any(base_name(word) == "srun" for word in result.words):
            return result
        result = result.outer
    return None


def _own_words(command: ShellCommand, starter: str) -> tuple[ShellWord, ...]:
    """Return the words of srun, salloc or sbatch, up to the program that it starts."""
    names = [base_name(word) for word in command.words]
    start = names.index(starter) + 1
    for position in range(start, len(names)):
        name = names[position]
        if name.startswith(_PROGRAMS) or name.endswith((".py", *SCRIPT_SUFFIXES)):
            return command.words[start:position]
    return command.words[start:]


_PROGRAMS = (
    "accelerate",
    "bash",
    "deepspeed",
    "ft_launcher",
    "mpiexec",
    "mpirun",
    "python",
    "srun",
    "torchrun",
)


def _is_training(command: ShellCommand) -> bool:
    return launch_of(command) is not None or python_program(command) is not None


def step_request(
    source: Source, command: ShellCommand, request: SlurmRequest
) -> SlurmRequest | None:
    """Return what the srun of one command asks for; None for a part of the job.

    A step beside others, or on hosts that it names, runs on nodes that nobody counts.
    """
    step = _srun_of(command)
    if step is None or any(_PART_OF_JOB.match(word.text) for word in step.words):
        return None
    words = _own_words(step, "srun")
    own = _requested(source, words, _OF_STEPS)
    # What a variable states is not what the job asks for in its stead.
    for flag, values, word in options(words):
        name = _SHORT.get(flag[:2], flag) if flag[1:2] != "-" else flag
        if name in _OF_STEPS and name not in own:
            written = values[0] if values else word
            place = word_place(source.name, name, written)
            own[name] = Requested(written.text, place)
    return request._replace(step=own)


def tasks_per_node(source: Source) -> int | None:
    """Return the tasks on each node; Slurm starts one unless set otherwise."""
    return tasks_of(request_of(source))


def tasks_of(request: SlurmRequest) -> int | None:
    """Return the tasks on each node that a job or its step asks for."""
    options = {**request.job, **request.step}
    return _share_of(options) if options.keys() & {_EACH, "--ntasks"} else 1


def gpus_per_node(source: Source) -> int | None:
    """Return the GPUs of a node that a batch script asks for by number."""
    request = request_of(source)
    for name, counts_of in (("--gpus-per-node", gpu_counts), ("--gres", gres_counts)):
        requested = request.find(name)
        if requested is not None and (counts := counts_of(requested.text)):
            return total_of(counts)
    return None


def _share_of(options: Mapping[str, Requested]) -> int | None:
    """Return the tasks on each node by the options of a job or step, where known."""
    if _EACH in options:
        return count_of(options[_EACH].text.partition("*")[0])
    tasks, nodes = options.get("--ntasks"), options.get("--nodes")
    if tasks is None:
        return None
    total = count_of(tasks.text)
    hosts = count_of(nodes.text) if nodes is not None else None
    return total // hosts if total and hosts and total % hosts == 0 else None


def count_of(text: str) -> int | None:
    """Return a whole number above zero, or None."""
    return whole_number(text) or None


READER = ScriptReader(_FORMAT, "launcher", detect, read, words=("#SBATCH", *_STARTERS))

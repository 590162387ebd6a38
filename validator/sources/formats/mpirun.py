"""Training programs that mpirun, mpiexec or horovodrun start, one process for each GPU.

A launcher of PyTorch below mpirun (`mpirun -N 1 torchrun ...`) says the rest itself.
"""

from collections.abc import Iterator

from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.launch_spread import mpi_run_in
from speccheck.validator.sources.launching import (
    HOROVODRUN,
    MpiRun,
    ProcessCount,
    launch_of,
    mentions_only,
    python_program,
    references,
    shared_facts,
    unresolved,
    word_place,
)
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reading,
    ScriptReader,
    Source,
)

_FORMAT = "mpirun"
_NODES, _GPUS = "cluster.nodes", "cluster.gpus_per_node"
_WORLD, _PROCESSES = "cluster.world_size", "recovery.processes_per_node"
_TASKS = "recovery.tasks_per_node"


# What runs programs in an image, and what changes where libraries are looked for.
_OWN_LIBRARIES = (
    "--container-image",
    "apptainer",
    "ch-run",
    "docker",
    "enroot",
    "nerdctl",
    "podman",
    "shifter",
    "singularity",
    "module load",
    "module add",
    "ml load",
    "spack load",
    "activate",
    "hpcx_load",
    "LD_LIBRARY_PATH=",
)
_DOCUMENTS = (".yaml", ".yml", ".json", ".toml")
_WORDS = ("mpi", "orterun", "prterun", HOROVODRUN)


def detect(source: Source) -> float:
    """Recognise it by a program of Python, or a launcher of PyTorch, under MPI."""
    if not any(word in source.text for word in _WORDS):
        return 0.0
    return 0.7 if next(_trainings(source), None) is not None else 0.0


def _trainings(source: Source) -> Iterator[tuple[MpiRun, bool]]:
    """Yield ways in which MPI starts training, and whether by PyTorch's launcher."""
    for command in source.script.commands:
        if mentions_only(command):
            continue
        launch = launch_of(command)
        if launch is None and python_program(command) is None:
            continue
        mpi_run = mpi_run_in(source, command)
        if mpi_run is not None:
            yield mpi_run, launch is not None


def read(source: Source) -> Reading:
    """Return nodes, processes and GPUs of the programs that train."""
    sheet = FactSheet(source.name)
    parts = [
        _facts(source, mpi_run, by_launcher=by_launcher)
        for mpi_run, by_launcher in _trainings(source)
    ]
    sheet.facts.extend(shared_facts(parts, "commands under MPI"))
    return Reading(sheet, references=references(source))


def _facts(source: Source, mpi_run: MpiRun, *, by_launcher: bool) -> list[Fact]:
    sheet = FactSheet(source.name)
    if by_launcher:
        _state_count(sheet, _TASKS, mpi_run.ranks_per_node)
    else:
        place = word_place(source.name, mpi_run.name, mpi_run.word)
        sheet.state("recovery.launcher", mpi_run.name, place)
        _state_libraries(sheet, source, place)
        _state_restarts(sheet, mpi_run)
        _state_ranks(sheet, source, mpi_run)
    _state_nodes(sheet, mpi_run)
    return sheet.facts


def _state_count(sheet: FactSheet, leaf: str, count: ProcessCount | None) -> None:
    if count is None:
        return
    place = _place(sheet, count)
    if count.number is None:
        sheet.unusable(leaf, unresolved(count.word), place)
    else:
        sheet.state(leaf, count.number, place)


def _place(sheet: FactSheet, count: ProcessCount) -> Place:
    return word_place(sheet.file, count.flag, count.word)


def _state_libraries(sheet: FactSheet, source: Source, place: Place) -> None:
    """State whether programs have the libraries of the node, or their own.

    A script inside a document of a scheduler is mostly run in an image.
    """
    if source.name.lower().endswith(_DOCUMENTS):
        return
    text = next((word for word in _OWN_LIBRARIES if word in source.text), "")
    note = f"{text} in the script" if text else "no image and no modules"
    sheet.derive("recovery.has_own_libraries", bool(text), note, place)


def _state_restarts(sheet: FactSheet, mpi_run: MpiRun) -> None:
    """State that the end of one process ends all, unless Horovod is elastic."""
    if not mpi_run.is_elastic:
        sheet.default("recovery.max_restarts", 0, f"{mpi_run.name} restarts nothing")


def _state_ranks(sheet: FactSheet, source: Source, mpi_run: MpiRun) -> None:
    """State one process for each GPU, unless the script picks devices itself."""
    _state_count(sheet, _PROCESSES, mpi_run.ranks_per_node)
    note = f"{mpi_run.name} starts one process for each GPU"
    picks = any(
        assignment.name == "CUDA_VISIBLE_DEVICES"
        for assignment in source.script.assignments
    )
    each = mpi_run.ranks_per_node
    if each is None and (count := _on_each_host(mpi_run)) is not None:
        places = (
            word_place(sheet.file, mpi_run.name, mpi_run.hosts_word or mpi_run.word),
        )
        sheet.derive(_PROCESSES, count, "processes on each host", *places)
        if not picks:
            sheet.derive(_GPUS, count, note, *places)
    if each is not None and each.number is not None and not picks:
        sheet.derive(_GPUS, each.number, note, _place(sheet, each))
    total = mpi_run.ranks
    if total is None or mpi_run.is_elastic:
        return
    if total.number is None:
        sheet.unusable(_WORLD, unresolved(total.word), _place(sheet, total))
    else:
        sheet.derive(_WORLD, total.number, note, _place(sheet, total))


def _on_each_host(mpi_run: MpiRun) -> int | None:
    """Return the processes on each of the hosts, where all of them are used alike."""
    counts = {*mpi_run.hosts.values()}
    total = mpi_run.ranks.number if mpi_run.ranks is not None else None
    uses_all = mpi_run.ranks is None or total == sum(mpi_run.hosts.values())
    return counts.pop() if len(counts) == 1 and uses_all else None


def _state_nodes(sheet: FactSheet, mpi_run: MpiRun) -> None:
    """State nodes from processes in all and on a node, or from the list of hosts."""
    total, each = mpi_run.ranks, mpi_run.ranks_per_node
    if total is not None and each is not None and total.number and each.number:
        if total.number % each.number == 0:
            nodes = total.number // each.number
            note = f"{total.number} processes / {each.number} a node = {nodes}"
            places = (_place(sheet, total), _place(sheet, each))
            sheet.derive(_NODES, nodes, note, *places)
    elif mpi_run.hosts and (total is None or _on_each_host(mpi_run) is not None):
        place = word_place(sheet.file, mpi_run.name, mpi_run.hosts_word or mpi_run.word)
        sheet.derive(_NODES, len(mpi_run.hosts), f"{len(mpi_run.hosts)} hosts", place)


READER = ScriptReader(_FORMAT, "launcher", detect, read, words=_WORDS)

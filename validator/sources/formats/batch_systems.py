"""Jobs of PBS, LSF and Flux, and the commands that start their ranks.

`#PBS -l select=2:ngpus=8:mpiprocs=8`, `#BSUB -n 16 -R "span[ptile=8]"`, `#flux: -N 2`;
`jsrun -n 2 -a 8 -g 8 -r 1`, `flux run -N 2 -n 16 -g 1`. They count up to the first line
that is neither blank nor a comment.

Sources: OpenPBS qsub(1B) and pbs_resources(7B); IBM Spectrum LSF 10.1 bsub (-n, -R
span, -gpu, -nnodes, -W) and jsrun(1) of its job step manager; Flux flux-submit(1),
flux-run(1) and RFC 36 (directives).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Span, Value
from speccheck.validator.sources.launching import (
    base_name,
    mentions_only,
    mpi_run_of,
    python_program,
    references,
    starts_tasks,
    with_outer,
    word_place,
)
from speccheck.validator.sources.mapping import whole_number
from speccheck.validator.sources.reader import (
    FactSheet,
    Reading,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.shell.script import ShellCommand, ShellWord, options

System = Literal["pbs", "lsf", "flux"]
_NODES, _GPUS = "cluster.nodes", "cluster.gpus_per_node"
_RANKS, _TASKS = "recovery.processes_per_node", "recovery.tasks_per_node"
_MARKS: Mapping[System, str] = {"pbs": "#PBS", "lsf": "#BSUB", "flux": "flux:"}
_STEPS: Mapping[System, str] = {"pbs": "", "lsf": "jsrun", "flux": "flux"}
_OPTION = lazy_pattern(
    r"(?:^|(?<=\s))(-{1,2}[A-Za-z][\w-]*)(?:(?:=|[ \t]+)"
    r"(\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'-][^\s\"']*))?"
)
_MOST_LINES = 400  # of a head: no job asks for so much
_PART = lazy_pattern(r"(\w+)=([^:,+]+)")
_PER_HOST = lazy_pattern(r"ptile=(\d+)")
_NUMBER_OF_GPUS = lazy_pattern(r"\bnum=(\d+)(/task)?")
# A chunk of so many GPUs is a node of its own, unless nodes have twice as many.
_WHOLE_NODE = 4


class BatchRequest(Record):
    """What a job asks for: nodes, GPUs and ranks of each, or the ranks in all."""

    nodes: Value[int] = Value(_NODES)
    gpus: Value[int] = Value(_GPUS)
    tasks: Value[int] = Value(_TASKS)


class RankStarter(Record):
    """A command that starts ranks on the nodes of a job: jsrun or flux run."""

    name: str
    at: Place
    request: BatchRequest


class _Given(Record):
    """The options of a job or a command: each text with its place."""

    texts: Mapping[str, str]
    places: Mapping[str, Place]

    def number(self, *names: str) -> int | None:
        name = next((item for item in names if item in self.texts), "")
        return whole_number(self.texts.get(name, "")) or None

    def at(self, *names: str) -> tuple[Place, ...]:
        places = (self.places[name] for name in names if name in self.places)
        return tuple(dict.fromkeys(places))


def batch_request(source: Source) -> BatchRequest:
    """Return what the head of a batch script asks for, of whichever system."""
    for system, mark in _MARKS.items():
        if mark in source.text and (given := _head(source, system)).texts:
            return _REQUESTS[system](given)
    return BatchRequest()


def rank_starter(source: Source, command: ShellCommand) -> RankStarter | None:
    """Return how jsrun or flux run starts what a command runs."""
    for item in with_outer(command):
        names = [base_name(word) for word in item.words]
        for name in ("jsrun", "flux"):
            if name not in names[:4]:
                continue
            start = names.index(name) + 1
            if name == "flux" and names[start : start + 1] not in (["run"], ["submit"]):
                continue
            own = item.words[start:]
            given = _of_command(source, own, name)
            request = (_of_jsrun if name == "jsrun" else _of_flux)(given)
            at = word_place(source.name, name, item.words[start - 1])
            return RankStarter(name, at, request)
    return None


def _of_command(source: Source, words: Sequence[ShellWord], name: str) -> _Given:
    texts: dict[str, str] = {}
    places: dict[str, Place] = {}
    for flag, values, word in options(words):
        is_attached = flag[1:2] != "-" and flag[2:3].isdecimal()
        key = flag[:2] if is_attached else flag
        if key in texts:
            continue  # behind the program stand options of its own
        written = values[0] if values and not is_attached else word
        text = flag[2:] if is_attached else written.text if values else ""
        texts[key] = text if written.resolved else "?"
        places[key] = word_place(source.name, f"{name} {key}", written)
    return _Given(texts, places)


def _head(source: Source, system: System) -> _Given:
    """Return the options of the lines at the top of a batch script."""
    texts: dict[str, str] = {}
    places: dict[str, Place] = {}
    for number, line in enumerate(source.text.splitlines()[:_MOST_LINES], start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break
        mark = _MARKS[system]
        start = line.find(mark)
        if start < 0 or line[:start].strip(" \t#"):
            continue
        for match in _OPTION.finditer(line, start + len(mark)):
            name, text = match[1], (match[2] or "").strip("\"'")
            if system == "flux" and name[1] != "-" and name[2:]:
                name, text = name[:2], name[2:]
            if name == "-l" and name in texts:
                text = f"{texts[name]},{text}"
            texts[name] = text
            span = Span(number, match.start() + 1, match.end() - match.start())
            places[name] = Place(source.name, f"{mark} {name}", span=span)
    return _Given(texts, places)


def _of_pbs(given: _Given) -> BatchRequest:
    """Read `select=2:ncpus=32:ngpus=8:mpiprocs=8` and `nodes=2:ppn=8:gpus=8`."""
    request, at = given.texts.get("-l", ""), given.at("-l")
    match = re.search(r"\b(select|nodes)=(\d+)((?::[\w.=-]+)*)(\+)?", request)
    if match is None:
        return BatchRequest()
    kind, number, rest, others = match[1], whole_number(match[2]), match[3], match[4]
    if others or not number:
        why = "chunks that differ"
        return BatchRequest(Value(_NODES, None, "unknown", at, why))
    parts = dict(_PART.findall(rest))
    gpus = _number(parts.get("ngpus") or parts.get("gpus"))
    tasks = _number(parts.get("mpiprocs"))
    note = f"{number} chunks, one on a node"
    if kind == "nodes" or "scatter" in request:
        nodes = Value(_NODES, number, "derived", at, note)
    elif gpus is not None and gpus >= _WHOLE_NODE:
        nodes = Value(_NODES, number, "default", at, note)
    else:
        why = "several chunks may share a node without place=scatter"
        return BatchRequest(Value(_NODES, None, "unknown", at, why))
    return BatchRequest(
        nodes,
        _stated(_GPUS, gpus, at, "of each chunk"),
        _stated(_TASKS, tasks, at, "mpiprocs of each chunk"),
    )


def _of_lsf(given: _Given) -> BatchRequest:
    """Read `-n 16 -R "span[ptile=8]" -gpu "num=8"`, and `-nnodes 2`."""
    slots = given.number("-n")
    share = _PER_HOST.search(given.texts.get("-R", ""))
    nodes = given.number("-nnodes")
    at = given.at("-nnodes") if nodes else given.at("-n", "-R")
    note = f"-nnodes {nodes}"
    each = _number(share[1]) if share else None
    if nodes is None and slots and each:
        nodes = -(-slots // each)
        note = f"{slots} slots / {each} a host = {nodes}"
    wanted = _NUMBER_OF_GPUS.search(given.texts.get("-gpu", ""))
    gpus = whole_number(wanted[1]) if wanted and not wanted[2] else None
    return BatchRequest(
        _stated(_NODES, nodes, at, note),
        _stated(_GPUS, gpus, given.at("-gpu"), "of each host"),
    )


def _of_flux(given: _Given) -> BatchRequest:
    """Read `-N 2 -n 16 -g 1`, or `--tasks-per-node` and `--gpus-per-node`."""
    at = given.at("-N", "--nodes", "-n", "--ntasks", "--nslots")
    nodes = given.number("-N", "--nodes")
    total = given.number("-n", "--ntasks", "--nslots")
    tasks = given.number("--tasks-per-node")
    if tasks is None and nodes and total and total % nodes == 0:
        tasks = total // nodes
    gpus, share = given.number("--gpus-per-node"), given.number("-g", "--gpus-per-task")
    note = "--gpus-per-node"
    if gpus is None and share and tasks:
        gpus = tasks * share
        note = f"{tasks} tasks a node x {share} GPUs = {gpus}"
    places = given.at("--gpus-per-node", "-g", "--gpus-per-task")
    return BatchRequest(
        _stated(_NODES, nodes, given.at("-N", "--nodes"), "-N"),
        _stated(_GPUS, gpus, places, note),
        _stated(_TASKS, tasks, at, f"{tasks} tasks a node"),
    )


def _of_jsrun(given: _Given) -> BatchRequest:
    """Read resource sets: `-n`, `-r` a host, each with `-a` tasks and `-g` GPUs."""
    sets = given.number("-n", "--nrs")
    share = given.number("-r", "--rs_per_host")
    each, gpus = (
        given.number("-a", "--tasks_per_rs"),
        given.number("-g", "--gpu_per_rs"),
    )
    if share is None:
        return BatchRequest()
    at = given.at("-n", "--nrs", "-r", "--rs_per_host")
    nodes = sets // share if sets and sets % share == 0 else None
    return BatchRequest(
        _stated(_NODES, nodes, at, f"{sets} resource sets / {share} a host = {nodes}"),
        _stated(_GPUS, share * gpus if gpus else None, at, f"{share} x {gpus} GPUs"),
        _stated(_TASKS, share * each if each else None, at, f"{share} x {each} tasks"),
    )


_REQUESTS: Mapping[System, Callable[[_Given], BatchRequest]] = {
    "pbs": _of_pbs,
    "lsf": _of_lsf,
    "flux": _of_flux,
}


def _number(text: str | None) -> int | None:
    return whole_number(text or "") or None


def _stated(
    name: str, number: int | None, at: tuple[Place, ...], note: str
) -> Value[int]:
    return Value(name) if number is None else Value(name, number, "derived", at, note)


def _detect(system: System, source: Source) -> float:
    """Recognise a job by what it asks for and the training that it starts."""
    mark, step = _MARKS[system], _STEPS[system]
    has_head = mark in source.text and bool(_head(source, system).texts)
    if not has_head and not (step and step in source.text):
        return 0.0
    if not any(True for _ in _trainings(source)):
        return 0.0
    if has_head:
        request = _REQUESTS[system](_head(source, system))
        return 0.75 if request.gpus.value else 0.6
    starters = (rank_starter(source, command) for command in _trainings(source))
    return 0.6 if any(item and item.name == step for item in starters) else 0.0


def _trainings(source: Source) -> Iterator[ShellCommand]:
    for command in source.script.commands:
        if not mentions_only(command) and (
            python_program(command) is not None or starts_tasks(command)
        ):
            yield command


def _read(system: System, source: Source) -> Reading:
    """Return the allocation, and the ranks that the job's own command starts."""
    sheet = FactSheet(source.name)
    given = _head(source, system) if _MARKS[system] in source.text else _Given({}, {})
    request = _REQUESTS[system](given)
    steps = [
        starter.request
        for command in _trainings(source)
        if (starter := rank_starter(source, command)) is not None
        and starter.name == _STEPS[system]
    ]
    first = steps[0] if steps else BatchRequest()
    step = first if all(item == first for item in steps) else BatchRequest()
    _put(sheet, step.nodes if step.nodes.is_known else request.nodes, _NODES)
    _put(sheet, step.gpus if step.gpus.is_known else request.gpus, _GPUS)
    mpi_runs = [mpi_run_of(command) for command in _trainings(source)]
    takes_all = [item for item in mpi_runs if item is not None and not item.tells_count]
    tasks = request.tasks if len(takes_all) == 1 and not steps else step.tasks
    _put(sheet, tasks, _RANKS)
    return Reading(sheet, references=references(source))


def _put(sheet: FactSheet, value: Value[int], name: str) -> None:
    if value.value is None:
        if value.places:
            sheet.unusable(name, value.note, value.places[0])
    elif value.status == "default":
        sheet.default(name, value.value, value.note)
    else:
        sheet.derive(name, value.value, value.note, *value.places)


# Those of all three: the index has the words of a module.
_WORDS = ("#BSUB", "#PBS", "flux", "jsrun")
READERS = tuple(
    ScriptReader(
        system,
        "launcher",
        partial(_detect, system),
        partial(_read, system),
        words=_WORDS,
    )
    for system in _MARKS
)

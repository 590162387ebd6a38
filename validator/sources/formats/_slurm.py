"""What a batch script asks of Slurm: its `#SBATCH` lines, and the srun that trains.

Source of the options: https://slurm.schedmd.com/sbatch.html and srun.html.
"""

import re
from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.launching import (
    base_name,
    launch_of,
    mentions_only,
    python_program,
    word_place,
)
from speccheck.validator.sources.reader import Source
from speccheck.validator.sources.shell.script import Command, Word, options

_SHORT = {
    "-C": "--constraint",
    "-c": "--cpus-per-task",
    "-G": "--gpus",
    "-N": "--nodes",
    "-n": "--ntasks",
    "-p": "--partition",
    "-t": "--time",
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
_SCRIPT_SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm")


class Asked(Record):
    """One option: its text without quotes, and where it is written."""

    text: str
    place: Place


class Request(Record):
    """The options of the job by long name, and those of its training step.

    Of equal options sbatch takes the last. `has_components`: a heterogeneous job, whose
    components ask for different nodes.
    """

    job: dict[str, Asked]
    step: dict[str, Asked]
    has_components: bool

    def find(self, name: str) -> Asked | None:
        """What the training step gets: its own option before that of the job."""
        return self.step.get(name) or self.job.get(name)


def request_of(source: Source) -> Request:
    """What a script asks of Slurm: with `#SBATCH` lines, else with its commands."""
    job: dict[str, Asked] = {}
    if not source.script.directives:
        job = _allocation(source)
    for one in source.script.directives:
        name = _SHORT.get(one.name, one.name)
        span = Span(one.line, one.column, max(1, one.length))
        place = Place(source.name, name, span=span)
        job[name] = Asked(one.value.strip("\"'"), place)
    has_components = _COMPONENT.search(source.text) is not None
    # Without an allocation srun makes one of its own, by the options of a job.
    allowed = _OF_STEPS if job else _OF_STEPS | _OF_ALLOCATIONS
    return Request(job, _training_step(source, allowed), has_components)


def _allocation(source: Source) -> dict[str, Asked]:
    """What `salloc` or `sbatch` is told on the command line.

    Options on which several of them differ are those of different jobs.
    """
    found = [
        _asked(source, _own_words(command, name), _OF_STEPS | _OF_ALLOCATIONS)
        for command in source.script.commands
        for name in ("salloc", "sbatch")
        if command.outer is None and _is_started(command, name)
    ]
    return _shared(found)


def _is_started(command: Command, name: str) -> bool:
    """Whether a command is this program: its first word, or behind a wrapper."""
    return not mentions_only(command) and any(
        base_name(word) == name for word in command.words[:_WRAPPERS]
    )


def _shared(found: list[dict[str, Asked]]) -> dict[str, Asked]:
    """The options on which all agree."""
    if not found:
        return {}
    first, *others = found
    return {
        name: asked
        for name, asked in first.items()
        if all(name in one and one[name].text == asked.text for one in others)
    }


def _training_step(source: Source, allowed: frozenset[str]) -> dict[str, Asked]:
    """The options of the srun that trains; none where several differ in them."""
    steps = list(_steps(source, allowed))
    trains = [one for one, command in steps if _is_training(command)]
    if not trains and len(steps) == 1:
        runs_script = any(
            word.text.endswith(_SCRIPT_SUFFIXES) for word in steps[0][1].words
        )
        trains = [steps[0][0]] if runs_script else []
    return _shared(trains)


def _steps(
    source: Source, allowed: frozenset[str]
) -> Iterator[tuple[dict[str, Asked], Command]]:
    for command in source.script.commands:
        step = _srun_of(command)
        if step is not None and not mentions_only(command):
            yield _asked(source, _own_words(step, "srun"), allowed), command


def _asked(
    source: Source, words: Sequence[Word], allowed: frozenset[str]
) -> dict[str, Asked]:
    """The options among words, by long name, with the value that is known."""
    found: dict[str, Asked] = {}
    for flag, values, word in options(words):
        name = _SHORT.get(flag[:2], flag) if flag[1:2] != "-" else flag
        if name not in allowed:
            continue
        attached = flag[2:] if flag[1:2] != "-" else ""
        written = values[0] if values and not attached else word
        text = attached or (written.text if values else "")
        if written.resolved:
            found[name] = Asked(text, word_place(source.name, name, written))
    return found


def _srun_of(command: Command) -> Command | None:
    """The command whose srun starts it: itself, or one that holds it."""
    one: Command | None = command
    while one is not None:
        if any(base_name(word) == "srun" for word in one.words):
            return one
        one = one.outer
    return None


def _own_words(command: Command, starter: str) -> tuple[Word, ...]:
    """The words of srun, salloc or sbatch, up to the program that it starts."""
    names = [base_name(word) for word in command.words]
    start = names.index(starter) + 1
    for position in range(start, len(names)):
        name = names[position]
        if name.startswith(_PROGRAMS) or name.endswith((".py", *_SCRIPT_SUFFIXES)):
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


def _is_training(command: Command) -> bool:
    return launch_of(command) is not None or python_program(command) is not None


def tasks_per_node(source: Source) -> int | None:
    """Tasks on each node; Slurm starts one unless it is told otherwise."""
    request = request_of(source)
    asked = request.find("--ntasks-per-node")
    if asked is not None:
        return count_of(asked.text.partition("*")[0])
    tasks, nodes = request.find("--ntasks"), request.find("--nodes")
    if tasks is None:
        return 1
    total = count_of(tasks.text)
    hosts = count_of(nodes.text) if nodes is not None else None
    return total // hosts if total and hosts and total % hosts == 0 else None


def count_of(text: str) -> int | None:
    """A whole number above zero, or None."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and int(digits) > 0 else None

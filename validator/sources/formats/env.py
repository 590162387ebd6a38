"""Environment variables: `.env` files, `export` lines of scripts, command prefixes."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.secrets import secret_kind
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.container_commands import container_that_keeps_out
from speccheck.validator.sources.formats import nccl_conf
from speccheck.validator.sources.launching import (
    base_name,
    launches,
    mentions_only,
    python_program,
    starts_tasks,
)
from speccheck.validator.sources.reader import FactSheet, Reading, ScriptReader, Source
from speccheck.validator.sources.shell.script import ShellAssignment, ShellCommand

# Variables that only distributed training and its transports read.
_FAMILIES = (
    "DEEPSPEED_",
    "FI_",
    "GLOO_",
    "MSCCLPP_",
    "NCCL_",
    "NVSHMEM_",
    "NVTE_",
    "OFI_NCCL_",
    "RCCL_",
    "SHARP_",
    "TORCH_DISTRIBUTED_",
    "TORCH_FR_",
    "TORCH_NCCL_",
    "UCX_",
    "VMRC_",
)
_NAMES = frozenset({"CUDA_DEVICE_MAX_CONNECTIONS", "TP_SOCKET_IFNAME"})
# Other programs on GPUs set one of these as well; two of them tell training.
_SHARED = frozenset(
    {
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_VISIBLE_DEVICES",
        "MASTER_ADDR",
        "MASTER_PORT",
        "OMP_NUM_THREADS",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "RDMAV_FORK_SAFE",
        "WORLD_SIZE",
    }
)
_TELLING = 3
# What builds of the same libraries are told: NCCL_HOME, UCX_VERSION.
_OF_BUILDS = (
    "_BRANCH",
    "_DIR",
    "_HOME",
    "_INCLUDE",
    "_LIB",
    "_LIBRARY",
    "_REPO",
    "_ROOT",
    "_TAG",
    "_URL",
    "_VER",
    "_VERSION",
)
# Commands of scripts that build and test; what they export trains nothing.
_BUILDING = lazy_pattern(r"bazel|cmake|ctest|g\+\+|gcc|make|ninja|nox|nvcc|pytest|tox")
_ALLOCATOR = frozenset({"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
_LINE = lazy_pattern(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z_0-9]*)=(.*)")
_COMMENT = lazy_pattern(r"[ \t]+#.*|[ \t\r]+$")
_BLANK = lazy_pattern(r"[ \t;&|<>()]")
_CONTAINER_PREFIXES = ("APPTAINERENV_", "SINGULARITYENV_")
_FLAG_NAMES = ("-password", "-passwd", "-api", "-secret", "-client", "-pwd")
_ALONE = 0.6
_AMONG_COMMANDS = 0.55
_BESIDE_OTHERS = 0.3  # read where a launch names the file, not enough by themselves


def detect(source: Source) -> float:
    """Recognise it by variables of training; commands of a script name it instead."""
    if nccl_conf.detect(source):
        return 0.0
    result = (*variables(source),)
    names = {variable.name for variable in result}
    shared = len(names & _SHARED)
    is_training = shared >= _TELLING or any(_tells_training(name) for name in names)
    if not is_training and not shared:
        # Whoever reads a script reads the credential in it, whatever else it sets.
        is_leaking = any(
            secret_kind(variable.name, variable.value or "") for variable in result
        ) or any(_credentials(source))
        return _BESIDE_OTHERS if is_leaking else 0.0
    if _is_plain(source):
        return _ALONE if is_training else 0.0
    if _builds_or_tests(source):
        return 0.0
    return _AMONG_COMMANDS if is_training else _BESIDE_OTHERS


def _tells_training(name: str) -> bool:
    return name in _NAMES or (
        name.startswith(_FAMILIES) and not name.endswith(_OF_BUILDS)
    )


def _builds_or_tests(source: Source) -> bool:
    """Return whether a script builds or tests software, and starts nothing else."""
    commands = source.script.commands
    builds = any(_is_building(command) for command in commands)
    return builds and not any(
        starts_tasks(command) or python_program(command) for command in commands
    )


def _is_building(command: ShellCommand) -> bool:
    names = [base_name(word) for word in command.words[:4]]
    if any(_BUILDING.fullmatch(name) or name == "setup.py" for name in names):
        return True
    return names[:1] == ["docker"] and names[1:2] in (["build"], ["buildx"])


def read(source: Source) -> Reading:
    """Return the variables that reach the training process."""
    sheet = FactSheet(source.name)
    result = tuple(variables(source))
    for variable in result:
        if variable.name in _ALLOCATOR and variable.value is not None:
            leaf = "memory.allocator_configuration"
            sheet.state(leaf, variable.value, variable.place)
    return Reading(sheet, _credential_flags(source), variables=result)


def _credential_flags(source: Source) -> KeyedFile | None:
    """Return the flags of commands that hold a credential, as keys of the script."""
    keys = tuple(_credentials(source))
    return KeyedFile(source.name, "env", keys) if keys else None


def _credentials(source: Source) -> Iterator[StatedKey]:
    """Yield `--api-key VALUE` and `--password=VALUE` of any command."""
    if _is_dotenv(source) or not any(name in source.text for name in _FLAG_NAMES):
        return
    for command in source.script.commands:
        for word, following in pairwise((*command.words, None)):
            if word is None or not word.text.startswith("-"):
                continue
            flag, equals, text = word.text.partition("=")
            value = word
            if not equals and following is not None:
                value, text = following, following.text
            if value.resolved and secret_kind(flag.lstrip("-"), text):
                place = Place(
                    value.file or source.name,
                    flag,
                    span=Span(value.line, value.column, max(1, value.length)),
                )
                yield StatedKey((flag,), text, place)


def _is_plain(source: Source) -> bool:
    """Return whether a file holds assignments and no commands."""
    return _is_dotenv(source) or not source.script.commands


def _is_dotenv(source: Source) -> bool:
    base = source.name.rpartition("/")[2]
    return base.endswith(".env") or base.startswith(".env")


def variables(source: Source) -> list[Variable]:
    """Return the variables that a training process sees, each once.

    All of a file that is read as `.env`; of a script those that it exports, or all
    where it does nothing but assign, and those that the training command is given.
    """
    if _is_dotenv(source):
        return list(_of_lines(source).values())
    script = source.script
    shown = script.exports
    if not script.commands and not shown:
        shown = script.variables
    result = {
        name: _variable(source.name, assignment) for name, assignment in shown.items()
    }
    barrier = container_that_keeps_out(source)
    if barrier is not None:
        result = {
            name: variable._replace(outside=barrier.engine.id)
            if barrier.keeps_out(name, variable.place)
            else variable
            for name, variable in result.items()
        }
    result.update(_given(source))
    for name in [name for name in result if name.startswith(_CONTAINER_PREFIXES)]:
        # apptainer hands them on without the prefix, over those of the host
        bare = name.partition("ENV_")[2]
        result[bare] = result[name]._replace(name=bare)
    return list(result.values())


def _variable(file: str, assignment: ShellAssignment) -> Variable:
    word = assignment.value
    span = Span(word.line, word.column, max(1, word.length))
    is_known = word.resolved and not assignment.conditional
    file = word.file or file
    place = Place(file, assignment.name, span=span, only_if=word.only_if)
    return Variable(assignment.name, word.text if is_known else None, place, word.raw)


def _given(source: Source) -> Iterator[tuple[str, Variable]]:
    """Yield what the training commands get: `A=1 torchrun`, `env`, `docker run -e`."""
    trains = _training_commands(source)
    given: dict[str, list[Variable]] = {}
    for command in trains:
        for assignment in command.environment:
            variable = _variable(source.name, assignment)
            given.setdefault(variable.name, []).append(variable)
    for name, item in given.items():
        first = item[0]
        values = {variable.value for variable in item}
        is_shared = len(item) == len(trains) and len(values) == 1
        yield name, first if is_shared else first._replace(value=None)


def _training_commands(source: Source) -> Sequence[ShellCommand]:
    """Return the commands that train, as far as they show.

    Else all that set variables.
    """
    launched = [launch.command for launch in launches(source)]
    if launched:
        return launched
    commands = [
        command for command in source.script.commands if not mentions_only(command)
    ]
    started = [
        command
        for command in commands
        if python_program(command) or starts_tasks(command)
    ]
    return started or [command for command in commands if command.environment]


def _of_lines(source: Source) -> dict[str, Variable]:
    """Return the lines of a `.env` file, where all after `=` is the value.

    What a shell reads alike is taken from it: quotes, `${NAME}`, several lines.
    """
    assigned = source.script.variables
    result: dict[str, Variable] = {}
    inside = 0  # the last line of a value that runs over several
    for number, line in enumerate(source.text.split("\n"), 1):
        match = _LINE.match(line)
        if match is None or number <= inside:
            continue
        name, rest = match.groups()
        written = _COMMENT.sub("", rest)
        assignment = assigned.get(name)
        is_word = not _BLANK.search(written)
        if (
            assignment is not None
            and assignment.line == number
            and (is_word or assignment.value.raw.startswith(written))
        ):
            result[name] = _variable(source.name, assignment)
            inside = number + assignment.value.raw.count("\n")
            continue
        place = Place(
            source.name, name, span=Span(number, match.start(2) + 1, len(written) or 1)
        )
        value = None if "$" in written else written.strip("\"'")
        result[name] = Variable(name, value, place, written)
    return result


READER = ScriptReader(format="env", role="environment", detect=detect, read=read)

"""Which commands of a script start a training program, and by which launcher."""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.scripts.shell import Command, Word
from speccheck.validator.sources.source import Source

TORCHRUN, DEEPSPEED, ACCELERATE = "torchrun", "deepspeed", "accelerate"
# NVIDIA's resiliency extension starts torchrun's agent with options of its own.
FT_LAUNCHER = "ft_launcher"

_MODULES = {
    "torch.distributed.run": TORCHRUN,
    "torch.distributed.launch": TORCHRUN,
    "deepspeed.launcher.runner": DEEPSPEED,
    "accelerate.commands.launch": ACCELERATE,
}
# Options without a value (schemas/catalogues/frameworks/launchers.yaml, type flag). All
# others take one: it tells a launcher's last option from the program that it starts.
_TORCHRUN_SWITCHES = frozenset(
    {"--standalone", "--no-python", "--run-path", "--use-env", "--virtual-local-rank"}
)
SWITCHES: dict[str, frozenset[str]] = {
    TORCHRUN: _TORCHRUN_SWITCHES,
    FT_LAUNCHER: _TORCHRUN_SWITCHES,
    DEEPSPEED: frozenset(
        {
            "--bind_cores_to_rank",
            "--elastic_training",
            "--force_multi",
            "--no_local_rank",
            "--no_python",
            "--no_ssh",
            "--no_ssh_check",
            "--quiet",
            "-q",
            "--save_pid",
        }
    ),
    ACCELERATE: frozenset(
        {
            "--cpu",
            "--debug",
            "--downcast_bf16",
            "--dynamo_use_dynamic",
            "--dynamo_use_fullgraph",
            "--dynamo_use_regional_compilation",
            "--enable_cpu_affinity",
            "--fp8_use_autocast_during_eval",
            "--multi_gpu",
            "--no_python",
            "--no_tpu_cluster",
            "--quiet",
            "-q",
            "--same_network",
            "--tpu",
            "--tpu_cluster",
            "--tpu_use_sudo",
            "--use_deepspeed",
            "--use_fsdp",
            "--use_megatron_lm",
            "--use_parallelism_config",
        }
    ),
}
_MODULE_FLAGS = frozenset({"-m", "--module"})
# Commands that name a program without running it.
_MENTIONING = frozenset(
    {
        "[",
        "[[",
        "apt",
        "apt-get",
        "awk",
        "black",
        "cat",
        "chmod",
        "chown",
        "command",
        "cp",
        "curl",
        "diff",
        "docker-compose",
        "echo",
        "egrep",
        "export",
        "find",
        "flake8",
        "git",
        "grep",
        "head",
        "isort",
        "kill",
        "killall",
        "ln",
        "ls",
        "man",
        "mkdir",
        "mv",
        "mypy",
        "nano",
        "pgrep",
        "pkill",
        "printf",
        "ps",
        "pylint",
        "rg",
        "rm",
        "rsync",
        "ruff",
        "scp",
        "sed",
        "tail",
        "tar",
        "tee",
        "test",
        "touch",
        "type",
        "unzip",
        "vi",
        "vim",
        "wc",
        "wget",
        "which",
        "zip",
    }
)
_PIP = frozenset({"pip", "pip3"})
# These install, unless told to run: `conda run -n train torchrun ...`.
_INSTALLING = frozenset({"conda", "mamba", "micromamba", "pdm", "pipx", "poetry", "uv"})
_NO_TRAINING = frozenset(
    {"lm_eval", "pip", "pytest", "torch.utils.collect_env", "unittest", "venv"}
)
_WRAPPERS = 8  # words in front of srun: `time nohup env A=1 B=2 srun ...`
_TASK_STARTERS = frozenset({"srun", "mpirun", "mpiexec", "orterun", "prterun"})


class Launch(Record):
    """A command that starts a training program through a launcher.

    launcher: torchrun, ft_launcher, deepspeed or accelerate.
    word: the launcher's name as written.
    options: the launcher's own words.
    program: the program with its arguments; empty when they are not known.
    every_task: srun or mpirun starts the launcher, once for each task.
    hidden: a word that may hold more options of the launcher, such as `$ARGS`.
    """

    launcher: str
    word: Word
    options: tuple[Word, ...]
    program: tuple[Word, ...]
    command: Command
    every_task: bool
    hidden: str


def launches(source: Source) -> list[Launch]:
    """The launch commands of a script, in its order."""
    return [
        launch
        for command in source.script.commands
        if (launch := launch_of(command)) is not None
    ]


def launch_of(command: Command) -> Launch | None:
    """The launch that a command is, or None."""
    words = command.words
    if mentions_only(command):
        return None
    found = _launcher(words)
    if found is None:
        return None
    position, launcher = found
    start = position + 1
    end, hidden = _split(words, start, launcher)
    own, program = words[start:end], words[end:]
    if not _is_training(own, program):
        return None
    every_task = starts_tasks(command)
    word = words[position]
    return Launch(launcher, word, own, program, command, every_task, hidden)


def _launcher(words: Sequence[Word]) -> tuple[int, str] | None:
    """Where the launcher's name stands: after srun, nohup, docker and the like."""
    for position, word in enumerate(words):
        name = base_name(word)
        following = words[position + 1].text if position + 1 < len(words) else ""
        if name in {TORCHRUN, FT_LAUNCHER, DEEPSPEED}:
            return position, name
        if name == ACCELERATE and following == "launch":
            return position + 1, ACCELERATE
        if name == "tune" and following == "run":
            # torchtune's command hands its options to torch.distributed.run
            return position + 1, TORCHRUN
        if name == "-m" and following in _MODULES:
            return position + 1, _MODULES[following]
        if name.endswith(".py"):
            return None
    return None


def _split(words: Sequence[Word], position: int, launcher: str) -> tuple[int, str]:
    """Where the launcher's own words end, and a word that may hold more of them.

    As argparse.REMAINDER has it: the first word that is neither an option nor the value
    of one begins the program.
    """
    hidden = ""
    while position < len(words):
        word = words[position]
        text = word.text
        if text in _MODULE_FLAGS or text == "--":
            break
        if text.startswith("-"):
            name = text.replace("_", "-") if launcher in _DASHED else text
            takes_value = "=" not in text and name not in SWITCHES[launcher]
            position += 1 + (takes_value and not _begins(words, position + 1))
        elif not word.resolved and _program_follows(words[position + 1 :]):
            hidden = hidden or text  # options that only the environment knows
            position += 1
        else:
            break
    return position, hidden


_DASHED = frozenset({TORCHRUN, FT_LAUNCHER})


def _begins(words: Sequence[Word], position: int) -> bool:
    """Whether a program begins at a position, or nothing is left there."""
    return position >= len(words) or words[position].text.endswith(".py")


def _program_follows(words: Sequence[Word]) -> bool:
    return any(
        word.text.endswith(".py") or word.text in _MODULE_FLAGS for word in words
    )


def _is_training(options: Sequence[Word], program: Sequence[Word]) -> bool:
    """Whether there is a program, and it is none that tests, installs or evaluates."""
    if not program:
        return any(not word.resolved for word in options)
    first = program[0]
    if first.text in _MODULE_FLAGS:
        return len(program) > 1 and not _is_other_module(program[1].text)
    name = base_name(first)
    if name.startswith("test_") or name in _NO_TRAINING:
        return False
    is_file = name.endswith(".py") or "/" in first.text or not first.resolved
    return is_file or any(word.text.startswith("-") for word in (*options, *program))


def _is_other_module(name: str) -> bool:
    return name in _NO_TRAINING or name.partition(".")[0] in _NO_TRAINING


def mentions_only(command: Command) -> bool:
    """Whether a command names its words without running them: `echo`, `pip install`."""
    names = [base_name(word) for word in command.words[:4]]
    if names[:1] == ["sudo"]:
        del names[0]
    if not names or names[0] in _MENTIONING or not _PIP.isdisjoint(names):
        return True
    return names[0] in _INSTALLING and names[1:2] != ["run"]


def base_name(word: Word) -> str:
    """The name of a program without its folder."""
    return word.text.rpartition("/")[2]


def starts_tasks(command: Command) -> bool:
    """Whether srun or mpirun starts what the command runs, once for each task."""
    return any(
        base_name(word) in _TASK_STARTERS
        for one in _with_outer(command)
        for word in one.words[:_WRAPPERS]
    )


def _with_outer(command: Command | None) -> Iterator[Command]:
    """A command and those whose arguments held it: `srun bash -c '...'`."""
    while command is not None:
        yield command
        command = command.outer


def python_program(command: Command) -> Word | None:
    """The training program that a command gives to Python, with or without launcher."""
    if mentions_only(command):
        return None
    by_python = False
    words = command.words
    for position, word in enumerate(words):
        name = base_name(word)
        if name == "-m" and by_python and position + 1 < len(words):
            module = words[position + 1]
            return None if _is_other_module(module.text) else module
        if name.endswith(".py"):
            return None if name.startswith(("test_", "setup.py")) else word
        by_python = by_python or name.startswith("python")
    return None

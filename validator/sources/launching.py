"""Commands of a script that start training: launchers, MPI, containers, their options.

Sources: torch.distributed.run, deepspeed.launcher.runner and accelerate launch as
schemas/catalogues/frameworks/launchers.yaml has them; Open MPI mpirun(1) of 4.1 and
5.0, the Hydra launcher of MPICH and Intel MPI (mpiexec -help), horovod/runner/launch.py
at v0.28.1.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from speccheck.validator.evidence.environment import Opening
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.mapping import Convert, Unusable, whole_number
from speccheck.validator.sources.reader import Fact, FactSheet, Reference, Source
from speccheck.validator.sources.shell.script import (
    SOURCING,
    Option,
    ShellCommand,
    ShellWord,
    options,
)

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
MODULE_FLAGS = frozenset({"-m", "--module"})
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
    {
        "lm_eval",
        "mlperf_common",
        "mlperf_logging",
        "pip",
        "pytest",
        "torch.utils.collect_env",
        "unittest",
        "venv",
    }
)
_WRAPPERS = 8  # words in front of srun or mpirun: `time env A=1 srun ...`
_TASK_STARTERS = frozenset({"srun", "mpirun", "mpiexec", "orterun", "prterun"})


class LaunchCommand(Record):
    """A command that starts a training program through a launcher.

    launcher: torchrun, ft_launcher, deepspeed or accelerate.
    word: the launcher's name as written.
    options: the launcher's own words.
    program: the program with its arguments; empty when they are not known.
    every_task: srun or mpirun starts the launcher, once for each task.
    hidden: a word that may hold more options of the launcher, such as `$ARGS`.
    """

    launcher: str
    word: ShellWord
    options: tuple[ShellWord, ...]
    program: tuple[ShellWord, ...]
    command: ShellCommand
    every_task: bool
    hidden: str


def launches(source: Source) -> list[LaunchCommand]:
    """Return the launch commands of a script, in its order."""
    return [
        launch
        for command in source.script.commands
        if (launch := launch_of(command)) is not None
    ]


def launch_of(command: ShellCommand) -> LaunchCommand | None:
    """Return the launch that a command is, or None."""
    words = command.words
    if mentions_only(command):
        return None
    numbers = _launcher(words)
    if numbers is None:
        return None
    position, launcher = numbers
    start = position + 1
    if [word.text for word in words[start : start + 1]] == ["--"]:
        start += 1  # a wrapper's: `debugpy-run -m torch.distributed.run -- ...`
    end, hidden = _split(words, start, launcher)
    own, program = words[start:end], words[end:]
    if not _is_training(own, program):
        return None
    every_task = starts_tasks(command)
    word = words[position]
    return LaunchCommand(launcher, word, own, program, command, every_task, hidden)


def _launcher(words: Sequence[ShellWord]) -> tuple[int, str] | None:
    """Return where the launcher's name stands: after srun, nohup, docker, ..."""
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
            return _behind_dashes(words, position + 1)
    return None


def _behind_dashes(words: Sequence[ShellWord], start: int) -> tuple[int, str] | None:
    """Find the launcher that a program submits: `submit.py ... -- torchrun`."""
    for position in range(start, len(words)):
        if words[position].text == "--":
            submitted = _launcher(words[position + 1 :])
            if submitted is not None:
                return position + 1 + submitted[0], submitted[1]
    return None


def _split(words: Sequence[ShellWord], position: int, launcher: str) -> tuple[int, str]:
    """Return where the launcher's own words end, and a word that may hold more of them.

    As argparse.REMAINDER has it: the first word that is neither an option nor the value
    of one begins the program.
    """
    hidden = ""
    while position < len(words):
        word = words[position]
        text = word.text
        if text in MODULE_FLAGS and _is_flag(words, position + 1):
            position += 1  # more flags of the launcher stand before the module
            continue
        if text in MODULE_FLAGS or text == "--":
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


def _begins(words: Sequence[ShellWord], position: int) -> bool:
    """Return whether a program begins at a position, or nothing is left there."""
    return position >= len(words) or words[position].text.endswith(".py")


def _is_flag(words: Sequence[ShellWord], position: int) -> bool:
    return position < len(words) and words[position].text.startswith("-")


def _program_follows(words: Sequence[ShellWord]) -> bool:
    return any(word.text.endswith(".py") or word.text in MODULE_FLAGS for word in words)


def _is_training(options: Sequence[ShellWord], program: Sequence[ShellWord]) -> bool:
    """Return whether a program trains: it does not test, install or evaluate."""
    if not program:
        return any(not word.resolved for word in options)
    first = program[0]
    if first.text in MODULE_FLAGS:
        return len(program) > 1 and not _is_other_module(program[1].text)
    name = base_name(first)
    if name.startswith("test_") or name in _NO_TRAINING:
        return False
    is_file = name.endswith(".py") or "/" in first.text or not first.resolved
    return is_file or any(word.text.startswith("-") for word in (*options, *program))


def _is_other_module(name: str) -> bool:
    return name in _NO_TRAINING or name.partition(".")[0] in _NO_TRAINING


def mentions_only(command: ShellCommand) -> bool:
    """Return whether a command only names its words: `echo`, `pip install`."""
    names = [base_name(word) for word in command.words[:4]]
    if names[:1] == ["sudo"]:
        del names[0]
    if not names or names[0] in _MENTIONING or not _PIP.isdisjoint(names):
        return True
    return names[0] in _INSTALLING and names[1:2] != ["run"]


def base_name(word: ShellWord) -> str:
    """Return the name of a program without its folder."""
    return word.text.rpartition("/")[2]


def starts_tasks(command: ShellCommand) -> bool:
    """Return whether srun or mpirun starts what the command runs, once a task."""
    return any(
        base_name(word) in _TASK_STARTERS
        for item in with_outer(command)
        for word in item.words[:_WRAPPERS]
    )


def with_outer(command: ShellCommand | None) -> Iterator[ShellCommand]:
    """Yield a command and those whose arguments held it: `srun bash -c '...'`."""
    while command is not None:
        yield command
        command = command.outer


def python_program(command: ShellCommand) -> ShellWord | None:
    """Return the training program that a command gives to Python or a launcher."""
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


_HOLE = lazy_pattern(r"\$\{\w+\}")
_OWN_VALUE = lazy_pattern(r"[-+]{0,2}[A-Za-z_][\w.-]*=")
_CONFIG_SUFFIXES = (".yaml", ".yml", ".json", ".toml", ".hjson")
# Options whose file a launcher or a framework opens before anything else.
_OPENED_AT_START = frozenset(
    {"--config_file", "--config-file", "--deepspeed", "--deepspeed_config"}
    | {"--deepspeed-config", "--ds_config", "--fsdp_config", "--job.config_file"}
)
_CHANGING_FOLDER = frozenset({"cd", "popd", "pushd"})
_SOURCED_SUFFIXES = (*SCRIPT_SUFFIXES, ".env")


class Leaf(Record):
    """The leaf that an option states, and how its text becomes a value."""

    name: str
    convert: Convert
    # For a switch that takes no value: what its presence means.
    present: object = None


def option_place(file: str, option: Option) -> Place:
    """Return the place of an option's value, or of the flag where it has none."""
    flag, values, word = option
    return word_place(file, flag, values[0] if values else word)


def is_sure(option: Option) -> bool:
    """Return whether an option is given in any case, with any value."""
    flag, _, word = option
    return word.resolved or word.text != flag


def unabbreviated(flag: str, names: Collection[str]) -> str:
    """Return the long flag that a beginning stands for, as getopt and argparse have it.

    The flag itself where it is one of the names, or the beginning of none or several.
    """
    if flag in names or not flag.startswith("--"):
        return flag
    meant = [name for name in names if name.startswith(flag)]
    return meant[0] if len(meant) == 1 else flag


def word_place(file: str, key: str, word: ShellWord) -> Place:
    """Return the place where a word is written."""
    span = Span(word.line, word.column, max(1, word.length))
    return Place(word.file or file, key, span=span, only_if=word.only_if)


def last_options(text_lists: Iterable[Option]) -> dict[str, Option]:
    """Return the options by flag; as in argument parsers, the last of equals counts."""
    return {flag: (flag, values, word) for flag, values, word in text_lists}


def state_option(sheet: FactSheet, leaf: Leaf, option: Option) -> None:
    """Put the fact that an option states onto the sheet."""
    flag, values, word = option
    if not is_sure(option):
        reason = f"{flag} is given only under a condition"
        sheet.unusable(leaf.name, reason, word_place(sheet.file, flag, word))
        return
    if leaf.present is not None:
        sheet.state(leaf.name, leaf.present, word_place(sheet.file, flag, word))
        return
    if not values:
        return
    place = word_place(sheet.file, flag, values[0])
    if not values[0].resolved:
        sheet.unusable(leaf.name, unresolved(values[0]), place)
        return
    value = leaf.convert(values[0].text)
    if isinstance(value, Unusable):
        sheet.unusable(leaf.name, value.reason, place)
    else:
        sheet.state(leaf.name, value, place)


def unresolved(word: ShellWord) -> str:
    """Return why the value of a word is not known."""
    text = word.text[:60]
    return (
        f"{text} is known only when the script runs"
        if "$" in text
        else f"{text} is given only under a condition"
    )


def may_hold_options(word: ShellWord) -> bool:
    """Return whether a word is a variable of the environment: `$EXTRA_ARGS`.

    `"$@"` and `$1` are what the script is called with: it is read as called without.
    `--interval=$N` and `train.steps=$N` hold a value, no further options.
    """
    name = word.text.strip('"${}')
    is_argument = name[:1] in {"@", "*"} or name[:1].isdigit()
    is_value = _OWN_VALUE.match(word.text) is not None
    return not word.resolved and "$" in word.text and not is_argument and not is_value


def in_working_folder(text: str) -> str:
    """Return a path without the working folder before it: `$PWD/train.toml`."""
    return text.removeprefix("${PWD}/")


def state_options(
    sheet: FactSheet, given: Mapping[str, Option], leaves: Mapping[str, Leaf]
) -> None:
    """Put the facts of all known options of one command onto the sheet."""
    for flag, option in given.items():
        leaf = leaves.get(flag)
        if leaf is not None:
            state_option(sheet, leaf, option)


def shared_facts(parts: Sequence[Sequence[Fact]], what: str) -> Iterator[Fact]:
    """Yield what several commands of one script say alike; the rest is not known.

    Args:
        parts: the facts of each command.
        what: the commands, for the reason: `launch commands`.
    """
    if len(parts) == 1:
        yield from parts[0]
        return
    by_name: dict[str, list[Fact]] = {}
    for part in parts:
        for fact in part:
            by_name.setdefault(fact.name, []).append(fact)
    for name, facts in by_name.items():
        main = min(facts, key=lambda fact: fact.status != "stated")
        if len(facts) >= len(parts) and all(fact.value == main.value for fact in facts):
            yield main
        else:
            reason = f"differs between the {len(parts)} {what}"
            yield Fact(name, None, "unknown", main.places[:1], reason)


def references(source: Source) -> tuple[Reference, ...]:
    """Return the files that the commands of a script name as their configuration.

    Configurations that several programs take each for itself, and scripts of which
    several are started, belong to different plans: none of them is a reference.
    """
    configs: dict[int, list[dict[str, Reference]]] = {}
    scripts: dict[str, Reference] = {}
    taken = {reference.target: reference for reference in sourced(source)}
    has_launch = bool(launches(source))
    for command in source.script.commands:
        if mentions_only(command):
            continue
        named = _named_files(source.name, command, _CONFIG_SUFFIXES)
        if named:
            configs.setdefault(_rank(command), []).append(named)
        started = _named_files(source.name, command, _SOURCED_SUFFIXES)
        if command.words[0].text in SOURCING:
            if not any(path.endswith(target) for target in started for path in taken):
                taken.update(started)
        elif started and (not has_launch or _may_train(command)):
            scripts.update(tuple(started.items())[:1])
        taken.update(_host_files(source.name, command))
    shared: dict[str, Reference] = {}
    if configs:
        first, *others = configs[min(configs)]
        shared = {
            target: reference
            for target, reference in first.items()
            if all(target in other for other in others)
        }
    if len(scripts) > 1:
        scripts = {}
    if not names_files_as_they_lie(source):
        shared = {
            target: reference._replace(is_opened=False)
            for target, reference in shared.items()
        }
    return tuple({**shared, **scripts, **taken}.values())


HOST_FILES = frozenset({"-hostfile", "--hostfile", "-machinefile", "--machinefile"})


def _host_files(file: str, command: ShellCommand) -> dict[str, Reference]:
    """Return the files with the hosts of a launch."""
    result: dict[str, Reference] = {}
    if not any(word.text.partition("=")[0] in HOST_FILES for word in command.words):
        return result
    for flag, values, _ in options(command.words):
        if flag in HOST_FILES and values and values[0].resolved:
            target = in_working_folder(values[0].text)
            result[target] = Reference(target, word_place(file, target, values[0]))
    return result


def sourced(source: Source) -> tuple[Reference, ...]:
    """Return the files that a script takes in and that were read in that place."""
    return tuple(
        Reference(taken.path, Place(source.name, taken.path))
        for taken in source.script.taken
    )


def names_files_as_they_lie(source: Source) -> bool:
    """Return whether a script names files as they lie, neither moved nor written.

    Its logs count for nothing.
    """
    script = source.script
    writes = any(
        name.endswith(_CONFIG_SUFFIXES) or "$" in name.rpartition("/")[2]
        for name in script.written
    )
    moves = any(
        command.words[0].text in _CHANGING_FOLDER for command in script.commands
    )
    return not writes and not moves


def _may_train(command: ShellCommand) -> bool:
    """Return whether a command beside a launch may train: not `bash setup.sh`."""
    return launch_of(command) is not None or starts_tasks(command)


def openings(source: Source) -> tuple[Opening, ...]:
    """Return through what more variables may reach what a script starts.

    A script that starts no training itself leaves it to those that it calls.
    """
    script = source.script
    result = [
        Opening(
            unseen.what,
            Place(source.name, unseen.target)
            if unseen.word is None
            else word_place(source.name, unseen.target, unseen.word),
            unseen.target,
        )
        for unseen in script.unseen
    ]
    if any(_starts_training(command) for command in script.commands):
        return (*result,)
    name = source.name.rpartition("/")[2]
    written = {id(command.outer) for command in script.commands}
    for command in script.commands:
        if (
            mentions_only(command)
            or command.words[0].text in SOURCING
            or id(command) in written
        ):
            continue
        called = called_script(command)
        if called is not None:
            what = f"{called.text[:60]}, which {name} starts, was not read"
            place = word_place(source.name, called.text, called)
            target = called.text if called.resolved else ""
            result.append(Opening(what, place, target))
    return tuple(dict.fromkeys(result))


def _starts_training(command: ShellCommand) -> bool:
    """Return whether a command starts a training in the script's environment."""
    return launch_of(command) is not None or (
        python_program(command) is not None and not mentions_only(command)
    )


def called_script(command: ShellCommand) -> ShellWord | None:
    """Return the script that a command calls; None for lines that take it in."""
    if command.words[0].text in SOURCING:
        return None
    return next((word for word in command.words if _is_script(word)), None)


def _is_script(word: ShellWord) -> bool:
    text = word.text
    return text.endswith(SCRIPT_SUFFIXES) and text[0] != "-" and _is_path(text)


def _is_path(text: str) -> bool:
    """Return whether it is one word, unlike the script of `bash -c '...; ./run.sh'`."""
    return not any(sign in text for sign in " \t\n;")


def _rank(command: ShellCommand) -> int:
    """Launch commands before other programs of Python, and those before the rest."""
    if launch_of(command) is not None:
        return 0
    return 1 if python_program(command) is not None else 2


def _named_files(
    file: str, command: ShellCommand, suffixes: tuple[str, ...]
) -> dict[str, Reference]:
    result: dict[str, Reference] = {}
    before = ""
    for word in command.words:
        flag, _, target = word.text.rpartition("=")
        target = in_working_folder(target)
        is_known = word.resolved or ("$" in word.text and "$" not in target)
        if (
            (is_known or _names_a_kind(target))
            and target.endswith(suffixes)
            and _is_path(target)
        ):
            place = word_place(file, target, word)
            is_opened = (flag or before) in _OPENED_AT_START and not word.file
            is_opened = is_opened and "$" not in target
            result[target] = Reference(target, place, is_opened=is_opened)
        before = word.text
    return result


def _names_a_kind(target: str) -> bool:
    """Return whether enough of a path is known to tell files by: `zero/$STAGE.json`."""
    if "$(" in target:
        return False
    known = _HOLE.sub("", target.rpartition(".")[0])
    return known != target.rpartition(".")[0] and sum(map(str.isalnum, known)) > 2  # noqa: PLR2004 - more than a prefix


HOROVODRUN = "horovodrun"
_STARTERS = frozenset(
    {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", HOROVODRUN}
)
_RANKS = frozenset({"-n", "-np", "--n", "--np", "--num-proc", "-c"})
_RANKS_PER_NODE = frozenset(
    {"-N", "-npernode", "--npernode", "-ppn", "--ppn", "-perhost"}
)
_MAPPINGS = frozenset({"--map-by", "-map-by", "-rmaps_base_mapping_policy"})
_HOSTS = frozenset({"-H", "-host", "--host", "-hosts", "--hosts"})
_ELASTIC = frozenset({"--host-discovery-script"})
_PER_NODE = lazy_pattern(r"ppr:(\d+):node(?::|$)")
_PROGRAMS = ("python", "bash", "sh", "torchrun", "deepspeed", "accelerate")


class ProcessCount(Record):
    """A number that a flag gives; None where only the job knows it."""

    number: int | None
    flag: str
    word: ShellWord


class MpiRun(Record):
    """A command that starts processes under MPI.

    hosts: processes on each host by name, of a list of hosts; empty without one.
    is_elastic: hosts come and go.
    """

    name: str
    word: ShellWord
    ranks: ProcessCount | None
    ranks_per_node: ProcessCount | None
    hosts: dict[str, int]
    hosts_word: ShellWord | None
    is_elastic: bool

    @property
    def tells_count(self) -> bool:
        """Whether it says itself how many processes it starts."""
        return self.ranks is not None or self.ranks_per_node is not None


def mpi_run_of(command: ShellCommand | None) -> MpiRun | None:
    """Return how MPI starts what a command runs, itself or a command that holds it."""
    while command is not None:
        for position, word in enumerate(command.words[:_WRAPPERS]):
            if base_name(word) in _STARTERS:
                return _read(word, command.words[position + 1 :])
        command = command.outer
    return None


def _read(word: ShellWord, words: Sequence[ShellWord]) -> MpiRun:
    given = last_options(options([*_own_words(words)]))
    hosts: dict[str, int] = {}
    hosts_word: ShellWord | None = None
    ranks = per_node = None
    for flag, option in given.items():
        if flag in _RANKS:
            ranks = _count(option)
        elif flag in _RANKS_PER_NODE:
            per_node = _count(option)
        elif flag in _MAPPINGS:
            per_node = _mapped(option) or per_node
        elif flag in _HOSTS and option[1] and option[1][0].resolved:
            hosts_word = option[1][0]
            hosts = _host_counts(hosts_word.text)
    is_elastic = not _ELASTIC.isdisjoint(given)
    name = base_name(word)
    return MpiRun(name, word, ranks, per_node, hosts, hosts_word, is_elastic)


def _own_words(words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    """Yield the words of the starter itself, up to the program that it starts."""
    for word in words:
        name = base_name(word)
        if name.startswith(_PROGRAMS) or name.endswith((".py", ".sh")):
            return
        yield word


def _count(option: Option) -> ProcessCount | None:
    flag, values, word = option
    if not is_sure(option):
        return ProcessCount(None, flag, word)
    if not values:
        return None
    number = whole_number(values[0].text) if values[0].resolved else None
    return ProcessCount(number or None, flag, values[0])


def _mapped(option: Option) -> ProcessCount | None:
    """Return the processes of `ppr:8:node`; other mappings do not state a node's."""
    flag, values, _ = option
    match = _PER_NODE.match(values[0].text) if values else None
    if match is None:
        return None
    return ProcessCount(whole_number(match[1]), flag, values[0])


def _host_counts(text: str) -> dict[str, int]:
    """Return counts of `a:8,b:8`, and of names without a number, one process each."""
    counts: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition(":")
        slots = whole_number(number or "1")
        if not name or slots is None:
            return {}
        counts[name] = counts.get(name, 0) + slots
    return counts

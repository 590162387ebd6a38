"""Commands of a script that start containers, and those that train inside of them.

Sources: schemas/catalogues/containers/engines.yaml has the options of each engine and
where they are documented.
"""

from collections.abc import Mapping, Sequence

from speccheck.validator.catalogue.containers import (
    Engine,
    engines,
    engines_by_command,
)
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.containers import (
    TAKES_ENVIRONMENT,
    ContainerOptions,
    Setting,
    state_container_options,
    state_environment,
)
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

_PROGRAMS = ("accelerate", "deepspeed", "python", "torchrun")
_APPTAINER = "apptainer"
_PREFIXES = frozenset({"APPTAINER", "SINGULARITY"})  # of variables for its options
_GPUS_OF_ENGINE = {"nvidia-docker": "all"}
_IMAGES = (".sif", ".simg", ".img", ".sqsh")
# What another tool, or a reader, fills in: `{image}`, `<folder>`; not `${IMAGE}`.
_PLACEHOLDER = lazy_pattern(r"(?<!\$)\{\w+\}|<[^<>]+>")
_INSIDE = "run.in_container"
# Options of pyxis and of Slurm itself, and the programs that start containers; a line
# that only builds or fetches an image counts as well, which makes rules unsure and not
# wrong.
_STARTS = lazy_pattern(
    r"--container(?:-image|-name)?\b|--no-container-mount-home"
    r"|\b(?:apptainer|charliecloud|ch-run|docker|enroot|nerdctl|podman|sarus"
    r"|shifter|singularity|singularity_wrapper|apptainer_wrapper|udocker)\b"
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
        state_environment(sheet, options)
    takes = [fact.value for fact in sheet.facts if fact.name == TAKES_ENVIRONMENT]
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

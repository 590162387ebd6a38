"""Trainings that a script states on the command line: `main_ppo trainer.nnodes=4`.

verl, NeMo 1, NeMo-RL and torchtune are started so. The settings lie over the file that
the command names (`--config-name`, `--config`), or over the program's own defaults; the
reader of the format reads them together. Sources: https://hydra.cc/docs/advanced/
hydra-command-line-flags, torchtune/config/_parse.py, NVIDIA-NeMo/RL examples/run_*.py.
"""

import os
from collections.abc import Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.references import BrokenReference
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._overrides import (
    Override,
    OverrideDocument,
    config_parent,
    keyed_settings,
    merged,
    over_reference,
    overrides,
    read_over,
    with_suffix,
    without_defaults,
)
from speccheck.validator.sources.launching import (
    base_name,
    last_options,
    launch_of,
    may_hold_options,
    mentions_only,
    python_program,
    shared_facts,
    word_place,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Parent,
    Reader,
    Reading,
    Reference,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.registry import Readers
from speccheck.validator.sources.repository import find_function
from speccheck.validator.sources.shell.script import (
    Option,
    ShellCommand,
    ShellWord,
    options,
)

_FORMAT = "hydra-overrides"
_SETTING = lazy_pattern(r"[A-Za-z_]\w*\.\w[\w.-]*=")
# Of commands that name a configuration and change nothing of it.
_SIGNS = ("tune run", "--config-name")
_TORCHTUNE, _NEMO_RL, _VERL = "torchtune", "nemo-rl", "verl"
# NVIDIA-NeMo/Megatron-Bridge scripts/training, over a recipe in Python.
_BRIDGE = "megatron-bridge"
_BRIDGE_PROGRAMS = frozenset({"run_recipe.py", "finetune_decoder.py"})
_RECIPES = ("megatron.bridge.recipes", "megatron.bridge.perf_recipes")
_NEMO_RL_PROGRAM = lazy_pattern(
    r"run_(?:grpo|dpo|sft|rm|ppo|distillation)\w*\.py|run_vlm_grpo\.py"
)
# NeMo 1: examples/nlp/language_modeling and its tuning folder.
_NEMO1_PROGRAM = lazy_pattern(r"megatron_\w+\.py")
_NO_TRAINING = ("eval", "generat", "export", "convert", "server", "inference", "merge")
# verl comes with these; the first one is loaded without `--config-name`.
_VERL_INSTALLED = ("ppo_trainer", "ppo_megatron_trainer")
_VERL_PROGRAM = "verl.trainer.main_ppo"
# Without a program that is known, so many settings tell a training of this kind.
_FEWEST_SETTINGS = 2
_NAME_FLAGS = ("--config-name", "-cn")
_CONFIG_FLAGS = frozenset({"--config", *_NAME_FLAGS})
_FOLDER_FLAGS = ("--config-path", "-cp", "--config-dir", "-cd")


class HydraCommand(Record):
    """A command with settings.

    program: the word that names what runs.
    format: that of the settings, as far as the program tells it.
    may_hold_more: a word such as `$EXTRA` may stand for further settings.
    """

    program: ShellWord
    format: str
    settings: tuple[Override, ...]
    flags: dict[str, Option]
    may_hold_more: bool


class OverriddenConfig(Record):
    """The configuration that a command names: file, folders to look in, the word."""

    target: str
    folders: tuple[str, ...]
    word: ShellWord


def detect(source: Source) -> float:
    """Recognise it by a program of a framework, or two dotted settings of another."""
    text = source.text
    if not _SETTING.search(text) and not any(sign in text for sign in _SIGNS):
        return 0.0
    return (
        0.9
        if any(_is_read(source, training) for training in trainings(source))
        else 0.0
    )


def _is_read(source: Source, training: HydraCommand) -> bool:
    """Return whether a reader knows the settings; Hydra starts other programs too."""
    document = OverrideDocument(source, training.program, training.settings)
    return bool(training.format) or _reader("", document) is not None


def trainings(source: Source) -> list[HydraCommand]:
    """Return the commands of a script that train with settings of this kind."""
    result = (_training(command) for command in source.script.commands)
    return [training for training in result if training is not None]


def _training(command: ShellCommand) -> HydraCommand | None:
    if mentions_only(command):
        return None
    start = _start(command)
    if start is None:
        return None
    program, arguments = start
    kind = _format(program)
    if any(part in base_name(program) for part in _NO_TRAINING):
        return None
    has_flat = kind in {_TORCHTUNE, _VERL}
    settings = (*overrides(arguments, top_level=has_flat),)
    flags = last_options(options(arguments))
    is_named = kind not in {"", _NEMO_RL} and not flags.keys().isdisjoint(_CONFIG_FLAGS)
    fewest = 0 if is_named else 1 if kind else _FEWEST_SETTINGS
    if len(settings) < fewest:
        return None
    taken = {setting.word for setting in settings}
    taken.update(values[0] for _, values, _ in flags.values() if values)
    more = (word for word in arguments if word not in taken)
    return HydraCommand(
        program, kind, settings, flags, any(may_hold_options(word) for word in more)
    )


def _start(command: ShellCommand) -> tuple[ShellWord, Sequence[ShellWord]] | None:
    """Return the program of a command, and the words after it."""
    words = command.words
    for position, word in enumerate(words[:-2]):
        if base_name(word) == "tune" and words[position + 1].text == "run":
            return word, words[position + 2 :]
    program = python_program(command)
    if program is None:
        launch = launch_of(command)
        named = launch.program if launch is not None else ()
        if len(named) > 1 and named[0].text in {"-m", "--module"}:
            program = named[1]
    if program is None:
        return None
    return program, words[words.index(program) + 1 :]


def _format(program: ShellWord) -> str:
    """Return the format of the settings that a program takes; empty if not known."""
    name = base_name(program)
    if name == "tune":
        return _TORCHTUNE
    if "verl." in program.text or name.startswith("main_ppo"):
        return _VERL
    if _NEMO1_PROGRAM.fullmatch(name):
        return "nemo1"
    if name in _BRIDGE_PROGRAMS:
        return _BRIDGE
    return _NEMO_RL if _NEMO_RL_PROGRAM.fullmatch(name) else ""


def _is_frameworks_own(training: HydraCommand) -> bool:
    """Return whether the framework's own program is started, and not one like it."""
    if training.format != _VERL:
        return bool(training.format)
    name = base_name(training.program).removesuffix(".py")
    return "verl." in training.program.text or name == "main_ppo"


def read(source: Source) -> Reading:
    """Return what the settings of the training commands state and share."""
    readings = [
        reading
        for training in trainings(source)
        if (reading := _read(source, training)) is not None
    ]
    if len(readings) == 1:
        return readings[0]
    sheet = FactSheet(source.name)
    if not readings:
        return Reading(sheet)
    parts = [reading.facts.facts for reading in readings]
    sheet.facts.extend(shared_facts(parts, "training commands"))
    return Reading(sheet)


def _read(source: Source, training: HydraCommand) -> Reading | None:
    config = _config(training)
    installed = _installed(training, config)
    document = OverrideDocument(
        source,
        training.program,
        training.settings,
        {"defaults": [installed]} if installed else {},
    )
    if installed:
        config = None
    parent = config_parent(config.target, config.folders) if config else None
    if training.format == _BRIDGE:
        parent = _recipe(source, training)
    reader = _chosen_reader(training, document, parent)
    if reader is None:
        return None
    seen = read_over(document, reader, parent)
    keyed = keyed_settings(
        source.name, reader.format, document, refuses=reader.format != _TORCHTUNE
    )
    if not _is_frameworks_own(training):
        keyed = keyed._replace(own_program=base_name(training.program))
    seen = seen._replace(reading=seen.reading._replace(keyed=keyed))
    is_whole = seen.is_whole and bool(installed or config or parent)
    if training.may_hold_more or not is_whole:
        seen = seen._replace(reading=without_defaults(seen.reading))
    elif reader.format != _TORCHTUNE:
        broken = (*(_left_unset(source.name, place) for place in seen.unset),)
        seen = seen._replace(reading=seen.reading._replace(broken=broken))
    if config is None or not config.word.resolved:
        return seen.reading
    place = word_place(source.name, config.target, config.word)
    return over_reference(seen, Reference(config.target, place))


def _left_unset(name: str, place: Place) -> BrokenReference:
    """Return a value that a command should give, and without which Hydra stops."""
    script = name.rpartition("/")[2]
    what = f"{place.key} is ???, and the command of {script} sets no value"
    return BrokenReference(what, (place,), place.key, is_sure=False)


def _recipe(source: Source, training: HydraCommand) -> Parent | None:
    """Return the function of the repository that gives what the settings lie over."""
    named = _value(training, ("--recipe",))
    if named is None or not named.resolved:
        return None
    for package in _RECIPES:
        location = find_function(source.name, package, named.text)
        if location is not None:
            path, function = location
            home = os.path.dirname(source.name)
            folder, _, file = os.path.relpath(path, home or ".").rpartition("/")
            return Parent(file, (), folders=(folder or ".",), function=function)
    return None


def _installed(training: HydraCommand, config: OverriddenConfig | None) -> str:
    """Return the configuration of verl itself that its own program reads."""
    if training.program.text != _VERL_PROGRAM:
        return ""
    if config is None:
        return _VERL_INSTALLED[0]
    name = config.target.removesuffix(".yaml")
    return name if name in _VERL_INSTALLED else ""


def _chosen_reader(
    training: HydraCommand, document: OverrideDocument, config: Parent | None
) -> Reader | None:
    """Return the format's reader, by the file, which is surer than a program's name.

    Other frameworks have programs of the names that NeMo-RL's have.
    """
    if config is not None and training.format in {"", _NEMO_RL}:
        reader = _reader("", merged(document, config))
        if reader is not None:
            return reader
    return _reader(training.format, document)


def _reader(format_id: str, document: Document) -> Reader | None:
    """Return the reader of the format that the program names, else the settings'."""
    readers = Readers()
    if not format_id:
        detection = readers.detect_document(document)
        format_id = detection.format if detection is not None else ""
    reader = readers.find(format_id)
    return reader if isinstance(reader, Reader) else None


def _config(training: HydraCommand) -> OverriddenConfig | None:
    """Return the file that a command names; Hydra counts folders from the program."""
    if training.format in {_TORCHTUNE, _NEMO_RL}:
        named = _value(training, ("--config",))
        if named is None:
            return None
        return OverriddenConfig(with_suffix(named.text), (".",), named)
    named = _value(training, _NAME_FLAGS)
    if named is None:
        return None
    folder = _value(training, _FOLDER_FLAGS)
    inside = (folder.text,) if folder is not None else ("conf", "config", ".")
    program = training.program.text.rpartition("/")[0]
    folders = [f"{program}/{text}" for text in inside if program]
    return OverriddenConfig(with_suffix(named.text), (*inside, *folders), named)


def _value(training: HydraCommand, flags: Sequence[str]) -> ShellWord | None:
    for flag in flags:
        _, values, _ = training.flags.get(flag, ("", (), None))
        if values:
            return values[0]
    return None


# Programs that are known, and the sections of configurations that are.
_WORDS = (
    *_SIGNS,
    "megatron_",
    *sorted(_BRIDGE_PROGRAMS),
    "run_distillation",
    "run_dpo",
    "run_grpo",
    "run_ppo",
    "run_rm",
    "run_sft",
    "run_vlm_grpo",
    "verl.trainer",
    "actor_rollout_ref.",
    "cluster.",
    "exp_manager.",
    "policy.",
    "step_scheduler.",
    "trainer.",
)
READER = ScriptReader(_FORMAT, "config", detect, read, words=_WORDS)

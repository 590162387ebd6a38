"""Megatron-LM arguments in shell and batch scripts."""

from collections.abc import Iterator, Sequence

from speccheck.validator.catalogue.frameworks import load_forks, load_framework
from speccheck.validator.evidence.forks import CommandParser, parser_of
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, LoadedAs, StatedKey
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.container_commands import state_container
from speccheck.validator.sources.formats._megatron import (
    LEAVES,
    Flag,
    flag_of_option,
    given_elsewhere,
    refused_text,
    state_arguments,
)
from speccheck.validator.sources.launching import (
    base_name,
    last_options,
    launch_of,
    mentions_only,
    references,
    shared_facts,
    word_place,
)
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reading,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.shell.script import (
    Option,
    ShellCommand,
    ShellWord,
    options,
)

_FORMAT = "megatron-cli"
_DEGREES = frozenset({"--tensor-model-parallel-size", "--model-parallel-size"})
_SIZES = frozenset({"--num-layers", "--micro-batch-size", "--seq-length"})
# BioNeMo has a command line of its own over Megatron-Core: `train_esm2 --precision`.
_FOREIGN = frozenset({"--num-steps", "--precision"})
# Tools of the same repository that take the same sizes and do not train.
# slime and miles set the arguments of Megatron-LM anew after they are parsed: bf16,
# the distributed optimizer, the length (slime/backends/megatron_utils/arguments.py).
_OF_SLIME = "--actor-num-gpus-per-node"
_NO_TRAINING = (
    "analy",
    "convert",
    "export",
    "generat",
    "inference",
    "merge",
    "server",
    "util",
)


class Arguments(Record):
    """The options of one training command, and a word that may hold more of them."""

    options: tuple[Option, ...]
    hidden: str


# Tasks evaluate by loops of their own, with the micro-batch that this flag states
# (NVIDIA/Megatron-LM tasks/main.py, tasks/orqa/supervised/finetune.py).
_OF_TASKS = "--task"
_MEANT_BY_TASKS = frozenset({"--eval-micro-batch-size"})
_PRETRAINING = "pretrain_"
# What Megatron-LM's own datasets are named by, and the loaders that begin after the
# samples which the checkpoint counts: megatron/training/datasets/data_samplers.py.
_OWN_DATA = frozenset({"--data-path", "--train-data-path", "--data-args-path"})
_COUNTING_LOADERS = frozenset({"single", "cyclic"})
_TUNING = frozenset({"--finetune", "--sft", "--skip-train", "--pretrained-checkpoint"})


def detect(source: Source) -> float:
    """Recognise it by a parallel size of Megatron-LM, or program and dimensions."""
    return 0.95 if next(_commands(source), None) is not None else 0.0


def _commands(source: Source) -> Iterator[ShellCommand]:
    """Return the commands that train with arguments of Megatron-LM."""
    for command in source.script.commands:
        if mentions_only(command):
            continue
        flags = {word.text.partition("=")[0] for word in command.words}
        has_degree = not flags.isdisjoint(_DEGREES)
        if not has_degree and "--num-layers" not in flags:
            continue
        has_sizes = flags >= _SIZES and _OF_TASKS not in flags
        if not flags.isdisjoint(_FOREIGN):
            continue
        names = [*_programs(command)]
        is_tool = any(part in name for part in _NO_TRAINING for name in names)
        if any(name.startswith("pretrain_") for name in names) or (
            (has_degree or has_sizes) and not is_tool
        ):
            yield command


def _programs(command: ShellCommand) -> Iterator[str]:
    """Yield the names of the programs of a command: files, and modules behind -m."""
    for before, word in zip((None, *command.words), command.words, strict=False):
        if _is_program(word):
            yield base_name(word)
        elif before is not None and before.text in {"-m", "--module"}:
            yield word.text.rpartition(".")[2]


def _is_program(word: ShellWord) -> bool:
    return word.text.endswith(".py")


def read(source: Source) -> Reading:
    """Return the plan that the arguments of the training program state.

    Of several commands, as branches of a script make them, what they share counts.
    """
    catalogue = load_framework("megatron-lm")
    argument_lists = [_arguments(command, catalogue) for command in _commands(source)]
    argument_lists = [arguments for arguments in argument_lists if arguments.options]
    sheet = FactSheet(source.name)
    if not argument_lists:
        return Reading(sheet)
    names = {flag for arguments in argument_lists for flag, _, _ in arguments.options}
    parser = parser_of(catalogue, load_forks("megatron-lm"), names)
    parts = [_facts(source.name, arguments, parser) for arguments in argument_lists]
    sheet.facts.extend(shared_facts(parts, "training commands"))
    _state_own_program(sheet, source, argument_lists)
    state_container(sheet, source)
    keyed = _keyed(source.name, argument_lists, parser)
    return Reading(sheet, keyed, references=references(source))


def _state_own_program(
    sheet: FactSheet, source: Source, argument_lists: Sequence[Arguments]
) -> None:
    """State what Megatron-LM's own programs do, unless a flag says otherwise."""
    names = {
        base_name(word)
        for command in _commands(source)
        for word in command.words
        if _is_program(word)
    }
    flags = {flag for arguments in argument_lists for flag, _, _ in arguments.options}
    is_whole = not any(arguments.hidden for arguments in argument_lists)
    own = sorted(name for name in names if name.startswith(_PRETRAINING))
    if not own or len(own) != len(names) or not is_whole:
        return
    if flags.isdisjoint(_TUNING):
        sheet.default("run.role", "pretrain", note=f"{own[0]} without --finetune")
    types = {
        word.text
        for arguments in argument_lists
        for flag, words, _ in arguments.options
        if flag == "--dataloader-type"
        for word in words
    }
    if types <= _COUNTING_LOADERS and not flags.isdisjoint(_OWN_DATA):
        note = "its loader goes on after the samples that the checkpoint counts"
        sheet.default("data.resumable", value=True, note=note)


def _arguments(command: ShellCommand, catalogue: FrameworkKeys) -> Arguments:
    """Return the options after the training program.

    Those before are the launcher's.
    """
    words = command.words
    launch = launch_of(command)
    start = len(words) - len(launch.program) if launch is not None else 0
    for position, word in enumerate(words):
        if position >= start and word.text.partition("=")[0] in LEAVES:
            break
        if _is_program(word):
            start = position + 1
    text_lists = options(words[start:])
    if any(flag == _OF_TASKS for flag, _, _ in text_lists):
        text_lists = tuple(
            item for item in text_lists if item[0] not in _MEANT_BY_TASKS
        )
    first = next((i for i in range(start, len(words)) if _is_flag(words[i])), start)
    surplus = [*words[start:first], *_surplus(text_lists, catalogue)]
    hidden = next((word.text for word in surplus if _may_hold_options(word)), "")
    hidden = hidden or given_elsewhere(flag for flag, _, _ in text_lists)
    return Arguments(text_lists, hidden or _replaced(text_lists, catalogue))


def _replaced(text_lists: Sequence[Option], catalogue: FrameworkKeys) -> str:
    """Return what sets or hides arguments that the command does not show.

    A placeholder of several words, `--save <PATH TO CHECKPOINTS> --load`, is a
    redirection to the shell, that takes the next flag with it.
    """
    for flag, values, _ in text_lists:
        if flag == _OF_SLIME:
            return "what slime sets by itself"
        row = catalogue.lookup((flag,))
        is_single = row is not None and row.type in {"str", "int", "float"}
        if is_single and any(_is_capital(word.text) for word in values[1:]):
            return f"the placeholder of {flag}"
    return ""


def _is_capital(written: str) -> bool:
    return written.isalpha() and written.isupper()


def _is_flag(word: ShellWord) -> bool:
    return word.text.startswith("-")


def _surplus(
    text_lists: Sequence[Option], catalogue: FrameworkKeys
) -> Iterator[ShellWord]:
    """Return the words after a flag that it does not take as its values."""
    for flag, values, _ in text_lists:
        row = catalogue.lookup((flag,))
        kind = row.type if row is not None else "any"
        if kind == "flag":
            yield from values
        elif not kind.startswith("list"):
            has_list = kind == "any" and values and _is_list(values[0])
            yield from values if has_list else values[1:]


def _is_list(word: ShellWord) -> bool:
    """Return whether a word is all of an array, which no flag takes as a value."""
    return word.text.endswith(("[@]}", "[*]}"))


def _may_hold_options(word: ShellWord) -> bool:
    """Return whether a word is a variable of the environment: `$EXTRA_ARGS`.

    `"$@"` and `$1` are what the script is called with: it is read as called without.
    """
    name = word.text.strip('"${}')
    is_argument = name[:1] in {"@", "*"} or name[:1].isdigit()
    return not word.resolved and "$" in word.text and not is_argument


def _facts(file: str, arguments: Arguments, parser: CommandParser) -> list[Fact]:
    """Return what one command states, and what the flags that it leaves out mean."""
    sheet = FactSheet(file)
    given = _given(file, arguments)
    state_arguments(sheet, given, hidden=arguments.hidden, parser=parser)
    first, *_ = arguments.options
    _, _, word = first
    place = word_place(file, word.text, word)
    sheet.state("run.framework", "megatron-lm", place)
    return sheet.facts


def _given(file: str, arguments: Arguments) -> dict[str, Flag]:
    """Return the flags of one command by name."""
    result = last_options(arguments.options)
    return {name: flag_of_option(file, option) for name, option in result.items()}


def _keyed(
    file: str, argument_lists: Sequence[Arguments], parser: CommandParser
) -> KeyedFile:
    """Return the flags of the commands, each place once."""
    catalogue = parser.table
    keys: dict[Place, StatedKey] = {}
    refused: dict[LoadedAs, None] = {}
    for arguments in argument_lists:
        for name, flag in _given(file, arguments).items():
            value = flag.texts[0] if len(flag.texts) == 1 else [*flag.texts]
            keys[flag.named_at] = StatedKey(
                (name,),
                value,
                flag.named_at,
                is_sure=not flag.doubt,
                value_at=flag.place,
                only_if=flag.place.only_if,
            )
            text = refused_text(flag, catalogue)
            if text is not None:
                refused[text] = None
    return KeyedFile(
        file,
        _FORMAT,
        tuple(keys.values()),
        catalogue,
        loaded_as=tuple(refused),
        hidden=next(
            (arguments.hidden for arguments in argument_lists if arguments.hidden), ""
        ),
        parser=parser,
    )


READER = ScriptReader(
    _FORMAT, "config", detect, read, words=(*sorted(_DEGREES), "--num-layers")
)

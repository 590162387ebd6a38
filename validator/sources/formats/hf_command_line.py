"""Arguments of the Hugging Face Trainer and TRL on the command lines of scripts.

`HfArgumentParser` makes a flag of each field (transformers/hf_argparser.py): with
underscores or dashes, a switch with or without value. TRL takes a file with `--config`
and alignment-handbook one before the flags; the flags win over it.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.forks import CommandParser, Fork
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import StatedKey
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats import hf_trainer
from speccheck.validator.sources.formats._overrides import (
    FlagDocument,
    Flags,
    config_parent,
    flag_names,
    joined_keys,
    keyed_flags,
    over_reference,
    program_and_arguments,
    read_flags,
    read_over,
    stated_alone,
    with_hidden,
)
from speccheck.validator.sources.formats.hf_trainer import TRL_KEYS
from speccheck.validator.sources.launching import (
    base_name,
    mentions_only,
    names_files_as_they_lie,
    shared_facts,
    word_place,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Reading,
    Reference,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.shell.script import ShellCommand, ShellWord

_FORMAT = "hf-arguments"
_FEWEST_FLAGS = 3
# Fields of TrainingArguments that programs with arguments of their own do not have.
_TRAINER_ONLY = frozenset(
    {
        "ddp_find_unused_parameters",
        "ddp_timeout",
        "eval_strategy",
        "evaluation_strategy",
        "gradient_checkpointing_kwargs",
        "load_best_model_at_end",
        "logging_strategy",
        "overwrite_output_dir",
        "save_only_model",
        "save_strategy",
        "save_total_limit",
    }
)
# Those that programs with a loop of their own took over by name.
_BORROWED = frozenset(
    {
        "gradient_accumulation_steps",
        "num_train_epochs",
        "per_device_eval_batch_size",
        "per_device_train_batch_size",
    }
)
_UNMISTAKABLE = _TRAINER_ONLY | _BORROWED
_FOREIGN = frozenset(
    {
        # accelerate's and diffusers' examples, DeepSpeed-Chat: loops of their own
        "checkpointing_steps",
        "lr_warmup_steps",
        "max_train_steps",
        "mixed_precision",
        "num_warmup_steps",
        "train_batch_size",
        "with_tracking",
        "zero_stage",
        # LLaMA-Factory, whose table is another one
        "cutoff_len",
        "dataset_dir",
        "finetuning_type",
        "stage",
        # Megatron-LM
        "micro_batch_size",
        "num_layers",
        "tensor_model_parallel_size",
    }
)
# Programs that train without a file of their own: `trl sft --model_name_or_path ...`
_PROGRAMS = {
    "trl": frozenset({"dpo", "grpo", "kto", "ppo", "reward", "rloo", "sft"}),
    "swift": frozenset({"pt", "rlhf", "sft"}),
}
# ms-swift makes the Trainer's arguments of its own (swift/arguments/sft_args.py, at
# 3602360a5623): `--fsdp fsdp2` names a file of its own there.
_FORKS = {"swift": Fork("ms-swift", frozenset())}
_CONFIG_SUFFIXES = (".yaml", ".yml", ".json")
_CONFIG: KeyPath = ("config",)


class TrainerCommand(Record):
    """A command that trains with these arguments.

    config: the word that names a file of arguments; None without one.
    """

    program: ShellWord
    flags: Flags
    config: ShellWord | None


def detect(source: Source) -> float:
    """Recognise it by three flags of TrainingArguments, one of them its own."""
    if "--" not in source.text or not _is_candidate(source.text):
        return 0.0
    return 0.9 if next(_trainings(source), None) is not None else 0.0


def _is_candidate(text: str) -> bool:
    dashed = text.replace("-", "_")
    return any(name in dashed for name in _UNMISTAKABLE)


def _trainings(source: Source) -> Iterator[TrainerCommand]:
    for command in source.script.commands:
        if mentions_only(command):
            continue
        start = _start(command)
        if start is None:
            continue
        program, arguments = start
        names = {*flag_names(arguments)}
        if names.isdisjoint(_UNMISTAKABLE) or not names.isdisjoint(_FOREIGN):
            continue
        table = load_framework("hf-training-arguments")
        config = _config(arguments)
        known = sum(1 for name in names if table.lookup((name,)) is not None)
        if known >= _FEWEST_FLAGS or config is not None:
            flags = read_flags(source.name, arguments, table, _path)
            yield TrainerCommand(program, flags, config)


def _start(command: ShellCommand) -> tuple[ShellWord, Sequence[ShellWord]] | None:
    """Return the program, and the words after it."""
    words = command.words
    for position, word in enumerate(words[:-1]):
        modes = _PROGRAMS.get(base_name(word), ())
        if words[position + 1].text in modes:
            return word, words[position + 2 :]
    return program_and_arguments(command)


def _config(arguments: Sequence[ShellWord]) -> ShellWord | None:
    """Return the file of `--config`, or the one that stands before the flags."""
    for position, word in enumerate(arguments):
        text = word.text
        if text == "--config" and position + 1 < len(arguments):
            return arguments[position + 1]
        if text.startswith("--config="):
            at = len("--config=")
            return word._replace(
                text=text[at:], column=word.column + at, length=word.length - at
            )
    first = arguments[0] if arguments else None
    if first is not None and first.text.endswith(_CONFIG_SUFFIXES):
        return first
    return None


def _path(flag: str, table: FrameworkKeys) -> KeyPath | None:
    """Return the field of a flag.

    None for its first letters, which argparse completes.
    """
    if not flag.startswith("--") or flag == "--config":
        return None
    name = flag[2:].replace("-", "_")
    if table.lookup((name,)) is None and any(
        key.startswith(name) for key in table.rows
    ):
        return None
    return (name,)


def read(source: Source) -> Reading:
    """Return what the arguments of the training commands state and share."""
    readings = [_read(source, training) for training in _trainings(source)]
    if len(readings) == 1:
        return readings[0]
    sheet = FactSheet(source.name)
    if not readings:
        return Reading(sheet)
    parts = [reading.facts.facts for reading in readings]
    sheet.facts.extend(shared_facts(parts, "training commands"))
    return Reading(sheet, joined_keys([reading.keyed for reading in readings]))


def _read(source: Source, training: TrainerCommand) -> Reading:
    """Return the flags over the file that the command names."""
    flags, config = training.flags, training.config
    document = FlagDocument(source, training.program, flags)
    parent = None
    if config is not None and config.resolved:
        parent = config_parent(config.text, (".",))
    seen = read_over(document, hf_trainer.READER, parent)
    table = load_framework("hf-training-arguments")
    keyed = keyed_flags(source.name, hf_trainer.READER.format, flags, table)
    keyed = keyed._replace(keys=tuple(_listed(key, table) for key in keyed.keys))
    fork = _FORKS.get(base_name(training.program))
    if fork is not None:
        keyed = keyed._replace(parser=CommandParser(table, (fork,)))
    reading = seen.reading._replace(keyed=keyed)
    if config is None:
        is_whole = _is_trainer(training)
    else:
        is_whole = parent is not None and seen.is_whole
    if not is_whole:
        reading = stated_alone(reading)
    if parent is not None and config is not None:
        reference = Reference(
            config.text,
            word_place(source.name, config.text, config),
            is_opened=names_files_as_they_lie(source),
        )
        reading = over_reference(seen._replace(reading=reading), reference)
    return with_hidden(reading, flags.hidden)


def _listed(key: StatedKey, table: FrameworkKeys) -> StatedKey:
    """Return a key of a list with its single word as a list, as `nargs="+"` has it."""
    row = table.lookup(key.path)
    kinds = row.type.split("|") if row is not None else []
    is_list = any(kind.startswith("list") for kind in kinds) and "str" not in kinds
    if not is_list or not isinstance(key.value, str):
        return key
    return key._replace(value=[key.value])


def _is_trainer(training: TrainerCommand) -> bool:
    """Return whether the Trainer runs, so that its defaults hold without a flag."""
    return base_name(training.program) in _PROGRAMS or any(
        str(setting.path[0]) in _TRAINER_ONLY | TRL_KEYS
        for setting in training.flags.settings
    )


_DASHED = frozenset(name.replace("_", "-") for name in _UNMISTAKABLE)
READER = ScriptReader(
    _FORMAT, "config", detect, read, words=(*sorted(_UNMISTAKABLE | _DASHED),)
)

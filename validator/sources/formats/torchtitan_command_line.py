"""Settings of torchtitan on the command lines of scripts, over its TOML file.

`torchrun ... -m torchtitan.train --job.config_file llama3_8b.toml --training.steps 10`
(torchtitan/config/manager.py at v0.2.2: tyro makes a flag of each setting and lets it
win over the file).
"""

from collections.abc import Iterator
from functools import cache

from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.framework_keys import FrameworkKeys, KeyPolicy
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats import torchtitan
from speccheck.validator.sources.formats._overrides import (
    FlagDocument,
    Flags,
    Override,
    config_parent,
    joined_keys,
    keyed_flags,
    over_reference,
    program_and_arguments,
    read_flags,
    read_over,
    stated_alone,
    with_hidden,
)
from speccheck.validator.sources.launching import (
    in_working_folder,
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

_FORMAT = "torchtitan-arguments"
_CONFIG: KeyPath = ("job", "config_file")
_OWN_PROGRAM = "torchtitan"
_PIPELINE = "parallelism.pipeline_parallel_size"
_MICRO_BATCH = "batch.micro_batch_size"


class TorchtitanCommand(Record):
    """A command that trains by a TOML file, with the settings that lie over it."""

    program: ShellWord
    flags: Flags
    config: Override


def detect(source: Source) -> float:
    """Recognise it by the flag that names the TOML file: later releases have none."""
    if "--job.config" not in source.text:
        return 0.0
    return 0.9 if next(_trainings(source), None) is not None else 0.0


def _trainings(source: Source) -> Iterator[TorchtitanCommand]:
    for command in source.script.commands:
        training = None if mentions_only(command) else _training(source, command)
        if training is not None:
            yield training


def _training(source: Source, command: ShellCommand) -> TorchtitanCommand | None:
    start = program_and_arguments(command)
    if start is None:
        return None
    program, arguments = start
    flags = read_flags(source.name, arguments, load_framework("torchtitan"), _path)
    for setting in flags.settings:
        if setting.path == _CONFIG:
            return TorchtitanCommand(program, flags, setting)
    return None


def _path(flag: str, table: FrameworkKeys) -> KeyPath | None:
    """Return the section and key of `--section.key`, with underscores or dashes."""
    del table
    name = flag.removeprefix("--").replace("-", "_")
    return (*name.split("."),) if flag.startswith("--") and "." in name else None


def read(source: Source) -> Reading:
    """Return what the settings of the training commands state and share."""
    readings = [_read(source, training) for training in _trainings(source)]
    if len(readings) == 1:
        return readings[0]
    sheet = FactSheet(source.name)
    if not readings:
        return Reading(sheet)
    parts = [reading.facts.facts for reading in readings]
    sheet.facts.extend(shared_facts(parts, "training commands"))
    return Reading(sheet, joined_keys([reading.keyed for reading in readings]))


def _read(source: Source, training: TorchtitanCommand) -> Reading:
    """Return the flags over the file; alone they do not say what follows from both."""
    flags, config = training.flags, training.config
    document = FlagDocument(source, training.program, flags)
    written = str(config.value) if config.is_known else config.word.text
    target = in_working_folder(written.rpartition("=")[2])
    parent = config_parent(target, (".",)) if "$" not in target else None
    seen = read_over(document, torchtitan.READER, parent)
    # torchtitan/train.py, torchtitan.train; a train.py beside the script may be changed
    is_own = _OWN_PROGRAM in training.program.text
    table = _own_table() if is_own else _open_table()
    keyed = keyed_flags(source.name, torchtitan.READER.format, flags, table)
    reading = seen.reading._replace(keyed=keyed)
    if parent is None or not seen.is_whole:
        reading = _alone(stated_alone(reading))
    if parent is not None:
        place = word_place(source.name, target, config.word)
        reading = over_reference(
            seen._replace(reading=reading),
            Reference(target, place, is_opened=names_files_as_they_lie(source)),
        )
    return with_hidden(reading, flags.hidden)


@cache
def _own_table() -> FrameworkKeys:
    """Return the table of torchtitan: each release stops at an unknown flag.

    argparse before 0.1.0 (torchtitan/config_manager.py), tyro since; forks add flags.
    """
    refuses = KeyPolicy("", "reject")
    return load_framework("torchtitan")._replace(policies=(refuses,), settled=())


@cache
def _open_table() -> FrameworkKeys:
    """Return a table open for programs such as flame, which add their own settings."""
    return load_framework("torchtitan")._replace(policies=(), open_at_top=True)


def _alone(reading: Reading) -> Reading:
    """Return the reading without what depends on settings of a file that is not there.

    A rank's batch is cut into micro-batches where the file asks for a pipeline.
    """
    facts = reading.facts.facts
    names = {fact.name for fact in facts}
    open_names = set() if _PIPELINE in names else {_MICRO_BATCH}
    facts[:] = [
        fact
        for fact in facts
        if fact.status != "derived" or fact.name == "run.framework"
        if fact.name not in open_names
    ]
    return reading


READER = ScriptReader(_FORMAT, "config", detect, read, words=("--job.config",))

"""Launches by the environment: `FORCE_TORCHRUN=1 llamafactory-cli train x.yaml`.

The command starts torchrun by what the environment says, on all GPUs of the node where
there are several, and merges `key=value` words over the file. `swift sft` and `megatron
sft` of ms-swift do so where NNODES or NPROC_PER_NODE is set. Sources: LLaMA-Factory
src/llamafactory/launcher.py, hparams/parser.py (read_args), v1/launcher.py; ms-swift
swift/cli/main.py (use_torchrun, get_torchrun_args).
"""

from collections.abc import Mapping, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.formats._overrides import (
    OverrideDocument,
    config_parent,
    keyed_settings,
    over_reference,
    overrides,
    read_over,
)
from speccheck.validator.sources.launching import (
    base_name,
    mentions_only,
    names_files_as_they_lie,
    shared_facts,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import Unusable, boolean, integer_text
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reader,
    Reading,
    Reference,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.registry import Readers
from speccheck.validator.sources.shell.script import ShellCommand, ShellWord

_FORMAT = "llamafactory-cli"
_TRAINING = frozenset({"train", "sft", "dpo", "rm"})
_OF_SWIFT = frozenset({"swift", "megatron"})
_SWIFT_MODES = frozenset({"pt", "sft", "rlhf"})
_PROGRAMS = {
    **dict.fromkeys(("llamafactory-cli", "lmf"), _TRAINING),
    **dict.fromkeys(_OF_SWIFT, _SWIFT_MODES),
}
_SUFFIXES = (".yaml", ".yml", ".json")
_NODES, _PROCESSES = "cluster.nodes", "recovery.processes_per_node"
_GPUS = "cluster.gpus_per_node"
# Without these ms-swift starts one process.
_BY_TORCHRUN = frozenset({"NNODES", "NPROC_PER_NODE"})


class CliLaunch(Record):
    """A command that trains: its program, and the words after the kind of training."""

    program: ShellWord
    arguments: Sequence[ShellWord]
    environment: Mapping[str, ShellWord]

    @property
    def is_of_swift(self) -> bool:
        """Whether ms-swift starts torchrun, which its environment asks for."""
        return base_name(self.program) in _OF_SWIFT


def detect(source: Source) -> float:
    """Recognise the format by `llamafactory-cli train`."""
    if not any(program in source.text for program in _PROGRAMS):
        return 0.0
    return 0.75 if _launches(source) else 0.0


def _launches(source: Source) -> list[CliLaunch]:
    result = (_launch(source, command) for command in source.script.commands)
    return [launch for launch in result if launch is not None]


def _launch(source: Source, command: ShellCommand) -> CliLaunch | None:
    if mentions_only(command):
        return None
    words = command.words
    for position, word in enumerate(words[:-1]):
        if words[position + 1].text in _PROGRAMS.get(base_name(word), ()):
            environment = {
                name: export.value for name, export in source.script.exports.items()
            }
            environment.update(
                {
                    assignment.name: assignment.value
                    for assignment in command.environment
                }
            )
            launch = CliLaunch(word, words[position + 2 :], environment)
            is_plain = launch.is_of_swift and _BY_TORCHRUN.isdisjoint(environment)
            return None if is_plain else launch
    return None


def read(source: Source) -> Reading:
    """Return nodes and processes by environment, file, and what replaces its values.

    Commands for several nodes stand beside each other; what they share is stated.
    """
    launches = _launches(source)
    sheet = FactSheet(source.name)
    if not launches:
        return Reading(sheet)
    parts = [_launched(source.name, launch) for launch in launches]
    sheet.facts.extend(shared_facts(parts, "launches of llamafactory-cli"))
    readings = [reading for launch in launches if (reading := _trained(source, launch))]
    if not readings:
        return Reading(sheet)
    targets = {item.references[:1] and item.references[0].target for item in readings}
    if len(targets) > 1:
        return Reading(sheet)  # several trainings: none of their files is meant
    settings = [item.facts.facts for item in readings]
    sheet.facts.extend(shared_facts(settings, "trainings"))
    return readings[0]._replace(facts=sheet)


def _launched(file: str, launch: CliLaunch) -> list[Fact]:
    """Return the launcher's options that the environment holds."""
    sheet = FactSheet(file)
    place = word_place(file, launch.program.text, launch.program)
    forced = launch.environment.get("FORCE_TORCHRUN")
    if launch.is_of_swift:
        note = "ms-swift starts torchrun where NNODES or NPROC_PER_NODE is set"
        sheet.derive("recovery.launcher", "torchrun", note, place)
    elif forced is None or boolean(forced.text) is not True:
        # Without it one GPU is trained on in one process, and several by torchrun.
        note = "llamafactory-cli starts torchrun where a node has several GPUs"
        sheet.facts.append(Fact("recovery.launcher", "torchrun", "default", (), note))
    else:
        sheet.derive("recovery.launcher", "torchrun", "FORCE_TORCHRUN is set", place)
    nodes = launch.environment.get("NNODES")
    if nodes is None:
        name = base_name(launch.program)
        sheet.default(_NODES, 1, f"NNODES is not set: 1 in {name}")
    else:
        _state(sheet, _NODES, "NNODES", nodes)
    processes = launch.environment.get("NPROC_PER_NODE")
    if processes is not None:
        _state(sheet, _PROCESSES, "NPROC_PER_NODE", processes)
        count = integer_text(processes.text)
        if processes.resolved and isinstance(count, int):
            note = "torchrun starts one process for each GPU"
            at = word_place(file, "NPROC_PER_NODE", processes)
            sheet.derive(_GPUS, count, note, at)
    restarts = launch.environment.get("MAX_RESTARTS")
    if restarts is not None and "RDZV_ID" in launch.environment:
        _state(sheet, "recovery.max_restarts", "MAX_RESTARTS", restarts)
    else:
        note = "the launcher restarts nothing without RDZV_ID and MAX_RESTARTS"
        sheet.default("recovery.max_restarts", 0, note)
    return sheet.facts


def _state(sheet: FactSheet, leaf: str, name: str, value: ShellWord) -> None:
    place = word_place(sheet.file, name, value)
    converted = integer_text(value.text)
    if not value.resolved:
        sheet.unusable(leaf, unresolved(value), place)
    elif isinstance(converted, Unusable):
        sheet.unusable(leaf, converted.reason, place)
    else:
        sheet.state(leaf, converted, place)


def _trained(source: Source, launch: CliLaunch) -> Reading | None:
    """Return the file with the words that replace its values.

    Nothing without a file.
    """
    named = launch.arguments[0] if launch.arguments else None
    reader = Readers().find("llamafactory")
    if named is None or launch.is_of_swift or not isinstance(reader, Reader):
        return None
    if not named.resolved or not named.text.endswith(_SUFFIXES):
        return None
    reference = Reference(
        named.text,
        word_place(source.name, named.text, named),
        is_opened=names_files_as_they_lie(source),
    )
    settings = (*overrides(launch.arguments[1:], top_level=True),)
    if not settings:
        return Reading(FactSheet(source.name), references=(reference,))
    document = OverrideDocument(source, launch.program, settings)
    seen = read_over(document, reader, config_parent(named.text, (".",)))
    keyed = keyed_settings(source.name, "llamafactory", document, refuses=False)
    seen = seen._replace(reading=seen.reading._replace(keyed=keyed))
    if seen.is_whole:
        return over_reference(seen, reference)
    assumed = OverrideDocument(source, launch.program, settings, {"do_train": True})
    return _alone(reader.read(assumed)._replace(keyed=keyed), reference)


def _alone(reading: Reading, reference: Reference) -> Reading:
    """Return the settings without their file: what they replace of it, no defaults."""
    facts = reading.facts.facts
    facts[:] = [fact for fact in facts if fact.status in {"stated", "unknown"}]
    stated = tuple(sorted({fact.name for fact in facts}))
    return reading._replace(references=(reference._replace(replaces=stated),))


READER = ScriptReader(_FORMAT, "launcher", detect, read, words=(*sorted(_PROGRAMS),))

"""Sizes on the command lines of programs that no other reader knows.

Scripts around Megatron-Core and the Trainer declare arguments of their own and keep the
names of these sizes: the performance scripts of Megatron-Bridge, recipes for GPUs of
clouds, mcore_adapter, `megatron sft` of ms-swift. Only names that mean one thing
wherever they stand are read, and nothing follows from the lack of one. Sources:
AI-Hypercomputer/gpu-recipes training/*/launcher.sh, NVIDIA-NeMo/Megatron-Bridge
scripts/performance/argument_parser.py at 067f987d, modelscope/ms-swift
swift/megatron/arguments, alibaba/ROLL mcore_adapter/examples/train.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.formats._megatron import state_layout
from speccheck.validator.sources.formats._overrides import program_and_arguments
from speccheck.validator.sources.launching import (
    Leaf,
    base_name,
    last_options,
    may_hold_options,
    mentions_only,
    shared_facts,
    state_options,
    word_place,
)
from speccheck.validator.sources.mapping import integer_text, text
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reading,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.registry import Readers
from speccheck.validator.sources.shell.script import (
    Option,
    ShellCommand,
    ShellWord,
    options,
)

_FORMAT = "program-arguments"
_DEGREES = {
    "tensor_model_parallel_size": "parallelism.tensor_parallel_size",
    "pipeline_model_parallel_size": "parallelism.pipeline_parallel_size",
    "context_parallel_size": "parallelism.context_parallel_size",
    "expert_model_parallel_size": "parallelism.expert_parallel_size",
    "expert_tensor_parallel_size": "parallelism.expert_tensor_parallel_size",
}
_BATCHES = {
    "micro_batch_size": "batch.micro_batch_size",
    "per_device_train_batch_size": "batch.micro_batch_size",
    "global_batch_size": "batch.global_batch_size",
    "gradient_accumulation_steps": "batch.gradient_accumulation_steps",
}
_LENGTHS = dict.fromkeys(
    ("seq_length", "max_seq_length", "model_max_length", "cutoff_len"),
    "batch.sequence_length",
)
_GPUS = {
    "gpus_per_node": "cluster.gpus_per_node",
    "num_gpus": "cluster.world_size",
}
_LEAVES = {
    name: Leaf(leaf, integer_text)
    for name, leaf in {**_DEGREES, **_BATCHES, **_LENGTHS}.items()
}
# The performance scripts of Megatron-Bridge give most of their names a short one.
_PERFORMANCE = lazy_pattern(r"\w*setup_experiment\.py|run_script\.py")
_RECIPES = frozenset({"model_recipe_name", "model_name"})
_SHORT = {
    "-m": "--model_family_name",
    "-mr": "--model_recipe_name",
    "-ng": "--num_gpus",
    "-gn": "--gpus_per_node",
    "-gb": "--global_batch_size",
    "-mb": "--micro_batch_size",
    "-sl": "--seq_length",
    "-tp": "--tensor_model_parallel_size",
    "-pp": "--pipeline_model_parallel_size",
    "-cp": "--context_parallel_size",
    "-ep": "--expert_model_parallel_size",
    "-et": "--expert_tensor_parallel_size",
}
# The model is given as weights of Megatron-Core, or as those of a hub.
_OF_SWIFT = {
    "max_length": _LEAVES["seq_length"],
    "decoder_first_pipeline_num_layers": Leaf(
        "parallelism.first_stage_layers", integer_text
    ),
    "decoder_last_pipeline_num_layers": Leaf(
        "parallelism.last_stage_layers", integer_text
    ),
    "num_layers": Leaf("model.layers", integer_text),
    **dict.fromkeys(("load", "model"), Leaf("model.name_of_model", text)),
}
_FEWEST = 2
# One of these is enough behind a program that trains by its name.
_PLAIN = _DEGREES.keys() | {"micro_batch_size", "per_device_train_batch_size"}
_TRAINS = "train"
_SWIFT = "megatron"
_SWIFT_MODES = frozenset({"pt", "sft", "rlhf"})
_NO_TRAINING = ("convert", "eval", "export", "generat", "infer", "merge", "server")
_READ_BY_OTHERS = frozenset(
    {"hf-arguments", "megatron-cli", "openrlhf-arguments", "torchtitan-arguments"}
)


class SizedCommand(Record):
    """A command that trains with sizes among its arguments, by their names."""

    program: ShellWord
    arguments: Sequence[ShellWord]
    given: dict[str, Option]


def detect(source: Source) -> float:
    """Recognise it by two sizes of a training program, where no other reader does."""
    if next(_trainings(source), None) is None:
        return 0.0
    others = (
        reader
        for reader in Readers().of_scripts(source)
        if reader.format in _READ_BY_OTHERS
    )
    return 0.0 if any(reader.detect(source) for reader in others) else 0.6


def _trainings(source: Source) -> Iterator[SizedCommand]:
    for command in source.script.commands:
        start = None if mentions_only(command) else _start(command)
        if start is None:
            continue
        program, arguments = start
        if any(part in base_name(program) for part in _NO_TRAINING):
            continue
        is_performance = _PERFORMANCE.fullmatch(base_name(program)) is not None
        short = _SHORT if is_performance else {}
        named = (
            (short.get(flag, flag), option)
            for flag, option in last_options(options(arguments)).items()
        )
        given = {
            flag.lstrip("-").replace("-", "_"): option
            for flag, option in named
            if flag.startswith("--")
        }
        sizes = given.keys() & _LEAVES.keys()
        if (
            (is_performance and not _RECIPES.isdisjoint(given))
            or (
                len(sizes) >= _FEWEST
                and (sizes & _DEGREES.keys() or sizes & _BATCHES.keys())
            )
            or (sizes & _PLAIN and _TRAINS in base_name(program))
        ):
            yield SizedCommand(program, arguments, given)


def _start(command: ShellCommand) -> tuple[ShellWord, Sequence[ShellWord]] | None:
    """Return the program, and the words after it."""
    words = command.words
    for position, word in enumerate(words[:-1]):
        if base_name(word) == _SWIFT and words[position + 1].text in _SWIFT_MODES:
            return word, words[position + 2 :]
    return program_and_arguments(command)


def read(source: Source) -> Reading:
    """Return the sizes that the training commands share."""
    sheet = FactSheet(source.name)
    parts = [_facts(source.name, training) for training in _trainings(source)]
    if parts:
        sheet.facts.extend(shared_facts(parts, "training commands"))
    return Reading(sheet)


def _facts(file: str, training: SizedCommand) -> list[Fact]:
    sheet = FactSheet(file)
    given = training.given
    leaves = dict(_LEAVES)
    if (
        _GPUS.keys() <= given.keys()
    ):  # the total, where the share of a node is beside it
        leaves |= {name: Leaf(leaf, integer_text) for name, leaf in _GPUS.items()}
    if base_name(training.program) == _SWIFT:
        leaves |= _OF_SWIFT
        note = "megatron of ms-swift trains with Megatron-Core"
        place = word_place(file, training.program.text, training.program)
        sheet.derive("parallelism.engine", "megatron", note, place)
    state_options(sheet, given, leaves)
    state_layout(sheet)
    taken = {value for _, values, _ in given.values() for value in values[:1]}
    hidden = next(
        (
            word
            for word in training.arguments
            if word not in taken and may_hold_options(word)
        ),
        None,
    )
    if hidden is not None:
        place = word_place(file, hidden.text, hidden)
        names = {fact.name for fact in sheet.facts}
        for leaf in dict.fromkeys(leaf.name for leaf in _LEAVES.values()):
            if leaf not in names:
                sheet.unusable(leaf, f"may be given in {hidden.text[:60]}", place)
    return sheet.facts


_NAMES = (*_DEGREES, *_BATCHES, *_RECIPES)
READER = ScriptReader(
    _FORMAT,
    "config",
    detect,
    read,
    words=(*sorted({*_NAMES, *(name.replace("_", "-") for name in _NAMES)}),),
)

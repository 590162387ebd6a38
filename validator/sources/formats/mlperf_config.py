"""Sizes of a system in MLPerf training: `config_DGXH100_64x8x288xtp8pp8cp2.sh`.

The file is sourced before `sbatch -N $DGXNNODES run.sub`; what it exports reaches the
training through the job's environment, where the framework's YAML reads it by
`oc.env`. Sources: mlcommons/training_results_v5.0, NVIDIA/benchmarks/llama31_405b and
llama2_70b_lora, config_common.sh, run.sub and conf/*.yaml.
"""

from collections.abc import Mapping

from speccheck.validator.sources.formats.env import variables
from speccheck.validator.sources.launching import (
    python_program,
    sourced,
    starts_tasks,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import (
    Convert,
    Unusable,
    boolean,
    integer_text,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Reading,
    Reference,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.shell.script import ShellAssignment, ShellCommand

FORMAT = "mlperf-config"
_NODES, _GPUS = "DGXNNODES", "DGXNGPU"
_TENSOR, _PIPELINE = (
    "parallelism.tensor_parallel_size",
    "parallelism.pipeline_parallel_size",
)
_CONTEXT, _MICRO = "parallelism.context_parallel_size", "batch.micro_batch_size"
# llama31_405b and llama31_8b write the long names, llama2_70b_lora and flux1 the short.
_LEAVES: dict[str, tuple[str, Convert]] = {
    _NODES: ("cluster.nodes", integer_text),
    _GPUS: ("cluster.gpus_per_node", integer_text),
    "TENSOR_MODEL_PARALLEL": (_TENSOR, integer_text),
    "TP": (_TENSOR, integer_text),
    "PIPELINE_MODEL_PARALLEL": (_PIPELINE, integer_text),
    "PP": (_PIPELINE, integer_text),
    "CONTEXT_PARALLEL": (_CONTEXT, integer_text),
    "CP": (_CONTEXT, integer_text),
    "EXPERT_MODEL_PARALLEL": ("parallelism.expert_parallel_size", integer_text),
    "SEQ_PARALLEL": ("parallelism.sequence_parallel", boolean),
    "MICRO_BATCH_SIZE": (_MICRO, integer_text),
    "MBS": (_MICRO, integer_text),
}
# What the job reads beside it, none of which names the other: the batch script, what it
# runs in the container, and the configuration of NeMo whose name stands in the program.
_BESIDE = (
    "run.sub",
    "run_and_time.sh",
    "conf/custom.yaml",
    "conf/megatron_gpt_peft_tuning_config.yaml",
)
_NOT_GIVEN = frozenset({"", "null", "None"})


def detect(source: Source) -> float:
    """Recognise it by nodes or GPUs that it exports, and a job that it leaves to start.

    A batch script has defaults of its own for both.
    """
    if _NODES not in source.text and _GPUS not in source.text:
        return 0.0
    script = source.script
    if script.directives or any(_is_start(command) for command in script.commands):
        return 0.0
    return 0.8 if _sizes(source) else 0.0


def _is_start(command: ShellCommand) -> bool:
    return starts_tasks(command) or python_program(command) is not None


def _sizes(source: Source) -> Mapping[str, ShellAssignment]:
    """Return the exports that state a leaf, by name."""
    exports = source.script.exports
    sizes = {name: exports[name] for name in _LEAVES if name in exports}
    return sizes if _NODES in sizes or _GPUS in sizes else {}


def read(source: Source) -> Reading:
    """Return the sizes that the file exports, and its other variables."""
    sheet = FactSheet(source.name)
    for name, assignment in _sizes(source).items():
        leaf, convert = _LEAVES[name]
        word = assignment.value
        place = word_place(source.name, name, word)
        if assignment.conditional or not word.resolved:
            sheet.unusable(leaf, unresolved(word), place)
        elif word.text not in _NOT_GIVEN:
            value = convert(word.text)
            if isinstance(value, Unusable):
                sheet.unusable(leaf, value.reason, place)
            else:
                sheet.state(leaf, value, place)
    name, assignment = next(iter(_sizes(source).items()))
    at = word_place(source.name, name, assignment.value)
    return Reading(
        sheet,
        variables=(*variables(source),),
        references=(
            *(Reference(path, at, is_opened=False) for path in _BESIDE),
            *sourced(source),
        ),
    )


READER = ScriptReader(FORMAT, "environment", detect, read, words=(_NODES, _GPUS))

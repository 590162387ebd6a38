"""System configurations of MLPerf training: `config_DGXH100_64x8x288xtp8pp8cp2.sh`.

The file is sourced before `sbatch -N $DGXNNODES run.sub`; what it exports reaches the
training through the job's environment, where the framework's YAML reads it by
`oc.env`. Sources: mlcommons/training_results_v5.0, NVIDIA/benchmarks/llama31_405b and
llama2_70b_lora, config_common.sh, run.sub and conf/*.yaml.
"""

from collections.abc import Mapping

from speccheck.validator.sources.formats.env import variables
from speccheck.validator.sources.launching import unresolved, word_place
from speccheck.validator.sources.mapping import (
    Convert,
    Unusable,
    boolean,
    integer_text,
)
from speccheck.validator.sources.reader import FactSheet, Reading, Reference, ScriptReader, Source
from speccheck.validator.sources.shell.script import ShellAssignment

FORMAT = "mlperf-config"
_NODES, _GPUS, _SYSTEM = "DGXNNODES", "DGXNGPU", "DGXSYSTEM"
_LEAVES: dict[str, tuple[str, Convert]] = {
    _NODES: ("cluster.nodes", integer_text),
    _GPUS: ("cluster.gpus_per_node", integer_text),
    "TENSOR_MODEL_PARALLEL": ("parallelism.tensor_parallel_size", integer_text),
    "PIPELINE_MODEL_PARALLEL": ("parallelism.pipeline_parallel_size", integer_text),
    "CONTEXT_PARALLEL": ("parallelism.context_parallel_size", integer_text),
    "EXPERT_MODEL_PARALLEL": ("parallelism.expert_parallel_size", integer_text),
    "SEQ_PARALLEL": ("parallelism.sequence_parallel", boolean),
    "MICRO_BATCH_SIZE": ("batch.micro_batch_size", integer_text),
}
# What the job reads beside it, none of which names the other: the batch script, and the
# configuration of NeMo whose name stands in the training program.
_BESIDE = (
    "run.sub",
    "conf/custom.yaml",
    "conf/megatron_gpt_peft_tuning_config.yaml",
)
_NOT_GIVEN = frozenset({"", "null", "None"})


def detect(source: Source) -> float:
    """Recognise it by the nodes or GPUs of the system that it names."""
    text = source.text
    if _SYSTEM not in text or (_NODES not in text and _GPUS not in text):
        return 0.0
    return 0.8 if _SYSTEM in source.script.exports and _sizes(source) else 0.0


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
    system = source.script.exports[_SYSTEM].value
    at = word_place(source.name, _SYSTEM, system)
    return Reading(
        sheet,
        variables=(*variables(source),),
        references=tuple(Reference(name, at, is_opened=False) for name in _BESIDE),
    )


READER = ScriptReader(FORMAT, "environment", detect, read, words=(_SYSTEM,))

"""Which numbers fields of the plan can hold: between the readers and the rules.

A number outside is no value to judge or to calculate by: the field is *invalid*, its
clause on refused values fails, and nothing else is said of it. What a framework means
by a number outside (`-1` fills the mesh, 0 switches off) is for its reader to say.
"""

from collections.abc import Mapping
from typing import Any

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Status, Value

_MOST_COUNTED = 10**12  # nothing that a job counts comes near it
_MOST_BYTES = 10**19


class Domain(Record):
    """The numbers that a field can hold.

    Attributes:
        lowest: the smallest; None where it must only be above zero.
        highest: the largest.
        besides: a number outside that means something in every framework.
        is_refused: a number outside is a mistake; elsewhere it only says nothing.
    """

    lowest: float | None
    highest: float
    besides: float | None = None
    is_refused: bool = True

    def holds(self, number: float) -> bool:
        """Return whether a number lies within; what is not finite never does."""
        if number == self.besides:
            return True
        above = number > 0 if self.lowest is None else number >= self.lowest
        return above and number <= self.highest

    @property
    def in_words(self) -> str:
        """What lies within, as the end of a sentence."""
        low = "above 0" if self.lowest is None else f"{self.lowest:g} or more"
        is_open = self.highest >= _MOST_COUNTED
        return low if is_open else f"{low} and at most {self.highest:g}"


_SIZE = Domain(1, _MOST_COUNTED)
_COUNT = Domain(0, _MOST_COUNTED)
_POSITIVE = Domain(None, _MOST_COUNTED)
_AMOUNT = Domain(0, _MOST_COUNTED)
_BYTES = Domain(0, _MOST_BYTES)
_SHARE = Domain(0, 1)
_LENGTH = Domain(0, _MOST_COUNTED, is_refused=False)  # -1 for no end, and the like

_BY_SECTION: Mapping[str, Mapping[str, Domain]] = {
    "cluster": {
        **dict.fromkeys(("nodes", "gpus_per_node", "world_size"), _SIZE),
        "accelerator_memory_bytes": _BYTES,
        "cpus_per_node": _SIZE,
        "job_cpus_per_node": _SIZE,
        "spare_nodes": _COUNT,
    },
    "parallelism": {
        **dict.fromkeys(
            (
                *("tensor_parallel_size", "pipeline_parallel_size", "virtual_stages"),
                *("context_parallel_size", "ulysses_size", "expert_parallel_size"),
                *("expert_tensor_parallel_size", "data_parallel_size"),
                *("replicate_size", "layers_per_virtual_stage"),
                *("first_stage_layers", "last_stage_layers"),
            ),
            _SIZE,
        ),
        "shard_size": Domain(1, _MOST_COUNTED, besides=-1),
        "sharding_stage": Domain(0, 3),
    },
    "batch": dict.fromkeys(
        (
            *("micro_batch_size", "gradient_accumulation_steps", "global_batch_size"),
            *("evaluation_global_batch_size", "evaluation_micro_batch_size"),
            "sequence_length",
        ),
        _SIZE,
    ),
    "optimizer": {
        "learning_rate": _AMOUNT,
        "minimum_learning_rate": _AMOUNT,
        "weight_decay": _AMOUNT,
        "clip_norm": _AMOUNT,
        "warmup_steps": _COUNT,
        "warmup_ratio": _SHARE,
        "decay_steps": _COUNT,
    },
    "communication": {
        "gradient_bucket_bytes": _BYTES,
        "parameter_bucket_bytes": _BYTES,
        "timeout_seconds": _POSITIVE,
        "initialization_timeout_seconds": _POSITIVE,
    },
    "checkpoint": {"interval_seconds": _AMOUNT, "size_bytes": _BYTES},
    "data": {"workers": _COUNT, "prefetch_factor": _SIZE},
    "model": {
        **dict.fromkeys(
            (
                *("parameters", "layers", "hidden_size", "feed_forward_size"),
                *("attention_heads", "key_value_heads", "head_dimension"),
                *("vocabulary_multiple", "maximum_positions"),
            ),
            _SIZE,
        ),
        # models of images are given 0, as they have no words
        "vocabulary_size": Domain(1, _MOST_COUNTED, is_refused=False),
        "experts": _COUNT,
        "experts_per_token": _COUNT,
        "quantized_bits": Domain(1, 64),
    },
    "run": dict.fromkeys(("steps", "epochs"), _LENGTH),
    "recovery": {
        "walltime_seconds": _POSITIVE,
        "processes_per_node": _SIZE,
        "tasks_per_node": _SIZE,
        "minimum_nodes": _SIZE,
        "maximum_nodes": _SIZE,
    },
}
DOMAINS: Mapping[str, Domain] = {
    f"{section}.{field}": domain
    for section, fields in _BY_SECTION.items()
    for field, domain in fields.items()
}


def within_domain(leaf: Value[Any]) -> Value[Any]:
    """Return a field as it is, or as invalid where its number lies outside."""
    domain, number = DOMAINS.get(leaf.name), leaf.value
    if domain is None or leaf.status not in {"stated", "derived"}:
        return leaf
    if not isinstance(number, int | float) or domain.holds(number):
        return leaf
    written = f"{number:g}" if isinstance(number, float) else shortened(number)
    note = f"{written} is not {domain.in_words}"
    status: Status = "invalid" if domain.is_refused else "unknown"
    return Value(leaf.name, None, status, leaf.places, note)


def shortened(number: int) -> str:
    """Return a whole number as text; of one with very many digits how many it has."""
    most = 10**30
    if -most < number < most:
        return str(number)
    return "a number of more than 30 digits"

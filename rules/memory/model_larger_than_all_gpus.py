"""A model's weights and optimizer state are larger than all GPUs of the job together.

Why it hurts: whatever shards them, the job dies on the first allocation that does not
fit, after the nodes are granted and the checkpoint is read.

What passes: an equal share of what training keeps of each parameter fits into one GPU.
Whether the job shards at all is for other rules of the clause.

Where it does not apply: files that say what shards the states, or that a part of them
lies in host memory; there the peak of one GPU is judged. Nor where model, GPU or their
number is not known, which that rule asks for as well.

Source: Rajbhandari et al. 2020 (arXiv:1910.02054), bytes of each parameter by the
optimizer; the parameters are those of the public model that the files name, or counted.

Bad::

    # one GPU of 24 GB
    model_name_or_path: meta-llama/Llama-3.1-70B
    finetuning_type: full

Good::

    # one GPU of 24 GB
    model_name_or_path: meta-llama/Llama-3.2-1B
    finetuning_type: full
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.memory import unsharded_states
from speccheck.validator.forecast.plan_facts import trains_adapter
from speccheck.validator.models.training_memory import FEWEST_SHARE
from speccheck.validator.models.units import billions, gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class MemoryShare(Numbers):
    """What states, activations and buffers may take together."""

    peak_share: float


@rule(clause="MEM-001", confidence="lower_bound")
def model_larger_than_all_gpus(plan: TrainingPlan, limit: MemoryShare) -> Verdicts:
    """Judge an equal share of the least that the states can take."""
    leaves = [plan.value(name) for name in _OF_ENGINE]
    if any(leaf.is_known or leaf.places for leaf in leaves):
        return
    if any(plan.value(name).or_else("none") != "none" for name in _OFFLOADS):
        return
    try:
        gpus: int = plan.value("cluster.world_size").need()
        capacity: int = plan.value("cluster.accelerator_memory_bytes").need()
        is_adapter = trains_adapter(plan)
        parameters, states = unsharded_states(plan)
    except MissingEvidence:
        return  # the rule on the peak of one GPU asks for it
    available, whole = limit.peak_share * capacity, states.lower
    if is_adapter and not plan.value("model.quantized_bits").is_known:
        whole *= FEWEST_SHARE  # the base may be loaded in 4 bits
    least = whole / gpus
    kept = "frozen weights" if is_adapter else "weights, gradients and optimizer state"
    each = f" / {gpus:,} GPUs = {gigabytes(least)}" if gpus > 1 else ""
    text = (
        f"the {kept} of {billions(parameters.lower)} parameters take at least "
        f"{gigabytes(whole)}{each}"
    )
    at = [plan.value(name) for name in _PLACES]
    if least <= available:
        yield passed(text, at=at, measured=least, required=available)
        return
    yield fail(
        f"{text}; of the {gigabytes(capacity)} of a GPU a job can use "
        f"{gigabytes(available)}",
        at=at,
        measured=least,
        required=available,
        cost="the job runs out of memory before the first step ends",
        remedy="Take more GPUs and shard over them, or give the file that moves states "
        "to host memory.",
    )


_OF_ENGINE = ("parallelism.engine", "parallelism.sharding_stage")
_OFFLOADS = ("memory.parameter_offload_device", "memory.optimizer_offload_device")
_PLACES = ("model.parameters", "model.layers", "cluster.world_size")

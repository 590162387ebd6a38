"""What is surely so of the scale and the length of a job that no file states.

A job has at least as many GPUs as the degrees of its mesh multiply to, and as hold the
states of its model; at least as many nodes as these GPUs fill; and it takes at least
the time of its matrix products at the peak of its GPUs. A bound settles what it alone
decides: that a clause for several nodes applies, never that a job is small.
"""

from math import ceil, prod
from typing import cast

from speccheck.validator.evidence.plan import Run, TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Place, Value
from speccheck.validator.forecast.plan_facts import run_seconds

# The largest of the hardware catalogue, to which a test holds them.
MOST_GPUS_PER_NODE = 16  # a2-megagpu-16g
MOST_BYTES_PER_GPU = 309_237_645_312  # MI355X
MOST_FLOPS_PER_SECOND = {"bf16": 2.5166e15, "fp8": 5.0332e15}  # MI355X
_SURE = frozenset({"stated", "derived"})
_PREFIX = "parallelism."
# Sides of the mesh that multiply, in the words of messages.
_MODEL_SIDES = (
    ("tensor_parallel_size", "tensor"),
    ("pipeline_parallel_size", "pipeline"),
    ("context_parallel_size", "context"),
    ("ulysses_size", "Ulysses"),
)
_DATA_SIDES = (("replicate_size", "replicas"), ("shard_size", "shards"))
# Experts lie across the ranks of data, context and tensor parallelism.
_EXPERT_SIDES = (
    ("pipeline_parallel_size", "pipeline"),
    ("expert_parallel_size", "expert"),
    ("expert_tensor_parallel_size", "expert tensor"),
)
_PRETRAINING = frozenset({"pretrain", "continued"})  # samples of full length
_TRAINED_FLOPS = 6  # of a weight and a token: forward once, backward twice
_HOUR = 3600.0
_MANY = 100  # from here on written without fractions


class NumberBound(Record):
    """The least, or the most, that a number of the job can be.

    Attributes:
        number: that number.
        unit: what it counts.
        reason: the arithmetic; empty where the number itself is known.
        places: where the factors stand.
        is_upper: it is the most.

    """

    number: float
    unit: str
    reason: str = ""
    places: tuple[Place, ...] = ()
    is_upper: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether it is no bound, but the number itself."""
        return not self.reason

    @property
    def in_words(self) -> str:
        """`64 GPUs`, or `at least 64 GPUs (tensor 8 x pipeline 8)`."""
        number = self.number
        count = f"{number:,.0f}" if number >= _MANY else f"{number:.3g}"
        text = f"{count} {self.unit}"
        side = "at most" if self.is_upper else "at least"
        return text if self.is_exact else f"{side} {text} ({self.reason})"


def least_gpus(plan: TrainingPlan) -> NumberBound | None:
    """Return the least number of GPUs of a job; None where nothing tells."""
    world = plan.value("cluster.world_size")
    if number := _number(world):
        return NumberBound(number, "GPUs", places=world.places)
    bounds = [*_of_degrees(plan)]
    nodes = plan.value("cluster.nodes")
    if (number := _number(nodes)) and number > 1:
        bounds.append(NumberBound(number, "GPUs", f"{number:,} nodes", nodes.places))
    held = _of_states(plan)
    if held is not None:
        bounds.append(held)
    return max(bounds, key=lambda bound: bound.number, default=None)


def least_nodes(plan: TrainingPlan) -> NumberBound | None:
    """Return the least number of nodes of a job; None where nothing tells."""
    nodes = plan.value("cluster.nodes")
    if number := _number(nodes):
        return NumberBound(number, "nodes", places=nodes.places)
    gpus = least_gpus(plan)
    if gpus is None:
        return None
    local = plan.value("cluster.gpus_per_node")
    each = _number(local)
    number = ceil(gpus.number / (each or MOST_GPUS_PER_NODE))
    if number <= 1:
        return None
    count = f"{gpus.number:,} GPUs" + ("" if gpus.is_exact else f": {gpus.reason}")
    rest = f"{each} each" if each else f"at most {MOST_GPUS_PER_NODE} each"
    places = (*gpus.places, *local.places)
    return NumberBound(number, "nodes", f"{count}, {rest}", places)


def most_micro_batches(plan: TrainingPlan) -> NumberBound | None:
    """Return how many micro-batches a rank has in a step at most; None if unknown."""
    count = plan.value("batch.gradient_accumulation_steps")
    if number := _number(count):
        return NumberBound(number, "micro-batches", places=count.places)
    total, micro = (
        plan.value(f"batch.{name}")
        for name in ("global_batch_size", "micro_batch_size")
    )
    samples, each = _number(total), _number(micro)
    if not samples or not each or plan.value("batch.uneven_micro_batches").value:
        return None
    ranks, gpus = _least_data_ranks(plan), least_gpus(plan)
    reason = f"global batch {samples:,} / micro-batch {each}"
    if ranks > 1 and gpus is not None:
        reason += f" / {ranks:,} data-parallel ranks of {gpus.in_words}"
    number = samples // (each * ranks)
    if not number:
        return None  # too few samples for all ranks: another matter
    places = (*total.places, *micro.places)
    return NumberBound(number, "micro-batches", reason, places, is_upper=True)


def _least_data_ranks(plan: TrainingPlan) -> int:
    gpus = least_gpus(plan)
    sides = [plan.value(_PREFIX + name).or_else(0) for name, _ in _MODEL_SIDES]
    if gpus is None or min(sides) < 1:
        return 1
    return max(ceil(gpus.number / prod(sides)), 1)


def several_nodes(plan: TrainingPlan) -> NumberBound | None:
    """Return the nodes of a job, or their least number, where they are surely many."""
    nodes = least_nodes(plan)
    return nodes if nodes is not None and nodes.number > 1 else None


BOUNDED = {"cluster.world_size": least_gpus, "cluster.nodes": least_nodes}


def _number(leaf: Value[int]) -> int | None:
    """Return a number that is surely meant; nothing of a default or a doubt."""
    if leaf.status not in _SURE or leaf.only_if or not isinstance(leaf.value, int):
        return None
    return leaf.value if leaf.value > 0 else None


_Sides = tuple[tuple[str, Value[int]], ...]


def _of_degrees(plan: TrainingPlan) -> list[NumberBound]:
    """Return the ways to multiply degrees; a degree that is not known is 1 or more."""
    model = _sides(plan, _MODEL_SIDES)
    meshes = [model, _sides(plan, _EXPERT_SIDES)]
    if not {"Ulysses", "context"} & {title for title, _ in model}:
        # Ranks that share a sequence may be among those that share the weights.
        meshes.append((*model, *_sides(plan, _DATA_SIDES)))
    data = _sides(plan, (("data_parallel_size", "data"),))
    if data and data[0][1].status == "stated":
        meshes.append((*(side for side in model if side[0] != "Ulysses"), *data))
    return [_of_mesh(mesh) for mesh in meshes if mesh]


def _sides(plan: TrainingPlan, names: tuple[tuple[str, str], ...]) -> _Sides:
    leaves = ((title, plan.value(_PREFIX + name)) for name, title in names)
    return tuple((title, leaf) for title, leaf in leaves if (_number(leaf) or 1) > 1)


def _of_mesh(mesh: _Sides) -> NumberBound:
    reason = " x ".join(f"{title} {leaf.need():,}" for title, leaf in mesh)
    places = dict.fromkeys(place for _, leaf in mesh for place in leaf.places)
    return NumberBound(
        prod(leaf.need() for _, leaf in mesh), "GPUs", reason, tuple(places)
    )


def _of_states(plan: TrainingPlan) -> NumberBound | None:
    """Return the GPUs that hold the states of all parameters."""
    if plan.value("run.role").value not in _PRETRAINING or not _has_dimensions(plan):
        return None
    from speccheck.validator.forecast.memory import (  # noqa: PLC0415 - dear
        dimensions_of,
        is_offloaded,
        scheme_of,
    )
    from speccheck.validator.models.parameters import (  # noqa: PLC0415 - dear
        parameter_estimate,
    )
    from speccheck.validator.models.training_memory import (  # noqa: PLC0415 - dear
        bytes_per_parameter,
    )

    try:
        parameters = parameter_estimate(dimensions_of(plan)).lower
        if is_offloaded(plan, "parameter") or is_offloaded(plan, "optimizer"):
            return None
        each = bytes_per_parameter(scheme_of(plan))
    except MissingEvidence:
        return None
    width = each.weights.lower + each.gradients.lower + each.optimizer.lower
    memory = plan.value("cluster.accelerator_memory_bytes").or_else(MOST_BYTES_PER_GPU)
    number = ceil(parameters * width / memory)
    reason = (
        f"{_large(parameters)} parameters x {width:g} bytes on GPUs of "
        f"{memory / 1e9:,.0f} GB"
    )
    return NumberBound(number, "GPUs", reason, plan.value("model.layers").places)


def least_hours(plan: TrainingPlan) -> NumberBound | None:
    """Return how long the run takes at least; None where nothing tells.

    Each data-parallel rank passes its own micro-batches through the model in a step,
    whatever the number of ranks.
    """
    seconds = run_seconds(cast("Run", plan.section("run")))
    if seconds is not None:
        return NumberBound(seconds / _HOUR, "h")
    work = _work(plan)
    ranks = [plan.value(_PREFIX + name).or_else(0) for name, _ in _MODEL_SIDES]
    micro = plan.value("batch.micro_batch_size").or_else(0)
    if plan.value("batch.uneven_micro_batches").value:
        micro = min(micro, 1)  # the last one of a step may be as small
    if work is None or min(ranks) < 1 or micro < 1:
        return None
    steps, length, active, peak = work
    tokens = micro * length
    seconds = steps * tokens * _TRAINED_FLOPS * active / (prod(ranks) * peak)
    across = f" / {prod(ranks)} GPUs" if prod(ranks) > 1 else ""
    reason = (
        f"{steps:,} steps x {tokens:,} tokens a rank x 6 x {_large(active)} "
        f"parameters at {peak / 1e15:.3g} PFLOP/s{across}"
    )
    return NumberBound(seconds / _HOUR, "h", reason, plan.value("run.steps").places)


def least_gpu_hours(plan: TrainingPlan) -> NumberBound | None:
    """Return the time that all GPUs take together at least; None if nothing tells."""
    work = _work(plan)
    samples = plan.value("batch.global_batch_size").or_else(0)
    if work is None or samples < 1:
        return None
    steps, length, active, peak = work
    tokens = steps * samples * length
    reason = (
        f"6 x {_large(active)} parameters x {_large(tokens)} tokens at "
        f"{peak / 1e15:.3g} PFLOP/s"
    )
    hours = tokens * _TRAINED_FLOPS * active / peak / _HOUR
    return NumberBound(hours, "GPU hours", reason, plan.value("run.steps").places)


def _work(plan: TrainingPlan) -> tuple[int, int, int, float] | None:
    """Return steps, tokens a sample, parameters that multiply each, and a GPU's peak.

    None where samples may be shorter, or weights may be frozen.
    """
    steps = _number(plan.value("run.steps"))
    length = plan.value("batch.sequence_length").or_else(0)
    if plan.value("run.role").value not in _PRETRAINING or not _has_dimensions(plan):
        return None
    recipe = plan.value("precision.fp8_recipe").or_else("")
    if not steps or length < 1 or "fp4" in recipe:
        return None
    if plan.value("recovery.walltime_seconds").is_known:
        return None  # it ends the run, whatever the steps
    from speccheck.validator.forecast.memory import dimensions_of  # noqa: PLC0415
    from speccheck.validator.models.parameters import (  # noqa: PLC0415 - dear
        least_layer_parameters,
    )

    dimensions = dimensions_of(plan)
    if dimensions.experts or plan.value("model.adapter").or_else("none") != "none":
        return None
    active = dimensions.layers * least_layer_parameters(dimensions)
    return steps, length, active, _peak(plan)


def _peak(plan: TrainingPlan) -> float:
    """Return the most operations a second of a GPU of the job in its number format."""
    fp8 = plan.value("precision.fp8")
    is_wide = not fp8.places if fp8.status == "unknown" else fp8.value is False
    known = plan.value("cluster.peak_bf16_flops_per_second").value
    if known is not None:
        return float(known) if is_wide else 2 * float(known)
    return MOST_FLOPS_PER_SECOND["bf16" if is_wide else "fp8"]


def _has_dimensions(plan: TrainingPlan) -> bool:
    names = ("layers", "hidden_size", "attention_heads")
    family = plan.value("model.family").or_else("transformer")
    return family == "transformer" and all(
        _number(plan.value(f"model.{name}")) for name in names
    )


def _large(number: float) -> str:
    """Return `6.4 billion`, as people say large counts."""
    for unit, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,.0f}"

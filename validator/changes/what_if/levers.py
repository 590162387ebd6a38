"""What may be changed to mend a plan: one value each, from the least change on."""

from collections.abc import Iterator, Mapping
from typing import Any

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record

MICRO, STEPS, GLOBAL = (
    "batch.micro_batch_size",
    "batch.gradient_accumulation_steps",
    "batch.global_batch_size",
)
_DATA = "parallelism.data_parallel_size"
_STAGE = "parallelism.sharding_stage"
_TENSOR = "parallelism.tensor_parallel_size"
_PIPELINE = "parallelism.pipeline_parallel_size"
_VIRTUAL = "parallelism.virtual_stages"
_MODES = ("none", "selective", "full")
_MOST_STAGE, _WEIGHT_STAGE = 3, 3
_DOUBLINGS = (2, 4, 8, 16)
_HALVINGS = 4
_MOST_PIPELINE = 16
_USUAL_DOMAIN = 8  # GPUs that NVLink joins where nothing says so
_MOST_MICRO = 64
# Frameworks that have a key for it, whether or not a file sets it.
_TENSOR_FRAMEWORKS = frozenset(
    {
        "gpt-neox",
        "megatron-bridge",
        "megatron-lm",
        "nanotron",
        "native",
        "nemo-automodel",
        "nemo1",
        "torchtitan",
    }
)
_PIPELINE_FRAMEWORKS = _TENSOR_FRAMEWORKS - {"nemo-automodel"}
_SELECTIVE_FRAMEWORKS = _PIPELINE_FRAMEWORKS - {"gpt-neox"}


class LeverStep(Record):
    """One value to try: a leaf, and what the framework wants beside it."""

    leaf: str
    value: object
    beside: tuple[tuple[str, object], ...] = ()


class Lever(Record):
    """The values to try for one leaf, each a larger change than the one before.

    Of a lever that is pulled for memory or a pipeline, each also does more.
    """

    steps: tuple[LeverStep, ...]


def memory_levers(plan: TrainingPlan) -> Iterator[Lever]:
    """Yield the levers, cheap before dear: from recompute to more nodes."""
    heads = _count(plan, "model.attention_heads")
    layers = _count(plan, "model.layers")
    yield from _lever(_recomputation(plan))
    yield from _lever(_micro_batch(plan))
    yield from _lever(_sharding(plan))
    if _is_settable(plan, _TENSOR, _TENSOR_FRAMEWORKS):
        yield from _lever(_degree(plan, _TENSOR, _domain(plan), heads))
    if _is_settable(plan, _PIPELINE, _PIPELINE_FRAMEWORKS):
        yield from _lever(_degree(plan, _PIPELINE, _MOST_PIPELINE, layers))
    yield from _lever(_offload(plan))
    yield from _lever(_nodes(plan))


def pipeline_levers(plan: TrainingPlan) -> Iterator[Lever]:
    """Yield levers for an idle pipeline: micro-batches, stages, the global batch."""
    yield from _lever(_micro_batch(plan))
    yield from _lever(_virtual_stages(plan))
    yield from _lever(_fewer_stages(plan))
    yield from _lever(_larger_batches(plan))


def batch_levers(plan: TrainingPlan) -> Iterator[Lever]:
    """Yield levers for a batch that does not come out; first those that keep its size.

    The statements that are not changed are stated again, so that none is derived away.
    """
    stated = {
        name: plan.value(name).value
        for name in (MICRO, STEPS, GLOBAL)
        if plan.value(name).status == "stated"
    }
    rows: dict[str, list[LeverStep]] = {}
    for leaf, value in _fitting_batches(plan, stated):
        beside = tuple(row for row in stated.items() if row[0] != leaf)
        rows.setdefault(leaf, []).append(LeverStep(leaf, value, beside))
    for row in rows.values():
        yield Lever(tuple(row))


def _lever(steps: Iterator[LeverStep]) -> Iterator[Lever]:
    lever_steps = tuple(steps)
    if lever_steps:
        yield Lever(lever_steps)


def _fitting_batches(
    plan: TrainingPlan, stated: Mapping[str, Any]
) -> Iterator[tuple[str, int]]:
    total, micro, ranks, stages = (
        _count(plan, name) for name in (GLOBAL, MICRO, _DATA, _PIPELINE)
    )
    if not total or not ranks:
        return
    repeats = _count(plan, STEPS) if STEPS in stated else 0
    if repeats and micro and total % (micro * ranks) == 0:
        yield STEPS, total // (micro * ranks)
    fitting = [
        size for size in range(1, _MOST_MICRO + 1) if total % (size * ranks) == 0
    ]
    if repeats:
        fitting = [size for size in fitting if size * ranks * repeats == total]
    # A smaller micro-batch needs no more memory, a larger one may.
    fitting.sort(key=lambda size: (size > micro, abs(size - micro)))
    if micro:
        yield from ((MICRO, size) for size in fitting if size != micro)
    unit = (micro or 1) * ranks * (repeats or 1)
    units = {ranks, unit, unit * max(stages, 1)}
    sizes = {total // unit * unit + more for unit in units for more in (0, unit)}
    for size in sorted(sizes, key=lambda size: (abs(size - total), size)):
        if size and size != total:
            yield GLOBAL, size


def _is_settable(plan: TrainingPlan, name: str, having: frozenset[str]) -> bool:
    """Return whether a file sets it, or the framework has a key for it."""
    return bool(plan.value(name).places) or plan.value("run.framework").value in having


def _count(plan: TrainingPlan, name: str) -> int:
    """Return a whole number from 1 on; 0 where the leaf holds none."""
    number = plan.value(name).value
    return number if isinstance(number, int) and number > 0 else 0


def _recomputation(plan: TrainingPlan) -> Iterator[LeverStep]:
    mode = plan.value("memory.recompute_mode").value
    framework = plan.value("run.framework").value
    if mode not in _MODES:
        return
    for wanted in _MODES[_MODES.index(mode) + 1 :]:
        if wanted == "selective" and framework not in _SELECTIVE_FRAMEWORKS:
            continue
        beside: dict[str, object] = {}
        if wanted == "full" and framework == "megatron-lm":
            # Megatron-LM refuses full recomputation without both.
            beside = {
                "memory.recompute_method": "uniform",
                "memory.recompute_layers": 1,
            }
            beside = {n: v for n, v in beside.items() if not plan.value(n).is_known}
        yield LeverStep("memory.recompute_mode", wanted, tuple(beside.items()))


def _micro_batch(plan: TrainingPlan) -> Iterator[LeverStep]:
    return (LeverStep(MICRO, micro) for micro in _halves(_count(plan, MICRO)))


def _sharding(plan: TrainingPlan) -> Iterator[LeverStep]:
    engine = plan.value("parallelism.engine").or_else("")
    stage = plan.value(_STAGE).value
    if engine == "megatron":
        distributed = plan.value("optimizer.is_distributed")
        if distributed.value is False and not stage:
            yield LeverStep(distributed.name, value=True)
        return
    if stage is None or stage < 0:
        return
    groups: tuple[tuple[str, object], ...] = ()
    if not stage and plan.value("parallelism.shard_size").is_known:
        groups = (("parallelism.shard_size", -1), ("parallelism.replicate_size", 1))
    first = _WEIGHT_STAGE if engine.startswith(("fsdp", "ddp")) else stage + 1
    for wanted in range(max(first, stage + 1), _MOST_STAGE + 1):
        yield LeverStep(_STAGE, wanted, groups)


def _domain(plan: TrainingPlan) -> int:
    """Return the GPUs that tensor parallelism may span."""
    domain = _count(plan, "cluster.nvlink_domain_size")
    return domain or _count(plan, "cluster.gpus_per_node") or _USUAL_DOMAIN


def _degree(
    plan: TrainingPlan, name: str, most: int, whole: int
) -> Iterator[LeverStep]:
    """Yield larger degrees that divide what they cut; whole: 0 where it is unknown."""
    degree = _count(plan, name)
    for factor in _DOUBLINGS if degree else ():
        if degree * factor <= most and whole % (degree * factor) == 0:
            yield LeverStep(name, degree * factor)


def _offload(plan: TrainingPlan) -> Iterator[LeverStep]:
    """Yield offloading to the host, where it is known how much that holds."""
    leaf = plan.value("memory.optimizer_offload_device")
    if plan.value("parallelism.engine").value != "deepspeed":
        return
    is_off = leaf.or_else("none") == "none"
    if is_off and plan.value("cluster.host_memory_bytes").is_known:
        yield LeverStep(leaf.name, "cpu")


def _nodes(plan: TrainingPlan) -> Iterator[LeverStep]:
    nodes = _count(plan, "cluster.nodes")
    for factor in _DOUBLINGS if nodes else ():
        yield LeverStep("cluster.nodes", nodes * factor)


def _virtual_stages(plan: TrainingPlan) -> Iterator[LeverStep]:
    chunk = plan.value("parallelism.layers_per_virtual_stage")
    if chunk.is_known or not _is_settable(plan, _VIRTUAL, frozenset({"native"})):
        return
    chunks = _count(plan, _VIRTUAL) or 1
    for factor in _DOUBLINGS[:2]:
        yield LeverStep(_VIRTUAL, chunks * factor)


def _fewer_stages(plan: TrainingPlan) -> Iterator[LeverStep]:
    sizes = _halves(_count(plan, _PIPELINE))
    return (LeverStep(_PIPELINE, stages) for stages in sizes if stages > 1)


def _halves(size: int) -> Iterator[int]:
    """Yield half of a number, half of that, as long as they are whole."""
    for _ in range(_HALVINGS):
        if size < 1 or size % 2:
            return
        size //= 2
        yield size


def _larger_batches(plan: TrainingPlan) -> Iterator[LeverStep]:
    total = _count(plan, GLOBAL)
    if total and plan.value(GLOBAL).status == "stated":
        for factor in _DOUBLINGS:
            yield LeverStep(GLOBAL, total * factor)

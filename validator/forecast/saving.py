"""How large the checkpoints of a plan are, how often they come, how long they take."""

from typing import cast

from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.memory import dimensions_of
from speccheck.validator.forecast.plan_facts import (
    save_interval_seconds,
    trains_adapter,
)
from speccheck.validator.forecast.quantity import Quantity
from speccheck.validator.models.checkpointing import (
    Contents,
    checkpoint_bytes,
    staging_seconds,
    write_seconds,
)
from speccheck.validator.models.estimate import Estimate, exactly
from speccheck.validator.models.parameters import parameter_estimate

STATED = "stated in the plan"
_HALF = frozenset({"bf16", "fp16", "fp8"})
_MASTER_WEIGHTS = frozenset({"megatron", "deepspeed"})
_FP32_WEIGHTS = frozenset({"torchtitan", "llm-foundry", "olmo"})
_SAVE = ("save_seconds", "asynchronous")


def sections(plan: TrainingPlan) -> tuple[Checkpoint, Run]:
    """Return the sections that tell of saves and of the length of the run."""
    return (
        cast("Checkpoint", plan.section("checkpoint")),
        cast("Run", plan.section("run")),
    )


def size(plan: TrainingPlan) -> Quantity:
    """Return the bytes of one checkpoint."""
    stated = plan.value("checkpoint.size_bytes").value
    if stated is not None and stated > 0:
        return Quantity("size", "bytes", exactly(stated, STATED))
    if trains_adapter(plan):
        note = "a part is trained, and how much is saved of the rest is not known"
        return Quantity("size", "bytes", missing=("checkpoint.size_bytes",), note=note)
    parameters = _parameters(plan)
    if parameters is None:
        return Quantity("size", "bytes", missing=("model.parameters",))
    contents = _contents(plan)
    estimate = checkpoint_bytes(parameters, contents)
    bytes_of_one = estimate.value / parameters.value
    note = f"{parameters.value:,.0f} parameters x {bytes_of_one:g} bytes"
    return Quantity("size", "bytes", estimate, note=note)


def kept_checkpoints(checkpoint: Checkpoint, run: Run, in_the_making: int = 0) -> int:
    """Return how many checkpoints lie in the store at most, with those in the making.

    Raises MissingEvidence where all are kept and nobody knows how many are made.
    """
    kept = checkpoint.keep_last.need()
    every, steps = checkpoint.interval_steps, run.steps
    if kept > 0 and not (every.is_known and steps.is_known):
        return kept + in_the_making
    made = steps.need() // max(every.need(), 1)
    return min(kept + in_the_making, made) if kept > 0 else made


def write_time(plan: TrainingPlan) -> Quantity:
    """Return the seconds from the start of a save until it is complete in the store."""
    name, bandwidth = "write_time", plan.value("checkpoint.storage_bytes_per_second")
    stated, beside = (plan.value(f"checkpoint.{text}") for text in _SAVE)
    if stated.value and stated.value > 0 and beside.value is not True:
        return Quantity(name, "seconds", exactly(stated.value, STATED))
    bytes_saved = size(plan)
    rate = bandwidth.value if (bandwidth.value or 0) > 0 else None
    if bytes_saved.estimate is None or rate is None:
        needed = () if rate else (bandwidth.name,)
        return Quantity(name, "seconds", missing=(*needed, *bytes_saved.missing))
    is_gathered = plan.value("checkpoint.format").value != "sharded"
    writers = None if is_gathered else plan.value("cluster.world_size").value
    if writers is not None and writers <= 0:
        writers = None
    estimate = write_seconds(bytes_saved.estimate, rate, writers)
    note = f"{bytes_saved.estimate.value:,.0f} bytes / {rate:,.0f} a second"
    return Quantity(name, "seconds", estimate, note=note)


def stall(plan: TrainingPlan) -> Quantity:
    """Return the seconds that training stands still for one save."""
    stated, beside = (plan.value(f"checkpoint.{text}") for text in _SAVE)
    if stated.value is not None and stated.value > 0:
        return Quantity("stall", "seconds", exactly(stated.value, STATED))
    if beside.value is not True:
        written = write_time(plan)
        missing = (stated.name,) if written.estimate is None else ()
        return written._replace(name="stall", missing=missing)
    ranks, saved = plan.value("cluster.world_size").value, size(plan).estimate
    if saved is None or not ranks or ranks <= 0:
        return Quantity("stall", "seconds", missing=(stated.name,))
    note = "asynchronous: training waits for the copy to the host alone"
    return Quantity("stall", "seconds", staging_seconds(saved, ranks), note=note)


def interval(plan: TrainingPlan) -> Quantity:
    """Return the seconds from one save to the next, of the most frequent tier."""
    try:
        seconds = save_interval_seconds(*sections(plan))
    except MissingEvidence as lack:
        missing = (lack.name,)
        return Quantity("interval", "seconds", missing=missing, note=lack.reason)
    if seconds <= 0:
        return Quantity("interval", "seconds", missing=("checkpoint.interval_steps",))
    return Quantity("interval", "seconds", exactly(seconds, STATED))


def _contents(plan: TrainingPlan) -> Contents:
    """Return what one checkpoint holds of each parameter."""
    if plan.value("checkpoint.save_optimizer").value is False:
        return "weights"
    engine = plan.value("parallelism.engine").or_else("")
    optimizer = plan.value("optimizer.name_of_optimizer").or_else("").lower()
    is_adam = optimizer in {"adam", "adamw"} or (not optimizer and engine == "megatron")
    if is_adam and engine in _MASTER_WEIGHTS:
        half = plan.value("precision.compute_dtype").value in _HALF
        return "mixed_precision_adam" if half else "fp32_parameters_adam"
    if is_adam and plan.value("run.framework").value in _FP32_WEIGHTS:
        return "fp32_parameters_adam"
    if is_adam and plan.value("precision.parameter_dtype").value == "fp32":
        return "fp32_parameters_adam"
    return "unknown"


def _parameters(plan: TrainingPlan) -> Estimate | None:
    """Return the parameters of the model: stated, or counted from its dimensions."""
    stated = plan.value("model.parameters").value
    if stated is not None and stated > 0:
        return exactly(stated, STATED)
    try:
        counted = parameter_estimate(dimensions_of(plan))
    except MissingEvidence:
        return None
    # Sizes of nothing, or of experts that are not known, count nothing.
    return counted if counted.value > 0 else None

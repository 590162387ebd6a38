"""A profiler, time breakdown or deterministic mode left on in a run on many nodes.

Why it hurts: a profiler records and writes while the GPU waits, a time breakdown
synchronises it at each phase, and deterministic kernels are slower. All are meant for a
session of minutes.

What passes: all off.

Where it does not apply: one node, and debug runs.

Source: DeepSpeed wall_clock_breakdown; torchtitan profiling and debug sections;
Megatron-LM --deterministic-mode.

Bad::

    "wall_clock_breakdown": true

Good::

    "wall_clock_breakdown": false
"""

from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import Run, Telemetry, TrainingPlan
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.forecast.bounds import several_nodes
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="OBS-011", confidence="advisory")
def debugging_aid_left_on(
    plan: TrainingPlan, telemetry: Telemetry, run: Run, stated: StatedKeys
) -> Verdicts:
    """Judge the aids that a plan states."""
    several = several_nodes(plan)
    nodes = plan.value("cluster.nodes")
    if run.role.value == "debug" or (several is None and nodes.is_known):
        return
    aids = (
        ("the profiler", telemetry.profiler, "it records while the GPU waits"),
        ("the time breakdown", telemetry.time_breakdown, "it synchronises the GPU"),
        ("deterministic mode", run.deterministic, "its kernels are slower"),
    )
    known = [leaf for _, leaf, _ in aids if leaf.is_known]
    left_on = [aid for aid in aids if aid[1].value is True]
    if known and not left_on:
        yield passed(at=known)
    for name, leaf, harm in left_on:
        scale = several.in_words if several is not None else f"{nodes.need()} nodes"
        yield fail(
            f"{name} is on in a run on {scale}: {harm}",
            at=leaf,
            measured="on",
            required="off",
            cost=harm,
            remedy="Turn it off; use it in a short session.",
            fix=switched(leaf, stated, on=False),
        )

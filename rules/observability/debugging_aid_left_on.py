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
from speccheck.validator.evidence.plan import Cluster, Run, Telemetry
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="OBS-011", confidence="advisory")
def debugging_aid_left_on(
    telemetry: Telemetry, run: Run, cluster: Cluster, stated: StatedKeys
) -> Verdicts:
    """Judge the aids that a plan states."""
    if run.role.value == "debug" or cluster.nodes.or_else(1) <= 1:
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
        yield fail(
            f"{name} is on in a run on {cluster.nodes.need():,} nodes: {harm}",
            at=leaf,
            measured="on",
            required="off",
            cost=harm,
            remedy="Turn it off; use it in a short session.",
            fix=switched(leaf, stated, on=False),
        )

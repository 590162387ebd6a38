"""Metrics of a large training run that go to the console only.

Why it hurts: a loss curve in the text log of one rank is compared with no other run,
raises no alarm, and is gone with the node.

What passes: a sink such as TensorBoard, Weights & Biases, MLflow or a file.

Where it does not apply: small jobs and runs that train no weights of their own (the
clause asks for full training from size class M on).

Source: pytorch/torchtitan torchtitan/components/metrics.py (no sink by default);
huggingface/transformers training_args.py (report_to).

Bad::

    report_to: none

Good::

    report_to: tensorboard
"""

from speccheck.validator.evidence.plan import Telemetry
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="OBS-020", confidence="advisory", needs=("telemetry.sinks",))
def metrics_only_on_console(telemetry: Telemetry) -> Verdicts:
    """Judge the sinks that are stated, or known to be none."""
    sinks = telemetry.sinks
    names = [name for name in sinks.need() if name not in {"console", "none"}]
    if names:
        yield passed(at=sinks, measured=", ".join(names))
        return
    yield fail(
        "the metrics of the run go to the console only",
        at=sinks,
        measured="none",
        required="a sink",
        cost="no curve to compare, and nothing left when the node is gone",
        remedy="Turn on TensorBoard or another sink.",
    )

"""No throughput in the logs of a large job.

Why it hurts: a job that runs at half its speed looks like one that runs well. Without
tokens per second, or the utilisation of the GPUs, nobody sees the waste.

What passes: tokens or samples per second, or model FLOPS utilisation, in the logs.

Where it does not apply: small jobs; the profiles of size class M and above add the
clause. Megatron-LM, whose log line has the time of each iteration in any case. Where
the log of a run is at hand and its files do not say, the log shows it.

Source: NVIDIA/Megatron-LM megatron/training/training.py; torchtitan
components/metrics.py.

Bad::

    telemetry: {log_interval_steps: 10, throughput: false}

Good::

    telemetry: {log_interval_steps: 10, throughput: true}
"""

from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import LogsAtHand, Run, Telemetry
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

# elapsed time per iteration: megatron/training/training.py (training_log)
_WITH_STEP_TIMES = frozenset({"megatron-lm", "megatron-bridge"})


@rule(clause="OBS-007")
def throughput_not_logged(
    telemetry: Telemetry, run: Run, stated: StatedKeys, logs: LogsAtHand | None
) -> Verdicts:
    """Judge whether the logs are to hold a throughput."""
    throughput = telemetry.throughput
    if logs is not None and not throughput.is_known:
        return
    if run.framework.value in _WITH_STEP_TIMES and throughput.value is False:
        return
    if throughput.need():
        yield passed(at=throughput)
        return
    yield fail(
        "no throughput is logged",
        at=throughput,
        measured="off",
        required="on",
        cost="a job at half its speed looks like any other",
        fix=switched(throughput, stated, on=True, because="log only"),
    )

"""The logs of a run on machines that do not exist: training, hardware, latency, drills.

Names are those of the metric dictionary, times UTC, and each record says of which run,
edition, node and rank it is. What a healthy run shows is plausible.
"""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.dice import Dice
from speccheck.validator.simulation.kit.job import (
    LOG_STEPS,
    SAVE_SECONDS,
    STEP_SECONDS,
    Job,
)

Row = dict[str, Any]
EDITION = "1.0"
_HARDWARE_SECONDS = 30
_LATENCY_SECONDS = 300
_CLOCK_SECONDS = 60
_RUN_SECONDS = 720
_DRILLS = 5
_MACHINES_OF_RANKS = 4
_DRILL_SECONDS = 300
_BUSY, _DRAWN, _HELD = 0.79, 0.86, 0.62  # activity, power and memory of a busy GPU
_LOSS, _FLOOR = 2.1, 1.7


class Times(Record):
    """When the run began, and what each record of it says besides."""

    began: datetime
    run: str

    def at(self, seconds: float) -> str:
        """So many seconds into the run."""
        return (self.began + timedelta(seconds=round(seconds))).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )

    def row(self, seconds: float, node: str, /, **more: object) -> Row:
        """A record of that moment."""
        labels = {"run": self.run, "edition": EDITION, "node": node}
        return {"time": self.at(seconds), **labels, **more}


def training(job: Job, times: Times, hosts: list[str], dice: Dice) -> Iterator[Row]:
    """What the first rank logs, from the start of the run to its end."""
    first = hosts[0]
    start = {"event": "run.start", "rank": 0, "reason": "profile certify"}
    yield times.row(0, first, **start)
    steps = range(LOG_STEPS, _RUN_SECONDS // STEP_SECONDS + 1, LOG_STEPS)
    for step in steps:
        yield times.row(step * STEP_SECONDS, first, **_step(job, step, dice))
        yield from _of_ranks(job, times, hosts, step, dice)
    end = steps[-1] * STEP_SECONDS
    last = {"rank": 0, "step": steps[-1]}
    yield times.row(end, first, event="run.checkpoint_started", **last)
    saved = {"seconds": SAVE_SECONDS, "size_bytes": job.checkpoint_bytes}
    done = end + SAVE_SECONDS
    yield times.row(done, first, event="run.checkpoint_saved", **last, **saved)
    yield times.row(done, first, event="run.stop", **last, status="success")


def _of_ranks(
    job: Job, times: Times, hosts: list[str], step: int, dice: Dice
) -> Iterator[Row]:
    """The step times of the first and of the middle rank of each machine."""
    for number, host in enumerate(hosts[:_MACHINES_OF_RANKS]):
        for gpu in dict.fromkeys((0, job.shape.gpus // 2)):
            seconds = round(STEP_SECONDS * dice.bell(1, 0.002), 4)
            rank = number * job.shape.gpus + gpu
            more = {"step": step, "train.step_time.rank": seconds}
            yield times.row(step * STEP_SECONDS, host, rank=rank, **more)


def _step(job: Job, step: int, dice: Dice) -> Row:
    loss = _FLOOR + (_LOSS - _FLOOR) * math.exp(-step / 400) + dice.bell(0, 0.01)
    norm = 0.8 + dice.bell(0, 0.05)
    seconds = STEP_SECONDS * dice.bell(1, 0.003)
    per_gpu = job.tokens / job.ranks / seconds
    watts = job.shape.gpu.get("power_limit_default_watts", 400) * _DRAWN
    return {
        "rank": 0,
        "step": step,
        "train.global_step": step,
        "train.loss": round(loss, 4),
        "train.grad_norm": round(norm, 4),
        "train.gradient.variance": round(norm * 3.1, 4),
        "train.noise_scale": round(5.2 + dice.bell(0, 0.2), 3),
        "train.learning_rate": 5e-5 * min(1.0, step / 500),
        "train.step_time": round(seconds, 4),
        "train.tokens_per_second_per_gpu": round(per_gpu, 1),
        "train.global_batch": job.global_batch,
        "train.tokens_total": step * job.tokens,
        "train.data_wait": round(dice.between(0.002, 0.006), 4),
        "gpu.memory.alloc_retries": 0,
        "gpu.memory.ooms": 0,
        "run.energy_per_token": round(watts / per_gpu, 5),
    }


def hardware(job: Job, times: Times, hosts: list[str], dice: Dice) -> Iterator[Row]:
    """What an exporter on each machine samples of each GPU."""
    limit = job.shape.gpu.get("power_limit_default_watts", 400)
    for seconds in range(0, _RUN_SECONDS + 1, _HARDWARE_SECONDS):
        for host in hosts:
            for gpu in range(job.shape.gpus):
                busy = _BUSY if seconds else 0.3
                yield times.row(
                    seconds,
                    host,
                    **{
                        "gpu": gpu,
                        "gpu.utilization": 1.0 if seconds else 0.4,
                        "gpu.sm_activity": round(busy + dice.bell(0, 0.01), 3),
                        "gpu.memory.pressure": _HELD,
                        "gpu.power": round(limit * _DRAWN * dice.bell(1, 0.01), 1),
                        "gpu.energy": round(limit * _DRAWN * (seconds + 1e5)),
                        "gpu.temperature": round(58 + dice.bell(0, 2)),
                        "gpu.throttle.power": 0,
                        "gpu.throttle.thermal": 0,
                        "gpu.xid.count": 0,
                        "gpu.ecc.uncorrectable": 0,
                        "gpu.nvlink.recovery_errors": 0,
                    },
                )


def network(job: Job, times: Times, hosts: list[str], dice: Dice) -> Iterator[Row]:
    """Latency between machines, and how far their clocks are off."""
    for seconds in range(0, _RUN_SECONDS + 1, _CLOCK_SECONDS):
        for number, host in enumerate(hosts):
            offset = round(dice.bell(0, 2e-4), 6)
            rank = number * job.shape.gpus
            more: Row = {"rank": rank, "node.clock_offset": offset}
            if number and seconds % _LATENCY_SECONDS == 0:
                latency = round(dice.between(21e-6, 26e-6), 7)
                more |= {"peer": hosts[0], "net.internode.latency": latency}
            yield times.row(seconds, host, **more)


def drills(job: Job, times: Times, hosts: list[str], dice: Dice) -> Iterator[Row]:
    """The events of several drills of recovery, each on another machine."""
    for number in range(_DRILLS):
        host = hosts[number % len(hosts)]
        rank = (number % len(hosts)) * job.shape.gpus
        began = _RUN_SECONDS + SAVE_SECONDS + _DRILL_SECONDS * (number + 1)
        step = 180 + 60 * (number + 1)
        load = dice.whole(12, 17)
        parts = (
            ("run.failure_injected", 0, {"reason": "worker process killed"}),
            ("run.failure_detected", dice.whole(4, 9), {"reason": "process ended"}),
            ("run.node_replaced", dice.whole(12, 20), {"reason": "started again"}),
            ("run.restore", load, {"step": step, "seconds": load}),
            ("run.resumed", dice.whole(10, 16), {"step": step + 1}),
        )
        seconds = float(began)
        for event, took, more in parts:
            seconds += took
            labels = {"event": event, "drill": f"drill-{number + 1}", "rank": rank}
            yield times.row(seconds, host, **labels, **more)

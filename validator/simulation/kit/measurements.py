"""The logs of a run on machines that do not exist: training, hardware, latency, drills.

Names are those of the metric dictionary, times UTC, and each record says of which run,
edition, node and rank it is. What a healthy run shows is plausible.
"""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from speccheck.validator import VERSION
from speccheck.validator.editions.edition import DEFAULT_EDITION
from speccheck.validator.engine.assemble import unmeasured_run
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.bandwidth import prospect
from speccheck.validator.models.bus_bandwidth import Collective, bus_factor
from speccheck.validator.simulation.kit.job import (
    LOG_STEPS,
    SAVE_SECONDS,
    STEP_SECONDS,
    SimulatedJob,
)
from speccheck.validator.simulation.rng import Dice
from speccheck.validator.simulation.shape import ABSENT, NCCL
from speccheck.validator.sources.context import Context

_RING, _TO_ALL, _LINE = 0.955, 0.9, 0.98
_LARGE = 8 * 2**30
_LARGE_SIZES = (2**30, 2**32, 2**33)
_SIZES = (8, *(2**power for power in range(10, 34, 2)), 2**33)
_OTHER_SIZES = tuple(2**power for power in range(20, 35, 2))
# The message at which half of the peak is reached, and the time of the smallest.
_HALF_BYTES, _HALF_OF_LARGE = 64 * 2**20, 12 * 2**20
_LEAST_SECONDS = 22e-6
_TAIL = 1.5  # of the 99th percentile over the median
_RUN_SPREAD = 0.004
_RUNS = 10
_GIGABIT = 1e9 / 8
_OTHERS: tuple[Collective, ...] = ("all_gather", "reduce_scatter", "all_to_all")
# What NCCL calls a network.
_OWN = "IB"
_NETWORKS = {"infiniband": _OWN, "roce": _OWN, "efa": "AWS Libfabric"}
# What perftest says of link and transport, by the kind of the network.
_OF_KINDS = {
    "infiniband": ("InfiniBand", "IB"),
    "roce": ("Ethernet", "RoCE"),
    "efa": ("Unspecified", "EFA"),
}
_TRANSFER_BYTES = 8 * 2**20


class NotKnownError(Exception):
    """A type of machine of which too little is known to say what it reaches."""


def collectives(
    job: SimulatedJob, dice: Dice, hosts: list[str]
) -> dict[str, list[Any]]:
    """Return runs over all machines by the file's name; raises NotKnownError."""
    ring = _peak(job, "all_reduce")
    if ring is None:
        message = (
            f"{job.instance}: what its machines reach together is not known: "
            "nobody published readings of such GPUs or adapters"
        )
        raise NotKnownError(message)
    result = {"all-reduce": [_run(job, dice, hosts, "all_reduce", ring, _SIZES)]}
    result["all-reduce-again"] = [
        _run(job, dice, hosts, "all_reduce", ring, _LARGE_SIZES) for _ in range(_RUNS)
    ]
    for name in _OTHERS:
        peak = _peak(job, name)
        if peak is not None:
            run = _run(job, dice, hosts, name, peak, _OTHER_SIZES)
            result[name.replace("_", "-")] = [run]
    return result


def _peak(job: SimulatedJob, collective: Collective) -> float | None:
    """Return what healthy machines reach with the largest messages, if known."""
    context = Context(nodes=job.nodes, instance=job.instance)
    try:
        run, about = unmeasured_run(collective, context, job.shape.gpus, (_LARGE,))
        result = prospect(run, about, _LARGE, None)
    except MissingEvidence:
        return None
    if result.reason or not result.possible:
        return None
    floors = [
        (expectation.warn_below, expectation.ceiling) for expectation in result.possible
    ]
    warn = max((least for least, _ in floors if least is not None), default=None)
    # Of several ways that NCCL may go, what holds on all; in a rack NVLink is the way.
    tops = [most for _, most in floors if most is not None]
    top = (max if _is_rack(job) else min)(tops, default=None)
    if warn is None:
        return None
    share = _TO_ALL / 0.8 if collective == "all_to_all" else _RING / 0.92
    return min(warn * share, (top or warn * share) * 0.99)


def _is_rack(job: SimulatedJob) -> bool:
    """Return whether NVLink joins all of the machines."""
    return bool(job.ranks <= job.shape.instance["nvlink_domain_size"])


def _run(
    job: SimulatedJob,
    dice: Dice,
    hosts: list[str],
    collective: Collective,
    peak: float,
    sizes: tuple[int, ...],
) -> dict[str, Any]:
    factor = bus_factor(collective, job.ranks)
    well = dice.bell(1, _RUN_SPREAD)
    rates = [_rate(size, peak * well, factor) for size in sizes]
    seconds = [
        round(size * factor / rate, 9) for size, rate in zip(sizes, rates, strict=True)
    ]
    return {
        "tool": "speccheck",
        "tool_version": VERSION,
        "collective": collective,
        "placement": "in_place",
        "backend": "nccl",
        "library_version": NCCL,
        "data_type": "bfloat16",
        "gpu": job.shape.driver_name,
        "ranks": job.ranks,
        "nodes": job.nodes,
        "hosts": hosts,
        "round": ABSENT,
        "algorithm": ABSENT,
        "warmup_iterations": 5,
        "iterations": 20,
        "is_complete": True,
        "ended_by": ABSENT,
        "is_compared": True,
        "size_bytes": [*sizes],
        "seconds": seconds,
        "algorithm_bytes_per_second": [
            round(size / time, -3) for size, time in zip(sizes, seconds, strict=True)
        ],
        "bus_bytes_per_second": [round(rate, -3) for rate in rates],
        "wrong_values": [0] * len(sizes),
        "spread": [round(dice.between(0.004, 0.02), 4) for _ in sizes],
        "p99_seconds": [round(second * _TAIL, 9) for second in seconds],
    }


def _rate(size: int, peak: float, factor: float) -> float:
    """Return the bus bandwidth of a size; of small messages the time is what counts."""
    half = _HALF_BYTES if size < _LARGE_SIZES[0] else _HALF_OF_LARGE
    seconds = max(size * factor / peak * (1 + half / size), _LEAST_SECONDS)
    return max(size * factor / seconds, 1000.0)


def writes(job: SimulatedJob, dice: Dice) -> list[dict[str, Any]]:
    """Return each adapter's writes from a GPU's memory to the other node's adapter."""
    instance = job.shape.instance
    line = instance["network_gbit_per_second"] * _GIGABIT
    names = _adapters(job)
    layer, transport = _OF_KINDS[instance["network_kind"]]
    shared = {
        "tool": "perftest",
        "name": "ib_write_bw",
        "operation": "write",
        "link_layer": layer,
        "transport": transport,
        "mtu_bytes": 4096,
        "queue_pairs": 1,
        "memory": "gpu",
        "is_bidirectional": False,
        "is_complete": True,
        "size_bytes": [_TRANSFER_BYTES],
        "iterations": [5000],
    }
    result = []
    for name in names:
        rate = round(line * _LINE * dice.bell(1, 0.001), -3)
        rates = {
            "peak_bytes_per_second": [round(rate * 1.002, -3)],
            "average_bytes_per_second": [rate],
        }
        result.append({**shared, "device": name, **rates})
    return result


def _adapters(job: SimulatedJob) -> list[str]:
    instance = job.shape.instance
    result = instance.get("network_names")
    if isinstance(result, list) and not any("*" in str(item) for item in result):
        return [str(item) for item in result]
    prefix = "rdmap" if instance["network_kind"] == "efa" else "mlx5_"
    return [f"{prefix}{number}" for number in range(instance["network_adapters"])]


def diagnosis(job: SimulatedJob) -> list[dict[str, Any]]:
    """Return what the diagnosis of the vendor says of each GPU: all is well."""
    tests = (
        ("Integration", "pcie"),
        ("Hardware", "memory"),
        ("Hardware", "diagnostic"),
        ("Stress", "targeted_stress"),
        ("Stress", "targeted_power"),
    )
    shared = {"tool": "dcgm", "tool_version": "4.2.3", "result": "pass"}
    return [
        {**shared, "category": category, "name": name, "gpu_index": gpu}
        for category, name in tests
        for gpu in range(job.shape.gpus)
    ]


def communicators(job: SimulatedJob, hosts: list[str]) -> list[dict[str, Any]]:
    """Return what NCCL's log says of those over all machines, and over one of them."""
    return [_communicator(job, len(hosts)), _communicator(job, 1)]


def _communicator(job: SimulatedJob, nodes: int) -> dict[str, Any]:
    gpus = job.shape.gpus
    ranks = gpus * nodes
    adapters = [f"{name}:1/IB" for name in _adapters(job)]
    network = _NETWORKS[job.shape.instance["network_kind"]]
    across = gpus * 4 if nodes > 1 and not _is_rack(job) else 0
    return {
        "nccl_version": NCCL,
        "cuda_version": "12.8",
        "id": f"0x5eed{nodes:02d}",
        "ranks": ranks,
        "nodes": nodes,
        "ranks_per_node": gpus,
        "ranks_seen": ranks,
        "finished_ranks": list(range(ranks)),
        "unfinished_ranks": [],
        "is_complete": True,
        "is_mnnvl": _is_rack(job) and nodes > 1,
        "nvlink_cliques": 1,
        "init_seconds": 3.1,
        "warnings": 0,
        "bootstrap_interface": "eth0",
        "network": network,
        "network_plugin": "internal" if network == _OWN else network,
        "adapters": adapters,
        "coll_channels": 16,
        "nvls_channels": 16 if job.shape.is_registered else 0,
        "collnet_channels": 0,
        "p2p_channels": 16,
        "links_by_pointer": gpus * 16,
        "links_by_host_memory": 0,
        "links_by_network": across,
        "links_by_gpudirect": across,
        "socket_links": 0,
        "gpudirect_adapters": adapters,
        "no_gpudirect_adapters": [],
        "gpus_with_multicast": ranks if job.shape.is_registered else 0,
        "gpus_without_multicast": 0 if job.shape.is_registered else ranks,
        "has_rings": True,
        "has_trees": True,
        "ring_has_gpudirect": True,
        "ring_has_pxn": False,
    }


Row = dict[str, Any]
EDITION = DEFAULT_EDITION
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
        """Return the time so many seconds into the run."""
        return (self.began + timedelta(seconds=round(seconds))).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )

    def row(self, seconds: float, node: str, /, **more: object) -> Row:
        """Return a record of that moment."""
        labels = {"run": self.run, "edition": EDITION, "node": node}
        return {"time": self.at(seconds), **labels, **more}


def training(
    job: SimulatedJob, times: Times, hosts: list[str], dice: Dice
) -> Iterator[Row]:
    """Yield what the first rank logs, from the start of the run to its end."""
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
    job: SimulatedJob, times: Times, hosts: list[str], step: int, dice: Dice
) -> Iterator[Row]:
    """Yield the step times of the first and of the middle rank of each machine."""
    for number, host in enumerate(hosts[:_MACHINES_OF_RANKS]):
        for gpu in dict.fromkeys((0, job.shape.gpus // 2)):
            seconds = round(STEP_SECONDS * dice.bell(1, 0.002), 4)
            rank = number * job.shape.gpus + gpu
            more = {"step": step, "train.step_time.rank": seconds}
            yield times.row(step * STEP_SECONDS, host, rank=rank, **more)


def _step(job: SimulatedJob, step: int, dice: Dice) -> Row:
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


def hardware(
    job: SimulatedJob, times: Times, hosts: list[str], dice: Dice
) -> Iterator[Row]:
    """Yield what an exporter on each machine samples of each GPU."""
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


def network(
    job: SimulatedJob, times: Times, hosts: list[str], dice: Dice
) -> Iterator[Row]:
    """Yield the latency between machines, and how far their clocks are off."""
    for seconds in range(0, _RUN_SECONDS + 1, _CLOCK_SECONDS):
        for number, host in enumerate(hosts):
            offset = round(dice.bell(0, 2e-4), 6)
            rank = number * job.shape.gpus
            more: Row = {"rank": rank, "node.clock_offset": offset}
            if number and seconds % _LATENCY_SECONDS == 0:
                latency = round(dice.between(21e-6, 26e-6), 7)
                more |= {"peer": hosts[0], "net.internode.latency": latency}
            yield times.row(seconds, host, **more)


def drills(
    job: SimulatedJob, times: Times, hosts: list[str], dice: Dice
) -> Iterator[Row]:
    """Yield the events of several drills of recovery, each on another machine."""
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

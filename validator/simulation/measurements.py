"""What healthy machines reach under load, as `speccheck bench` would have measured it.

Peaks are the catalogue's; the share of them that is reached was published:

- copies within a GPU count a byte once and move it twice: 0.45 of the memory bandwidth
  on H100 (Hugging Face Smol Training Playbook: 1,519 of 3,352 GB/s), 0.42 on H200 and
  0.39 on A100 (Azure/AI-benchmarking-guide);
- copies to and from the host: 0.82 to 0.88 of the PCIe line (the same guide; NVIDIA's
  blog on nvbandwidth: 55.6 GB/s);
- copies between GPUs: 0.88 of the NVLinks on H200 (stas00/ml-engineering: 396 GB/s),
  0.92 on A100;
- products in bfloat16: 0.73 to 0.87 of the dense peak (stas00/ml-engineering);
- all-reduce within a node: 235 GB/s on A100, 480 on H100, 845 on B200, by the size of
  messages as nccl-tests show it (stas00/ml-engineering, CoreWeave, Azure). What small
  messages reach is plausible.

How far GPUs lie from each other - some tenths of a per cent, for products one - is
plausible. What the catalogue has no peak of is not measured.
"""

from typing import Any

from speccheck.validator import VERSION
from speccheck.validator.models.bus_bandwidth import pcie_bytes_per_second
from speccheck.validator.simulation.rng import Chance
from speccheck.validator.simulation.shape import ABSENT, Shape

# From a GPU to a GPU; None is the host.
Ends = list[tuple[int | None, int | None]]
_GIGA, _TERA = 1e9, 1e12
_LOCAL, _HOST, _PEER, _PRODUCT = 0.43, 0.86, 0.89, 0.79
# Of one specimen from the next: of nodes, and of GPUs.
_NODE_SPREAD, _GPU_SPREAD, _PRODUCT_SPREAD = 0.003, 0.002, 0.004
_COPY_BYTES = 512 * 2**20
_SIDE = 8192
_SIZES = tuple(2**power for power in range(20, 35, 2))
# By generation of NVLink: bus bandwidth of all-reduce over 8 GPUs.
_ALL_REDUCE = {3: 232.0, 4: 470.0, 5: 830.0}
_OF_A_BOARD = 8
# The message at which half of the peak is reached; plausible.
_HALF_BYTES = 24 * 2**20
_RING = 2  # bus bandwidth is 2 (n - 1) / n of the algorithm's
KINDS = ("copy_tests", "matrix_products", "collective_runs")


def measure(node: dict[str, Any], shape: Shape, chance: Chance) -> None:
    """Add measurements to a healthy snapshot."""
    well = chance.life.bell(1, _NODE_SPREAD)
    result = {
        "copy_tests": _copies(node, shape, chance, well),
        "matrix_products": _products(node, shape, chance, well),
        "collective_runs": _all_reduce(node, shape, chance, well),
    }
    node.update({kind: rows for kind, rows in result.items() if rows})


def _copies(
    node: dict[str, Any], shape: Shape, chance: Chance, well: float
) -> list[dict[str, Any]]:
    gpus = range(len(node["gpus"]))
    rows: list[dict[str, Any]] = []
    memory = shape.gpu.get("memory_gigabytes_per_second")
    board = node["gpus"][0]
    line = pcie_bytes_per_second(
        board["pcie_generation_maximum"], board["pcie_width_maximum"]
    )
    host = None if shape.is_superchip or not line else line * _HOST
    links = shape.gpu.get("nvlink_gigabytes_per_second")
    to_gpu: Ends = [(None, gpu) for gpu in gpus]
    to_host: Ends = [(gpu, None) for gpu in gpus]
    local: Ends = [(gpu, gpu) for gpu in gpus]
    pairs: Ends = [(gpu, other) for gpu in gpus for other in gpus if gpu != other]
    for direction, ends, rate in (
        ("host_to_device", to_gpu, host),
        ("device_to_host", to_host, host),
        ("local", local, memory and memory * _LOCAL * _GIGA),
        (
            "device_to_device",
            pairs if shape.has_switches else [],
            links and links * _PEER * _GIGA,
        ),
    ):
        if ends and rate:
            rates = [_round(rate * well * _draw(chance, _GPU_SPREAD)) for _ in ends]
            rows.append(_copy(node, direction, ends, rates))
    return rows


def _copy(
    node: dict[str, Any],
    direction: str,
    ends: Ends,
    rates: list[float],
) -> dict[str, Any]:
    return {
        "tool": "speccheck",
        "tool_version": VERSION,
        "name": direction,
        "direction": direction,
        "method": "copy_engine",
        "is_bidirectional": False,
        "is_all_at_once": False,
        "gpu": node["gpus"][0]["name"],
        "size_bytes": _COPY_BYTES,
        "iterations": 16,
        "from_gpu": [source for source, _ in ends],
        "to_gpu": [target for _, target in ends],
        "bytes_per_second": rates,
    }


def _products(
    node: dict[str, Any], shape: Shape, chance: Chance, well: float
) -> list[dict[str, Any]]:
    peak = shape.gpu.get("bfloat16_teraflops")
    if not peak:
        return []
    rows: list[dict[str, Any]] = []
    for number, gpu in enumerate(node["gpus"]):
        rate = peak * _PRODUCT * _TERA * well * _draw(chance, _PRODUCT_SPREAD)
        rows.append(
            {
                "tool": "speccheck",
                "tool_version": VERSION,
                "gpu": gpu["name"],
                "gpu_index": number,
                "data_type": "bfloat16",
                "rows": _SIDE,
                "columns": _SIDE,
                "depth": _SIDE,
                "iterations": 20,
                "seconds": round(2 * _SIDE**3 / rate, 9),
                "spread": round(chance.today.between(0.002, 0.01), 4),
                "flops_per_second": _round(rate),
                "is_compared": True,
                "wrong_values": 0,
                "power_limit_watts": gpu["power_limit_watts"],
                "power_limit_default_watts": gpu["power_limit_default_watts"],
            }
        )
    return rows


def _all_reduce(
    node: dict[str, Any], shape: Shape, chance: Chance, well: float
) -> list[dict[str, Any]]:
    peak = _ALL_REDUCE.get(shape.gpu.get("nvlink_generation", 0))
    ranks = shape.gpus
    if not peak or not shape.has_switches or ranks != _OF_A_BOARD:
        return []
    rates = [
        _round(
            peak
            * _GIGA
            * well
            * _draw(chance, _GPU_SPREAD)
            * size
            / (size + _HALF_BYTES)
        )
        for size in _SIZES
    ]
    by_algorithm = [_round(rate * ranks / (_RING * (ranks - 1))) for rate in rates]
    return [
        {
            "tool": "speccheck",
            "tool_version": VERSION,
            "collective": "all_reduce",
            "placement": "in_place",
            "backend": "nccl",
            "library_version": node["driver"]["nccl_version"],
            "data_type": "bfloat16",
            "gpu": node["gpus"][0]["name"],
            "ranks": ranks,
            "nodes": 1,
            "hosts": [node["host"]["name"]],
            "round": ABSENT,
            "algorithm": ABSENT,
            "warmup_iterations": 5,
            "iterations": 20,
            "is_complete": True,
            "ended_by": ABSENT,
            "is_compared": True,
            "size_bytes": [*_SIZES],
            "seconds": [
                round(size / rate, 9)
                for size, rate in zip(_SIZES, by_algorithm, strict=True)
            ],
            "algorithm_bytes_per_second": by_algorithm,
            "bus_bytes_per_second": rates,
            "wrong_values": [0] * len(_SIZES),
            "spread": [round(chance.today.between(0.004, 0.02), 4) for _ in _SIZES],
        }
    ]


def _draw(chance: Chance, deviation: float) -> float:
    """Return a share near 1: mostly of the specimen, and some of the day."""
    return chance.life.bell(1, deviation) * chance.today.bell(1, deviation / 2)


def _round(rate: float) -> float:
    """Return the rate to a millionth of a GB/s: more would be noise in a file."""
    return round(rate, -3)


def slow_down(node: dict[str, Any], share_left: float, gpu: int | None = None) -> None:
    """Lower what was measured, of all GPUs or of one.

    All-reduce waits for the slowest. Raises LookupError where nothing was measured.
    """
    if not any(node.get(kind) for kind in KINDS):
        raise LookupError
    for test in node.get("copy_tests", ()):
        ends = zip(test["from_gpu"], test["to_gpu"], strict=True)
        test["bytes_per_second"] = [
            _round(rate * share_left) if gpu is None or gpu in pair else rate
            for rate, pair in zip(test["bytes_per_second"], ends, strict=True)
        ]
    for product in node.get("matrix_products", ()):
        if gpu is None or product["gpu_index"] == gpu:
            product["flops_per_second"] = _round(
                product["flops_per_second"] * share_left
            )
            product["seconds"] = round(product["seconds"] / share_left, 9)
    for run in node.get("collective_runs", ()):
        for leaf in ("algorithm_bytes_per_second", "bus_bytes_per_second"):
            run[leaf] = [_round(rate * share_left) for rate in run[leaf]]
        run["seconds"] = [round(item / share_left, 9) for item in run["seconds"]]

"""Published collective bandwidths: the identity, NCCL's times, and the wires' ceilings.

One row of busbw.csv may give several predictions. Groups:
busbw-identity: bus bandwidth from the printed time and size, from 1 MiB on (below, the
    printed time has too few digits).
nccl-time-ring: NCCL's reckoning for eight H100 in one node, microseconds.
nccl-time-nvls: the same node where the switch sums up, from 64 MiB on.
nvlink-ring-ceiling: rings in one node never exceed the links.
network-ceiling: several nodes never exceed the adapters.
"""

from collections.abc import Iterator, Mapping

from predictions.prediction import Prediction, rows
from speccheck.validator.models.bus_bandwidth import (
    GIGA,
    Architecture,
    Network,
    all_to_all_ceiling,
    bandwidths,
    hierarchical_ceiling,
    nvlink_ring_ceiling,
    ring_ceiling,
)
from speccheck.validator.models.collective_time import (
    CommunicatorShape,
    nvls_time,
    ring_time,
)
from speccheck.validator.models.estimate import Estimate

Row = Mapping[str, str]

MEBIBYTE = 2**20
IDENTITY_FROM = MEBIBYTE
RING_UP_TO, NVLS_FROM = 32 * MEBIBYTE, 64 * MEBIBYTE
MICRO = 1e6
# 18 links x 20.6 GB/s over 16 channels.
H100_NODE = CommunicatorShape(
    "hopper", 1, 8, channels=16, channel_rate=18 * 20.6e9 / 16
)
# Times of single messages that stand out of their own table by a factor.
SOURCE_OUTLIERS = {"32", "4096"}
# Rings of one node: GPU, links, generation.
_NODES: dict[str, tuple[int, Architecture]] = {
    "A100-80GB": (12, "ampere"),
    "H200": (18, "hopper"),
    "B200": (18, "blackwell"),
}
# A vendor's tuner or message sizes in 1e9 bytes: the printed figure is an average.
_CEILING_MARGIN = 1.05


def predictions() -> Iterator[Prediction]:
    """Yield all rows that a model speaks of."""
    for row in rows("busbw"):
        if row["kind"] != "measured":
            continue
        yield from _identity(row)
        if row["id"].startswith("dgxh100"):
            yield from _nccl_time(row)
        yield from _node_ceiling(row)
        yield from _network_ceiling(row)


def _identity(row: Row) -> Iterator[Prediction]:
    size = float(row["size_bytes"] or 0)
    stated = (
        (row["time_us"] or row["algbw_gbps"]) and row["busbw_gbps"] and row["ranks"]
    )
    if not stated or size < IDENTITY_FROM:
        return
    if row["time_us"]:
        seconds = float(row["time_us"]) / MICRO
    else:
        seconds = size / (float(row["algbw_gbps"]) * GIGA)
    estimate = bandwidths("all_reduce", int(row["ranks"]), size, seconds).bus
    published = float(row["busbw_gbps"])
    yield _prediction(row, "busbw-identity", published, estimate.value / GIGA, 0.3)


def _nccl_time(row: Row) -> Iterator[Prediction]:
    size = float(row["size_bytes"])
    if size <= RING_UP_TO:
        group, estimate = "nccl-time-ring", ring_time(H100_NODE, size)
    else:
        group, estimate = "nccl-time-nvls", _switch_time(size)
    band = None if row["size_bytes"] in SOURCE_OUTLIERS else 25.0
    value = estimate.value * MICRO
    yield _prediction(row, group, float(row["time_us"]), value, band)._replace(
        unit="us", lower=estimate.lower * MICRO, upper=estimate.upper * MICRO
    )


def _switch_time(size: float) -> Estimate:
    estimate = nvls_time(H100_NODE, size)
    assert estimate is not None  # noqa: S101 - Hopper has NVLS
    return estimate


def _node_ceiling(row: Row) -> Iterator[Prediction]:
    is_ring = row["algorithm"] == "ring" and row["nodes"] == "1"
    if not is_ring or row["gpu"] not in _NODES or not row["busbw_gbps"]:
        return
    links, architecture = _NODES[row["gpu"]]
    upper = nvlink_ring_ceiling(links, architecture).value / GIGA
    yield _bound(row, "nvlink-ring-ceiling", upper)


def _network_ceiling(row: Row) -> Iterator[Prediction]:
    nodes, rate = int(row["nodes"] or 0), row["nic_gbps_per_gpu"]
    if nodes < 2 or not rate or not row["busbw_gbps"]:  # noqa: PLR2004 - several
        return
    network = Network(nodes, int(row["gpus_per_node"]), float(rate) / 8 * GIGA)
    ring = ring_ceiling(network).value
    upper = {
        "all_reduce": max(ring, hierarchical_ceiling(network).value),
        "all_to_all": all_to_all_ceiling(network).value,
    }.get(row["collective"], ring)
    yield _bound(row, "network-ceiling", upper * _CEILING_MARGIN / GIGA)


def _bound(row: Row, group: str, upper: float) -> Prediction:
    bare = _prediction(row, group, float(row["busbw_gbps"]), None, None)
    return bare._replace(upper=upper)


def _prediction(
    row: Row,
    group: str,
    published: float,
    predicted: float | None,
    band: float | None,
) -> Prediction:
    return Prediction(
        table="busbw",
        group=group,
        id=row["id"],
        unit="GB/s",
        published=published,
        predicted=predicted,
        band_percent=band,
    )

"""What a collective should reach, and from where on it is too slow, or a mistake.

Floors are shares of the ring's ceiling between nodes, and of what healthy machines were
published to reach inside one NVLink domain. Outside the range of published readings
there is no floor, and the answer says why. All rates are bus bandwidth, bytes per
second. Sources: the readings of schemas/catalogues/bandwidth; stas00/ml-engineering
network/README.md; NVIDIA/cluster-readiness-engine ADR-021.
"""

import math
from typing import Literal

from speccheck.validator.evidence.measurement.bandwidth import GpuReadings
from speccheck.validator.evidence.record import Record
from speccheck.validator.models.bus_bandwidth import (
    GIGA,
    Architecture,
    Collective,
    Network,
    all_to_all_ceiling,
    bus_factor,
    hierarchical_ceiling,
    ring_ceiling,
)
from speccheck.validator.models.collective_time import CommunicatorShape, latency
from speccheck.validator.models.estimate import Estimate

# ring is also the algorithm of collectives for which NCCL has no other.
Algorithm = Literal["ring", "tree", "nvls", "nvls_tree", "collnet"]
# Collectives whose ring enters and leaves each node once.
OF_RINGS: tuple[Collective, ...] = ("all_reduce", "all_gather", "reduce_scatter")


class CollectiveSetting(Record):
    """Who took part in a collective, and over which wires.

    Attributes:
        collective: as bus_bandwidth.py calls it.
        ranks: one for each GPU.
        domains: NVLink domains: nodes, or racks whose NVLink joins nodes.
        gpu: what is published of the GPUs.
        network_bytes_per_gpu: of all adapters of a node over all its GPUs, one way;
            None where it is not known, or where one domain needs none.
        idle_network_bytes: of the adapters of those GPUs of a domain that took no
            part: they may have helped the others.
        algorithm: that ran; None for what NCCL chooses where it may choose any.
        reduces_in_network: switches of the network add up (SHARP).

    """

    collective: Collective
    ranks: int
    domains: int
    gpu: GpuReadings
    network_bytes_per_gpu: float | None = None
    idle_network_bytes: float = 0.0
    algorithm: Algorithm | None = None
    reduces_in_network: bool = False

    @property
    def gpus_per_domain(self) -> int:
        """That took part."""
        return self.ranks // self.domains


class Ceilings(Record):
    """Bus bandwidth that wires allow, bytes per second; None for what does not apply.

    Attributes:
        ring: of rings through all adapters of a domain.
        hierarchical: of sums formed in a domain before they cross the network.
        in_network: of sums formed in the switches of the network.
        all_to_all: of parts that leave the domain.
        domain: of one NVLink domain, by the best published figure.
        wires: no algorithm exceeds it, whatever was published.

    """

    ring: float | None = None
    hierarchical: float | None = None
    in_network: float | None = None
    all_to_all: float | None = None
    domain: float | None = None
    wires: float | None = None

    @property
    def highest(self) -> float | None:
        """Of the algorithm that the wires favour; None where nothing bounds it."""
        return max((value for value in self[:-1] if value is not None), default=None)


def ceilings(setting: CollectiveSetting) -> Ceilings:
    """Return what the wires of a setting allow.

    Nothing where too little is known of them.
    """
    if setting.domains == 1:
        return _of_domain(setting)
    if setting.network_bytes_per_gpu is None:
        return Ceilings()
    network = Network(
        setting.domains, setting.gpus_per_domain, setting.network_bytes_per_gpu
    )
    # What idle GPUs leave to the others.
    helped = network._replace(
        bytes_per_gpu=network.bytes_per_gpu
        + setting.idle_network_bytes / setting.gpus_per_domain
    )
    if setting.collective == "all_to_all":
        value = all_to_all_ceiling(network).value
        return Ceilings(all_to_all=value, wires=all_to_all_ceiling(helped).value)
    if setting.collective not in OF_RINGS:
        return Ceilings()
    links = setting.gpu.link_bytes
    ring = _least(ring_ceiling(network).value, links)
    widest = _least(ring_ceiling(helped).value, links)
    if setting.collective != "all_reduce":
        return Ceilings(ring=ring, wires=widest)
    return _of_all_reduce(setting, ring, widest, network, helped)


def _of_all_reduce(
    setting: CollectiveSetting,
    ring: float,
    widest: float,
    network: Network,
    helped: Network,
) -> Ceilings:
    sums = hierarchical_ceiling(network).value
    most = max(widest, hierarchical_ceiling(helped).value)
    switches = None
    if setting.reduces_in_network:
        factor = bus_factor("all_reduce", setting.ranks)
        switches = ring_ceiling(network).value * factor
        most = max(most, ring_ceiling(helped).value * factor)
        switches = _least(switches, setting.gpu.cap)
    return Ceilings(
        ring=ring,
        hierarchical=_least(sums, setting.gpu.cap),
        in_network=switches,
        wires=_least(most, _link_bound(setting)),
    )


def _of_domain(setting: CollectiveSetting) -> Ceilings:
    if setting.collective not in {*OF_RINGS, "all_to_all"}:
        return Ceilings()
    bound, cap = _link_bound(setting), setting.gpu.cap
    if bound is None:
        return Ceilings(domain=cap)
    return Ceilings(domain=None if cap is None else min(bound, cap), wires=bound)


def _link_bound(setting: CollectiveSetting) -> float | None:
    """Return the bound of NVLink.

    Sums formed in its switches need half of the bytes.
    """
    links = setting.gpu.link_bytes
    if links is None or setting.collective != "all_reduce":
        return links
    return links * max(bus_factor("all_reduce", setting.ranks), 1.0)


def _least(value: float, bound: float | None) -> float:
    return value if bound is None else min(value, bound)


# Vendors' tuners, sizes in 1e9 bytes: the best published figures stay below 1.02.
MARGIN = 1.05
# Sizes of which no threshold is worth anything: a fabric that is well reaches a tenth.
NO_THRESHOLD_BELOW = 64 * 2**20
_RING_OF_NETWORK = 0.95  # 381.8 of 400 GB/s on four nodes (stas00/ml-engineering)
_RING_BAND = 0.15
# A rack's all-gather: 0.84 and 0.97 of the ring, one published reading each.
_ONE_NODE = 8
_LATENCY_BAND = 0.5


class Floors(Record):
    """Shares of ceiling or reference that are too little, and where they hold.

    The numbers of COMM-010 (tests/test_bandwidth_model.py holds them equal): below
    `least_bytes` healthy fabrics fall off, and on more than `most_ranks` the one
    published point is at 0.45.
    """

    fail: float = 0.80
    warn: float = 0.92
    least_bytes: int = 2**30
    least_domain_bytes: int = 8 * 2**30  # where no curve tells the share of a size
    most_ranks: int = 256


# All-to-all has four published points, 0.77 to 0.93 of its ceiling.
OF_ALL_TO_ALL = Floors(fail=0.70, warn=0.80)


class Expectation(Record):
    """What one size of one setting should reach; bytes per second of bus bandwidth.

    Attributes:
        ceilings: what the wires allow, by algorithm.
        ceiling: of the algorithm that the wires favour; None where it is not known.
        plausible: no published figure comes near it; more is likely a mistake.
        impossible: more than the wires carry, with a margin: surely a mistake.
        reference: what healthy machines reach; `lower` and `upper` where they differ.
        fail_below, warn_below: the floors; None where there is none.
        basis: what the floors are shares of, with the arithmetic.
        reason: why there is no floor; empty where there is one.
        sources: where the figures come from.

    """

    ceilings: Ceilings
    ceiling: float | None = None
    plausible: float | None = None
    impossible: float | None = None
    reference: Estimate | None = None
    fail_below: float | None = None
    warn_below: float | None = None
    basis: str = ""
    reason: str = ""
    sources: tuple[str, ...] = ()


def expectation(
    setting: CollectiveSetting, size_bytes: int, floors: Floors | None = None
) -> Expectation:
    """Return what healthy machines reach, and the floors of those that are too slow.

    `floors` are those of the collective where none are given.
    """
    if floors is None:
        to_all = setting.collective == "all_to_all"
        floors = OF_ALL_TO_ALL if to_all else Floors()
    bounds = ceilings(setting)
    highest = bounds.highest
    bare = Expectation(
        bounds,
        highest,
        None if highest is None else highest * MARGIN,
        None if bounds.wires is None else bounds.wires * MARGIN,
        sources=tuple(item for item in (setting.gpu.source,) if item),
    )
    if reason := _outside(setting, size_bytes, floors):
        return bare._replace(reason=reason)
    text = _within(setting, size_bytes) if setting.domains == 1 else _across(setting)
    if isinstance(text, str):
        return bare._replace(reason=text)
    base, basis, reference = text
    return bare._replace(
        reference=reference,
        fail_below=base * floors.fail,
        warn_below=base * floors.warn,
        basis=basis,
    )


def _outside(setting: CollectiveSetting, size_bytes: int, floors: Floors) -> str:
    """Return why the range of published readings ends before this setting."""
    size = shown_bytes(size_bytes)
    is_uneven = setting.ranks < 2 or setting.ranks % setting.domains  # noqa: PLR2004
    across = setting.domains > 1
    large = _is_bound_by_links(setting) if across else _has_no_curve(setting)
    needed = floors.least_domain_bytes if large else 0
    reasons = (
        (
            is_uneven,
            f"{setting.ranks} ranks in {setting.domains} NVLink domains: no readings",
        ),
        (
            setting.collective not in {*OF_RINGS, "all_to_all"},
            f"no readings of {setting.collective}",
        ),
        (
            setting.gpu.link_bytes is None,
            "no readings of GPUs that NVLink does not join all",
        ),
        (
            not setting.gpu.id,
            "nobody published readings of such GPUs",
        ),
        (
            setting.ranks > floors.most_ranks,
            f"{setting.ranks} ranks: no floor is known above {floors.most_ranks}",
        ),
        (
            size_bytes < floors.least_bytes,
            f"{size}: healthy fabrics differ below {shown_bytes(floors.least_bytes)}",
        ),
        (
            size_bytes < needed,
            f"{size}: no curve tells what is usual below {shown_bytes(needed)}",
        ),
        (
            across and setting.network_bytes_per_gpu is None,
            "the adapters of a node are not known",
        ),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _has_no_curve(setting: CollectiveSetting) -> bool:
    """Return whether nobody tells what is usual at each size, inside one domain."""
    return not setting.gpu.shares or setting.collective != "all_reduce"


def _is_bound_by_links(setting: CollectiveSetting) -> bool:
    """Return whether NVLink carries less than the adapters of a domain, as in racks.

    Two racks of GB200 climb from 596 GB/s at 1 GiB to 810 at 16 GiB
    (coreweave/nccl-tests).
    """
    links, each = setting.gpu.link_bytes, setting.network_bytes_per_gpu
    if links is None or each is None:
        return False
    return setting.gpus_per_domain * each > links


_Base = tuple[float, str, Estimate]


def _across(setting: CollectiveSetting) -> _Base | str:
    """Return the ceiling between nodes: of the ring, or of all-to-all."""
    bounds, gpus = ceilings(setting), setting.gpus_per_domain
    each = (setting.network_bytes_per_gpu or 0.0) / GIGA
    if bounds.all_to_all is not None:
        base = bounds.all_to_all
        basis = (
            f"{base / GIGA:.4g} GB/s, what {each:.4g} GB/s of adapters per GPU allow "
            f"all-to-all over {setting.domains} nodes"
        )
        reference = Estimate(base, 0.77 * base, base, "advisory", _POINTS)
        return base, basis, reference
    base = bounds.ring or 0.0
    basis = f"{base / GIGA:.4g} GB/s, {gpus} GPUs x {each:.4g} GB/s of adapters"
    if base < gpus * each * GIGA:
        basis = f"{base / GIGA:.4g} GB/s, the payload of the NVLinks of a GPU"
    usual = min(_RING_OF_NETWORK * gpus * each * GIGA, setting.gpu.ring or math.inf)
    low, high = usual * (1 - _RING_BAND), bounds.highest or usual
    return base, basis, Estimate(usual, low, high, "advisory", _POINTS)


_POINTS = "published runs of 2 to 36 nodes"


def _within(setting: CollectiveSetting, size_bytes: int) -> _Base | str:
    """Return what healthy GPUs in one NVLink domain reach at this size."""
    gpu = setting.gpu
    if setting.ranks > gpu.gpus:
        return f"{setting.ranks} GPUs in one domain: {gpu.gpus} were measured"
    result = _peak(setting)
    if isinstance(result, str):
        return result
    peak, how = result
    share = share_of_peak(setting, size_bytes)
    base = peak * share
    basis = f"{base / GIGA:.4g} GB/s, {how} {gpu.id}"
    if share < 1:
        basis += f" ({peak / GIGA:.4g} x {share:.3g} at this size)"
    reference = Estimate(base, 0.97 * base, 1.03 * base, "calibrated", gpu.source)
    return base, basis, reference


def _peak(setting: CollectiveSetting) -> tuple[float, str] | str:
    """Return the best of messages that are large enough, and how it was reached."""
    if setting.collective == "all_to_all":
        return "no readings of all-to-all inside one domain that show its limit"
    if setting.collective == "all_reduce":
        return _peak_of_all_reduce(setting)
    if setting.gpu.gpus > _ONE_NODE:
        return f"one reading of {setting.collective} in racks, far from the ring"
    return _peak_of_all_reduce(setting._replace(algorithm="ring"))


def _peak_of_all_reduce(setting: CollectiveSetting) -> tuple[float, str] | str:
    gpu = setting.gpu
    peaks: dict[str, float] = {}
    if gpu.ring is not None:
        peaks["ring"] = gpu.ring
    if gpu.nvls is not None:
        peaks["nvls"] = gpu.nvls * _of_fewer(setting)
    if setting.algorithm is not None:
        if setting.algorithm not in peaks:
            return f"no readings of {setting.algorithm} inside {gpu.id}"
        peaks = {setting.algorithm: peaks[setting.algorithm]}
    elif setting.ranks == gpu.gpus and "nvls" in peaks:
        # On fewer GPUs NCCL takes rings too: on four of eight H200, five of eight B200.
        del peaks["ring"]
    chosen = min(peaks, key=lambda peak: peaks[peak])
    return peaks[chosen], f"reached by {_WORDS[chosen]} on"


_WORDS = {"ring": "rings", "nvls": "NVLS"}


def _of_fewer(setting: CollectiveSetting) -> float:
    """Return the share that fewer GPUs reach: NVLS moves as many bytes for each.

    Five to seven of eight H200, six and seven of eight B200: within 6 percent.
    """
    whole = bus_factor("all_reduce", setting.gpu.gpus)
    return bus_factor("all_reduce", setting.ranks) / whole


def share_of_peak(setting: CollectiveSetting, size_bytes: int) -> float:
    """Return what a domain reaches at a size, of its best; 1 where no curve tells."""
    curve = sorted(setting.gpu.shares.items())
    if not curve or size_bytes >= curve[-1][0]:
        return 1.0
    if size_bytes <= curve[0][0]:
        return curve[0][1]
    above = next(at for at, (size, _) in enumerate(curve) if size >= size_bytes)
    (low, first), (high, second) = curve[above - 1], curve[above]
    part = math.log(size_bytes / low) / math.log(high / low)
    return first + part * (second - first)


def implausible(
    setting: CollectiveSetting, threshold: float, size_bytes: int = 0
) -> str:
    """Return why nobody can reach a threshold, bytes per second; empty where one can.

    size_bytes: of the messages that it is meant for; 0 for messages of any size.
    """
    bounds = ceilings(setting)
    if bounds.highest is None:
        return ""
    most, at = bounds.highest, ""
    if setting.domains == 1 and size_bytes:
        most *= share_of_peak(setting, size_bytes)
        at = f" at {shown_bytes(size_bytes)}"
    if threshold <= most * MARGIN:
        return ""
    return (
        f"{threshold / GIGA:.4g} GB/s is {threshold / most:.3g} times the ceiling of "
        f"{most / GIGA:.4g} GB/s{at}"
    )


def small_message_seconds(
    setting: CollectiveSetting, architecture: Architecture
) -> Estimate | None:
    """Return what an all-reduce of few bytes takes, by the faster of ring and tree."""
    if setting.collective != "all_reduce" or setting.ranks % setting.domains:
        return None
    who = CommunicatorShape(architecture, setting.domains, setting.gpus_per_domain)
    value = latency(who, "ring", "ll")
    if setting.domains > 1:
        value = min(value, latency(who, "tree", "ll"))
    low, high = value * (1 - _LATENCY_BAND), value / (1 - _LATENCY_BAND)
    return Estimate(value, low, high, "advisory", "NVIDIA/nccl src/graph/tuning.cc")


def shown_bytes(size: float) -> str:
    """Return a size as people write it: 8 GiB, 512 MiB, 100 B."""
    for unit, width in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= width:
            return f"{size / width:.3g} {unit}"
    return f"{size:.0f} B"

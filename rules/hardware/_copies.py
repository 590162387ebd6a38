"""What rules on measured copies share."""

from speccheck.validator.evidence.measurement.device import CopyTest
from speccheck.validator.evidence.node.profile import GpuProfile
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.bus_bandwidth import GIGA, pcie_bytes_per_second
from speccheck.validator.rule import Verdict, passed

HOST = ("host_to_device", "device_to_host")
PEER, LOCAL = "device_to_device", "local"
_COPY_ENGINE = "copy_engine"
# They reach their host by a link of their own, which the catalogue does not have.
_NOT_BY_PCIE = "superchip"
WAYS = {
    "host_to_device": "from the host",
    "device_to_host": "to the host",
    PEER: "to another GPU",
    LOCAL: "within the GPU",
}


class Copy(Record):
    """One rate of a test: by which GPU or pair, as people call it."""

    title: str
    source: int | None
    target: int | None
    bytes_per_second: float | None

    @property
    def gigabytes_per_second(self) -> float:
        """The rate as tools print it."""
        return (self.bytes_per_second or 0) / GIGA


def copies_of(test: CopyTest) -> list[Copy]:
    """Return the rates of a test; raises MissingEvidence where they fit no GPUs.

    A pair of one GPU with itself is none: the diagonal of a table. Nor is a copy within
    the host one of a GPU. A rate of zero is no result.
    """
    rates = test.bytes_per_second.need()
    sources, targets = test.from_gpu.need(), test.to_gpu.need()
    if not len(rates) == len(sources) == len(targets):
        reason = f"{len(rates)} rates for {len(sources)} and {len(targets)} GPUs"
        raise MissingEvidence(test.bytes_per_second.name, reason)
    is_of_pairs = direction_of(test) == PEER
    return [
        Copy(_title(source, target), source, target, rate or None)
        for source, target, rate in zip(sources, targets, rates, strict=True)
        if source != target or (source is not None and not is_of_pairs)
    ]


def _title(source: int | None, target: int | None) -> str:
    if source is None:
        return f"GPU {target}"
    if source == target:
        return f"GPU {source}"
    return f"GPU {source}" if target is None else f"GPU {source} to GPU {target}"


def direction_of(test: CopyTest) -> str:
    """Return which way it copies; raises MissingEvidence for an unknown word."""
    direction = test.direction.need()
    if direction not in WAYS:
        raise MissingEvidence(test.direction.name, f"no kind of copy: {direction!r}")
    return direction


def is_one_way(test: CopyTest) -> bool:
    """Return whether copies run one way, one after another.

    What is known may settle it; raises MissingEvidence where it does not.
    """
    opposed = (test.is_bidirectional, test.is_all_at_once)
    if any(value.value for value in opposed):
        return False
    return not any(value.need() for value in opposed)


def is_by_copy_engine(test: CopyTest) -> bool:
    """Return whether copies run one way, one after another, by the engine for them."""
    if test.method.value not in {None, _COPY_ENGINE}:
        return False
    return is_one_way(test) and test.method.need() == _COPY_ENGINE


def need_number(number: float | None, name: str, cluster: Cluster) -> float:
    """Return a number of a clause; raises MissingEvidence if these GPUs have none."""
    if number is None:
        needed = f"a published floor for {cluster.accelerator.need()}"
        raise MissingEvidence(needed, name)
    return number


def is_small(test: CopyTest, least: int) -> bool:
    """Return whether copies are surely too small to show what a link can do."""
    return test.size_bytes.or_else(least) < least


def unseen(copies: list[Copy], test: CopyTest) -> MissingEvidence | None:
    """Return why some copies cannot be judged: the tool has no rate for them."""
    names = [copy_.title for copy_ in copies if copy_.bytes_per_second is None]
    if not names and copies:
        return None
    return MissingEvidence(
        test.bytes_per_second.name, f"no result for {', '.join(names) or 'any GPU'}"
    )


def fast_enough(
    test: CopyTest, copies: list[Copy], profile: GpuProfile, floor: float
) -> Verdict:
    """Return a pass of copies none of which was slow.

    Raises MissingEvidence where a rate is missing, or is more than the link carries.
    """
    if missing := unseen(copies, test):
        raise missing
    if is_beyond(copies, direction_of(test), profile):
        raise MissingEvidence(test.bytes_per_second.name, "faster than the link can be")
    least = min(copy_.gigabytes_per_second for copy_ in copies)
    return passed(at=test.bytes_per_second, measured=least, required=floor)


def most_of(direction: str, profile: GpuProfile) -> tuple[float, str] | None:
    """Return what a copy's link or memory carries one way, and its name.

    None where no limit is known of such a copy; raises MissingEvidence for a GPU that
    is not in the catalogue.
    """
    if direction == LOCAL:
        # Each byte is read and written.
        half = profile.memory_gigabytes_per_second.need() * GIGA / 2
        return half, "half of the memory bandwidth, since each byte is read and written"
    if direction == PEER and profile.has_nvlink.need():
        return profile.nvlink_gigabytes_per_second.need() * GIGA, "all its NVLinks"
    if profile.form_factor.need() == _NOT_BY_PCIE:
        return None
    generation = profile.pcie_generation_maximum_of_gpu.need()
    width = profile.pcie_width_maximum.need()
    rate = pcie_bytes_per_second(generation, width)
    return None if rate is None else (rate, f"PCIe {generation} with {width} lanes")


def is_beyond(copies: list[Copy], direction: str, profile: GpuProfile) -> bool:
    """Return whether a rate cannot be, as copy_beyond_link says."""
    try:
        most = most_of(direction, profile)
    except MissingEvidence:
        return False
    return most is not None and any(
        (copy_.bytes_per_second or 0) > most[0] for copy_ in copies
    )

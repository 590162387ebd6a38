"""What collectives were measured to reach elsewhere, as far as it was published."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from speccheck.validator.evidence.record import Record


class GpuReadings(Record):
    """What is published of one type of GPU; rates are bytes per second.

    Attributes:
        id: the row of the catalogue; empty for a GPU that none describes.
        gpus: of the NVLink domain that was measured; 0 without one.
        link_bytes: payload of all links of a GPU, one way; None without NVLink among
            all GPUs of a node.
        cap: the best of all that is published, rounded up; None without any.
        ring, nvls: what a healthy domain of `gpus` reaches in all-reduce.
        shares: by message size in bytes, the share of its peak that it reaches.
        source: of the figures.

    """

    id: str = ""
    gpus: int = 0
    link_bytes: float | None = None
    cap: float | None = None
    ring: float | None = None
    nvls: float | None = None
    shares: Mapping[int, float] = {}
    source: str = ""


class PublishedCurve(Record):
    """One published run: bus bandwidth in bytes per second by message size.

    domain: the `id` of GpuReadings; domains: of NVLink, that took part.
    """

    id: str
    domain: str
    collective: str
    domains: int
    ranks: int
    algorithm: str
    source: str
    points: Sequence[tuple[int, float]]


class BandwidthTables(Record):
    """The catalogue: what finds readings by the name of a GPU, and the curves."""

    of_gpu: Callable[[str], GpuReadings | None]
    curves: Sequence[PublishedCurve]


class PublishedBandwidth:
    """The catalogue, read when a rule first asks."""

    def __init__(self, read: Callable[[], BandwidthTables]) -> None:
        """Take what reads it."""
        self._read = read

    @cached_property
    def _tables(self) -> BandwidthTables:
        return self._read()

    def of_gpu(self, name: str) -> GpuReadings | None:
        """Return the readings of a GPU by id or name.

        Bare ones where nobody measured it.

        None for a name that nobody knows, or that stands for GPUs that differ.
        """
        return self._tables.of_gpu(name)

    def curves(self, domain: str) -> tuple[PublishedCurve, ...]:
        """Return the published runs of a type of GPU."""
        return tuple(curve for curve in self._tables.curves if curve.domain == domain)

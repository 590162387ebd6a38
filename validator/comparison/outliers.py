"""Numbers of all nodes: which of them lie where no healthy node lies.

What is odd about a node is one finding, however many of its parts and numbers are.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from statistics import median

from speccheck.validator.evidence.fleet import RATES, Fleet, Samples
from speccheck.validator.evidence.record import Record
from speccheck.validator.models.peers import Distance, distance_of

MIB = 2**20


class OutlierReading(Record):
    """A number that is looked at, and from where on it counts as odd.

    floor: in its unit, of noise. share: of the median, of noise. unit: in messages.
    per: how many of its own unit make one of that. part: what it is a number of. kind:
    of several readings of which a node tells one or another; empty for one by itself.
    """

    leaf: str
    label: str
    unit: str
    per: float = 1.0
    floor: float = 0.0
    share: float = 0.0
    is_high_worse: bool = True
    part: str = "GPU"
    kind: str = ""


class Noise(Record):
    """What is noise among the nodes of a fleet.

    fewest_values: below it the deviation is not known well enough.
    """

    deviations: float
    scale: float
    fewest_nodes: int
    fewest_values: int


class Far(Record):
    """A value far from the median of its peers.

    part: the number of the part on its node.
    distance: how far from the median a value may lie.
    of: how many values were compared.
    """

    reading: OutlierReading
    part: int
    value: float
    distance: Distance
    of: int

    @property
    def times(self) -> float:
        """How often the distance that it may have."""
        return abs(self.value - self.distance.median) / (self.distance.most or 1)


class Outliers(Record):
    """What looking at some numbers over a fleet gives.

    by_host: what is far off on each node, the worst first. looked_at: readings that
    enough nodes tell. nodes: how many nodes tell one of them. unseen: nodes that do not
    tell a reading, or any of its kind, which others tell.
    """

    by_host: Mapping[str, tuple[Far, ...]]
    looked_at: tuple[OutlierReading, ...]
    nodes: int
    unseen: tuple[str, ...]

    def without(self, leaf: str, hosts: Container[str]) -> "Outliers":
        """Return the same without one reading of nodes of which it says nothing."""
        left = {
            host: fars if host not in hosts else _but(fars, leaf)
            for host, fars in self.by_host.items()
        }
        return self._replace(by_host={host: far for host, far in left.items() if far})


def _but(fars: Iterable[Far], leaf: str) -> tuple[Far, ...]:
    return tuple(far for far in fars if far.reading.leaf != leaf)


def outliers(
    fleet: Fleet, readings: Iterable[OutlierReading], noise: Noise
) -> Outliers:
    """Return the nodes of a fleet whose numbers are worse than those of all others.

    Of a reading that few nodes tell nothing is compared, and the others are unseen.
    """
    by_host: dict[str, list[Far]] = {}
    looked_at: list[OutlierReading] = []
    most = 0
    unseen: dict[str, set[str]] = {}
    for reading in readings if len(fleet.nodes) >= noise.fewest_nodes else ():
        samples = fleet.samples.get(reading.leaf)
        if samples is None:
            continue
        kind = reading.kind or reading.leaf
        nodes = len(fleet.nodes) - len(samples.unseen)
        if nodes < noise.fewest_nodes:
            unseen.setdefault(kind, {*samples.unseen})
            continue
        if len(samples.values) < noise.fewest_values:
            continue
        looked_at.append(reading)
        most = max(most, nodes)
        without = unseen.setdefault(kind, {*samples.unseen})
        without.intersection_update(samples.unseen)
        for node, far in _far(samples, reading, noise):
            by_host.setdefault(fleet.nodes[node].name, []).append(far)
    ordered = {
        host: tuple(sorted(fars, key=lambda far: -far.times))
        for host, fars in by_host.items()
    }
    worst = sorted(ordered.items(), key=lambda item: (-item[1][0].times, item[0]))
    untold = tuple(sorted(set[str]().union(*unseen.values())))
    return Outliers(dict(worst), tuple(looked_at), most, untold)


def _far(
    samples: Samples, reading: OutlierReading, noise: Noise
) -> Iterator[tuple[int, Far]]:
    values = samples.values
    distance = distance_of(
        values, noise.deviations, noise.scale, reading.floor, reading.share
    )
    end = max(values) if reading.is_high_worse else min(values)
    if not distance.is_beyond(end, is_high_worse=reading.is_high_worse):
        return
    usual = _usual_of_parts(samples)
    for position, value in enumerate(values):
        if distance.is_beyond(value, is_high_worse=reading.is_high_worse):
            part = samples.parts[position]
            # The last GPU of every node may be the warmest, or far from the memory.
            own = value - usual[part] + distance.median
            if distance.is_beyond(own, is_high_worse=reading.is_high_worse):
                far = Far(reading, part, value, distance, len(values))
                yield samples.nodes[position], far


def _usual_of_parts(samples: Samples) -> dict[int, float]:
    """Return the median of each part over all nodes."""
    values: dict[int, list[float]] = {}
    for part, value in zip(samples.parts, samples.values, strict=True):
        values.setdefault(part, []).append(value)
    return {part: median(value) for part, value in values.items()}


_GIGA, _TERA = 1e9, 1e12
# Label, unit, how many of the own unit make one of it, and of what it is a number.
_KINDS = {
    "copy_tests": ("copies", "GB/s", _GIGA, "GPU"),
    "matrix_products": ("products", "TFLOP/s", _TERA, "GPU"),
    "collective_runs": ("bus bandwidth", "GB/s", _GIGA, ""),
}


def _is_shown(word: str) -> bool:
    return word != "None"


def _word_text(word: str) -> str:
    """Return a word of a rate's name; sizes of messages and of copies in MiB."""
    size = int(word) if word.isdecimal() else 0
    return f"{size / MIB:,.0f} MiB" if size >= MIB else word


def rates_of(fleet: Fleet, share: float) -> Iterator[OutlierReading]:
    """Yield each rate that the fleet states: `copy_tests.host_to_device.memcpy...`."""
    for leaf in fleet.samples:
        kind, _, words = leaf.partition(".")
        if kind in RATES:
            label, unit, per, part = _KINDS[kind]
            text = " ".join(
                [label, *map(_word_text, filter(_is_shown, words.split(".")))]
            )
            yield OutlierReading(
                leaf,
                text,
                unit,
                per,
                share=share,
                is_high_worse=False,
                part=part,
                kind=kind,
            )

"""Measured copies, products and transfers, as spans over the parts of a machine."""

from collections.abc import Iterable, Iterator
from statistics import median

from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.measurement.copying import CopyTest, CopyTests
from speccheck.validator.evidence.measurement.multiplication import MatrixProducts
from speccheck.validator.evidence.measurement.transfer import (
    RdmaTransfer,
    RdmaTransfers,
)
from speccheck.validator.evidence.record import Record

_WAYS = {
    "host_to_device": "host to GPU",
    "device_to_host": "GPU to host",
    "device_to_device": "GPU to GPU",
    "local": "within a GPU",
}
_Rates = dict[str, float]


class RatesOfParts(Record):
    """The rate of each part, by its name."""

    title: str
    unit: str
    rates: _Rates


class MeasuredRates(Record):
    """One kind of measurement over the parts of a machine.

    Attributes:
        title: what was done, in words.
        unit: bytes_per_second, bits_per_second or flops_per_second.
        parts: how many, or how many pairs of them.
        least, median, most: rates.
        slowest: the part with the least rate.

    """

    title: str
    unit: str
    parts: int
    least: float
    median: float
    most: float
    slowest: str


def measured_rates(evidence: Evidence) -> tuple[MeasuredRates, ...]:
    """The spans of all copies, products and transfers, in the order measured."""
    return tuple(map(_span, rates_of_parts(evidence)))


def rates_of_parts(evidence: Evidence) -> Iterator[RatesOfParts]:
    """All copies, products and transfers part by part, in the order measured."""
    found: list[RatesOfParts] = []
    copies, products = evidence.get(CopyTests), evidence.get(MatrixProducts)
    transfers = evidence.get(RdmaTransfers)
    if copies is not None:
        found += _copies(copies)
    if products is not None:
        found += _products(products)
    if transfers is not None:
        found += _transfers(transfers)
    return (one for one in found if one.rates)


def _copies(tests: CopyTests) -> Iterator[RatesOfParts]:
    for test in tests.shown:
        yield RatesOfParts(_title(test), "bytes_per_second", _of_copies(test))


def _title(test: CopyTest) -> str:
    way = _WAYS.get(test.direction.value or "", test.name.value or "copies")
    words = [f"copies {way}" if way in _WAYS.values() else way]
    if test.is_bidirectional.value:
        words.append("both ways")
    if test.is_all_at_once.value:
        words.append("all at once")
    if test.operation.value:
        words.append(test.operation.value)
    if test.method.value:
        words.append(f"by {test.method.value.replace('_', ' ')}")
    return ", ".join(words)


def _of_copies(test: CopyTest) -> _Rates:
    """The rate of each GPU, or pair; a GPU with itself is none of a table of pairs."""
    ends = test.from_gpu.or_else(()), test.to_gpu.or_else(())
    rates = test.bytes_per_second.or_else(())
    if not len(ends[0]) == len(ends[1]) == len(rates):
        return {}
    is_of_pairs = test.direction.value == "device_to_device"
    return {
        _ends(source, target): rate
        for source, target, rate in zip(*ends, rates, strict=True)
        if rate and not (is_of_pairs and source == target)
    }


def _ends(source: int | None, target: int | None) -> str:
    if source is None or target is None or source == target:
        return f"GPU {target if source is None else source}"
    return f"GPU {source} to GPU {target}"


def _products(products: MatrixProducts) -> Iterator[RatesOfParts]:
    by_title: dict[str, _Rates] = {}
    for one in products.shown:
        rate = one.flops_per_second.value
        shape = " x ".join(
            f"{side.value}" for side in (one.rows, one.columns, one.depth)
        )
        title = f"products of {one.data_type.value or 'matrices'}, {shape}"
        if rate:
            by_title.setdefault(title, {})[one.title] = rate
    for title, rates in by_title.items():
        yield RatesOfParts(title, "flops_per_second", rates)


def _transfers(transfers: RdmaTransfers) -> Iterator[RatesOfParts]:
    by_title: dict[str, _Rates] = {}
    for number, one in enumerate(transfers.shown):
        best = max(_known(one), default=0.0)
        memory = f", buffers of the {one.memory.value}" if one.memory.value else ""
        name = one.device.value or f"transfer {number}"
        if best:
            title = f"{one.name.value or one.operation.value or 'transfers'}{memory}"
            by_title.setdefault(title, {})[name] = 8 * best
    for title, rates in by_title.items():
        yield RatesOfParts(title, "bits_per_second", rates)


def _known(transfer: RdmaTransfer) -> Iterable[float]:
    rates = transfer.average_bytes_per_second.or_else(())
    return (rate for rate in rates if rate)


def _span(found: RatesOfParts) -> MeasuredRates:
    rates = found.rates
    values = rates.values()
    return MeasuredRates(
        found.title,
        found.unit,
        len(rates),
        min(values),
        median(values),
        max(values),
        min(rates, key=lambda one: rates[one]),
    )

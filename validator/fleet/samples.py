"""The numbers of a snapshot that are laid beside those of other nodes."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.fleet import SAMPLED, Samples
from speccheck.validator.fleet.distributions import moved

Sample = tuple[str, int, float]  # leaf, number of the part, value
_HOST = tuple(one for one in SAMPLED if one.kind == "host")
_GPUS = tuple(one for one in SAMPLED if one.kind == "gpus")
_MOST = 1e300  # beyond it, and where a file says NaN, is no measurement


class SampleStore:
    """Numbers of all nodes and of all their parts, by leaf."""

    def __init__(self) -> None:
        """Begin without a node."""
        self.kept: dict[str, Samples] = {}

    def add(self, number: int, content: Mapping[str, Any]) -> None:
        """Take the numbers of the snapshot of a node."""
        kept = self.kept
        for leaf, part, value in sampled(content):
            if not -_MOST < value < _MOST:
                continue
            samples = kept.get(leaf)
            if samples is None:
                samples = kept[leaf] = _empty(leaf)
            samples.nodes.append(number)
            samples.parts.append(part)
            samples.values.append(value)

    def take(self, other: "SampleStore", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for leaf, samples in other.kept.items():
            mine = self.kept.setdefault(leaf, _empty(leaf))
            mine.nodes.extend(moved(samples.nodes, base))
            mine.parts.extend(samples.parts)
            mine.values.extend(samples.values)

    def over(self, names: Sequence[str]) -> Iterator[Samples]:
        """Each number over all nodes, whose names these are."""
        for samples in self.kept.values():
            seen = set(samples.nodes)
            unseen = (name for n, name in enumerate(names) if n not in seen)
            yield samples._replace(unseen=tuple(unseen))


def _empty(leaf: str) -> Samples:
    return Samples(leaf, array("I"), array("I"), array("d"))


def sampled(content: Mapping[str, Any]) -> Iterator[Sample]:
    """Each number with the part of the node that it belongs to."""
    host = content.get("host")
    if isinstance(host, dict):
        for leaf in _HOST:
            value = host.get(leaf.field)
            if isinstance(value, int | float):
                yield leaf.name, 0, value
    gpus = content.get("gpus")
    if isinstance(gpus, list):
        for number, gpu in enumerate(gpus):
            if not isinstance(gpu, dict):
                continue
            for leaf in _GPUS:
                value = gpu.get(leaf.field)
                if isinstance(value, int | float):
                    yield leaf.name, number, value
    yield from _copies(content.get("copy_tests"))
    yield from _products(content.get("matrix_products"))
    yield from _collectives(content.get("collective_runs"))


def _copies(tests: object) -> Iterator[Sample]:
    """Rates of copies; those of another size, or all at once, are other numbers."""
    for one in _parts(tests):
        rates, direction = one.get("bytes_per_second"), one.get("direction")
        if not isinstance(rates, list) or not isinstance(direction, str):
            continue
        words = [direction]
        words += [
            word
            for word, field in (
                ("both_ways", "is_bidirectional"),
                ("all_at_once", "is_all_at_once"),
            )
            if one.get(field) is True
        ]
        words += [
            str(one.get(field)) for field in ("method", "operation", "size_bytes")
        ]
        name = "copy_tests." + ".".join(words)
        for number, rate in enumerate(rates):
            if isinstance(rate, int | float):
                yield name, _gpu_of(one, number), rate


def _gpu_of(copies: Mapping[str, Any], number: int) -> int:
    """The GPU of a copy, that which sends where two take part."""
    for ends in (copies.get("from_gpu"), copies.get("to_gpu")):
        gpu = ends[number] if isinstance(ends, list) and number < len(ends) else None
        if isinstance(gpu, int) and gpu >= 0:
            return gpu
    return number


def _products(products: object) -> Iterator[Sample]:
    for one in _parts(products):
        rate, number = one.get("flops_per_second"), one.get("gpu_index")
        if isinstance(rate, int | float) and isinstance(number, int):
            fields = ("data_type", "rows", "columns", "depth")
            words = ".".join(str(one.get(field)) for field in fields)
            yield f"matrix_products.{words}", max(number, 0), rate


def _collectives(runs: object) -> Iterator[Sample]:
    """Bus bandwidth of the largest message, of runs on one node."""
    for one in _parts(runs):
        sizes, rates = one.get("size_bytes"), one.get("bus_bytes_per_second")
        if one.get("nodes") != 1 or not isinstance(sizes, list):
            continue
        if not isinstance(rates, list) or len(rates) != len(sizes):
            continue
        known = [
            (size, rate)
            for size, rate in zip(sizes, rates, strict=True)
            if isinstance(size, int) and isinstance(rate, int | float)
        ]
        if known:
            size, rate = max(known)
            words = f"{one.get('collective')}.{one.get('ranks')}.{size}"
            yield f"collective_runs.{words}", 0, rate


def _parts(found: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(found, list):
        yield from (one for one in found if isinstance(one, dict))

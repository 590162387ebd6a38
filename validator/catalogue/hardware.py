"""Accelerators, instance types and fabrics by the names that users write.

Also the bandwidth that collectives were measured to reach on them.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.catalogue.names import UnknownName, folded, resembling
from speccheck.validator.evidence.measurement.bandwidth import (
    BandwidthTables,
    GpuReadings,
    PublishedBandwidth,
    PublishedCurve,
)
from speccheck.validator.evidence.record import Record

T = TypeVar("T")

GPU, INSTANCE, FABRIC = "GPU", "instance type", "fabric"  # kinds of names
MEMORY_SUFFIXES = ("gib", "gb", "g")
BRANDS = ("nvidia", "tesla", "amd", "instinct")  # what drivers put before the name


class Accelerator(Record):
    """A GPU as far as its name tells it; None where boards of that name differ.

    Attributes:
        id: row of the catalogue, when the name fits one row only.
        name: the model, with memory and form factor as far as they are known.
        family: nvidia, amd, tpu, trainium, gaudi.
        memory_bytes: total that the driver reports; the smallest, where boards of one
            nominal size differ; the nominal size in GiB, where no reading was found.
        compute_capability: of NVIDIA's parts.
        form_factor: sxm, pcie, nvl, superchip, oam, tpu, trainium.
        has_nvlink: None also for a board that has it only with a bridge.
        nvlink_bridge_only: NVLink only by a bridge between two or four boards.
        nvlink_gigabytes_per_second: payload of all links of a GPU, one way.
        power_watts: limit of a GPU that the driver sets when it loads.
        dense_teraflops: peak of matrix products without sparsity by number format.
        candidates: the rows that the name fits.
        source: where the numbers are from, as named in the catalogue.
    """

    id: str | None
    name: str
    family: str
    architecture: str | None
    memory_bytes: int | None
    memory_nominal_gigabytes: int | None
    memory_gigabytes_per_second: float | None
    compute_capability: tuple[int, int] | None
    form_factor: str | None
    has_nvlink: bool | None
    nvlink_bridge_only: bool | None
    nvlink_gigabytes_per_second: float | None
    power_watts: float | None
    bf16: bool | None
    fp8: bool | None
    fp4: bool | None
    dense_teraflops: Mapping[str, float]
    candidates: tuple[str, ...]
    source: str


class Instance(Record):
    """A machine type of a provider or vendor.

    Attributes:
        id: row of the catalogue.
        accelerator: its GPU.
        gpus_per_node: of one operating system.
        nvlink_domain_size: GPUs that reach each other over NVLink; 1 without NVLink.
        fabric: profile id of the network; None where the type alone does not tell.
        network_gigabytes_per_second: of a node's compute adapters, one way.
        host_memory_bytes: of a node, as a guest sees it or else as it is sold.
        source: where the numbers are from, as named in the catalogue.
    """

    id: str
    provider: str
    accelerator: Accelerator
    gpus_per_node: int
    nvlink_domain_size: int
    fabric: str | None
    network_gigabytes_per_second: float | None
    host_memory_bytes: int | None
    source: str


class _Catalogue(Record):
    """The compiled hardware catalogue."""

    accelerators: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, str]
    driver_names: Mapping[str, str]
    form_factors: Mapping[str, str]
    ignored: Sequence[str]
    instances: Mapping[str, Mapping[str, Any]]
    instance_names: Mapping[str, str]
    fabrics: Mapping[str, str]


@cache
def _catalogue() -> _Catalogue:
    return _Catalogue(**read_compiled("hardware"))


def resolve_accelerator(text: str) -> Accelerator:
    """Return GPU that `text` names: an id, a driver's name, `H100`, `A100-80GB`, ...

    Raises UnknownName for a name that no row fits.
    """
    catalogue = _catalogue()
    name = folded(text)
    if name in catalogue.accelerators:
        return _common([name])
    brand, _, rest = name.partition("-")
    if brand in BRANDS:
        while rest.startswith(tuple(f"{text}-" for text in BRANDS)):
            rest = rest.partition("-")[2]
        if rest in catalogue.driver_names:
            return _common([catalogue.driver_names[rest]])
    return _common(_fitting_rows(text, _words(name)))


def accelerator_rows() -> Mapping[str, Accelerator]:
    """Return all GPUs of the catalogue by their ids."""
    return {name: _common([name]) for name in _catalogue().accelerators}


def instance_aliases() -> Mapping[str, tuple[str, ...]]:
    """Return the other names of each type of machine, by its id."""
    return _aliases(_catalogue().instance_names)


def fabric_aliases() -> Mapping[str, tuple[str, ...]]:
    """Return the other names of each fabric, by its id."""
    return _aliases(_catalogue().fabrics)


def _aliases(names: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    result: dict[str, list[str]] = {}
    for name, row in names.items():
        result.setdefault(row, []).extend([name] if name != row else [])
    return {row: tuple(others) for row, others in result.items()}


@cache
def accelerators_of(generation: tuple[int, int]) -> tuple[str, ...]:
    """Return the ids of all GPUs of a compute capability."""
    rows = _catalogue().accelerators.items()
    return tuple(
        row_id for row_id, row in rows if row["compute_capability"] == [*generation]
    )


def resolve_instance(text: str) -> Instance:
    """Return the machine type that `text` names; raises UnknownName."""
    catalogue = _catalogue()
    name = folded(text).removeprefix("standard-").removeprefix("ml.")
    if name not in catalogue.instance_names:
        known = resembling(name, catalogue.instance_names)
        raise UnknownName(INSTANCE, text, known)
    row_id = catalogue.instance_names[name]
    fields = dict(catalogue.instances[row_id])
    fields["accelerator"] = _common([fields["accelerator"]])
    return Instance(id=row_id, **fields)


def resolve_fabric(text: str) -> str:
    """Return the profile id of the fabric that `text` names; raises UnknownName."""
    fabrics = _catalogue().fabrics
    name = folded(text).removeprefix("fabric/")
    if name not in fabrics:
        known = resembling(name, fabrics) or tuple(dict.fromkeys(fabrics.values()))
        raise UnknownName(FABRIC, text, known)
    return fabrics[name]


def _words(name: str) -> list[str]:
    plain = "".join(letter if letter.isalnum() else " " for letter in name)
    return plain.split()


def _fitting_rows(text: str, words: list[str]) -> list[str]:
    """Return rows of the model whose memory and form factor are as far as stated."""
    catalogue = _catalogue()
    model, rest = _take_model(words)
    if model is None:
        known = resembling("".join(words), catalogue.models)
        suggestions = tuple(dict.fromkeys(catalogue.models[name] for name in known))
        raise UnknownName(GPU, text, suggestions)
    rows = {
        row_id: row
        for row_id, row in catalogue.accelerators.items()
        if row["model"] == model
    }
    for word in rest:
        gigabytes = _gigabytes(word)
        form = catalogue.form_factors.get(word)
        if gigabytes is not None:
            rows = _narrowed(text, rows, "sold_as_gigabytes", gigabytes)
        elif form is not None:
            rows = _narrowed(text, rows, "form_factor", form)
        elif word not in catalogue.ignored:
            raise UnknownName(GPU, text, [model], f"what does {word!r} mean")
    return list(rows)


def _take_model(words: list[str]) -> tuple[str | None, list[str]]:
    """Return the model that most of the words spell, and the words that are left."""
    models = _catalogue().models
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            spelling = "".join(words[start : start + length])
            if spelling in models:
                return models[spelling], words[:start] + words[start + length :]
    for index, word in enumerate(words):  # `a100sxm4`, `h10080gb`
        for spelling in sorted(models, key=len, reverse=True):
            rest = word.removeprefix(spelling)
            if rest != word and (_gigabytes(rest) or rest in _catalogue().form_factors):
                return models[spelling], [*words[:index], rest, *words[index + 1 :]]
    return None, words


def _gigabytes(word: str) -> int | None:
    for suffix in MEMORY_SUFFIXES:
        number = word.removesuffix(suffix)
        if number != word and number.isdigit():
            return int(number)
    return None


def _narrowed(
    text: str, rows: dict[str, Mapping[str, Any]], field: str, value: object
) -> dict[str, Mapping[str, Any]]:
    """Return the rows with that value; a name that leaves none is unknown."""
    kept = {
        row_id: row
        for row_id, row in rows.items()
        if value == row[field] or (isinstance(row[field], list) and value in row[field])
    }
    if not kept:
        raise UnknownName(GPU, text, list(rows)[:3], "no such variant is known")
    return kept


def _common(row_ids: Sequence[str]) -> Accelerator:
    """Return what all rows have in common; None in the other fields."""
    rows = [_catalogue().accelerators[row_id] for row_id in row_ids]

    def shared(field: str) -> Any:  # noqa: ANN401 - a field of any type
        return _same(row[field] for row in rows)

    nominal = shared("memory_nominal_gigabytes")
    form = shared("form_factor")
    capability = shared("compute_capability")
    peaks = [row["dense_teraflops"] for row in rows]
    words = (shared("model"), nominal and f"{nominal} GB", form)
    return Accelerator(
        id=row_ids[0] if len(rows) == 1 else None,
        name=" ".join(word for word in words if word),
        family=shared("family"),
        architecture=shared("architecture"),
        memory_bytes=min(row["memory_bytes"] for row in rows) if nominal else None,
        memory_nominal_gigabytes=nominal,
        memory_gigabytes_per_second=shared("memory_gigabytes_per_second"),
        compute_capability=tuple(capability) if capability else None,
        form_factor=form,
        has_nvlink=shared("has_nvlink"),
        nvlink_bridge_only=shared("nvlink_bridge_only"),
        nvlink_gigabytes_per_second=shared("nvlink_gigabytes_per_second"),
        power_watts=shared("power_watts"),
        bf16=shared("bf16"),
        fp8=shared("fp8"),
        fp4=shared("fp4"),
        dense_teraflops={
            dtype: value
            for dtype, value in peaks[0].items()
            if all(peak.get(dtype) == value for peak in peaks)
        },
        candidates=tuple(row_ids),
        source=shared("source") or "; ".join(sorted({row["source"] for row in rows})),
    )


def _same(values: Iterable[T]) -> T | None:
    """Return the value, if all are equal."""
    first, *others = values
    return first if all(other == first for other in others) else None


@cache
def published_bandwidth() -> PublishedBandwidth:
    """Return the catalogue, the same one each time."""
    return PublishedBandwidth(_tables)


def _tables() -> BandwidthTables:
    curves = _bandwidth_catalogue()["curves"]
    return BandwidthTables(readings_of, tuple(_curve(*item) for item in curves.items()))


def _curve(name: str, row: Any) -> PublishedCurve:  # noqa: ANN401 - JSON
    return PublishedCurve(
        id=name,
        domain=row["domain"],
        collective=row["collective"],
        domains=row["domains"],
        ranks=row["ranks"],
        algorithm=row["algorithm"],
        source=row["source"],
        points=tuple((size, rate) for size, rate in row["points"]),
    )


@cache
def readings_of(name: str) -> GpuReadings | None:
    """Return the readings of a GPU; None for a name that does not tell which it is."""
    try:
        accelerator = resolve_accelerator(name)
    except UnknownName:
        return None
    rows = [
        _row(candidate)
        for candidate in accelerator.candidates or (accelerator.id or "",)
    ]
    # Boards of different memory have the same links.
    return rows[0] if all(row == rows[0] for row in rows) else None


def _row(gpu: str) -> GpuReadings:
    catalogue = _bandwidth_catalogue()
    links = catalogue["link_bytes"].get(gpu)
    row = catalogue["gpus"].get(gpu)
    if row is None:
        return GpuReadings(link_bytes=links)
    return GpuReadings(
        id=row["id"],
        gpus=row["gpus"],
        link_bytes=links,
        cap=row.get("all_reduce_cap"),
        ring=row.get("ring_reference"),
        nvls=row.get("nvls_reference"),
        shares={int(size): share for size, share in row["shares"]},
        source=row["source"],
    )


@cache
def _bandwidth_catalogue() -> Any:  # noqa: ANN401 - JSON
    return read_compiled("bandwidth")

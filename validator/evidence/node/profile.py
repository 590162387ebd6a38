"""What a GPU and an instance of a known type show when they are well.

A profile is a class of annotations, as a part of a node is: `nvlinks: Value[int]`. Its
leaves come from the hardware catalogue. One that the catalogue does not have, or of
which its sources disagree, is not known, and so is every leaf of hardware that is not
in it: a rule that compares with it is undecided, and never passes.

How sure the catalogue is stands in the status of a leaf: `stated` was read from a
machine or a text that names the part, `derived` follows from such facts, and `default`
is from data sheets that nobody read again. `need_stated()` refuses the last kind: a
rule that takes a machine out of service asks for that.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.part import typed
from speccheck.validator.evidence.record import Frozen, Record
from speccheck.validator.evidence.value import Place, Status, Value

Row = Mapping[str, Any]
Places = tuple[Place, ...]

# Before the name of a part, drivers write the vendor and old product lines.
_BRANDS = ("nvidia", "tesla", "amd", "instinct")
_NVIDIA = 0x10DE
_DEVICE_SHIFT = 16  # NVML: device id in the upper half, vendor id in the lower
_STATUSES: Mapping[str, Status] = {"verified": "stated", "derived": "derived"}


class ProfileRow(Record):
    """A row of the catalogue.

    id: empty for hardware that is not in it.
    leaves: by name: value, confidence and source; or the readings that disagree.
    why: it has no other leaves.
    """

    id: str
    leaves: Row
    why: str


class Profile(Frozen):
    """What is expected of one type of hardware."""

    __slots__ = ("_find", "_places", "_row")
    is_single = True
    scope = "node"

    _find: Callable[[], ProfileRow]
    _places: Places
    _row: ProfileRow

    def __init__(self, find: Callable[[], ProfileRow], places: Places) -> None:
        """Take how the row is looked up, when it is first read, and by what."""
        object.__setattr__(self, "_find", find)
        object.__setattr__(self, "_places", places)

    @property
    def id(self) -> str:
        """The row of the catalogue; empty for hardware that is not in it."""
        return self._row.id

    def __getattr__(self, field: str) -> Any:  # noqa: ANN401 - a leaf, or the row
        """Return the leaf.

        Raises AttributeError for what is no leaf of such a profile.
        """
        if field == "_row":  # an empty slot
            row = self._find()
            object.__setattr__(self, field, row)
            return row
        kind = type(self).__annotations__.get(field)
        if kind is None:
            message = f"{type(self).__name__} has no {field}"
            raise AttributeError(message)
        return self._leaf(field, kind.__args__[0])

    def _leaf(self, field: str, kind: object) -> Value[Any]:
        name, row = f"profile.{field}", self._row
        leaf = row.leaves.get(field)
        if leaf is None:
            return Value(name, note=row.why)
        if isinstance(leaf, Mapping):
            readings = tuple(leaf["readings"])
            note = f"sources disagree about {row.id}: {'; '.join(readings)}"
            return Value(name, None, "conflict", self._places, note, readings)
        value, confidence, source = leaf
        note = f"{row.id} in the hardware catalogue ({confidence}: {source})"
        status = _STATUSES.get(confidence, "default")
        return Value(name, typed(value, kind), status, self._places, note)


class GpuProfile(Profile):
    """A type of GPU. Leaves have the names of those of `Gpu` that they are held to."""

    __slots__ = ()

    architecture: Value[str]
    form_factor: Value[str]  # sxm, pcie, nvl, superchip, oam
    compute_capability: Value[str]
    memory_total_bytes: Value[int]  # as the driver tells it, error correction on
    bar1_total_bytes: Value[int]
    memory_gigabytes_per_second: Value[float]  # reading and writing together
    has_error_correction: Value[bool]
    can_be_partitioned: Value[bool]  # MIG

    # dense products of matrices, in 1e12 operations a second
    bfloat16_teraflops: Value[float]
    float16_teraflops: Value[float]
    float8_teraflops: Value[float]

    has_nvlink: Value[bool]
    nvlink_is_by_bridge: Value[bool]  # no link is up where nobody fitted a bridge
    nvlinks: Value[int]  # that are up; with a bridge where it takes one
    nvlinks_of_gpu: Value[int]  # also those that no board of the type connects
    nvlink_generation: Value[int]
    nvlink_version: Value[int]  # code of the management library
    nvlink_speed_mbyte_per_second: Value[int]  # as the library tells it, of one link
    nvlink_gigabytes_per_second: Value[float]  # payload of all links, one way

    pcie_generation_maximum: Value[int]  # in the best slot; hosts may have a lesser
    pcie_generation_maximum_of_gpu: Value[int]
    pcie_width_maximum: Value[int]

    power_limit_default_watts: Value[float]
    power_limit_most_watts: Value[float]
    sm_clock_maximum_mhz: Value[int]
    memory_clock_maximum_mhz: Value[int]
    application_sm_clock_default_mhz: Value[int]  # often below the maximum


class InstanceProfile(Profile):
    """A machine type of a provider or vendor."""

    __slots__ = ()

    provider: Value[str]
    is_virtual: Value[bool]
    gpu: Value[str]  # id of its GPU profile
    gpus: Value[int]  # of one operating system
    nvlink_domain_size: Value[int]  # GPUs, also of other nodes; 1 without NVLink
    nvswitches: Value[int]
    pcie_generation_maximum: Value[int]  # of its slots
    nvme_drives: Value[int]

    # adapters that carry the traffic of training
    network_kind: Value[str]  # infiniband, roce, efa, tcpx, tcpxo
    network_adapters: Value[int]
    network_gbit_per_second: Value[float]  # of one adapter
    network_names: Value[tuple[str | None, ...]]  # `*` ends a beginning
    network_driver: Value[str]

    sockets: Value[int]
    cores: Value[int]
    processors: Value[int]  # logical
    processor_model: Value[str]
    memory_total_bytes: Value[int]  # as a guest sees it


class GpuRows(Record):
    """The types of GPU in the catalogue.

    rows: by id: `names` as the driver writes them, `devices` of PCI, `form` factor, and
        `leaves`.
    forms: words of names that tell a form factor.
    cooling: words of names that tell how a board is cooled.
    """

    rows: Mapping[str, Row]
    forms: Mapping[str, str]
    cooling: Sequence[str]


class GpuProfiles:
    """The types of GPU that are known: asked for the profile of one of a node."""

    is_single = True
    scope = "node"

    def __init__(self, read: Callable[[], GpuRows]) -> None:
        """Take what reads the catalogue when the first profile is read."""
        self._read = read

    def of(self, gpu: Gpu) -> GpuProfile:
        """Return the profile of a GPU, by its name and by its PCI device if known."""
        row = self._lookup.row(gpu)
        return GpuProfile(lambda: row, gpu.name.places)

    def by_id(self, accelerator: Value[str]) -> GpuProfile:
        """Return the profile of a row of the catalogue, as a plan names it."""
        lookup = self._lookup
        return GpuProfile(lambda: lookup.by_id(accelerator), accelerator.places)

    def shared(self, gpus: Gpus) -> GpuProfile:
        """Return the profile of a node's GPUs.

        Raises MissingEvidence without a list.
        """
        gpu_profiles = [self.of(gpu) for gpu in gpus.each()]
        if gpu_profiles and all(
            gpu_profile.id == gpu_profiles[0].id for gpu_profile in gpu_profiles
        ):
            return gpu_profiles[0]
        why = "the GPUs of the node differ" if gpu_profiles else "the node has no GPU"
        return GpuProfile(lambda: _none(why), gpus.count.places)

    @cached_property
    def _lookup(self) -> "_Lookup":
        return _Lookup(self._read())


class _Lookup:
    """Finds the rows of GPUs."""

    __slots__ = ("_by_device", "_by_name", "_forms", "_rows")

    def __init__(self, catalogue: GpuRows) -> None:
        self._rows = catalogue.rows
        self._forms = {**catalogue.forms, **dict.fromkeys(catalogue.cooling, "")}
        self._by_name = {
            tuple(name.casefold().split()): text
            for text, row in self._rows.items()
            for name in row["names"]
        }
        self._by_device = {
            int(device, 16): text
            for text, row in self._rows.items()
            for device in row["devices"]
        }

    def row(self, gpu: Gpu) -> ProfileRow:
        name = gpu.name
        if name.value is None:
            return _none(f"the name of the GPU is not known: {name.note}")
        by_device = self._by_device.get(_device(gpu.pci_device_id.value))
        by_name = self._named(name.value)
        if by_name and by_device and by_name != by_device:
            return _none(f"{name.value} by its name, {by_device} by its PCI device")
        text = by_name or by_device
        if text is None:
            return _none(f"{name.value} is not in the hardware catalogue")
        return self._row_of(text)

    def by_id(self, accelerator: Value[str]) -> ProfileRow:
        text = accelerator.value
        if text is None:
            return _none(f"the type of the GPU is not known: {accelerator.note}")
        if text not in self._rows:
            return _none(f"{text} is no single type of the hardware catalogue")
        return self._row_of(text)

    def _row_of(self, text: str) -> ProfileRow:
        why = f"the hardware catalogue does not have it for {text}"
        return ProfileRow(text, self._rows[text]["leaves"], why)

    def _named(self, text: str) -> str | None:
        """Return the row with the longest name that begins `text`, after the vendor.

        GH200 holds H200, and H200 NVL begins with H200: parts of words are no match,
        and the rest may tell only the form factor that the row has, or the cooling.
        """
        words = text.casefold().split()
        while words and words[0] in _BRANDS:
            words.pop(0)
        for length in range(len(words), 0, -1):
            result = self._by_name.get(tuple(words[:length]))
            if result is not None:
                own = {"", self._rows[result]["form"]}
                rest = (self._forms.get(word, "?") for word in words[length:])
                return result if own.issuperset(rest) else None
        return None


def _device(text: str | None) -> int:
    """Return the PCI device of `0x233010de`; -1 where it is not one of NVIDIA."""
    try:
        number = int(text or "", 16)
    except ValueError:
        return -1
    device, vendor = divmod(number, 1 << _DEVICE_SHIFT)
    return device if vendor == _NVIDIA else -1


def _none(why: str) -> ProfileRow:
    return ProfileRow("", {}, f"no profile: {why}")

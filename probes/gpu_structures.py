"""Leaves of a GPU that come several from one call, most of them in a structure."""

from collections.abc import Callable
from typing import Any

from speccheck.probes.gpu_leaves import Convert, leaf_of, watts
from speccheck.probes.management_library import Library, text_of
from speccheck.probes.raw_value import Absence, RawValue

Put = Callable[[str, RawValue, str], None]
Leaves = tuple[tuple[str, Convert], ...]

_CORRUPTED = "14"
# A structure that the driver does not know: of a later version, invalid, not supported.
_UNKNOWN_STRUCTURE = {"25", "2", "3"}
_FABRIC_STRUCTURES = ("c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfo_v2_t")
# nvml.h: 16 bytes after the version, typed differently by releases of the binding.
_CLUSTER = slice(4, 20)
_BITS = 64
_AFFINITY_WORDS = 16  # 1,024 CPUs; a tape needs the same number everywhere


def put_structures(
    library: Library,
    handle: Any,  # noqa: ANN401 - a pointer
    title: str,
    put: Put,
) -> None:
    """Put down what these calls say of one GPU."""
    for function, leaves in _GROUPS:
        _put_all(put, library.ask(function, handle, of=title), leaves, function)
    version = library.constant("nvmlMemory_v2")
    result = library.ask("nvmlDeviceGetMemoryInfo", handle, version, of=title)
    _put_all(put, result, _MEMORY, "nvmlDeviceGetMemoryInfo")
    for name, function, leaves in _FILLED:
        result = _filled(library, function, name, handle, title)
        _put_all(put, result, leaves, function)
    _put_fabric(library, handle, title, put)
    _put_inforom(library, handle, title, put)
    for leaf, cause in _RETIRED:
        pages = library.ask("nvmlDeviceGetRetiredPages", handle, cause, of=title)
        put(leaf, leaf_of(pages, len), "nvmlDeviceGetRetiredPages")
    result = library.ask("nvmlDeviceGetCpuAffinity", handle, _AFFINITY_WORDS, of=title)
    put("cpu_affinity", leaf_of(result, cpu_list), "nvmlDeviceGetCpuAffinity")


def _put_all(put: Put, result: Any, leaves: Leaves, function: str) -> None:  # noqa: ANN401
    for leaf, form in leaves:
        put(leaf, leaf_of(result, form), function)


def _filled(
    library: Library,
    function: str,
    name: str,
    handle: Any,  # noqa: ANN401 - a pointer
    title: str,
) -> Any:  # noqa: ANN401 - a structure
    """Return the structure of that name after the call, or why it was not filled."""
    make = library.constant(name)
    if make is None:
        message = f"the installed nvidia-ml-py has no {name}"
        return Absence("not_supported", function, message)
    structure = make()
    answer = library.ask(function, handle, _reference(structure), of=title)
    return answer if isinstance(answer, Absence) else structure


def _put_fabric(library: Library, handle: Any, title: str, put: Put) -> None:  # noqa: ANN401
    """Put the fabric, by the newest structure that the driver knows."""
    function = "nvmlDeviceGetGpuFabricInfoV"
    result: Any = None
    for name in _FABRIC_STRUCTURES:
        result = _filled(library, function, name, handle, title)
        known = not isinstance(result, Absence)
        if known or (result.code and result.code not in _UNKNOWN_STRUCTURE):
            break
    _put_all(put, result, _FABRIC, function)


def _put_inforom(library: Library, handle: Any, title: str, put: Put) -> None:  # noqa: ANN401
    """Put inforom: the call returns nothing where checksums hold, and 14 otherwise."""
    function = "nvmlDeviceValidateInforom"
    absence = library.ask(function, handle, of=title)
    is_corrupted = isinstance(absence, Absence) and absence.code == _CORRUPTED
    valid: RawValue = absence if isinstance(absence, Absence) else True
    put("inforom_is_valid", False if is_corrupted else valid, function)


def pci_address(text: Any) -> RawValue:  # noqa: ANN401
    """Return 00000000:1B:00.0 as sysfs writes it: 0000:1b:00.0."""
    domain, _, rest = str(text_of(text)).lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def cpu_list(words: Any) -> RawValue:  # noqa: ANN401 - an array of ctypes
    """Return the bits by CPU as the kernel writes lists: 0-47,96-143."""
    bits = sum(int(word) << (_BITS * index) for index, word in enumerate(words))
    spans: list[str] = []
    number = 0
    while bits >> number:
        if not bits >> number & 1:
            number += 1
            continue
        first = number
        while bits >> number & 1:
            number += 1
        spans.append(str(first) if number == first + 1 else f"{first}-{number - 1}")
    return ",".join(spans)


def _hexadecimal(number: int) -> str:
    return f"0x{number:08x}"


def _summary(info: Any) -> RawValue:  # noqa: ANN401 - a structure of the binding
    if not hasattr(info, "healthSummary"):
        message = "the driver knows the structure without it"
        return Absence("not_supported", "nvmlDeviceGetGpuFabricInfoV", message)
    return int(info.healthSummary)


def _reference(structure: Any) -> Any:  # noqa: ANN401 - of ctypes
    import ctypes  # noqa: PLC0415 - the binding has imported it already

    return ctypes.byref(structure)


_GROUPS: tuple[tuple[str, Leaves], ...] = (
    (
        "nvmlDeviceGetPciInfo",
        (
            ("pci_address", lambda item: pci_address(item.busId)),
            ("pci_device_id", lambda item: _hexadecimal(item.pciDeviceId)),
            ("pci_subsystem_id", lambda item: _hexadecimal(item.pciSubSystemId)),
        ),
    ),
    (
        "nvmlDeviceGetCudaComputeCapability",
        (("compute_capability", lambda item: f"{item[0]}.{item[1]}"),),
    ),
    (
        "nvmlDeviceGetEccMode",
        (
            ("ecc_is_on", lambda item: bool(item[0])),
            ("ecc_is_on_after_reboot", lambda item: bool(item[1])),
        ),
    ),
    (
        "nvmlDeviceGetMigMode",
        (
            ("mig_is_on", lambda item: bool(item[0])),
            ("mig_is_pending", lambda item: item[0] != item[1]),
        ),
    ),
    (
        "nvmlDeviceGetRemappedRows",
        (
            ("remapped_rows_correctable", lambda item: item[0]),
            ("remapped_rows_uncorrectable", lambda item: item[1]),
            ("remap_is_pending", lambda item: bool(item[2])),
            ("remap_has_failed", lambda item: bool(item[3])),
        ),
    ),
    (
        "nvmlDeviceGetRowRemapperHistogram",
        (
            (
                "remap_banks",
                lambda item: [item.max, item.high, item.partial, item.low, item.none],
            ),
        ),
    ),
    (
        "nvmlDeviceGetBAR1MemoryInfo",
        (("bar1_total_bytes", lambda item: int(item.bar1Total)),),
    ),
    (
        "nvmlDeviceGetAutoBoostedClocksEnabled",
        (
            ("auto_boost_is_on", lambda item: bool(item[0])),
            ("auto_boost_is_on_by_default", lambda item: bool(item[1])),
        ),
    ),
    ("nvmlDeviceGetComputeRunningProcesses", (("compute_processes", len),)),
    ("nvmlDeviceGetGraphicsRunningProcesses", (("graphics_processes", len),)),
    (
        "nvmlDeviceGetPowerManagementLimitConstraints",
        (
            ("power_limit_least_watts", lambda item: watts(item[0])),
            ("power_limit_most_watts", lambda item: watts(item[1])),
        ),
    ),
)
# Used without what the driver keeps: the first version of the call counts that in.
_MEMORY: Leaves = (
    ("memory_total_bytes", lambda item: int(item.total)),
    ("memory_used_bytes", lambda item: int(item.used)),
    ("memory_reserved_bytes", lambda item: int(item.reserved)),
)
# structure, function that fills it, leaves
_FILLED: tuple[tuple[str, str, Leaves], ...] = (
    (
        "c_nvmlEccSramErrorStatus_v1_t",
        "nvmlDeviceGetSramEccErrorStatus",
        (
            (
                "sram_uncorrected_volatile",
                lambda item: int(item.volatileUncParity + item.volatileUncSecDed),
            ),
            (
                "sram_uncorrected_aggregate",
                lambda item: int(item.aggregateUncParity + item.aggregateUncSecDed),
            ),
            ("sram_threshold_exceeded", lambda item: bool(item.bThresholdExceeded)),
        ),
    ),
    (
        "c_nvmlNvlinkGetBwMode_v1_t",
        "nvmlDeviceGetNvlinkBwMode",
        (("nvlink_bandwidth_mode", lambda item: int(item.bwMode)),),
    ),
)
_FABRIC: Leaves = (
    ("fabric_state", lambda item: int(item.state)),
    ("fabric_status", lambda item: int(item.status)),
    ("fabric_cluster", lambda item: bytes(item)[_CLUSTER].hex()),
    ("fabric_clique", lambda item: int(item.cliqueId)),
    ("fabric_health_mask", lambda item: int(item.healthMask)),
    ("fabric_health_summary", _summary),
)
# leaf, cause: 0 several single-bit errors, 1 a double-bit error (nvml.h)
_RETIRED = (("retired_pages_single_bit", 0), ("retired_pages_double_bit", 1))
STRUCTURE_LEAVES: tuple[str, ...] = (
    *(leaf for _, leaves in _GROUPS for leaf, _ in leaves),
    *(leaf for leaf, _ in _MEMORY),
    *(leaf for _, _, leaves in _FILLED for leaf, _ in leaves),
    *(leaf for leaf, _ in _FABRIC),
    *(leaf for leaf, _ in _RETIRED),
    "inforom_is_valid",
    "cpu_affinity",
)

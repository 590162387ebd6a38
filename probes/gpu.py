"""Reads the GPUs through NVML. Changes nothing: no call here sets anything."""

from typing import Any

from speccheck.probes.gpu_leaves import FIELDS, SIMPLE, Convert, leaf_of, whole
from speccheck.probes.gpu_leaves import text as text_form
from speccheck.probes.gpu_links import LINK_LEAVES, PEER_LEAVES, put_links, put_peers
from speccheck.probes.gpu_structures import STRUCTURE_LEAVES, put_structures
from speccheck.probes.management_library import (
    LOST,
    RESET_REQUIRED,
    UNKNOWN,
    Library,
)
from speccheck.probes.raw_value import Absence, RawValue, Sheet
from speccheck.probes.root import Root
from speccheck.probes.tape import TAPE, Replayer, recording, tape_below

KINDS = ("gpus", "driver")
_ONLY_LIVE = Absence("absent", "NVML", "a copy of the files has no GPUs to ask")
_INIT = "nvmlInitWithFlags"
_STATUS = "management_library_status"


KEEP = "keep identifiers"


def probe(root: Root, sheet: Sheet, record: str = "", keep: str = "") -> None:
    """Put down the driver as NVML knows it, and all GPUs.

    record: a folder for a tape of all calls, with identifiers where keep says KEEP.
    """
    library = _library(root, sheet, record, keep)
    if isinstance(library, Absence):
        _none(sheet, library)
        return
    begun = library.ask(_INIT, 0)
    if isinstance(begun, Absence):
        status: RawValue = int(begun.code) if begun.code else begun
        _none(sheet, begun, status)
        return
    sheet.put("driver", _STATUS, 0, _INIT)
    _driver(library, sheet)
    _gpus(library, sheet)


def _library(root: Root, sheet: Sheet, record: str, keep: str) -> Library | Absence:
    """Return the library of this machine, or the tape of another."""
    stands_in: Any = None
    if not root.is_live:
        tape = tape_below(root)
        if not tape:
            return _ONLY_LIVE
        try:
            stands_in = Replayer(tape)
        except ValueError as error:
            return Absence("failed", TAPE, str(error))
    elif record:
        stands_in = recording(record, keep_identifiers=keep == KEEP)
    try:
        return Library(sheet.doing, stands_in)
    except ImportError as error:
        return Absence("absent", "nvidia-ml-py", str(error))


def _none(sheet: Sheet, why: Absence, status: RawValue | None = None) -> None:
    """Say of the driver and of the GPUs why nothing is known of them."""
    sheet.put("driver", _STATUS, why if status is None else status, _INIT)
    for leaf, function, _ in _DRIVER:
        sheet.put("driver", leaf, why, function)
    sheet.listed("gpus", why)


def _gpus(library: Library, sheet: Sheet) -> None:
    """List all of them before any is queried: a call may never return."""
    count = library.ask("nvmlDeviceGetCount")
    if isinstance(count, Absence):
        sheet.listed("gpus", count)
        return
    for _ in range(count):
        sheet.add("gpus")
    sheet.listed("gpus")
    handles: list[Any] = []
    for number in range(count):
        library.codes.clear()
        handle = _handle(library, number)
        handles.append(handle)
        _gpu(library, sheet, number, handle)
    put_peers(library, sheet, handles)


def cuda_version(number: Any) -> RawValue:  # noqa: ANN401
    """Return 12040 as 12.4."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _confidential(state: Any) -> RawValue:  # noqa: ANN401 - a structure of the binding
    return bool(state.ccFeature)


# leaf, function, form
_DRIVER: tuple[tuple[str, str, Convert], ...] = (
    ("version", "nvmlSystemGetDriverVersion", text_form),
    ("management_library_version", "nvmlSystemGetNVMLVersion", text_form),
    ("cuda_version", "nvmlSystemGetCudaDriverVersion_v2", cuda_version),
    ("nvlink_bandwidth_mode", "nvmlSystemGetNvlinkBwMode", whole),
    ("confidential_computing_is_on", "nvmlSystemGetConfComputeState", _confidential),
)


def _driver(library: Library, sheet: Sheet) -> None:
    for leaf, function, form in _DRIVER:
        sheet.put("driver", leaf, leaf_of(library.ask(function), form), function)


def _handle(library: Library, number: int) -> Any:  # noqa: ANN401 - a pointer
    return library.ask("nvmlDeviceGetHandleByIndex", number, of=f"GPU {number}")


def _gpu(library: Library, sheet: Sheet, number: int, handle: Any) -> None:  # noqa: ANN401
    """Put all leaves of one GPU; each of them says so if it cannot be reached."""
    title = f"GPU {number}"

    def put(leaf: str, entry: RawValue, source: str) -> None:
        sheet.put_at("gpus", number, leaf, entry, source)

    if isinstance(handle, Absence):
        for leaf in ALL_LEAVES:
            put(leaf, handle, handle.source)
    else:
        for leaf, function, arguments, form in SIMPLE:
            result = library.ask(function, handle, *arguments, of=title)
            put(leaf, leaf_of(result, form), function)
        ids = [field for _, field in FIELDS]
        values = library.fields(handle, ids, title)
        for (leaf, field), value in zip(FIELDS, values, strict=True):
            put(leaf, leaf_of(value, whole), f"nvmlDeviceGetFieldValues {field}")
        put_structures(library, handle, title, put)
        put_links(library, handle, title, put)
    for leaf, code in (("is_lost", LOST), ("needs_reset", RESET_REQUIRED)):
        seen = code in library.codes
        is_unseen = isinstance(handle, Absence) and not seen
        put(leaf, handle if is_unseen else seen, "return codes of all calls")
    failed: RawValue = ["calls that return 999"] if UNKNOWN in library.codes else []
    if isinstance(handle, Absence):
        failed = handle
    put("readings_failed", failed, "return codes of all calls")


ALL_LEAVES: tuple[str, ...] = (
    *(row[0] for row in SIMPLE),
    *(row[0] for row in FIELDS),
    *STRUCTURE_LEAVES,
    *LINK_LEAVES,
    *PEER_LEAVES,
)

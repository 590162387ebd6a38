"""Reads the links of a GPU and its paths to the other GPUs, through NVML."""

from collections.abc import Callable, Sequence
from typing import Any

from speccheck.probes.gpu_leaves import Convert, leaf_of, whole
from speccheck.probes.gpu_structures import pci_address
from speccheck.probes.management_library import LOST, Library
from speccheck.probes.raw_value import Absence, RawValue, Scalar, Sheet

Put = Callable[[str, RawValue, str], None]

_MOST_LINKS = 36  # NVML_NVLINK_MAX_LINKS of the newest binding
_ENDED = {2, 3, 13}  # invalid argument, not supported: there is no such link
_SPEED_MBYTE_PER_SECOND = 164  # fields of nvml.h, by link
_EFFECTIVE_BIT_ERRORS, _FAILED_RECOVERIES = 220, 214
_C2C_LINKS, _C2C_STATUS = 170, 171
_PEER_READ, _PEER_NVLINK = 0, 2  # capabilities; the binding's own _READ is a tuple


def _remote(result: Any) -> RawValue:  # noqa: ANN401 - a structure of the binding
    return pci_address(result.busId)


# leaf, function, further arguments, form
_BY_LINK: tuple[tuple[str, str, tuple[object, ...], Convert], ...] = (
    ("nvlink_version", "nvmlDeviceGetNvLinkVersion", (), whole),
    ("nvlink_remote_type", "nvmlDeviceGetNvLinkRemoteDeviceType", (), whole),
    ("nvlink_remote_pci_address", "nvmlDeviceGetNvLinkRemotePciInfo", (), _remote),
    ("nvlink_replays", "nvmlDeviceGetNvLinkErrorCounter", (0,), whole),
    ("nvlink_recoveries", "nvmlDeviceGetNvLinkErrorCounter", (1,), whole),
    ("nvlink_crc_flit_errors", "nvmlDeviceGetNvLinkErrorCounter", (2,), whole),
    ("nvlink_crc_data_errors", "nvmlDeviceGetNvLinkErrorCounter", (3,), whole),
)
_FIELDS_BY_LINK = (
    ("nvlink_speed_mbyte_per_second", _SPEED_MBYTE_PER_SECOND),
    ("nvlink_effective_bit_errors", _EFFECTIVE_BIT_ERRORS),
    ("nvlink_failed_recoveries", _FAILED_RECOVERIES),
)


# leaf, function, further arguments
_BY_PEER: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("common_ancestors", "nvmlDeviceGetTopologyCommonAncestor", ()),
    ("peer_read_status", "nvmlDeviceGetP2PStatus", (_PEER_READ,)),
    ("peer_nvlink_status", "nvmlDeviceGetP2PStatus", (_PEER_NVLINK,)),
)
_OF_LINKS: tuple[str, ...] = (
    "nvlink_is_active",
    *(row[0] for row in _BY_LINK),
    *(row[0] for row in _FIELDS_BY_LINK),
)
LINK_LEAVES = (*_OF_LINKS, "c2c_links", "c2c_is_active")
PEER_LEAVES = tuple(row[0] for row in _BY_PEER)


def put_links(library: Library, handle: Any, title: str, put: Put) -> None:  # noqa: ANN401
    """Put the lists by link; where no link can be queried, each leaf says why."""
    function = "nvmlDeviceGetNvLinkState"
    states: list[Scalar | Absence | None] = []
    ended: Absence | None = None
    for link in range(_MOST_LINKS):
        absence = library.ask(function, handle, link, of=f"{title}, link {link}")
        if isinstance(absence, Absence):
            code = int(absence.code or 0)
            if code in _ENDED or code == LOST:
                ended = absence
                break
        states.append(absence if isinstance(absence, Absence) else bool(absence))
    if ended is not None and int(ended.code) == LOST:
        # How many links there are is not known any more.
        _put_none(put, ended, function)
    elif ended is not None and not states:
        _put_none(put, ended._replace(status="not_supported"), function)
    else:
        put("nvlink_is_active", states, function)
        _put_by_link(library, handle, title, put, states)
    _put_c2c(library, handle, title, put)


def _put_none(put: Put, why: Absence, function: str) -> None:
    for leaf in _OF_LINKS:
        put(leaf, why, function)


def _put_by_link(
    library: Library,
    handle: Any,  # noqa: ANN401 - a pointer
    title: str,
    put: Put,
    states: Sequence[Scalar | Absence | None],
) -> None:
    """Put the other leaves of links that are up; a link that is down is not queried."""
    for leaf, function, arguments, form in _BY_LINK:
        result: list[Any] = []
        for link, state in enumerate(states):
            if state is not True:
                result.append(None)
                continue
            title_of_link = f"{title}, link {link}"
            answer = library.ask(function, handle, link, *arguments, of=title_of_link)
            result.append(leaf_of(answer, form))
        put(leaf, _of_all(result), function)
    for leaf, field in _FIELDS_BY_LINK:
        ids = [(field, link) for link in range(len(states))]
        values = library.fields(handle, ids, title)
        put(leaf, _whole(values), f"nvmlDeviceGetFieldValues {field}")


def _of_all(result: list[Any]) -> RawValue:
    """Return a list; or a single reason, where all links gave the same one."""
    outcome = [item for item in result if item is not None]
    first = outcome[0] if outcome else None
    if not isinstance(first, Absence) or first.status != "not_supported":
        return result
    alike = all(
        isinstance(absence, Absence) and absence.code == first.code
        for absence in outcome
    )
    return first if alike else result


def _whole(values: Sequence[Any]) -> RawValue:
    """Return a single reason for all, or a list."""
    if values and all(isinstance(value, Absence) for value in values):
        first: Absence = values[0]
        return first
    return [leaf_of(value, whole) for value in values]  # type: ignore[misc]


def _put_c2c(library: Library, handle: Any, title: str, put: Put) -> None:  # noqa: ANN401
    source = f"nvmlDeviceGetFieldValues {_C2C_LINKS}"
    (count,) = library.fields(handle, [_C2C_LINKS], title)
    put("c2c_links", count if isinstance(count, Absence) else int(count), source)
    source = f"nvmlDeviceGetFieldValues {_C2C_STATUS}"
    if isinstance(count, Absence):
        put("c2c_is_active", count, source)
        return
    ids = [(_C2C_STATUS, link) for link in range(int(count))]
    values = library.fields(handle, ids, title) if ids else []
    put(
        "c2c_is_active",
        [value if isinstance(value, Absence) else bool(value) for value in values],
        source,
    )


def put_peers(library: Library, sheet: Sheet, handles: Sequence[Any]) -> None:
    """Put least common ancestor of each pair of GPUs, and whether they are peers."""
    for number, handle in enumerate(handles):
        if isinstance(handle, Absence):
            continue  # it has said of every leaf why there is none
        for leaf, function, arguments in _BY_PEER:
            result: list[Any] = []
            for other_number, other in enumerate(handles):
                title = f"GPU {number} and GPU {other_number}"
                if other_number == number:
                    result.append(0)
                elif isinstance(other, Absence):
                    result.append(other)
                else:
                    answer = library.ask(function, handle, other, *arguments, of=title)
                    result.append(leaf_of(answer, whole))
            sheet.put_at("gpus", number, leaf, result, function)

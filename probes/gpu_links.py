"""Reads the links of a GPU and its paths to the other GPUs, through NVML."""

from collections.abc import Callable, Sequence
from typing import Any

from speccheck.probes.found import Absence, Found, Scalar, Sheet
from speccheck.probes.gpu_leaves import Convert, told, whole
from speccheck.probes.gpu_structures import pci_address
from speccheck.probes.management_library import LOST, Library

Put = Callable[[str, Found, str], None]

_MOST_LINKS = 36  # NVML_NVLINK_MAX_LINKS of the newest binding
_ENDED = {2, 3, 13}  # invalid argument, not supported: there is no such link
_SPEED_MBYTE_PER_SECOND = 164  # fields of nvml.h, by link
_EFFECTIVE_BIT_ERRORS, _FAILED_RECOVERIES = 220, 214
_C2C_LINKS, _C2C_STATUS = 170, 171
_PEER_READ, _PEER_NVLINK = 0, 2  # capabilities; the binding's own _READ is a tuple


def _remote(found: Any) -> Found:  # noqa: ANN401 - a structure of the binding
    return pci_address(found.busId)


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
    """Lists by link; where no link can be asked, each leaf says why."""
    function = "nvmlDeviceGetNvLinkState"
    states: list[Scalar | Absence | None] = []
    ended: Absence | None = None
    for link in range(_MOST_LINKS):
        found = library.ask(function, handle, link, of=f"{title}, link {link}")
        if isinstance(found, Absence):
            code = int(found.code or 0)
            if code in _ENDED or code == LOST:
                ended = found
                break
        states.append(found if isinstance(found, Absence) else bool(found))
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
    """The other leaves of links that are up; of one that is down nothing is asked."""
    for leaf, function, arguments, form in _BY_LINK:
        found: list[Any] = []
        for link, state in enumerate(states):
            if state is not True:
                found.append(None)
                continue
            title_of_link = f"{title}, link {link}"
            answer = library.ask(function, handle, link, *arguments, of=title_of_link)
            found.append(told(answer, form))
        put(leaf, _of_all(found), function)
    for leaf, field in _FIELDS_BY_LINK:
        ids = [(field, link) for link in range(len(states))]
        values = library.fields(handle, ids, title)
        put(leaf, _whole(values), f"nvmlDeviceGetFieldValues {field}")


def _of_all(found: list[Any]) -> Found:
    """A list; or one reason, where all that were asked gave the same one."""
    asked = [one for one in found if one is not None]
    first = asked[0] if asked else None
    if not isinstance(first, Absence) or first.status != "not_supported":
        return found
    alike = all(isinstance(one, Absence) and one.code == first.code for one in asked)
    return first if alike else found


def _whole(values: Sequence[Any]) -> Found:
    """One reason for all, or a list."""
    if values and all(isinstance(one, Absence) for one in values):
        first: Absence = values[0]
        return first
    return [told(one, whole) for one in values]  # type: ignore[misc]


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
        [one if isinstance(one, Absence) else bool(one) for one in values],
        source,
    )


def put_peers(library: Library, sheet: Sheet, handles: Sequence[Any]) -> None:
    """By pair of GPUs: the least common ancestor, and whether one reaches the other."""
    for number, handle in enumerate(handles):
        if isinstance(handle, Absence):
            continue  # it has said of every leaf why there is none
        for leaf, function, arguments in _BY_PEER:
            found: list[Any] = []
            for other_number, other in enumerate(handles):
                title = f"GPU {number} and GPU {other_number}"
                if other_number == number:
                    found.append(0)
                elif isinstance(other, Absence):
                    found.append(other)
                else:
                    answer = library.ask(function, handle, other, *arguments, of=title)
                    found.append(told(answer, whole))
            sheet.put_at("gpus", number, leaf, found, function)

"""One of the two snapshots that are laid beside each other."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from speccheck.validator.evidence.node.part import NOT_IN_SNAPSHOT
from speccheck.validator.evidence.record import Record

Content = Mapping[str, Any]
_DEFINITE = {"absent": "absent", "not_supported": "not supported"}


class Side(Record):
    """A snapshot.

    name: of the node, as far as the snapshot or its file tells it. taken: in seconds
    since 1970. release: of what took it. is_synthetic: no machine was looked at.
    """

    file: str
    name: str
    content: Content
    taken: float | None = None
    release: str = ""
    is_synthetic: bool = False


class NoValue(Record):
    """A leaf that has none, and why. is_known: it is certain that there is none."""

    reason: str
    is_known: bool = False


def side_of(content: Content, file: str) -> Side:
    """A side of the content of a snapshot."""
    launch, tool = content.get("launch"), content.get("tool")
    node = launch.get("node") if isinstance(launch, dict) else None
    stem = file.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    release = tool.get("version") if isinstance(tool, dict) else None
    return Side(
        file,
        node if isinstance(node, str) and node else stem,
        content,
        seconds_of(content.get("taken")),
        release if isinstance(release, str) else "",
        isinstance(content.get("synthetic"), dict),
    )


def seconds_of(taken: object) -> float | None:
    """A time of a snapshot in seconds since 1970; None for what is none."""
    if not isinstance(taken, str):
        return None
    try:
        moment = datetime.fromisoformat(taken)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def leaf_of(content: Content, kind: str, part: Content, leaf: str) -> object:
    """A leaf of a part; `NoValue` where it has none."""
    if leaf not in part:
        return missing(content, kind)
    found = part[leaf]
    return no_value(found) if isinstance(found, dict) else found


def missing(content: Content, kind: str) -> NoValue:
    """Why a kind is not in a snapshot, or a leaf of it."""
    cut_short = content.get("cut_short")
    reason = cut_short.get(kind) if isinstance(cut_short, dict) else None
    return NoValue(str(reason) if reason else NOT_IN_SNAPSHOT)


def no_value(found: Content) -> NoValue:
    """Why there is no value, as the snapshot says it."""
    status = str(found.get("status"))
    if status in _DEFINITE:
        return NoValue(_DEFINITE[status], is_known=True)
    message = found.get("message")
    return NoValue(status.replace("_", " ") + (f": {message}" if message else ""))

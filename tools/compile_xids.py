"""Compiles the catalogue of Xids: YAML with sources to JSON for the run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.node.fault_codes import Blocks, Kind

Row = Mapping[str, Any]

_COMMON = ("meaning", "blocks_node", "action", "escalate", "source", "confidence")
_XID = frozenset({"code", "name", "kind", "action_on", *_COMMON})
_SXID = frozenset({"code", "name", "group", *_COMMON})
_OUTCOME = frozenset(
    {
        *("xid", "unit", "old_mask", "new_mask", "error_status", "recovery"),
        *("source", "confidence"),
    }
)
_GROUPS = ("always_fatal", "fatal", "non_fatal", "notable")
_RECOVERIES = ("none", "reset", "as_xid_154")
_NEVER_BLOCKS = ("application", "information")
_BITS = 32


def compile_xids(xids: Row, sxids: Row, nvlink5: Row) -> dict[str, Any]:
    """Return what a run needs; raises ValueError for a row that is malformed."""
    return {
        "xids": dict(_xids(xids)),
        "sxids": dict(_sxids(sxids)),
        "recovery_texts": {
            row["text"]: row["recovery"] for row in xids["recovery_texts"]
        },
        "nvlink5": _nvlink5(nvlink5),
        "new_mask_from_driver": nvlink5["new_mask_from_driver"],
    }


def _xids(document: Row) -> Iterator[tuple[str, list[Any]]]:
    for row in _rows(document, "xids", _XID):
        kind, blocks = row["kind"], row["blocks_node"]
        _demand(row, kind in get_args(Kind), f"no such kind: {kind}")
        result = row["code"] == _CHANGES_RECOVERY
        is_consistent = kind not in _NEVER_BLOCKS or blocks == "no" or result
        _demand(row, is_consistent, f"{kind} never blocks a node")
        fields = ("name", "meaning", "kind", "blocks_node", "action", "escalate")
        compiled = [row[field] for field in fields]
        yield str(row["code"]), [*compiled, row.get("action_on", {})]


# Information by itself, but its text names what is to be done.
_CHANGES_RECOVERY = 154


def _sxids(document: Row) -> Iterator[tuple[str, list[Any]]]:
    for row in _rows(document, "sxids", _SXID):
        _demand(row, row["group"] in _GROUPS, f"no such group: {row['group']}")
        fields = ("name", "meaning", "group", "blocks_node", "action", "escalate")
        yield str(row["code"]), [row[field] for field in fields]


def _rows(document: Row, key: str, known: frozenset[str]) -> Iterator[Row]:
    """Yield the rows of a table, each sound and each code once."""
    seen: set[int] = set()
    for row in document[key]:
        unknown = sorted(row.keys() - known)
        _demand(row, not unknown, f"unknown fields: {', '.join(unknown)}")
        _demand(row, row["code"] not in seen, "tabulated twice")
        _demand(row, row["action"] in get_args(Action), "no such action")
        _demand(row, row["blocks_node"] in get_args(Blocks), "blocks_node")
        named = set(row["source"].split("; "))
        _demand(row, named <= set(document["sources"]), "names no source of the file")
        seen.add(row["code"])
        yield row


def _nvlink5(document: Row) -> dict[str, list[list[Any]]]:
    compiled: dict[str, list[list[Any]]] = {}
    rows: Sequence[Row] = document["outcomes"]
    for row in rows:
        unknown = sorted(row.keys() - _OUTCOME)
        _demand(row, not unknown, f"unknown fields: {', '.join(unknown)}")
        _demand(row, row["recovery"] in _RECOVERIES, "no such recovery")
        for mask in (row["old_mask"], row["new_mask"]):
            is_mask = len(mask) == _BITS and not mask.strip("-01")
            _demand(row, is_mask, f"no mask of {_BITS} bits: {mask}")
        fields = ("unit", "old_mask", "new_mask", "error_status", "recovery")
        compiled.setdefault(str(row["xid"]), []).append(
            [row[field] for field in fields]
        )
    return compiled


def _demand(row: Row, holds: object, problem: str) -> None:
    if not holds:
        message = f"xid catalogue, {row.get('code', row.get('xid'))}: {problem}"
        raise ValueError(message)

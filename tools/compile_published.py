"""Compiles what was published of types of machines, as files of measurements."""

import re
from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

_GIGA = 1e9
_BYTES = {"B": 1, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d+) (B|MiB|GiB)")
_KEPT = ("collective", "nodes", "ranks", "confidence")
_OPTIONAL = ("nvls", "nvlink_domains", "note")


def compile_published(published: Row, instances: Row) -> dict[str, Any]:
    """Return the runs by type of machine; raises ValueError for rows that do not fit.

    Points are message size and bytes per second; a size of null was not published.
    """
    known = {item["id"] for item in instances["instances"]}
    result: dict[str, Any] = {}
    for row in published["runs"]:
        if row["instance"] not in known or row["unit"] != "GB/s":
            message = f"{row['id']}: an unknown type of machine, or not GB/s"
            raise ValueError(message)
        result.setdefault(row["instance"], []).append(
            {
                "id": row["id"],
                **{name: row[name] for name in _KEPT},
                **{name: row[name] for name in _OPTIONAL if name in row},
                "source": published["sources"][row["source"]],
                "points": _points(row),
            }
        )
    return result


def _points(row: Row) -> list[list[float | None]]:
    if "rate_without_size" in row:
        return [[None, round(row["rate_without_size"] * _GIGA)]]
    return [
        [_size(row["id"], text), round(rate * _GIGA)]
        for text, rate in row["points"].items()
    ]


def _size(name: str, text: str) -> int:
    matched = _SIZE.fullmatch(text)
    if matched is None:
        message = f"{name}: {text!r} is no size: 512 MiB, 8 GiB, 16000000000 B"
        raise ValueError(message)
    return int(matched[1]) * _BYTES[matched[2]]

"""Compiles what collectives were measured to reach, as the bandwidth model takes it."""

import re
from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

_GIGA = 1e9
_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d+) (KiB|MiB|GiB)")
_QUANTITIES = ("all_reduce_cap", "ring_reference", "nvls_reference")


def compile_bandwidth(collectives: Row, accelerators: Row) -> dict[str, Any]:
    """Return rates in bytes per second; raises ValueError for rows that do not fit."""
    gpus = {row["id"]: row for row in accelerators["accelerators"]}
    sources = collectives["sources"]
    curves = {row["id"]: _curve(row, sources) for row in collectives["curves"]}
    rows: dict[str, Any] = {}
    for row in collectives["domains"]:
        for gpu in row["accelerators"]:
            if gpu not in gpus or gpu in rows:
                message = f"{row['id']}: {gpu} is no accelerator, or has another row"
                raise ValueError(message)
            rows[gpu] = _domain(row, curves, sources)
    links = {item: _links(row) for item, row in gpus.items()}
    return {
        "gpus": rows,
        "link_bytes": {item: link for item, link in links.items() if link},
        "curves": curves,
    }


def _domain(row: Row, curves: Row, sources: Row) -> dict[str, Any]:
    result: dict[str, Any] = {"id": row["id"], "gpus": row["gpus"]}
    used: dict[str, None] = {}
    for name in _QUANTITIES:
        quantity = row.get(name)
        if quantity is None:
            continue
        if quantity["unit"] != "GB/s":
            message = f"{row['id']}.{name}: {quantity['unit']} is not GB/s"
            raise ValueError(message)
        result[name] = quantity["value"] * _GIGA
        used.update(dict.fromkeys(_named(quantity["source"], sources)))
    result["source"] = "; ".join(used)
    result["shares"] = _shares(curves[row["curve"]]) if "curve" in row else []
    return result


def _curve(row: Row, sources: Row) -> dict[str, Any]:
    kept = ("domain", "collective", "domains", "ranks", "algorithm")
    points = [
        [_size(text), round(value * _GIGA)] for text, value in row["points"].items()
    ]
    if points != sorted(points, key=lambda point: point[0]):
        message = f"{row['id']}: the sizes are not in order"
        raise ValueError(message)
    source = "; ".join(_named(row["source"], sources))
    return {**{key: row[key] for key in kept}, "source": source, "points": points}


def _shares(curve: Row) -> list[list[float]]:
    """Return shares of the best point of the curve, by size."""
    best = max(rate for _, rate in curve["points"])
    return [[size, round(rate / best, 4)] for size, rate in curve["points"]]


def _links(row: Row) -> float | None:
    """Return the payload of the NVLinks that always exist; bridges join some boards."""
    nvlink = row.get("nvlink", {})
    if nvlink.get("bridge_only", True) or "total_one_way" not in nvlink:
        return None
    return float(nvlink["total_one_way"]["value"]) * _GIGA


def _size(text: str) -> int:
    matched = _SIZE.fullmatch(text)
    if matched is None:
        message = f"{text!r} is no size: 1 KiB, 256 MiB, 8 GiB"
        raise ValueError(message)
    return int(matched[1]) * _BYTES[matched[2]]


def _named(text: str, sources: Row) -> list[str]:
    """Return the sources of a quantity; raises ValueError for a name that is none."""
    names = text.split("; ")
    if unknown := [name for name in names if name not in sources]:
        message = f"no such source: {', '.join(unknown)}"
        raise ValueError(message)
    return [str(sources[name]) for name in names]

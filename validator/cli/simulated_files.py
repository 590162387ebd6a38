"""Writes a synthetic fleet: a folder of snapshots, or one line a node."""

import gzip
import json
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import IO

from speccheck.validator.cli.options import UsageError
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.write import WriteError, write_bytes
from speccheck.validator.simulation.fleet import BY, Fleet
from speccheck.validator.simulation.fleet_files import (
    SCHEMA,
    Form,
    Written,
    file_names,
    manifest,
    nodes,
)
from speccheck.validator.simulation.planting import Planting

MANIFEST = "simulation.json"
_LINES = (".jsonl", ".jsonl.gz")
_FAST = 4  # of gzip: half the time of the usual level, and a tenth more bytes
_MANY = 200  # nodes between two looks at the clock
_OLDEST = 0  # the time in a gzip file, so that the same fleet is the same bytes


class Order(Record):
    """What is to be written where; tells: whether a terminal is told how far it is."""

    fleet: Fleet
    planting: Planting
    out: str
    form: Form
    tells: bool


def write_fleet(order: Order) -> str:
    """Write all files of a fleet; returns the path of its manifest.

    Raises UsageError for a place where it may not be written, and WriteError.
    """
    out = order.out
    if out.endswith(_LINES):
        return _write_lines(order)
    if os.path.splitext(out)[1] in {".json", ".gz", ".yaml"} and not os.path.isdir(out):
        message = f"--out {out}: must be a folder, or a file *.jsonl or *.jsonl.gz"
        raise UsageError(message)
    return _write_folder(order)


def _write_folder(order: Order) -> str:
    out = order.out
    _empty(out)
    path = os.path.join(out, MANIFEST)
    # It comes first: who is interrupted may write to this folder again.
    _write_manifest(order, path, is_complete=False)
    for files in _made(order):
        for one in files:
            write_bytes(one.text.encode(), os.path.join(out, one.file))
    _write_manifest(order, path, is_complete=True)
    return path


def _write_manifest(order: Order, path: str, *, is_complete: bool) -> None:
    text = manifest(order.fleet, order.planting, is_complete=is_complete)
    write_bytes(text.encode(), path)


def _empty(folder: str) -> None:
    """Make a folder, or take away what simulate wrote there, and nothing else."""
    try:
        os.makedirs(folder, exist_ok=True)
        found = set(os.listdir(folder))
    except OSError as error:
        message = f"--out {folder}: {error.strerror}"
        raise UsageError(message) from error
    if not found:
        return
    others = found - _written_before(folder) - {MANIFEST}
    if others or MANIFEST not in found:
        names = sorted(others or found)
        message = (
            f"--out {folder}: has files that simulate did not write, such as "
            f"{names[0]}; name a folder that is new or empty"
        )
        raise UsageError(message)
    for name in found - {MANIFEST}:
        os.unlink(os.path.join(folder, name))


def _written_before(folder: str) -> set[str]:
    """The names of the files that a manifest says were written with it."""
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return set()
    is_ours = isinstance(found, dict) and found.get("schema") == SCHEMA
    if not is_ours or found.get("synthetic", {}).get("by") != BY:
        return set()
    return {*_names_of(found)}


def _names_of(found: dict[str, object]) -> Iterator[str]:
    count = found.get("nodes")
    ill = (one.get("nodes") for one in _rows(found.get("planted")))
    names = [name for nodes in ill for name in _texts(nodes)]
    yield from file_names(count if isinstance(count, int) else 0, names)


def _rows(found: object) -> list[dict[str, object]]:
    rows = found if isinstance(found, list) else []
    return [one for one in rows if isinstance(one, dict)]


def _texts(found: object) -> list[str]:
    rows = found if isinstance(found, list) else []
    return [one for one in rows if isinstance(one, str)]


def _write_lines(order: Order) -> str:
    out = order.out
    stem = out.removesuffix(".gz").removesuffix(".jsonl")
    path = f"{stem}.{MANIFEST}"
    folder = os.path.dirname(out)
    if folder and not os.path.isdir(folder):
        message = f"--out {out}: no such folder: {folder}"
        raise UsageError(message)
    temporary = f"{out}.{os.getpid()}.part"
    try:
        with _opened(temporary, is_packed=out.endswith(".gz")) as file:
            for files in _made(order):
                for one in files:
                    file.write(one.text.encode() + b"\n")
        os.replace(temporary, out)
    except OSError as error:
        message = f"{out}: not written: {error.strerror}"
        raise WriteError(message) from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    _write_manifest(order, path, is_complete=True)
    return path


@contextmanager
def _opened(path: str, *, is_packed: bool) -> Generator[IO[bytes] | gzip.GzipFile]:
    with open(path, "wb") as file:
        if not is_packed:
            yield file
            return
        with gzip.GzipFile("", "wb", _FAST, file, _OLDEST) as packed:
            yield packed


def _made(order: Order) -> Iterator[tuple[Written, ...]]:
    """What is written for each node, while a terminal is told how far it is."""
    total = order.fleet.nodes
    is_shown = order.tells and sys.stderr.isatty()
    made = nodes(order.fleet, order.planting, order.form)
    for done, one in enumerate(made, 1):
        yield one
        if is_shown and (done % _MANY == 0 or done == total):
            end = "\n" if done == total else ""
            sys.stderr.write(f"\r{done:,} of {total:,} nodes{end}")
            sys.stderr.flush()

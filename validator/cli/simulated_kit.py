"""Writes a synthetic evidence kit: a folder with all that a certificate rests on."""

import json
import os

from speccheck.validator.cli.options import UsageError
from speccheck.validator.cli.simulated_files import MANIFEST
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.report.write import write_bytes
from speccheck.validator.simulation.fleet import BY, Fleet
from speccheck.validator.simulation.fleet_files import SCHEMA
from speccheck.validator.simulation.kit.builder import (
    KitError,
    Ordered,
    kit_files,
    manifest,
    texts,
)
from speccheck.validator.simulation.kit.corruption import SPOILS, Spoil
from speccheck.validator.simulation.planting import Planting

_MOST_MANIFEST = 10_000_000


class KitOrder(Record):
    """What is to be written where; spoils: names of what is wrong with it."""

    fleet: Fleet
    planting: Planting
    out: str
    spoils: tuple[str, ...] = ()


def write_kit(order: KitOrder) -> int:
    """Write all files of a kit; returns how many.

    Raises UsageError for a kit that cannot be made, or a place where it may not be
    written, and WriteError.
    """
    ordered = Ordered(order.fleet, order.planting)
    spoiled = {name: _spoil(name).text for name in order.spoils}
    try:
        files = kit_files(ordered)
        for name in order.spoils:
            SPOILS[name].change(files)
    except KitError as error:
        raise UsageError(str(error)) from error
    except (LookupError, TypeError) as error:
        told = ", ".join(order.spoils)
        message = f"--spoil {told}: such a kit cannot have it: {error}"
        raise UsageError(message) from error
    written = texts(files)
    _empty(order.out)
    # It comes first: who is interrupted may write to this folder again.
    text = manifest(ordered, written, spoiled)
    write_bytes(text.encode(), os.path.join(order.out, MANIFEST))
    for path, content in written.items():
        whole = os.path.join(order.out, *path.split("/"))
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        write_bytes(content.encode(), whole)
    return len(written) + 1


def _spoil(name: str) -> Spoil:
    if name not in SPOILS:
        close = nearest(name, SPOILS)
        hint = f"did you mean {close}?" if close else f"known are {', '.join(SPOILS)}"
        message = f"--spoil {name}: no such spoil: {hint}"
        raise UsageError(message)
    return SPOILS[name]


def _empty(folder: str) -> None:
    """Make a folder, or take away what simulate wrote there, and nothing else."""
    try:
        os.makedirs(folder, exist_ok=True)
        found = sorted(_files(folder))
    except OSError as error:
        message = f"--out {folder}: {error.strerror}"
        raise UsageError(message) from error
    ours = _written_before(folder)
    others = [path for path in found if path not in ours]
    if others:
        message = (
            f"--out {folder}: has files that simulate did not write, such as "
            f"{others[0]}; name a folder that is new or empty"
        )
        raise UsageError(message)
    for path in found:
        os.unlink(os.path.join(folder, path))


def _files(folder: str) -> list[str]:
    return [
        os.path.relpath(os.path.join(where, name), folder)
        for where, _, names in os.walk(folder)
        for name in names
    ]


def _written_before(folder: str) -> set[str]:
    """The files that a manifest says were written with it, and itself."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.loads(file.read(_MOST_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return set()
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        return set()
    made_up = found.get("synthetic")
    is_ours = isinstance(made_up, dict) and made_up.get("by") == BY
    listed = found.get("kit")
    paths = listed if is_ours and isinstance(listed, list) else []
    names = {os.path.normpath(one) for one in paths if isinstance(one, str)}
    return {MANIFEST, *names} if paths else set()

"""`speccheck simulate`: a synthetic fleet, for tests, demos and capacity planning."""

import gzip
import json
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import IO

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.report.style import counted, printable, wrap
from speccheck.validator.report.write import WriteError, write, write_bytes
from speccheck.validator.simulation.faults import AREAS
from speccheck.validator.simulation.fleet import BY, SimulatedFleet
from speccheck.validator.simulation.fleet_files import (
    MANIFEST,
    RESULTS,
    SCHEMA,
    SNAPSHOTS,
    FileForm,
    Written,
    file_names,
    manifest,
    nodes,
)
from speccheck.validator.simulation.planting import (
    PlanError,
    Planting,
    load_plan,
    plant,
)
from speccheck.validator.simulation.shape import instances

MOST_NODES = 100_000
MOST_DAYS = 3_650
_PROFILE = "dgx-h100"
_WIDTH = 88
_LONGEST_NAME = 100
_OF_KIT = "certify"  # the name of its job, where nobody names one
REFUSED = (PlanError,)
_LINES = (".jsonl", ".jsonl.gz")
_FAST = 4  # of gzip: half the time of the usual level, and a tenth more bytes
_MANY = 200  # nodes between two looks at the clock
_OLDEST = 0  # the time in a gzip file, so that the same fleet is the same bytes


def simulate(line: CommandLine) -> int:
    """Write a synthetic fleet; returns the exit code."""
    line.demand_no_file("see --out and --faults")
    if line.has("list_faults"):
        write(faults_text(), None)
        return 0
    if line.has("list_profiles"):
        write("\n".join(instances()) + "\n", None)
        return 0
    fleet, out = _fleet(line), line.text("out")
    if out is None:
        message = "simulate needs --out DIR, or --out FILE.jsonl"
        raise UsageError(message)
    faults = line.text("faults")
    planting = Planting() if faults is None else plant(load_plan(faults), fleet)
    is_quiet = line.has("quiet")
    if line.has("evidence"):
        return _evidence(line, fleet, planting, out)
    if line.has("spoil"):
        message = "--spoil is of a kit: add --evidence"
        raise UsageError(message)
    form = _results() if line.has("results") else SNAPSHOTS
    manifest = write_fleet(
        SimulationOrder(fleet, planting, out, form, tells=not is_quiet)
    )
    if not is_quiet:
        write(_summary(fleet, planting, out, manifest), None)
    return 0


def _evidence(
    line: CommandLine, fleet: SimulatedFleet, planting: Planting, out: str
) -> int:
    # It knows all models of networks, which snapshots do without.
    from speccheck.validator.cli.simulated_kit import (  # noqa: PLC0415
        KitOrder,
        write_kit,
    )
    from speccheck.validator.simulation.kit.corruption import (  # noqa: PLC0415
        SPOILS,
    )

    if line.has("results"):
        message = "--evidence and --results: give one of them"
        raise UsageError(message)
    spoils = tuple(line.texts("spoil"))
    if not line.has("job"):
        fleet = fleet._replace(job=_OF_KIT)
    count = write_kit(KitOrder(fleet, planting, out, spoils))
    if not line.has("quiet"):
        what = f"a synthetic evidence kit of {counted(fleet.nodes, 'node')}"
        lines = [f"{out}: {what} of {fleet.profile}, {count} files, seed {fleet.seed}"]
        lines += [f"  {SPOILS[name].text}" for name in spoils]
        lines += [f"  {item.name} on {len(item.nodes):,}" for item in planting.plants]
        write("\n".join(map(printable, lines)) + "\n", None)
    return 0


def _results() -> FileForm:
    # It loads all rules, which snapshots do without.
    from speccheck.validator.cli.simulated_kit import (  # noqa: PLC0415
        ResultTeller,
    )

    return FileForm(ResultTeller(), RESULTS)


def _fleet(line: CommandLine) -> SimulatedFleet:
    nodes = line.integer("nodes")
    if nodes is None:
        message = "simulate needs --nodes N: how many machines"
        raise UsageError(message)
    if nodes > MOST_NODES:
        message = f"--nodes {nodes}: at most {MOST_NODES:,}"
        raise UsageError(message)
    profile = line.text("profile") or _PROFILE
    known = instances()
    if profile not in known:
        close = nearest(profile[:_LONGEST_NAME], known)
        hint = f"did you mean {close}?" if close else "see --list-profiles"
        message = f"--profile {profile[:_LONGEST_NAME]}: no such type: {hint}"
        raise UsageError(message)
    job = line.text("job") or "synthetic"
    if not job.isprintable() or len(job) > _LONGEST_NAME:
        message = f"--job: must be a name of at most {_LONGEST_NAME} characters"
        raise UsageError(message)
    day = line.integer("day") or 1
    if day > MOST_DAYS:
        message = f"--day {day}: at most {MOST_DAYS:,}"
        raise UsageError(message)
    return SimulatedFleet(nodes, profile, line.integer("seed") or 1, job, day)


def _summary(fleet: SimulatedFleet, planting: Planting, out: str, manifest: str) -> str:
    ill = len(planting.by_node())
    what = f"{counted(fleet.nodes, 'synthetic node')} of {fleet.profile}"
    lines = [f"{out}: {what}, seed {fleet.seed}; faults on {counted(ill, 'node')}"]
    lines += [f"  {len(item.nodes):>6,}  {item.name}" for item in planting.plants]
    lines.append(f"what is wrong where: {manifest}")
    return "\n".join(map(printable, lines)) + "\n"


def faults_text() -> str:
    """Return all faults by area: what is wrong, what a plan may set, what finds it."""
    from speccheck.validator.simulation.kit.corruption import (  # noqa: PLC0415
        SPOILS,
    )

    lines: list[str] = []
    for area, faults in AREAS.items():
        lines.extend([f"Faults of {area}:", ""])
        for name, fault in faults.items():
            takes = ", ".join(f"{key}: {value}" for key, value in fault.values.items())
            text = ", ".join(fault.rules)
            if fault.is_fleet:
                text = "the other nodes show it"
            words = f"{fault.text}{f' ({takes})' if takes else ''}"
            words += f" -> {text or 'nothing above the level of information'}"
            lines.extend([f"  {name}", wrap(words, _WIDTH, "      ")])
        lines.append("")
    lines.extend(["With --evidence, of the kit (--spoil):", ""])
    for name, spoil in SPOILS.items():
        denied = f"{spoil.level} of {spoil.track or 'all tracks'}"
        by = f" by {spoil.clause}" if spoil.clause else ""
        words = f"{spoil.text} -> denies {denied}{by}"
        lines.extend([f"  {name}", wrap(words, _WIDTH, "      ")])
    return "\n".join([*lines, ""])


class SimulationOrder(Record):
    """What is to be written where; tells: whether a terminal is told how far it is."""

    fleet: SimulatedFleet
    planting: Planting
    out: str
    form: FileForm
    tells: bool


def write_fleet(order: SimulationOrder) -> str:
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


def _write_folder(order: SimulationOrder) -> str:
    out = order.out
    _empty(out)
    path = os.path.join(out, MANIFEST)
    # It comes first: who is interrupted may write to this folder again.
    _write_manifest(order, path, is_complete=False)
    for files in _made(order):
        for file in files:
            write_bytes(file.text.encode(), os.path.join(out, file.file))
    _write_manifest(order, path, is_complete=True)
    return path


def _write_manifest(order: SimulationOrder, path: str, *, is_complete: bool) -> None:
    text = manifest(order.fleet, order.planting, is_complete=is_complete)
    write_bytes(text.encode(), path)


def _empty(folder: str) -> None:
    """Make a folder, or take away what simulate wrote there, and nothing else."""
    try:
        os.makedirs(folder, exist_ok=True)
        texts = set(os.listdir(folder))
    except OSError as error:
        message = f"--out {folder}: {error.strerror}"
        raise UsageError(message) from error
    if not texts:
        return
    others = texts - _written_before(folder) - {MANIFEST}
    if others or MANIFEST not in texts:
        names = sorted(others or texts)
        message = (
            f"--out {folder}: has files that simulate did not write, such as "
            f"{names[0]}; name a folder that is new or empty"
        )
        raise UsageError(message)
    for name in texts - {MANIFEST}:
        os.unlink(os.path.join(folder, name))


def _written_before(folder: str) -> set[str]:
    """Return the names of the files that a manifest says were written with it."""
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError):
        return set()
    is_ours = isinstance(result, dict) and result.get("schema") == SCHEMA
    if not is_ours or result.get("synthetic", {}).get("by") != BY:
        return set()
    return {*_names_of(result)}


def _names_of(result: dict[str, object]) -> Iterator[str]:
    count = result.get("nodes")
    ill = (row.get("nodes") for row in _rows(result.get("planted")))
    names = [name for nodes in ill for name in _texts(nodes)]
    yield from file_names(count if isinstance(count, int) else 0, names)


def _rows(result: object) -> list[dict[str, object]]:
    rows = result if isinstance(result, list) else []
    return [row for row in rows if isinstance(row, dict)]


def _texts(result: object) -> list[str]:
    rows = result if isinstance(result, list) else []
    return [row for row in rows if isinstance(row, str)]


def _write_lines(order: SimulationOrder) -> str:
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
                for written in files:
                    file.write(written.text.encode() + b"\n")
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


def _made(order: SimulationOrder) -> Iterator[tuple[Written, ...]]:
    """Return what is written for each node, while a terminal shows how far it is."""
    total = order.fleet.nodes
    is_shown = order.tells and sys.stderr.isatty()
    made = nodes(order.fleet, order.planting, order.form)
    for done, writtens in enumerate(made, 1):
        yield writtens
        if is_shown and (done % _MANY == 0 or done == total):
            end = "\n" if done == total else ""
            sys.stderr.write(f"\r{done:,} of {total:,} nodes{end}")
            sys.stderr.flush()

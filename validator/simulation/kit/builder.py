"""A whole evidence kit, file by file."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from speccheck.validator import VERSION
from speccheck.validator.catalogue.hardware import resolve_instance
from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.fleet import BY, Maker, SimulatedFleet, name_of
from speccheck.validator.simulation.fleet_files import SCHEMA
from speccheck.validator.simulation.kit import measurements
from speccheck.validator.simulation.kit.job import (
    SimulatedJob,
    configuration,
    model_for,
    script,
)
from speccheck.validator.simulation.kit.measurements import NotKnownError
from speccheck.validator.simulation.planting import Planting, planted_rows
from speccheck.validator.simulation.rng import Dice
from speccheck.validator.simulation.shape import shape_of

SNAPSHOT = "speccheck-snapshot/1"
NODES, MEASURED, LOGS, JOB = "nodes", "measured", "logs", "job"
ALL_REDUCE = f"{MEASURED}/all-reduce.json"
AGAIN = f"{MEASURED}/all-reduce-again.json"
RUN_LOG = f"{LOGS}/run.jsonl"
HARDWARE_LOG = f"{LOGS}/hardware.jsonl"
NETWORK_LOG = f"{LOGS}/network.jsonl"
DRILL_LOG = f"{LOGS}/drill.jsonl"
CONFIGURATION = f"{JOB}/config.yaml"
SCRIPT = f"{JOB}/train.sbatch"
README = "README.txt"
# Adapters whose writes perftest can time.
_VERBS = frozenset({"infiniband", "roce", "efa"})
_LEAST_NODES, MOST_NODES = 2, 32
_LEAST_CAPABILITY = (8, 0)  # bf16
_COMPACT = (",", ":")

# A text, an object, or records of one line each; by path.
Content = str | dict[str, Any] | list[dict[str, Any]]
Files = dict[str, Content]


class SimulatedKitError(ValueError):
    """A kit that cannot be made; the message says why."""


class Ordered(Record):
    """What a kit follows from."""

    fleet: SimulatedFleet
    planting: Planting = Planting()


def kit_files(ordered: Ordered) -> Files:
    """Return all files of a healthy kit, or with the faults that are planted.

    Raises KitError for a type of which too little is known.
    """
    fleet = ordered.fleet
    job = _job(fleet)
    hosts = [name_of(index) for index in range(fleet.nodes)]
    dice = Dice(fleet.seed, fleet.profile, "kit", "day", fleet.day)
    files: Files = {
        README: _readme(fleet),
        CONFIGURATION: configuration(job),
        SCRIPT: script(job),
    }
    files.update(_machines(ordered))
    files.update(_measured(job, fleet, hosts, dice))
    times = measurements.Times(fleet.taken + timedelta(hours=2), job.run)
    for path, rows in (
        (RUN_LOG, measurements.training(job, times, hosts, dice)),
        (HARDWARE_LOG, measurements.hardware(job, times, hosts, dice)),
        (NETWORK_LOG, measurements.network(job, times, hosts, dice)),
        (DRILL_LOG, measurements.drills(job, times, hosts, dice)),
    ):
        files[path] = [{**row, **mark} for row, mark in _marked(rows)]
    return files


def texts(files: Files) -> dict[str, str]:
    """Return the files as they are written, by path."""
    return {path: _text(content) for path, content in files.items()}


def _text(content: Content) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return json.dumps(content, separators=_COMPACT) + "\n"
    return "".join(json.dumps(row, separators=_COMPACT) + "\n" for row in content)


def _marked(rows: Iterable[dict[str, Any]]) -> Iterable[tuple[dict[str, Any], Any]]:
    """Yield each record, the first of them with the note that it is made up."""
    mark: dict[str, Any] = {"synthetic": {"by": BY}}
    for row in rows:
        yield row, mark
        mark = {}


def _job(fleet: SimulatedFleet) -> SimulatedJob:
    shape = shape_of(fleet.profile)
    model = model_for(shape, fleet.nodes)
    known = resolve_instance(fleet.profile)
    if not _LEAST_NODES <= fleet.nodes <= MOST_NODES:
        message = (
            f"--nodes {fleet.nodes}: a kit is of {_LEAST_NODES} to {MOST_NODES} nodes"
        )
        raise SimulatedKitError(message)
    fabric = known.fabric
    if model is None or shape.capability < _LEAST_CAPABILITY or fabric is None:
        what = "its network" if fabric is None else "a job that suits its GPUs"
        message = f"--profile {fleet.profile}: no kit of it: {what} is not known"
        raise SimulatedKitError(message)
    mark = f"synthetic: by {BY}, seed {fleet.seed}: no such job ran"
    return SimulatedJob(
        shape, fleet.nodes, fleet.profile, fabric, model, mark, fleet.job or "certify"
    )


def _machines(ordered: Ordered) -> Files:
    """Return a snapshot of each, with its own measurements."""
    maker = Maker(ordered.fleet)
    by_node = ordered.planting.by_node()
    files: Files = {}
    for index in range(ordered.fleet.nodes):
        node = maker.healthy(index)
        maker.measure(node, index)
        deliveries = []
        for plant in by_node.get(index, ()):
            plant.fault.change(plant.values)(node)
            deliveries.append(plant.fault.delivery)
        text = json.dumps(node, separators=_COMPACT)
        path = f"{NODES}/{name_of(index)}.json"
        if "missing" in deliveries or "killed" in deliveries:
            continue
        if "empty" in deliveries:
            files[path] = ""
        elif "damaged" in deliveries:
            files[path] = text[: len(text) // 2]
        else:
            files[path] = node
    return files


def _measured(
    job: SimulatedJob, fleet: SimulatedFleet, hosts: list[str], dice: Dice
) -> Files:
    """Return what was measured over several machines, or with another tool."""
    try:
        runs = measurements.collectives(job, dice, hosts)
    except NotKnownError as error:
        message = f"--profile {fleet.profile}: no kit of it: {error}"
        raise SimulatedKitError(message) from error
    head = _head(fleet, 1)
    files: Files = {
        f"{MEASURED}/{name}.json": {**head, "collective_runs": rows}
        for name, rows in runs.items()
    }
    if job.shape.instance.get("network_kind") in _VERBS:
        writes = {**head, "rdma_transfers": measurements.writes(job, dice)}
        files[f"{MEASURED}/writes.json"] = writes
        paths = {**head, "communicators": measurements.communicators(job, hosts)}
        files[f"{MEASURED}/nccl.json"] = paths
    for host in hosts:
        results = {
            **head,
            **_of(host),
            "diagnostic_results": measurements.diagnosis(job),
        }
        files[f"{MEASURED}/diagnosis-{host}.json"] = results
    return files


def _of(host: str) -> dict[str, Any]:
    return {"launch": {"engine": "slurm", "node": host}}


def _head(fleet: SimulatedFleet, hours: float) -> dict[str, Any]:
    taken = fleet.taken + timedelta(hours=hours)
    return {
        "schema": SNAPSHOT,
        "tool": {"name": "speccheck", "version": VERSION},
        "taken": taken.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "synthetic": fleet.synthetic,
    }


def _readme(fleet: SimulatedFleet) -> str:
    return (
        f"# synthetic: by {BY}, seed {fleet.seed}\nAn evidence kit of {fleet.nodes} "
        f"nodes of {fleet.profile}, made up by speccheck {VERSION} to try\nout "
        "certification. No such machine was looked at, and no such job ran.\n"
    )


def manifest(ordered: Ordered, paths: Iterable[str], spoiled: Mapping[str, str]) -> str:
    """Return what the kit is made of and what is wrong in it, as the text of a file."""
    fleet = ordered.fleet
    document = {
        "schema": SCHEMA,
        "synthetic": fleet.synthetic,
        "nodes": fleet.nodes,
        "job": fleet.job,
        "taken": fleet.taken.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "kit": sorted(paths),
        "planted": planted_rows(ordered.planting),
        "spoiled": dict(spoiled),
    }
    return json.dumps(document, indent=1) + "\n"

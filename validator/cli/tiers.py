"""Measurements of preflight: what a tier allows, each in a process of its own.

Each is a `speccheck bench` in a session of its own, with what is left of the budget; it
is killed with all that it started when that is used up. What was cut short, was not
begun or failed is put down as such: rules that need it are undecided, and none passes.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from speccheck.probes.parent import PARENT
from speccheck.validator.evidence.measurement.cost import (
    COSTS,
    MEASUREMENTS,
    Measurement,
)
from speccheck.validator.evidence.node.node import ProcessLaunch
from speccheck.validator.evidence.record import Record

Content = dict[str, Any]
_LEAST_SECONDS = 2.0  # in less not even PyTorch is loaded
_PARTING_SECONDS = 1.0
# Of what is left, for the end of a measurement: it then keeps what it has.
_SHARE = 0.85
# By which speccheck bench knows that it is one of several ranks.
_OF_A_RANK = (
    *("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"),
    "TORCHELASTIC_USE_AGENT_STORE",
)
_SAID, _WARNED = "speccheck: ", "speccheck: warning:"
_STOPPED = "stopped after"  # kept what it has, and judged that
_JUDGED = (0, 1, 3)
_MOST_SAID = 400
_HOSTS_ALONE = "gloo"
# Advice that is of the other command.
_OF_BENCH = (
    ", or measure the host alone with --device cpu",
    ": --ranks 4 measures processes of this machine",
    "; torchrun, srun or mpirun start it on several",
    "; if that is what is meant, say --backend gloo",
)
_TRACEBACK_VARIABLE = "SPECCHECK_TRACEBACK"


class Ended(Record):
    """How a measurement ended: what it kept, and why that is not all."""

    result: Mapping[str, Any] | None
    problem: str
    code: int | None


def measure(
    content: Content, tier: int, until: float, launch: ProcessLaunch, allowed: float
) -> None:
    """Add to a snapshot what the tier allows to measure, as far as there is time.

    Args:
        content: of the snapshot.
        tier: the highest that is allowed.
        until: when all must be over, by the monotonic clock.
        launch: how this process was started.
        allowed: the seconds of the budget, to be told.

    """
    for measurement in MEASUREMENTS:
        if measurement.tier > tier or not _applies(measurement, content, tier, launch):
            continue
        reason = _missing_ranks(launch) if measurement.is_joint else ""
        if reason:
            _put_down(content, measurement, None, reason)
            continue
        _tell(measurement)
        ended = run(measurement, until, allowed)
        is_reported_elsewhere = (
            measurement.is_joint and ended.result is None and ended.code == 0
        )
        if not is_reported_elsewhere:  # rank 0 tells what all ranks measured
            _put_down(
                content,
                measurement,
                ended.result,
                ended.problem or _hidden(content, ended),
            )


def join(until: float, allowed: float) -> Ended:
    """Take part in what all ranks measure, as one that does not look at the node."""
    return run(
        next(measurement for measurement in MEASUREMENTS if measurement.is_joint),
        until,
        allowed,
    )


def _applies(
    measurement: Measurement, content: Content, tier: int, launch: ProcessLaunch
) -> bool:
    """Return whether it can say anything of this node."""
    gpus = content.get("gpus")
    is_alone = isinstance(gpus, list) and len(gpus) == 1
    if measurement.kind != "collective_runs" or measurement.is_joint:
        return True
    # What all ranks measure is of the GPUs of a node, too, where they are all on one.
    return not is_alone and not (tier > measurement.tier and launch.nodes == 1)


def _missing_ranks(launch: ProcessLaunch) -> str:
    if "rank" in launch.unknown:
        return f"tier 3 needs the rank of this process: {launch.unknown['rank']}"
    if launch.ranks is None or launch.ranks < 2:  # noqa: PLR2004 - one has no other
        return (
            "tier 3 measures over the ranks that an engine started, and there are no "
            "others: start it with srun, mpirun or torchrun, one process a GPU"
        )
    return ""


def run(measurement: Measurement, until: float, allowed: float) -> Ended:
    """Make one measurement; returns when it is over, or killed."""
    left = until - time.monotonic()
    if left < _LEAST_SECONDS:
        problem = f"not begun: the budget of {allowed:g} s was used up before"
        return Ended(None, problem, None)
    with tempfile.TemporaryDirectory(prefix="speccheck-") as folder:
        out = os.path.join(folder, "measured.json")
        with tempfile.TemporaryFile() as outcome:
            code = _run(
                _command(measurement, left, out), _environ(measurement), outcome, left
            )
            outcome.seek(0)
            lines = outcome.read().decode(errors="replace").splitlines()
        if os.environ.get(_TRACEBACK_VARIABLE):
            sys.stderr.writelines(f"{line}\n" for line in lines)
        result = _kept(out)
    return Ended(result, _problem(code, lines, result, allowed), code)


def _command(measurement: Measurement, left: float, out: str) -> tuple[str, ...]:
    seconds = f"{max(1.0, left * _SHARE):.1f}"
    options = ["--budget", seconds, "--out", out]
    if measurement.kind == "collective_runs":
        # All ranks must come before it is over; those that probe come late.
        options += ["--deadline", seconds]
    options += ["--isolated", "--output", f"json={os.devnull}"]
    program = (sys.executable, "-P", "-m", "speccheck", "bench")
    return (*program, *measurement.bench, *options)


def _environ(measurement: Measurement) -> dict[str, str]:
    left_out = () if measurement.is_joint else _OF_A_RANK
    environ = {name: text for name, text in os.environ.items() if name not in left_out}
    return {**environ, PARENT: str(os.getpid())}


def _run(
    command: Sequence[str], environ: Mapping[str, str], result: IO[bytes], left: float
) -> int | None:
    """Run a command in a session of its own; None where it was killed for its time."""
    process = subprocess.Popen(  # noqa: S603 - our own program
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=result,
        start_new_session=True,
    )
    try:
        return process.wait(timeout=left)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Also when we are interrupted. One that hangs in the kernel is left behind.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_PARTING_SECONDS)


def _kept(path: str) -> Mapping[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) else None


def _problem(
    code: int | None,
    lines: Sequence[str],
    result: Mapping[str, Any] | None,
    allowed: float,
) -> str:
    """Return why not all was measured; empty where it was."""
    if code is None:
        return f"killed when the budget of {allowed:g} s was used up"
    texts = [
        line.removeprefix(_SAID)
        for line in lines
        if line.startswith(_SAID) and not line.startswith(_WARNED)
    ]
    text = texts[0] if texts else ""
    for advice in _OF_BENCH:
        text = text.replace(advice, "")
    text = text[:_MOST_SAID]
    if code < 0:
        return f"ended by signal {-code}"
    if code not in _JUDGED:
        return text or f"ended with exit code {code}"
    if result is None and code:
        return text or "nothing was measured"
    is_cut = code == _JUDGED[-1] or text.startswith(_STOPPED)
    return text if is_cut else ""


def _hidden(content: Content, ended: Ended) -> str:
    """Return that GPUs of the node are hidden from PyTorch and not measured."""
    gpus = content.get("gpus")
    if ended.result is None or not isinstance(gpus, list):
        return ""
    seen = max((len(gpu) for gpu in _gpus_of(ended.result)), default=len(gpus))
    if seen >= len(gpus):
        return ""
    return (
        f"{seen} of {len(gpus)} GPUs were measured, the others are hidden: see "
        "CUDA_VISIBLE_DEVICES and the GPUs of the allocation"
    )


def _gpus_of(result: Mapping[str, Any]) -> Iterator[Sequence[object]]:
    """Return the GPUs that measurements are of, kind by kind."""
    for item in result.get("copy_tests", ()):
        yield [*{*item["from_gpu"], *item["to_gpu"]} - {None}]
    products = result.get("matrix_products", ())
    if products:
        yield [*{product["gpu_index"] for product in products}]
    for item in result.get("collective_runs", ()):
        if item.get("nodes", 1) == 1:
            yield range(item["ranks"])


def _put_down(
    content: Content,
    measurement: Measurement,
    result: Mapping[str, Any] | None,
    problem: str,
) -> None:
    """Add what was measured to the snapshot, and what is missing of it."""
    source = f"speccheck bench {' '.join(measurement.bench)}"
    parts = [
        part
        for part in (result or {}).get(measurement.kind, ())
        if part.get("backend") != _HOSTS_ALONE  # it says nothing of GPUs
    ]
    known = content.get(measurement.kind)
    if parts or isinstance(known, list):
        content[measurement.kind] = [
            *(known if isinstance(known, list) else ()),
            *parts,
        ]
    elif problem and known is None:
        content[measurement.kind] = {
            "status": "failed",
            "source": source,
            "message": problem,
        }
    if not problem:
        return
    content.setdefault("cut_short", {}).setdefault(
        measurement.kind, f"{source}: {problem}"
    )
    if isinstance(content[measurement.kind], list):
        partly = {*content.get("partly_listed", ()), measurement.kind}
        content["partly_listed"] = sorted(partly)


def _tell(measurement: Measurement) -> None:
    """Say on a terminal what takes the time."""
    if sys.stderr.isatty():
        cost = COSTS[measurement.kind]
        sys.stderr.write(
            f"speccheck: tier {measurement.tier}: bench "
            f"{' '.join(measurement.bench)}, about "
            f"{cost.seconds:g} s\n"
        )
        sys.stderr.flush()

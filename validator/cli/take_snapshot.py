"""`speccheck probe`: a snapshot of this machine, as JSON."""

import json
import os
import secrets
from collections.abc import Sequence
from typing import Any

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.reports import node_file
from speccheck.validator.evidence.node.node import ProcessLaunch
from speccheck.validator.node.launcher import launch_of, name_of
from speccheck.validator.report.write import write

_NOT_LAUNCHED = ProcessLaunch()
_BUDGET = "10s"
_SALT_BYTES = 16
_SALT_VARIABLE = "SPECCHECK_SALT"


def take_snapshot(line: CommandLine) -> int:
    """Take a snapshot; returns the exit code: 0, or 2 for a wrong command line."""
    line.demand_no_file("see --out and --sysroot")
    host = os.uname().nodename
    launch = launch_of(os.environ, host)
    out = out_file(line, name_of(launch, host))
    if line.text("sysroot"):
        launch = ProcessLaunch()  # it is another machine that lies there
    seconds = seconds_of(line.text("budget") or _BUDGET)
    write(snapshot_text(snapshot_of(line, seconds, launch=launch)), out)
    return 0


def out_file(line: CommandLine, name: str) -> str | None:
    """Return the file of `--out`, of a node of that name; raises UsageError."""
    path = line.text("out")
    return None if path is None else node_file("--out", path, name, ".json")


def snapshot_text(content: dict[str, Any]) -> str:
    """Return the text of a snapshot, as it is kept."""
    return json.dumps(content, indent=1) + "\n"


def snapshot_of(
    line: CommandLine,
    seconds: float,
    topology_file: str = "",
    paths: Sequence[tuple[str, str]] = (),
    launch: ProcessLaunch = _NOT_LAUNCHED,
) -> dict[str, Any]:
    """Return a snapshot of this machine, or of its copied files; raises UsageError.

    Args:
        line: the command line.
        seconds: how long the probes may take.
        topology_file: the file of NCCL_TOPO_FILE that the job names, if it names one.
        paths: role and path of what else the job names: then they are looked at.
        launch: how this process was started.

    """
    from speccheck.probes.collect import (  # noqa: PLC0415 - no other command
        OF_A_JOB,
        PROBES,
        snapshot,
    )
    from speccheck.probes.instance import SERVICE  # noqa: PLC0415
    from speccheck.probes.specimens import (  # noqa: PLC0415
        without_credentials,
        without_specimens,
    )

    folder = line.text("sysroot") or "/"
    if not os.path.isdir(folder):
        message = f"--sysroot {folder}: no such folder"
        raise UsageError(message)
    keep = line.has("keep_identifiers")
    arguments: dict[str, tuple[str, ...]] = {
        "gpu": _record(line, folder, keep=keep),
        "driver": (topology_file,),
        OF_A_JOB: tuple(word for pair in paths for word in pair),
    }
    if line.has("imds"):
        arguments["instance"] = (SERVICE,)
    result = snapshot(
        root=folder,
        budget_seconds=seconds,
        probes=(*PROBES, OF_A_JOB) if paths else PROBES,
        arguments=arguments,
    )
    result = without_credentials(result)
    if not keep:
        result = without_specimens(result, _salt(line))
    if launch.engine != "none" or launch.node:
        result["launch"] = launch.content()
    return result


def _record(line: CommandLine, root: str, *, keep: bool) -> tuple[str, ...]:
    """Return what the probe of GPUs is told of the tape that is wanted, if one is."""
    from speccheck.probes.gpu import KEEP  # noqa: PLC0415 - no other command

    folder = line.text("record")
    if folder is None:
        return ()
    if os.path.realpath(root) != "/":
        message = "--record keeps a tape of this machine: leave out --sysroot"
        raise UsageError(message)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        message = f"--record {folder}: {error.strerror}"
        raise UsageError(message) from error
    if not os.access(folder, os.W_OK):
        message = f"--record {folder}: must be a folder to write to"
        raise UsageError(message)
    return os.path.abspath(folder), KEEP if keep else ""


def seconds_of(text: str) -> float:
    """Return the seconds of a budget, such as 10s; raises UsageError."""
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:  # noqa: PLR2004 - also refuses nan
        message = f"--budget {text}: must be seconds above zero, such as 10s"
        raise UsageError(message)
    return seconds


def _salt(line: CommandLine) -> bytes:
    text = line.text("salt") or os.environ.get(_SALT_VARIABLE)
    return text.encode() if text else secrets.token_bytes(_SALT_BYTES)

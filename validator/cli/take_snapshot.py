"""`speccheck probe`: a snapshot of this machine, as JSON."""

import json
import os
import secrets
import sys
from collections.abc import Sequence
from typing import Any

from speccheck.validator.cli.node_files import node_file
from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.options import Parsed, UsageError, parse
from speccheck.validator.cli.request import BUG, bug_message, passes_on
from speccheck.validator.evidence.node.node import Launch
from speccheck.validator.node.launcher import launch_of, name_of
from speccheck.validator.report.write import WriteError, write

_GROUP = "Machine"


def _option(flag: str, text: str, metavar: str = "") -> Option:
    return Option(flag, text, "text" if metavar else "switch", metavar, group=_GROUP)


def options(budget: str) -> tuple[Option, ...]:
    """The options of a snapshot; budget: the one by default, as people write it."""
    return (
        _option("--out", "write the snapshot to a file, or as NODE.json", "PATH"),
        _option("--budget", f"stop after so long (default {budget})", "SECONDS"),
        _option("--sysroot", "read copied files, and a tape, in DIR", "DIR"),
        _option("--record", "keep a tape of all calls of NVML there", "DIR"),
        _option("--imds", "ask the cloud's metadata service for the instance"),
        _option("--salt", "of the digests of serials and UUIDs", "TEXT"),
        _option("--keep-identifiers", "leave serials and UUIDs as they are"),
    )


_NOT_LAUNCHED = Launch()
_BUDGET = "10s"
OPTIONS = options(_BUDGET)
_USAGE = 2
_SALT_BYTES = 16
_SALT_VARIABLE = "SPECCHECK_SALT"
HELP = """\
usage: speccheck probe [options]

Reads what this machine is and how it is, and changes nothing. Judge the snapshot with
`speccheck node.json`, or at once with `speccheck probe | speccheck -`. Serial numbers,
UUIDs and addresses become digests; their salt is --salt, or the variable
SPECCHECK_SALT, or a new one each time.

`--record DIR` writes what NVML answered to DIR, to be sent to somebody else: with
`--sysroot DIR` the same snapshot can be taken of it anywhere.

Options:
"""


def take_snapshot(words: list[str]) -> int:
    """Take a snapshot; returns the exit code: 0, or 2 for a wrong command line."""
    if words and words[0] in {"-h", "--help"}:
        write(HELP + _options_help(), None)
        return 0
    try:
        parsed = parse(words, OPTIONS)
        _take_no_file(parsed)
        host = os.uname().nodename
        launch = launch_of(os.environ, host)
        out = out_file(parsed, name_of(launch, host))
        if _text(parsed, "sysroot"):
            launch = Launch()  # it is another machine that lies there
        seconds = seconds_of(_text(parsed, "budget") or _BUDGET)
        write(snapshot_text(snapshot_of(parsed, seconds, launch=launch)), out)
    except (UsageError, WriteError) as error:
        sys.stderr.write(f"speccheck: {error}\n")
        return _USAGE
    except Exception as error:
        if passes_on(error):
            raise
        sys.stderr.write(f"speccheck: {bug_message(error)}\n")
        return BUG
    return 0


def _take_no_file(parsed: Parsed) -> None:
    if parsed.files:
        message = f"probe takes no file: {parsed.files[0]}; see --out and --sysroot"
        raise UsageError(message)


def out_file(parsed: Parsed, name: str) -> str | None:
    """The file of `--out`, of a node of that name; raises UsageError."""
    path = _text(parsed, "out")
    return None if path is None else node_file("--out", path, name, ".json")


def _options_help() -> str:
    rows = (f"  {one.flag} {one.metavar}".ljust(28) + one.help for one in OPTIONS)
    return "\n".join(rows) + "\n"


def snapshot_text(content: dict[str, Any]) -> str:
    """The text of a snapshot, as it is kept."""
    return json.dumps(content, indent=1) + "\n"


def snapshot_of(
    parsed: Parsed,
    seconds: float,
    topology_file: str = "",
    paths: Sequence[tuple[str, str]] = (),
    launch: Launch = _NOT_LAUNCHED,
) -> dict[str, Any]:
    """A snapshot of this machine, or of its copied files; raises UsageError.

    Args:
        parsed: the command line.
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

    folder = _text(parsed, "sysroot") or "/"
    if not os.path.isdir(folder):
        message = f"--sysroot {folder}: no such folder"
        raise UsageError(message)
    keep = "keep_identifiers" in parsed.values
    arguments: dict[str, tuple[str, ...]] = {
        "gpu": _record(parsed, folder, keep=keep),
        "driver": (topology_file,),
        OF_A_JOB: tuple(word for pair in paths for word in pair),
    }
    if "imds" in parsed.values:
        arguments["instance"] = (SERVICE,)
    found = snapshot(
        root=folder,
        budget_seconds=seconds,
        probes=(*PROBES, OF_A_JOB) if paths else PROBES,
        arguments=arguments,
    )
    found = without_credentials(found)
    if not keep:
        found = without_specimens(found, _salt(parsed))
    if launch.engine != "none" or launch.node:
        found["launch"] = launch.content()
    return found


def _record(parsed: Parsed, root: str, *, keep: bool) -> tuple[str, ...]:
    """What the probe of GPUs is told of the tape that is wanted, if one is."""
    from speccheck.probes.gpu import KEEP  # noqa: PLC0415 - no other command

    folder = _text(parsed, "record")
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
    """The seconds of a budget, such as 10s; raises UsageError."""
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:  # noqa: PLR2004 - also refuses nan
        message = f"--budget {text}: must be seconds above zero, such as 10s"
        raise UsageError(message)
    return seconds


def _salt(parsed: Parsed) -> bytes:
    text = _text(parsed, "salt") or os.environ.get(_SALT_VARIABLE)
    return text.encode() if text else secrets.token_bytes(_SALT_BYTES)


def _text(parsed: Parsed, name: str) -> str | None:
    value = parsed.values.get(name)
    return value if isinstance(value, str) else None

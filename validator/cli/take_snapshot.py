"""`speccheck probe`: a snapshot of this machine, as JSON."""

import json
import os
import secrets
import sys

from speccheck.validator.cli.options import Option, Parsed, UsageError, parse
from speccheck.validator.cli.request import BUG, bug_message, wants_traceback
from speccheck.validator.report.write import WriteError, write

OPTIONS: tuple[Option, ...] = (
    Option("--out", "write the snapshot to a file", "text", "FILE"),
    Option("--budget", "stop after so long (default 10s)", "text", "SECONDS"),
    Option("--sysroot", "read copied files, and a tape, in DIR", "text", "DIR"),
    Option("--record", "keep a tape of all calls of NVML there", "text", "DIR"),
    Option("--imds", "ask the cloud's metadata service for the instance", "switch"),
    Option("--salt", "of the digests of serials and UUIDs", "text", "TEXT"),
    Option("--keep-identifiers", "leave serials and UUIDs as they are", "switch"),
)
_USAGE = 2
_BUDGET_SECONDS = 10.0
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
        write(_snapshot(parsed), _text(parsed, "out"))
    except (UsageError, WriteError) as error:
        sys.stderr.write(f"speccheck: {error}\n")
        return _USAGE
    except Exception as error:
        if wants_traceback():
            raise
        sys.stderr.write(f"speccheck: {bug_message(error)}\n")
        return BUG
    return 0


def _options_help() -> str:
    rows = (f"  {one.flag} {one.metavar}".ljust(28) + one.help for one in OPTIONS)
    return "\n".join(rows) + "\n"


def _snapshot(parsed: Parsed) -> str:
    from speccheck.probes.collect import snapshot  # noqa: PLC0415 - no other command
    from speccheck.probes.instance import SERVICE  # noqa: PLC0415
    from speccheck.probes.specimens import (  # noqa: PLC0415
        without_credentials,
        without_specimens,
    )

    if parsed.files:
        message = f"probe takes no file: {parsed.files[0]}; see --out and --sysroot"
        raise UsageError(message)
    folder = _text(parsed, "sysroot") or "/"
    if not os.path.isdir(folder):
        message = f"--sysroot {folder}: no such folder"
        raise UsageError(message)
    keep = "keep_identifiers" in parsed.values
    arguments = {"gpu": _record(parsed, folder, keep=keep)}
    if "imds" in parsed.values:
        arguments["instance"] = (SERVICE,)
    found = snapshot(root=folder, budget_seconds=_budget(parsed), arguments=arguments)
    found = without_credentials(found)
    if not keep:
        found = without_specimens(found, _salt(parsed))
    return json.dumps(found, indent=1) + "\n"


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


def _budget(parsed: Parsed) -> float:
    text = _text(parsed, "budget")
    if text is None:
        return _BUDGET_SECONDS
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

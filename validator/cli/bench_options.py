"""The options of `speccheck bench` for collectives, and what they ask for."""

import os
import re

from speccheck.probes.collectives.settings import (
    BACKENDS,
    DATA_TYPES,
    OPERATIONS,
    Settings,
)
from speccheck.validator.cli.option_table import OF_JUDGING, Kind, Option
from speccheck.validator.cli.options import Parsed, UsageError

_GROUP = "Measurement"
_MOST_RANKS = 1024
_MOST_SECONDS = 86_400.0
_MOST_ITERATIONS = 1_000_000
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LARGEST_BYTES = 2**44


def _option(flag: str, text: str, metavar: str = "", kind: Kind = "text") -> Option:
    kind = kind if metavar else "switch"
    return Option(flag, text, kind, metavar, group=_GROUP)


OPTIONS: tuple[Option, ...] = (
    _option("--ranks", "processes to start here (one a GPU)", "N", "integer"),
    _option("--backend", "nccl (where GPUs are) or gloo", "NAME"),
    _option("--min-size", "smallest message (1MiB)", "SIZE"),
    _option("--max-size", "largest message (8GiB; gloo 64MiB)", "SIZE"),
    _option("--data-type", f"{', '.join(DATA_TYPES)} (float32)", "TYPE"),
    _option("--iterations", "timed repetitions of each size (20)", "N", "integer"),
    _option("--warm-up", "repetitions before these (5)", "N"),
    _option("--no-compare", "do not compare results with the right ones"),
    _option("--budget", "end after so long, all in all (no limit)", "SECONDS"),
    _option("--deadline", "for all ranks to come (120s)", "SECONDS"),
    _option("--timeout", "for one repetition (60s)", "SECONDS"),
    _option("--plan", "rounds of `speccheck bench plan`", "FILE"),
    _option("--out", "write the measurement to a file", "FILE"),
    *OF_JUDGING,
)


def settings_of(name: str, parsed: Parsed) -> Settings:
    """What is to be measured; raises UsageError."""
    values = parsed.values
    if parsed.files:
        message = f"bench {name} takes no file: {parsed.files[0]}; see --plan and --out"
        raise UsageError(message)
    smallest = size_of(parsed, "min_size") or 2**20
    largest = size_of(parsed, "max_size") or 0
    if largest and largest < smallest:
        shown = values.get("max_size")
        message = f"--max-size {shown}: must not be below --min-size ({smallest} bytes)"
        raise UsageError(message)
    out = text_of(parsed, "out")
    if out is not None:
        _verify_folder(out)
    return Settings(
        collective=OPERATIONS[name],
        backend=_one_of(parsed, "backend", BACKENDS) or "",
        smallest_bytes=smallest,
        largest_bytes=largest,
        iterations=_iterations(parsed),
        warmup_iterations=_warm_up(parsed),
        data_type=_one_of(parsed, "data_type", tuple(DATA_TYPES)) or "float32",
        compares="no_compare" not in values,
        budget_seconds=_seconds(parsed, "budget") or 0.0,
        deadline_seconds=_seconds(parsed, "deadline") or 120.0,
        timeout_seconds=_seconds(parsed, "timeout") or 60.0,
        rounds=_rounds(text_of(parsed, "plan")),
    )


def ranks_of(parsed: Parsed) -> int | None:
    """How many processes to start; raises UsageError."""
    ranks = parsed.values.get("ranks")
    if not isinstance(ranks, int):
        return None
    if not 2 <= ranks <= _MOST_RANKS:  # noqa: PLR2004 - one rank has no other
        message = f"--ranks {ranks}: must be from 2 to {_MOST_RANKS}"
        raise UsageError(message)
    return ranks


def text_of(parsed: Parsed, name: str) -> str | None:
    """The value of an option that is a text."""
    value = parsed.values.get(name)
    return value if isinstance(value, str) else None


def _one_of(parsed: Parsed, name: str, known: tuple[str, ...]) -> str | None:
    value = text_of(parsed, name)
    if value is not None and value not in known:
        flag = "--" + name.replace("_", "-")
        message = f"{flag} {value}: must be one of {', '.join(known)}"
        raise UsageError(message)
    return value


def _iterations(parsed: Parsed) -> int:
    found = parsed.values.get("iterations", 20)
    if not isinstance(found, int) or found > _MOST_ITERATIONS:
        message = f"--iterations {found}: must be at most {_MOST_ITERATIONS:,}"
        raise UsageError(message)
    return found


def _warm_up(parsed: Parsed) -> int:
    text = text_of(parsed, "warm_up") or "5"
    if not text.isdecimal() or int(text) > _MOST_ITERATIONS:
        message = f"--warm-up {text}: must be a whole number from 0"
        raise UsageError(message)
    return int(text)


def _seconds(parsed: Parsed, name: str) -> float | None:
    text = text_of(parsed, name)
    if text is None:
        return None
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MOST_SECONDS:
        message = f"--{name} {text}: must be seconds above zero, such as 60s"
        raise UsageError(message)
    return seconds


def size_of(parsed: Parsed, name: str) -> int | None:
    """Bytes: 4MiB and, as nccl-tests has it, 4M are the same; 4MB is less."""
    text = text_of(parsed, name)
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    size = 0
    if found:
        number, unit, binary, byte = found.groups()
        base = 1000 if unit and byte and not binary else 1024
        size = int(float(number) * base ** _POWERS[unit.lower()])
    if not 0 < size <= _LARGEST_BYTES:
        flag = "--" + name.replace("_", "-")
        message = f"{flag} {text}: must be a size above zero, such as 1MiB or 8GiB"
        raise UsageError(message)
    return size


def _verify_folder(path: str) -> None:
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        message = f"--out {path}: {folder} must be a folder to write to"
        raise UsageError(message)
    if os.path.isdir(path):
        message = f"--out {path}: is a folder"
        raise UsageError(message)


def _rounds(path: str | None) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """The rounds of a plan: in each, the sets of hosts that measure together."""
    if path is None:
        return ()
    # Few measurements go by a plan.
    from speccheck.validator.cli.bench_results import plans_of  # noqa: PLC0415

    (plan,) = plans_of([path])
    if not plan.rounds:
        message = f"--plan {path}: it has no rounds"
        raise UsageError(message)
    return plan.rounds

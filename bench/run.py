"""What speccheck costs: CPU time and memory of whole processes, held to targets.

CPU time (user and system) comes from the kernel when a process ends and is the minimum
of several runs, so that other load on the machine hardly moves it. Start-up is given as
a ratio to `python -c pass`, measured in turn with it, so that machines can be compared.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from configurations import PUBLISHED, TEMPLATES, fill, write_from_templates
from preflight_cost import eight_gpus

ROOT = Path(__file__).resolve().parents[1]
# What the installed command does; the checkout needs no install.
_ENTRY = "from speccheck.validator.cli.main import run; run()"
SPECCHECK = (sys.executable, "-c", _ENTRY)
BASELINE = (sys.executable, "-c", "pass")

VERSION_TARGET = 3.0  # times `python -c pass`
ONE_FILE_TARGET = 7.0  # by all rules
PUBLISHED_TARGET = 100.0
PREFLIGHT_TARGET = 150.0  # of tier 0, with all probes, on a node of eight GPUs
# 10,000 nodes in 15 s on one core of a machine on which `python -c pass` takes 9 ms.
FLEET_NODES = 2000
FLEET_TARGET = 15 / 0.009 * FLEET_NODES / 10_000
FLEET_TARGET_BYTES = 200_000_000
SETTINGS_TARGET = 0.8  # beyond the same said by options: most of it is tomllib
MANY_FILES = 1000
MANY_FILES_TARGET_SECONDS = 1.2
MANY_FILES_TARGET_BYTES = 45_000_000
_BYTES_PER_KIBIBYTE = 1024
_WITH_SETTINGS = "trainer.yaml"
_SETTINGS = """\
ignore = ["CKPT-002"]
fail-on = "warning"

[facts]
nodes = 2
gpus-per-node = 8

[facts-for."sft/**"]
role = "sft"
"""
_THE_SAME = ("--ignore=CKPT-002", "--fail-on=warning", "--nodes=2", "--gpus-per-node=8")
_ENDINGS = (0, 1, 3)  # judged, whatever was found


class Cost(NamedTuple):
    """What one process, or the cheapest of several, used.

    Linux counts the memory of the process that starts another as that one's too, so the
    peak is never less than what this script holds: it imports little.
    """

    cpu_seconds: float
    peak_bytes: int


class Row(NamedTuple):
    """One line of the table; a figure without a target is only shown."""

    what: str
    figure: str
    target: str
    holds: bool | None


def run_once(command: Sequence[str], folder: Path) -> Cost:
    """Run a command to its end; exits when it does not judge."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".imports")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installers compile, too
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in _ENDINGS:
            errors.seek(0)
            text = errors.read().decode(errors="replace")
            sys.exit(f"{' '.join(command)} ended with {process.returncode}\n{text}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * _BYTES_PER_KIBIBYTE)


def cheapest(
    commands: Sequence[Sequence[str]], folder: Path, runs: int
) -> tuple[Cost, ...]:
    """Return the cheapest run of each command, all of them in turn.

    One run before the others is not counted: it writes bytecode and warms the disk.
    """
    for command in commands:
        run_once(command, folder)
    rounds = [[run_once(command, folder) for command in commands] for _ in range(runs)]
    return tuple(
        Cost(min(c.cpu_seconds for c in costs), min(c.peak_bytes for c in costs))
        for costs in zip(*rounds, strict=True)
    )


def start_up(runs: int) -> list[Row]:
    """Return the version, and one file of each kind judged by all rules."""
    templates = sorted(TEMPLATES.iterdir())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for template in templates:
            text = fill(template, 1)
            (folder / template.name).write_text(text, encoding="utf-8")
        files = [(*SPECCHECK, template.name) for template in templates]
        costs = cheapest((BASELINE, (*SPECCHECK, "--version"), *files), folder, runs)
    baseline = costs[0].cpu_seconds
    rows = [Row("python -c pass", f"{baseline * 1000:6.1f} ms", "", None)]
    names = ["--version", *(template.name for template in templates)]
    for what, cost in zip(names, costs[1:], strict=True):
        target = VERSION_TARGET if what == "--version" else ONE_FILE_TARGET
        rows.append(_ratio(f"speccheck {what}", cost.cpu_seconds, baseline, target))
    return rows


def with_settings(runs: int) -> list[Row]:
    """Return what it costs to find and read a settings file, beside what it says."""
    template = TEMPLATES / _WITH_SETTINGS
    by_settings = (*SPECCHECK, template.name)
    by_options = (*by_settings, "--isolated", *_THE_SAME)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ".git").mkdir()
        (folder / template.name).write_text(fill(template, 1), encoding="utf-8")
        (folder / "speccheck.toml").write_text(_SETTINGS, encoding="utf-8")
        costs = cheapest((BASELINE, by_options, by_settings), folder, runs)
    baseline, value, other = (cost.cpu_seconds for cost in costs)
    more = other - value
    figure = f"{more * 1000:7.1f} ms, {more / baseline:5.2f} times as much"
    return [
        Row(
            f"  settings of {template.name}",
            figure,
            f"at most {SETTINGS_TARGET:g} times",
            more / baseline <= SETTINGS_TARGET,
        )
    ]


def _ratio(what: str, seconds: float, baseline: float, target: float) -> Row:
    ratio = seconds / baseline
    figure = f"{seconds * 1000:7.1f} ms, {ratio:5.2f} times as much"
    return Row(what, figure, f"at most {target:g} times", ratio <= target)


def preflight(runs: int) -> list[Row]:
    """Return what preflight's tier 0 and its line cost on a node of eight GPUs."""
    judge = (*SPECCHECK, "preflight", "--result", "result.json", "--out", "node.json")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        variables = eight_gpus(folder)
        if not variables:
            return []
        before = dict(os.environ)
        os.environ.update(variables)
        baseline, cost = cheapest((BASELINE, judge), folder, runs)
        os.environ.clear()
        os.environ.update(before)
    what = "speccheck preflight, 8 GPUs"
    seconds = baseline.cpu_seconds
    return [_ratio(what, cost.cpu_seconds, seconds, PREFLIGHT_TARGET)]


def fleet(runs: int) -> list[Row]:
    """Return what a core needs to judge healthy machines of eight GPUs by all rules."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nodes = ("--nodes", str(FLEET_NODES), "--out", "fleet/", "--quiet")
        run_once((*SPECCHECK, "simulate", *nodes), folder)
        judge = (*SPECCHECK, "fleet", "fleet", "--cores", "1")
        baseline, cost = cheapest((BASELINE, judge), folder, runs)
    what = f"speccheck fleet, {FLEET_NODES:,} nodes"
    each = f"{cost.cpu_seconds * 1000 / FLEET_NODES:.2f} ms a node"
    row = _ratio(what, cost.cpu_seconds, baseline.cpu_seconds, FLEET_TARGET)
    return [
        row._replace(figure=f"{row.figure}, {each}"),
        Row(
            "  peak memory",
            f"{cost.peak_bytes / 1e6:7.1f} MB",
            f"at most {FLEET_TARGET_BYTES / 1e6:g} MB",
            cost.peak_bytes <= FLEET_TARGET_BYTES,
        ),
    ]


def published(runs: int) -> list[Row]:
    """Return what the published configurations beside the checkout cost, if any."""
    if not PUBLISHED.is_dir():
        return []
    count = sum(1 for path in PUBLISHED.rglob("*") if path.is_file())
    judge = (*SPECCHECK, str(PUBLISHED))
    baseline, cost = cheapest((BASELINE, judge), ROOT, runs)
    what = f"{count} published files of {len(list(PUBLISHED.iterdir()))} kinds"
    return [_ratio(what, cost.cpu_seconds, baseline.cpu_seconds, PUBLISHED_TARGET)]


def throughput(runs: int) -> list[Row]:
    """Return what many configurations cost in one process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        what = write_from_templates(folder, MANY_FILES)
        (cost,) = cheapest([(*SPECCHECK, ".")], folder, runs)
    seconds, size = cost
    return [
        Row(
            what,
            f"{seconds:7.2f} s, {seconds * 1000 / MANY_FILES:4.2f} ms each",
            f"at most {MANY_FILES_TARGET_SECONDS:g} s",
            seconds <= MANY_FILES_TARGET_SECONDS,
        ),
        Row(
            "  peak memory",
            f"{size / 1e6:7.1f} MB",
            f"at most {MANY_FILES_TARGET_BYTES / 1e6:g} MB",
            size <= MANY_FILES_TARGET_BYTES,
        ),
    ]


def machine() -> str:
    """Return the processor, cores and Python, in a line."""
    processor = platform.machine()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                processor = value.strip()
                break
    cores = os.cpu_count()
    return f"{processor}, {cores} cores, Python {platform.python_version()}"


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    words = {True: "holds", False: "MISSED", None: ""}
    lines = [(row.what, row.figure, row.target, words[row.holds]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description="Measure what speccheck costs.")
    parser.add_argument("--runs", type=int, default=15, help="of each short command")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 when a target is missed"
    )
    options = parser.parse_args()
    print(machine())
    print(f"CPU time of whole processes, minimum of {options.runs} runs")
    rows = start_up(options.runs)
    rows += with_settings(2 * options.runs)
    rows += preflight(max(1, options.runs // 2))
    rows += fleet(max(1, options.runs // 5))
    rows += published(max(1, options.runs // 2))
    rows += throughput(max(1, options.runs // 5))
    show(rows)
    return int(options.strict and any(row.holds is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())

"""`--watch` judges again when a file that was read changes, and only then."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

_COMMAND = [sys.executable, "-m", "speccheck"]
_WATCHING = "watching"
_GOOD = """\
speccheck: 1
batch:
  micro_batch_size: 2
  gradient_accumulation_steps: 8
  global_batch_size: 1024
cluster:
  world_size: 64
parallelism:
  data_parallel_size: 64
"""
_BAD = _GOOD.replace("1024", "512")


class Watched:
    """A program that watches, read report by report."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._process = subprocess.Popen(
            [*_COMMAND, *words, "--watch", "--output", "concise"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def report(self) -> str:
        """Return all lines up to that it watches again."""
        assert self._process.stdout
        lines: list[str] = []
        for line in self._process.stdout:
            if line.startswith(_WATCHING):
                return "".join(lines) + line
            lines.append(line)
        pytest.fail("it ended: " + "".join(lines))

    def interrupt(self) -> int:
        self._process.send_signal(signal.SIGINT)
        return self._process.wait()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "config.yaml").write_text(_GOOD, "utf-8")
    return tmp_path


@pytest.fixture
def started(folder: Path) -> Iterator[Watched]:
    watched = Watched(folder, "job")
    yield watched
    watched.close()


def test_a_change_is_judged_and_an_interrupt_ends_it(
    folder: Path, started: Watched
) -> None:
    first = started.report()
    assert "BATCH-001" not in first
    assert "watching 1 file; Ctrl-C ends" in first
    (folder / "job" / "config.yaml").write_text(_BAD, "utf-8")
    assert "error BATCH-001 global_batch_differs_from_product" in started.report()
    assert started.interrupt() == 130


def test_a_new_file_is_found(folder: Path, started: Watched) -> None:
    assert "watching 1 file" in started.report()
    (folder / "job" / "other.yaml").write_text(_BAD, "utf-8")
    second = started.report()
    assert "job/other.yaml:" in second
    assert "watching 2 files" in second


def test_a_file_that_goes_is_no_end(folder: Path, started: Watched) -> None:
    started.report()
    (folder / "job" / "config.yaml").unlink()
    assert (
        "nothing was judged: no file is a training configuration (exit 3)"
        in started.report()
    )


def test_a_broken_file_is_told_and_watched(folder: Path, started: Watched) -> None:
    started.report()
    config = folder / "job" / "config.yaml"
    config.write_text("speccheck: 1\nbatch: [\n", "utf-8")
    assert "job/config.yaml:" in started.report()
    config.write_text(_BAD, "utf-8")
    assert "BATCH-001" in started.report()


def test_what_a_report_writes_is_not_watched(folder: Path) -> None:
    watched = Watched(folder, "job", "--output", "json=report.json")
    try:
        assert "watching 1 file;" in watched.report()
        (folder / "job" / "config.yaml").write_text(_BAD, "utf-8")
        assert "watching 1 file;" in watched.report()
        assert "BATCH-001" in (folder / "report.json").read_text("utf-8")
    finally:
        watched.close()


def test_settings_that_come_to_be_are_seen(folder: Path, started: Watched) -> None:
    first = started.report()
    assert "nothing wrong found in 8 of 15 required checks" in first
    settings = "[facts]\nnodes = 2\n[facts-for.'job/**']\nnodes = 3\n"
    (folder / "job" / "speccheck.toml").write_text("ignore = 1\n", "utf-8")
    assert "job/speccheck.toml:1" in started.report()
    (folder / "job" / "speccheck.toml").write_text(settings, "utf-8")
    assert "speccheck.toml:1" not in started.report()


def test_a_wrong_command_line_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere.yaml", "--watch", "--bogus"]) == 2
    assert "no option --bogus" in capfd.readouterr().err


def test_standard_input_cannot_be_watched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-", "--watch"]) == 2
    assert "standard input cannot be watched" in capsys.readouterr().err

"""Where reports go: all of them or none, and one line when one cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from machine_reports import (
    DEEPSPEED,
    FAULTY_NODE,
    FORMS_FOR_PROGRAMS,
    JOB,
    repository,
)
from speccheck.validator.cli.main import main
from speccheck.validator.report.write import WriteError, write_all

FULL = "/dev/full"
SAME = "the same file as --output json=a: name another file"
LOST = "this file is judged, and would be lost: name another file"
needs_full = pytest.mark.skipif(not os.path.exists(FULL), reason=f"no {FULL} here")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path, monkeypatch)
    (tmp_path / "ds.json").write_text(DEEPSPEED, "utf-8")
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def refused(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> str:
    """Return the one line that a command line is refused with; nothing is written."""
    before = files(folder), (folder / "ds.json").read_text("utf-8")
    assert main(["ds.json", *JOB, *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("speccheck: ")
    assert shown.err.count("\n") == 1
    assert (files(folder), (folder / "ds.json").read_text("utf-8")) == before
    return shown.err.removeprefix("speccheck: ").rstrip("\n")


def test_one_run_writes_every_form(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"--output={form}=out.{form}" for form in FORMS_FOR_PROGRAMS]
    assert main(["ds.json", *JOB, *words, "--output", "concise"]) == 1
    assert capsys.readouterr().out.startswith("ds.json:2:23: error BATCH-001")
    assert files(folder) == {"ds.json", *(f"out.{item}" for item in FORMS_FOR_PROGRAMS)}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--output=sarif=gone/a.sarif"],
            "--output sarif=gone/a.sarif: no such folder: gone",
        ),
        (["--output=sarif=dir"], "--output sarif=dir: a folder: name a file in it"),
        (
            ["--output=sarif=ds.json/a"],
            "--output sarif=ds.json/a: no such folder: ds.json",
        ),
        (
            ["--output=json=a", "--output=sarif=a"],
            f"--output sarif=a: {SAME}",
        ),
        (
            ["--output=json=a", "--output=sarif=./dir/../a"],
            f"--output sarif=./dir/../a: {SAME}",
        ),
        (
            ["--output=json=a", "--output=sarif=link"],
            f"--output sarif=link: {SAME}",
        ),
        (["--output=json=a", "--output=json=a"], "--output json=a is given twice"),
        (
            ["--output=json=a", "--output=junit=dir/b/c"],
            "--output junit=dir/b/c: no such folder: dir/b",
        ),
        (
            ["--output=json=ds.json"],
            f"--output json=ds.json: {LOST}",
        ),
        (
            ["--output=sarif=hard"],
            f"--output sarif=hard: {LOST}",
        ),
        (
            ["--output=json=a.svg", "--plot=a.svg"],
            "--output json=a.svg: the same file as --plot: name another file",
        ),
        (
            ["--output=json=node.json", "--node=node.json"],
            f"--output json=node.json: {LOST}",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(
    words: list[str], says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "dir").mkdir()
    (folder / "link").symlink_to("a")
    (folder / "hard").hardlink_to(folder / "ds.json")
    (folder / "node.json").write_bytes(FAULTY_NODE.read_bytes())
    assert refused(capsys, folder, *words) == says


@pytest.mark.parametrize("more", [[], ["--gpu", "Voodoo2"]], ids=["runs", "does not"])
@pytest.mark.parametrize("argument", [".", "job.sh"])
def test_a_file_that_a_folder_or_another_file_gave_is_not_lost(
    argument: str, more: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launch = "torchrun --nnodes 8 --nproc_per_node 8 train.py --deepspeed ds.json\n"
    (folder / "job.sh").write_text(launch)
    reports = ["--output", "sarif=a.sarif", "--output", "json=ds.json"]
    assert main([argument, *JOB, *reports, *more]) == 2
    assert capsys.readouterr().err == f"speccheck: --output json=ds.json: {LOST}\n"
    assert (folder / "ds.json").read_text("utf-8") == DEEPSPEED
    assert files(folder) == {"ds.json", "job.sh"}


def test_a_file_that_is_judged_only_because_the_user_says_so_is_not_lost(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = '{"train_batch_size": 64}'
    (folder / "few.json").write_text(few)
    words = [".", "--format", "deepspeed", "--output", "json=few.json"]
    assert main(words) == 2
    assert capsys.readouterr().err == f"speccheck: --output json=few.json: {LOST}\n"
    assert (folder / "few.json").read_text() == few


def test_a_report_of_before_may_lie_in_the_folder_that_is_judged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [".", *JOB, "--output", "json=report.json"]
    assert main(words) == main(words) == 1
    assert capsys.readouterr().err == ""
    assert files(folder) == {"ds.json", "report.json"}


@pytest.mark.skipif(os.geteuid() == 0, reason="everything may be written by root")
def test_what_may_not_be_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "shut").mkdir(mode=0o500)
    says = refused(capsys, folder, "--output=json=shut/a")
    assert says == "--output json=shut/a: nothing may be written in shut"


@needs_full
@pytest.mark.parametrize(
    "words",
    [
        ["--output", f"junit={FULL}", "--output", "sarif=a"],
        ["--output", "sarif=a", "--output", f"junit={FULL}"],
        ["--output", "json=a", "--output", f"sarif={FULL}", "--output", "concise"],
    ],
)
def test_a_full_disk_leaves_no_report_at_all(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    says = refused(capsys, folder, *words)
    assert says == f"{FULL}: report not written: No space left on device"


@needs_full
def test_standard_output_may_be_full(folder: Path) -> None:
    words = [sys.executable, "-m", "speccheck", "ds.json", *JOB, "--output", "sarif=a"]
    with open(FULL, "w") as full:
        done = subprocess.run(
            [*words, "--output", "json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=folder,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "speccheck: standard output: report not written: No space left on device\n"
    )
    assert files(folder) == {"ds.json"}


def test_a_reader_that_goes_away_keeps_no_file_back(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "speccheck", "ds.json", *JOB, "--output", "sarif=a"]
    done = subprocess.run(
        [*words, "--output", "concise"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=folder,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
    assert files(folder) == {"ds.json", "a"}


def test_devices_may_be_named_twice(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--output", "sarif=/dev/zero", "--output", "junit=/dev/zero"]
    assert main(["ds.json", *JOB, *words]) == 1
    assert capsys.readouterr().err == ""
    assert files(folder) == {"ds.json"}


def test_reports_are_written_all_or_none(folder: Path) -> None:
    (folder / "one").write_text("before")

    def broken() -> list[str]:
        (folder / "gone").rmdir()
        return ["text"]

    (folder / "gone").mkdir()
    with pytest.raises(WriteError, match="gone/two: report not written"):
        write_all([(("after",), "one"), (broken(), "gone/two")])
    assert (folder / "one").read_text() == "before"
    assert files(folder) == {"ds.json", "one"}


def test_a_name_that_is_no_utf8_is_told_all_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(b"ds \xff.json")
    try:
        (folder / "ds.json").rename(folder / name)
    except OSError:
        pytest.skip("file names are UTF-8 here")
    words = [f"--output={form}=out.{form}" for form in (*FORMS_FOR_PROGRAMS, "json")]
    assert main([name, *JOB, *words]) == 1
    assert capsys.readouterr().err == ""
    text = (folder / "out.sarif").read_text("utf-8")
    assert '"uri": "ds%20%FF.json"' in text


def test_a_command_line_that_is_wrong_elsewhere_costs_no_configuration(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report of a run that could not begin is no reason to lose one."""
    assert main(["ds.json", "--output", "json=ds.json", "--bogus"]) == 2
    assert capsys.readouterr().err.startswith("speccheck: no option --bogus")
    assert (folder / "ds.json").read_text("utf-8") == DEEPSPEED

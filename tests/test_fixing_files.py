"""Which files are edited, and how they are written: whole, and all or none."""

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.run.fixing import write_all

ROOT = Path(__file__).resolve().parents[1]
OLD = "export NCCL_ASYNC_ERROR_HANDLING=1\ntorchrun --nnodes 1 train.py\n"
NEW = OLD.replace("NCCL_ASYNC", "TORCH_NCCL_ASYNC")
FIXED = "speccheck: fixed 1 finding in 1 file (deprecated_variable: 1)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inside = tmp_path / "repository"
    inside.mkdir()
    (inside / ".git").mkdir()
    (inside / "run.sh").write_text(OLD)
    monkeypatch.chdir(inside)
    return inside


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Call it with edits that their owner has to want, if with any."""
    edits = {"--fix", "--diff"} & {*words}
    code = main([*words, *(["--unsafe-fixes"] if edits else [])])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_mode_and_line_ends_and_byte_order_mark_stay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "run.sh"
    path.write_bytes(b"\xef\xbb\xbf" + OLD.replace("\n", "\r\n").encode())
    path.chmod(0o750)
    assert run(capsys, "run.sh", "--fix")[2] == FIXED
    assert path.read_bytes() == b"\xef\xbb\xbf" + NEW.replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o7777 == 0o750
    assert [item.name for item in folder.iterdir() if item.is_file()] == ["run.sh"]


def test_a_link_within_the_repository_stays_a_link(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobs").mkdir()
    (folder / "run.sh").rename(folder / "jobs" / "real.sh")
    (folder / "run.sh").symlink_to("jobs/real.sh")
    assert run(capsys, "run.sh", "--fix")[2] == FIXED
    assert (folder / "run.sh").is_symlink()
    assert (folder / "jobs" / "real.sh").read_text() == NEW


def test_a_link_out_of_the_repository_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = folder.parent / "outside.sh"
    (folder / "run.sh").rename(outside)
    (folder / "run.sh").symlink_to("../outside.sh")
    _, _, err = run(capsys, "run.sh", "--fix")
    assert err == (
        "speccheck: not fixed: CONF-004 deprecated_variable at run.sh "
        f"NCCL_ASYNC_ERROR_HANDLING: run.sh is a link that leads out of {folder}; by "
        "hand: rename NCCL_ASYNC_ERROR_HANDLING to TORCH_NCCL_ASYNC_ERROR_HANDLING\n"
    )
    assert outside.read_text() == OLD


def test_a_read_only_file_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run.sh").chmod(0o444)
    _, _, err = run(capsys, "run.sh", "--fix")
    assert ": run.sh is read-only; by hand: rename NCCL_ASYNC_ERROR_HANDLING" in err
    assert (folder / "run.sh").read_text() == OLD


@pytest.mark.usefixtures("folder")
def test_standard_input_is_shown_and_not_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream:
        def __init__(self) -> None:
            self.buffer = BytesIO(OLD.encode())

    monkeypatch.setattr(sys, "stdin", Stream())
    code, out, _ = run(capsys, "-", "--stdin-filename", "job.sh", "--diff")
    assert code == 1
    assert "+++ b/job.sh\n" in out
    assert "+export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n" in out
    code, _, err = run(capsys, "-", "--stdin-filename", "job.sh", "--fix")
    assert code == 2
    assert err == (
        "speccheck: --fix cannot write standard input: speccheck - --diff shows it\n"
    )


def test_a_file_that_changes_meanwhile_is_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "other.sh").write_text(OLD)

    def late(texts: dict[str, tuple[str, str]]) -> None:
        (folder / "run.sh").write_text(OLD + "# saved by an editor\n")
        write_all(texts)

    monkeypatch.setattr("speccheck.validator.cli.fix.write_all", late)
    code, _, err = run(capsys, "--each", "run.sh", "other.sh", "--fix")
    assert code == 2
    assert err == (
        "speccheck: run.sh changed while it was judged: no file was fixed; run again\n"
    )
    assert (folder / "other.sh").read_text() == OLD
    assert sorted(item.name for item in folder.iterdir()) == [
        ".git",
        "other.sh",
        "run.sh",
    ]


_WITHOUT_ROOM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
from speccheck.validator.cli.main import main
from speccheck.validator.run.fixing import write_all
sys.exit(main(sys.argv[1:]))
"""


def test_without_room_for_one_file_none_is_written(folder: Path) -> None:
    long = OLD + "# a long comment\n" * 50
    (folder / "long.sh").write_text(long)
    ended = subprocess.run(
        [
            sys.executable,
            "-B",
            "-c",
            _WITHOUT_ROOM,
            "--each",
            "run.sh",
            "long.sh",
            "--fix",
            "--unsafe-fixes",
        ],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == (
        "speccheck: long.sh: not fixed, and no other file: File too large\n"
    )
    assert (folder / "run.sh").read_text() == OLD
    assert (folder / "long.sh").read_text() == long
    assert sorted(item.name for item in folder.iterdir()) == [
        ".git",
        "long.sh",
        "run.sh",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_keeps_its_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.chmod(0o555)
    try:
        code, _, err = run(capsys, "run.sh", "--fix")
    finally:
        folder.chmod(0o755)
    assert code == 2
    assert err == (
        "speccheck: run.sh: not fixed, and no other file: Permission denied\n"
    )
    assert (folder / "run.sh").read_text() == OLD


def test_escapes_and_credentials_do_not_reach_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "hf_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7z" + "Ab3"
    (folder / "run.sh").write_text(f"# \x1b[2J {token}\n{OLD}")
    _, out, _ = run(capsys, "run.sh", "--diff")
    assert "\x1b" not in out
    assert token not in out
    assert f" # \\x1b[2J hf_{'*' * (len(token) - 3)}\n" in out


def test_no_line_of_a_diff_is_a_command_for_a_runner(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "run.sh").write_text(f"::error::a\n# ##vso[task.complete]\n{OLD}")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    _, out, _ = run(capsys, "run.sh", "--diff")
    assert " : :error::a\n # # #vso[task.complete]\n" in out
    assert "##vso[" not in out


def test_a_last_line_without_an_end_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.env").write_text("NCCL_DEBUG=WARN\nNCCL_ASYNC_ERROR_HANDLING=1")
    _, out, _ = run(capsys, "a.env", "--diff")
    assert out == (
        "--- a/a.env\n+++ b/a.env\n@@ -1,2 +1,2 @@\n NCCL_DEBUG=WARN\n"
        "-NCCL_ASYNC_ERROR_HANDLING=1\n\\ No newline at end of file\n"
        "+TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n\\ No newline at end of file\n"
    )


def test_the_diff_applies_with_git(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "crlf.env").write_bytes(b"NCCL_ASYNC_ERROR_HANDLING=1\r\nA=1\r\n")
    _, out, _ = run(capsys, "--each", "run.sh", "crlf.env", "--diff")
    (folder / "a.diff").write_bytes(out.encode())
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)  # noqa: S607
    subprocess.run(["git", "apply", "a.diff"], cwd=folder, check=True)  # noqa: S607
    assert (folder / "run.sh").read_text() == NEW
    assert (folder / "crlf.env").read_bytes() == (
        b"TORCH_NCCL_ASYNC_ERROR_HANDLING=1\r\nA=1\r\n"
    )

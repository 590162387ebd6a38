"""`--diff` and `--fix`: what is changed, what is not, and what is said of it."""

from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=4
# what hangs is aborted
export NCCL_ASYNC_ERROR_HANDLING=1   # since 2023
export NCCL_DEBUG=WARN
srun torchrun --nnodes 4 --nproc-per-node 8 \\
  --rdzv-backend c10d --rdzv-endpoint head:29500 \\
  train.py
"""
MENDED = SCRIPT.replace("export NCCL_ASYNC", "export TORCH_NCCL_ASYNC")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "run.sh").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_diff_shows_the_line_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "run.sh", "--diff")
    assert code == 1
    assert out == (
        "--- a/run.sh\n+++ b/run.sh\n@@ -1,7 +1,7 @@\n #!/bin/bash\n"
        " #SBATCH --nodes=4\n # what hangs is aborted\n"
        "-export NCCL_ASYNC_ERROR_HANDLING=1   # since 2023\n"
        "+export TORCH_NCCL_ASYNC_ERROR_HANDLING=1   # since 2023\n"
        " export NCCL_DEBUG=WARN\n"
        " srun torchrun --nnodes 4 --nproc-per-node 8 \\\n"
        "   --rdzv-backend c10d --rdzv-endpoint head:29500 \\\n"
    )
    assert err == (
        "speccheck: would fix 1 finding in 1 file (deprecated_variable: 1)\n"
    )
    assert (folder / "run.sh").read_text() == SCRIPT


def test_a_fix_is_written_and_what_is_left_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, err = run(capsys, "run.sh", "--fix")
    assert err == "speccheck: fixed 1 finding in 1 file (deprecated_variable: 1)\n"
    assert (folder / "run.sh").read_text() == MENDED
    assert "deprecated_variable" not in out
    code, out, err = run(capsys, "run.sh", "--diff")
    assert (code, out, err) == (0, "", "speccheck: nothing to fix\n")

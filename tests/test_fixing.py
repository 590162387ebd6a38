"""`--diff` and `--fix`: what is changed, what is not, and what is said of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fix_page import PAGE, page
from speccheck.validator.cli.main import main

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=4
# what fails is aborted
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
    code, out, err = run(capsys, "run.sh", "--diff", "--unsafe-fixes")
    assert code == 1
    assert out == (
        "--- a/run.sh\n+++ b/run.sh\n@@ -1,7 +1,7 @@\n #!/bin/bash\n"
        " #SBATCH --nodes=4\n # what fails is aborted\n"
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
    _, out, err = run(capsys, "run.sh", "--fix", "--unsafe-fixes")
    assert err == "speccheck: fixed 1 finding in 1 file (deprecated_variable: 1)\n"
    assert (folder / "run.sh").read_text() == MENDED
    assert "deprecated_variable" not in out
    code, out, err = run(capsys, "run.sh", "--diff")
    assert (code, out, err) == (0, "", "speccheck: nothing to fix\n")


@pytest.mark.usefixtures("folder")
def test_the_text_report_says_what_fix_would_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run(capsys, "run.sh")
    assert (
        "  edit  rename NCCL_ASYNC_ERROR_HANDLING to TORCH_NCCL_ASYNC_ERROR_HANDLING\n"
        "        (--fix --unsafe-fixes does it)\n"
    ) in out


@pytest.mark.usefixtures("folder")
def test_a_file_that_cannot_be_read_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "absent.yaml", "--diff")
    assert (code, out) == (2, "")
    assert err == "speccheck: absent.yaml: no such file; correct the path\n"


@pytest.mark.usefixtures("folder")
def test_the_json_report_holds_the_edits(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "run.sh", "--output", "json")
    findings: list[dict[str, Any]] = json.loads(out)["findings"]
    fixes = [
        finding["fix"]
        for finding in findings
        if finding["rule"] == "deprecated_variable"
    ]
    assert fixes == [
        {
            "says": "rename NCCL_ASYNC_ERROR_HANDLING to "
            "TORCH_NCCL_ASYNC_ERROR_HANDLING",
            "is_safe": False,
            "edits": [
                {
                    "file": "run.sh",
                    "line": 4,
                    "column": 8,
                    "end_line": 4,
                    "end_column": 33,
                    "text": "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                }
            ],
        }
    ]


_LOADED = """
import sys
from speccheck.validator.cli.main import main
main(["run.sh"])
print([one for one in sys.modules if "fixing" in one or one.endswith("cli.fix")])
"""


def test_a_run_without_fixes_loads_nothing_of_them(folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.rstrip().endswith("\n[]")


@pytest.mark.slow
def test_the_page_lists_the_rules_that_have_fixes() -> None:
    written = PAGE.read_text("utf-8")
    assert written == page(written), "run make generate"

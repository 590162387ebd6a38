"""Edits that nobody asked for break nothing: cautions, deletions, and a second time."""

import json
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rule_fixes import files_after
from rule_fixtures import all_fixtures, findings_of, load
from speccheck.validator.cli.main import main

MODEL = "--num-layers 24 --hidden-size 2048 --micro-batch-size 1"
QUEUES = "export CUDA_DEVICE_MAX_CONNECTIONS=8\n"
H100 = ("--nodes", "4", "--gpu", "H100-80GB")
TRAINS = f"torchrun pretrain_gpt.py --tensor-model-parallel-size 4 {MODEL}\n"


def fix_of(
    capsys: pytest.CaptureFixture[str], folder: Path, text: str, rule: str
) -> dict[str, Any]:
    (folder / "job.sh").write_text(text, "utf-8")
    with chdir(folder):
        main(["job.sh", *H100, "--output", "json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    (fix,) = (row["fix"] for row in findings if row["rule"] == rule and row["fix"])
    assert isinstance(fix, dict)
    return fix


@pytest.mark.parametrize(
    ("lines", "quoted"),
    [
        pytest.param(
            f"# do not change: we need several queues\n{QUEUES}",
            'the line above says: "do not change: we need several queues"',
            id="above",
        ),
        pytest.param(
            "export CUDA_DEVICE_MAX_CONNECTIONS=8  # needed by our kernels\n",
            'its line says: "needed by our kernels"',
            id="on it",
        ),
        pytest.param(
            "export CUDA_DEVICE_MAX_CONNECTIONS=8\n# otherwise it hangs\n",
            'the line below says: "otherwise it hangs"',
            id="below",
        ),
        pytest.param(
            "# this must stay\n# as it is,\n# or the\n# queue is full\n"
            "export CUDA_DEVICE_MAX_CONNECTIONS=8\n",
            'line 3 says: "this must stay"',
            id="at the head of a block",
        ),
        pytest.param(
            "# 必须保留\nexport CUDA_DEVICE_MAX_CONNECTIONS=8\n",
            'the line above says: "必须保留"',
            id="in Chinese",
        ),
    ],
)
def test_a_comment_that_speaks_against_an_edit_is_quoted_and_obeyed(
    lines: str, quoted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"#!/bin/bash\n#SBATCH --nodes=4\n{lines}{TRAINS}"
    fix = fix_of(capsys, tmp_path, text, "connection_limit_refused")
    assert fix["says"].endswith(f"; {quoted}")
    assert fix["is_safe"] is False
    with chdir(tmp_path):
        main(["job.sh", *H100, "--fix"])
    assert (tmp_path / "job.sh").read_text("utf-8") == text


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("export CUDA_DEVICE_MAX_CONNECTIONS=8\n", id="no comment"),
        pytest.param(
            "# queues\nexport CUDA_DEVICE_MAX_CONNECTIONS=8\n", id="no reason"
        ),
        pytest.param(
            "# we must start early\n\n\n\nexport CUDA_DEVICE_MAX_CONNECTIONS=8\n",
            id="far away",
        ),
        pytest.param(
            "#SBATCH --comment=must-run\nexport CUDA_DEVICE_MAX_CONNECTIONS=8\n",
            id="a directive",
        ),
    ],
)
def test_other_comments_hold_nothing_up(
    lines: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"#!/bin/bash\n{lines}{TRAINS}"
    fix = fix_of(capsys, tmp_path, text, "connection_limit_refused")
    assert fix["is_safe"] is True
    assert "says" not in fix["says"]


def test_nothing_is_deleted_and_no_restart_is_counted_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "#!/bin/bash\n#SBATCH --nodes=4\nexport CUDA_LAUNCH_BLOCKING=1\n"
        "srun torchrun --nnodes=4 --max-restarts=0 pretrain_gpt.py --sequence-parallel "
        f"--tensor-model-parallel-size 1 {MODEL}\n"
    )
    (tmp_path / "job.sh").write_text(text)
    with chdir(tmp_path):
        main(["job.sh", "--fix"])
    assert (tmp_path / "job.sh").read_text() == text
    capsys.readouterr()


def test_safe_fixes_of_all_rules_delete_nothing_and_mend_for_good(
    tmp_path: Path,
) -> None:
    """Made once, they leave no finding of the rule that has the same fix again."""
    offenders = []
    safe = 0
    for path in all_fixtures():
        if "safe: true" not in path.read_text("utf-8"):
            continue
        fixture = load(path)
        folder = tmp_path / f"{fixture.rule}-{path.stem}"
        folder.mkdir()
        for located in findings_of(fixture, folder):
            fix = located.finding.fix
            if fix is None or not fix.is_safe:
                continue
            safe += 1
            after = replace(fixture, files=files_after(fix, fixture))
            again = [row.finding.fix for row in findings_of(after, folder)]
            if fix in again or any(change.kind == "remove" for change in fix.changes):
                offenders.append(path)
    assert safe > 5
    assert offenders == []

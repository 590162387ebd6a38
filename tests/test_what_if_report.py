"""What `speccheck plan --what-if` reports, and what it refuses."""

import json
import re
from pathlib import Path

import pytest

from speccheck.validator.changes.what_if.assignments import SHORT_NAMES
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.plan import leaf_names
from what_if_plans import JOB, failures, what_if

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    return Path("job.yaml")


def test_a_conflict_is_settled_by_what_is_set(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2\nsrun python job.yaml\n")
    code = main(["plan", ".", "--what-if", "nodes=2", "--output", "json"])
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert code == 0
    nodes = plan["what_if"]["values"][0]
    assert (nodes["before"]["status"], nodes["before"]["alternatives"]) == (
        "conflict",
        ["2", "4"],
    )
    assert (nodes["after"]["status"], nodes["after"]["value"]) == ("stated", 2)
    assert ("vanishes", "conflicting_statements") in failures(plan["what_if"])
    assert job.exists()


def test_findings_that_appear_and_vanish_and_both_verdicts(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = what_if(capsys, job, "global_batch=300")
    assert failures(found) == [("appears", "global_batch_not_divisible")]
    assert found["before"]["exit_code"] == 0
    assert found["after"] == {
        "verdict": "fail",
        "reason": "1 error; 11 of 13 required checks could run",
        "exit_code": 1,
    }
    job.write_text(JOB.replace("256", "300"), encoding="utf-8")
    found = what_if(capsys, job, "grad_accum=2", "micro_batch=4")
    assert failures(found) == [("vanishes", "global_batch_differs_from_product")]
    (row,) = (finding for finding in found["findings"] if finding["kind"] == "vanishes")
    assert row["after"]["outcome"] == "not_applicable"
    assert found["after"]["exit_code"] == 0
    found = what_if(capsys, job, "grad_accum=5,global_batch=300")
    (row,) = found["findings"]
    assert row["kind"] == "vanishes"


def test_the_text_shows_both_plans(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plan", str(job), "--what-if", "micro_batch=3", "--what-if", "zero=2"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "plan job.yaml (native)\n"
        "\n"
        "what if micro_batch=3, zero=2\n"
        "  parallelism.sharding_stage             3 -> 2               stated\n"
        "  batch.micro_batch_size                 2 -> 3               stated\n"
        "  batch.gradient_accumulation_steps      4 -> unknown         unknown\n"
        "      256 / (3 x 32 ranks) is no whole number\n"
        "  kept: global batch 256; the accumulation cannot be worked out\n"
        "\n"
    )
    assert (
        "\n"
        "  appears error BATCH-001 global_batch_not_divisible\n"
        "      global batch 256 is not a multiple of micro-batch 3 x 32 data-parallel\n"
        "      ranks = 96\n"
    ) in text
    minor = r"\n  does not apply -> not run: [A-Z0-9, \n-]*PREC-005"
    assert re.search(minor, text)
    assert text.endswith(
        " (--full)\n"
        "  before  nothing wrong found in 11 of 13 required checks (exit 0)\n"
        "  after   1 error · 11 of 13 required checks could run (exit 1)\n"
    )


USAGE = "write NAME=VALUE, such as tp=4 or nodes=16"
UNKNOWN = "no such value of a plan"
# What is refused: the part that the message names, and what it says.
REFUSED = {
    "tpp=4": ("tpp", f"{UNKNOWN}; did you mean tp?"),
    "micro_batch_siz=4": (
        "micro_batch_siz",
        f"{UNKNOWN}; did you mean batch.micro_batch_size?",
    ),
    "tensor_parallel_size=4": (
        "tensor_parallel_size",
        f"{UNKNOWN}; did you mean parallelism.tensor_parallel_size?",
    ),
    "everything=4": ("everything", f"{UNKNOWN}; speccheck help what-if lists them"),
    "tp=four": ("tp=four", "the text 'four' is not a whole number"),
    "nodes=0": ("nodes=0", "the text '0' is not a whole number from 1 on"),
    "nodes=2.5": ("nodes=2.5", "the text '2.5' is not a whole number from 1 on"),
    "recompute=all": (
        "recompute=all",
        "the text 'all' is not one of none, selective, full",
    ),
    "sp=perhaps": ("sp=perhaps", "the text 'perhaps' is not true or false"),
    "gpu=Voodoo2": (
        "gpu=Voodoo2",
        "unknown GPU 'Voodoo2' (speccheck list gpus names them)",
    ),
    "tp": ("tp", USAGE),
    "=4": ("=4", USAGE),
    "tp=": ("tp=", USAGE),
    "tp=4,tp=8": ("tp=8", "tp=4 is set as well"),
    "framework_version=newest": (
        "framework_version=newest",
        "no version number in 'newest'",
    ),
}


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("change", REFUSED)
def test_what_cannot_be_set_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], change: str
) -> None:
    named, reason = REFUSED[change]
    assert main(["plan", "job.yaml", "--what-if", change]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"speccheck: --what-if {named}: {reason}\n"


@pytest.mark.usefixtures("job")
def test_odd_numbers_are_judged_and_break_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for change in ("tp=0", "pp=-1", "shards=0,replicas=0", "gpus=7", "dp=0", "cp=3"):
        assert main(["plan", "job.yaml", "--what-if", change]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "value_refused" in captured.out


@pytest.mark.usefixtures("job")
def test_only_the_plan_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job.yaml", "--what-if", "tp=4"]) == 2
    assert "belongs to speccheck plan" in capsys.readouterr().err


def test_every_short_name_is_a_leaf_in_help_and_in_the_documentation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(SHORT_NAMES.values()) <= set(leaf_names())
    assert len(set(SHORT_NAMES.values())) == len(SHORT_NAMES)
    page = (ROOT / "docs" / "what-if.md").read_text("utf-8")
    table = [line for line in page.splitlines() if line.startswith("| `")]
    expected = [f"| `{name}` | `{leaf}` |" for name, leaf in SHORT_NAMES.items()]
    assert table == expected
    assert main(["help", "what-if"]) == 0
    text = capsys.readouterr().out
    for name, leaf in SHORT_NAMES.items():
        assert f"  {name:<26} {leaf}\n" in text

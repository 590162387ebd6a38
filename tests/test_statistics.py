"""`--statistics`: how often each rule failed, in text and in JSON."""

import json
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import rule_counts, statistics_lines
from told_runs import BASELINE, told

SELECTED = ("--select", "BATCH-001,CONF-001,FT-003", "--each")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        text = {
            "train_batch_size": 500 + number,
            "train_micro_batch_size_per_gpu": 2,
            "gradient_accumulation_steps": 8,
        }
        Path(f"ds{number}.json").write_text(json.dumps(text))
    Path("job.env").write_text("TORCH_NCCL_ASYNC_ERROR_HANDLING=0\nNCCL_ALGO=Ring\n")


def test_the_most_frequent_stands_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([".", *SELECTED, "--statistics"]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("statistics: 2 rules")
    assert lines[at + 1].split() == ["errors", "unknown"]
    assert lines[at + 2].split() == [
        *("3", "0", "BATCH-001", "global_batch_differs_from_product")
    ]
    assert lines[at + 3].split()[2:] == ["FT-003", "error_handling_off"]
    assert lines[0].startswith("4 errors")


def test_without_the_option_there_is_no_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main([".", *SELECTED])
    assert "statistics" not in capsys.readouterr().out


def test_it_says_that_no_rule_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ds0.json", "--select", "CONF-001", "--statistics"]) == 0
    assert "statistics: no rule fails" in capsys.readouterr().out


def test_waived_failures_have_a_column() -> None:
    rule = "global_batch_differs_from_product"
    item = told("ds0.json", *SELECTED, waive={rule: BASELINE})
    lines = list(statistics_lines(item.run.plans, Style()))
    assert lines[1].split() == ["waived"]
    assert lines[2].split() == ["1", "BATCH-001", rule]


def test_json_counts_all_findings_also_those_it_does_not_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["ds0.json", *SELECTED, "--output", "json"])
    document = json.loads(capsys.readouterr().out)
    rows = {row["rule"]: row["counts"] for row in document["statistics"]}
    assert rows["global_batch_differs_from_product"]["error"] == 1
    assert any(counts["not_applicable"] or counts["pass"] for counts in rows.values())


def test_each_finding_counts_once() -> None:
    item = told(".", "--each")
    total = sum(len(plan.findings) for plan in item.run.plans)
    rows = rule_counts(item.run.plans)
    assert sum(sum(row.counts.values()) for row in rows) == total

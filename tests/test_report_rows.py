"""JSON Lines and CSV: a finding a line, the same findings as in the JSON report."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hostile_files import FORMULA, Writer, write_hostile, write_hostile_environment
from json_schemas import schema_text
from speccheck.validator.cli.main import main
from told_runs import text_of, told, with_findings

EXAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "examples"
LINE = jsonschema.Draft202012Validator(json.loads(schema_text("report-lines")))


def lines_of(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    for finding in found:
        LINE.validate(finding)
    return found


@pytest.mark.parametrize("full", [[], pytest.param(["--full"], marks=pytest.mark.slow)])
def test_lines_hold_the_findings_of_the_json_report(full: list[str]) -> None:
    item = told(str(EXAMPLES), *full)
    document = json.loads(text_of("json", item))
    *findings, totals = lines_of(text_of("jsonl", item))
    assert len(findings) == len(document["findings"])
    for line, finding in zip(findings, document["findings"], strict=True):
        assert line.pop("type") == "finding"
        assert line.pop("files") == document["plans"][finding["plan"]]["files"]
        assert line == finding
    for name in ("verdict", "reason", "exit_code", "summary", "tool", "statistics"):
        assert totals[name] == document[name]
    assert totals["plans"] == len(document["plans"])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (2, ["broken.json"]),
        (2, ["absent.json"]),
        (2, ["--gpu", "Voodoo2", "broken.json"]),
        (3, ["empty"]),
    ],
)
def test_a_run_without_findings_is_one_line(
    code: int,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text('{"train_batch_size": ')
    Path("empty").mkdir()
    assert main([*words, "--output", "jsonl"]) == code
    (totals,) = lines_of(capsys.readouterr().out)
    assert (totals["type"], totals["exit_code"]) == ("summary", code)
    unread = [item["path"] for item in totals["unread"]]
    assert unread == [word for word in words if code == 2 and "--gpu" not in words]


def test_rows_follow_the_rfc(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(EXAMPLES)
    words = ["several-files", "--gpu", "H100-80GB", "--role", "sft"]
    assert main([*words, "--output", "csv"]) == 1
    text = capsys.readouterr().out
    assert text.count("\r\n") == text.count("\n")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    (row,) = (row for row in rows if row["rule"] == "global_batch_differs_from_product")
    assert (row["level"], row["outcome"], row["waived"]) == ("error", "fail", "no")
    assert (row["file"], row["line"], row["column"], row["key"]) == (
        "several-files/ds_zero2.json",
        *("2", "23", "train_batch_size"),
    )
    assert (row["measured"], row["required"]) == ("512", "1024")
    assert row["other_places"].startswith("several-files/sft.yaml:10, ")
    assert all(None not in row for row in rows)


@pytest.mark.parametrize("write", [write_hostile, write_hostile_environment])
def test_no_cell_is_a_formula_or_holds_a_control_character(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = write(tmp_path).name
    text = text_of("csv", told(name, "--nodes", "64", "--full"))
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            assert cell.isprintable()
            assert not cell.startswith(("=", "+", "@"))


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1+1", "@sum(1)", "\t=1", "\r=1"])
def test_a_text_that_begins_like_a_formula_is_marked(
    start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.env").write_text("NCCL_ALGO=Ring\n")
    item = told("job.env")
    finding = item.run.plans[0].findings[0].finding
    failed = finding._replace(outcome="fail", message=start, measured=FORMULA)
    negative = finding._replace(outcome="fail", message="number", measured=-1.5)
    text = text_of("csv", with_findings(item, [failed, negative]))
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert rows[0]["message"].startswith("'")
    assert rows[0]["measured"] == f"'{FORMULA}"
    assert rows[1]["measured"] == "-1.5"  # a number of ours stays one

"""The JSON report: one published shape, whatever was found."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import SCHEMAS, schema_text
from speccheck.validator.cli.main import main

SCHEMA_FOLDER = Path(__file__).resolve().parents[1] / "schemas" / "json"
BROKEN_BATCH = """{
  "train_batch_size": 500,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8
}
"""


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code = main([*words, "--output", "json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    jsonschema.validate(document, json.loads(schema_text("report")))
    return document


def test_published_schemas_are_the_generated_ones() -> None:
    stale = [
        name
        for name in SCHEMAS
        if (SCHEMA_FOLDER / f"{name}.schema.json").read_text("utf-8")
        != schema_text(name)
    ]
    assert not stale, f"run make generate: {', '.join(stale)}"


def test_a_finding_says_where_what_and_how_to_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    document = report(capsys, "ds.json", "--select", "BATCH-001")
    assert document["files"] == [
        {
            "path": "ds.json",
            "format": "deepspeed",
            "confidence": document["files"][0]["confidence"],
            "status": "judged",
            "message": None,
        }
    ]
    (finding,) = [row for row in document["findings"] if row["outcome"] == "fail"]
    assert finding["rule"] == "global_batch_differs_from_product"
    assert (finding["clause"], finding["clause_level"]) == ("BATCH-001", "must")
    assert (finding["level"], finding["confidence"]) == ("error", "exact")
    assert (finding["measured"], finding["required"]) == (500, 16)
    assert finding["spec"] == "1.1"
    assert finding["remedy"]
    assert finding["places"][0] == {
        "file": "ds.json",
        "key": "train_batch_size",
        "line": 2,
        "column": 23,
        "end_column": 26,
    }


def test_the_shape_is_the_same_for_every_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    Path("broken.json").write_text('{"train_batch_size": ')
    Path("empty").mkdir()
    endings = {
        1: ["ds.json"],
        2: ["broken.json"],
        3: ["empty"],
    }
    shapes: set[tuple[str, ...]] = set()
    for code, words in endings.items():
        document = report(capsys, *words)
        assert document["exit_code"] == code
        shapes.add(tuple(document))
    shapes.add(tuple(report(capsys, "--gpu", "Voodoo2", "ds.json")))
    assert len(shapes) == 1


def test_full_adds_what_holds_and_what_does_not_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    some = {row["outcome"] for row in report(capsys, "ds.json")["findings"]}
    every = {row["outcome"] for row in report(capsys, "ds.json", "--full")["findings"]}
    assert some == {"fail", "unknown"}
    assert every == {"fail", "unknown", "pass", "not_applicable"}


def test_summary_counts_every_selected_clause_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    document = report(capsys, "ds.json", "--full")
    clauses = document["summary"]["clauses"]
    counted = sum(sum(row.values()) for row in clauses.values())
    assert counted == len({row["clause"] for row in document["findings"]})
    must = clauses["must"]
    judged = must["pass"] + must["fail"]
    assert document["summary"]["coverage"] == round(
        judged / (judged + must["unknown"]), 4
    )


def test_secrets_reach_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    token = "hf_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWx"
    key = "0123456789abcdef0123456789abcdef01234567"
    Path("job.env").write_text(
        f"HF_TOKEN={token}\nWANDB_API_KEY={key}\nNCCL_ALGO=Rng\n"
    )
    for form in ("text", "concise", "json"):
        main(["job.env", "--output", form, "--full"])
        out = capsys.readouterr().out
        assert "SEC-002" in out
        assert token not in out
        assert key not in out

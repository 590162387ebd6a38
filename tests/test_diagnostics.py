"""GitLab Code Quality and rdjson, by schemas made from their published fields."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from diagnostic_schemas import GITLAB, RDJSON
from machine_reports import (
    BATCH,
    COMMENT,
    DEEPSPEED,
    FAULTY_NODE,
    HELD_RULE,
    HOLDS,
    JOB,
    NOT_SET,
    UNREAD_KEY,
    document,
    judged,
    repository,
    told_in,
    waived,
    with_findings,
)
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.evidence.finding import Fix, PlacedEdit


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path, monkeypatch)
    (tmp_path / "ds.json").write_text(DEEPSPEED, "utf-8")
    return tmp_path


def gitlab(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, list[dict[str, Any]]]:
    code, rows = document(capsys, "gitlab", *words)
    jsonschema.validate(rows, GITLAB)
    fingerprints = [row["fingerprint"] for row in rows]
    assert len(set(fingerprints)) == len(fingerprints)
    return code, rows


def rdjson(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, Any]]:
    code, result = document(capsys, "rdjson", *words)
    jsonschema.validate(result, RDJSON)
    return code, result


def _shape(row: dict[str, Any]) -> tuple[str, str, str, int]:
    at = row["location"]
    return row["check_name"], row["severity"], at["path"], at["lines"]["begin"]


@pytest.mark.usefixtures("folder")
def test_an_entry_of_gitlab_is_a_place_to_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, rows = gitlab(capsys, "ds.json", *JOB)
    assert code == 1
    assert [_shape(row) for row in rows] == [
        (BATCH, "critical", "ds.json", 2),
        (NOT_SET, "major", "ds.json", 1),
        (UNREAD_KEY, "major", "ds.json", 5),
    ]
    assert rows[2]["description"] == (
        "CONF-002 größe is no key that deepspeed reads Fix: Remove the key."
    )


@pytest.mark.usefixtures("folder")
def test_a_diagnostic_is_a_place_to_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, result = rdjson(capsys, "ds.json", *JOB)
    assert code == 1
    assert result["source"] == {"name": "speccheck"}
    assert result["severity"] == "ERROR"
    assert [
        (row["code"]["value"], row["severity"], row["location"])
        for row in result["diagnostics"]
    ] == [
        (
            BATCH,
            "ERROR",
            {
                "path": "ds.json",
                "range": {
                    "start": {"line": 2, "column": 23},
                    "end": {"line": 2, "column": 26},
                },
            },
        ),
        (NOT_SET, "WARNING", {"path": "ds.json"}),
        # Columns are bytes: the ö and the ß of the key are two each.
        (
            UNREAD_KEY,
            "WARNING",
            {
                "path": "ds.json",
                "range": {
                    "start": {"line": 5, "column": 3},
                    "end": {"line": 5, "column": 12},
                },
            },
        ),
    ]
    assert result["diagnostics"][2]["message"] == (
        "größe is no key that deepspeed reads\n"
        "cost: the setting has no effect, and nothing says so\n"
        "fix: Remove the key."
    )


def test_nothing_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "job.env").write_text(HOLDS)
    words = ("job.env", "--select", HELD_RULE)
    assert gitlab(capsys, *words) == (0, [])
    assert rdjson(capsys, *words) == (
        0,
        {"source": {"name": "speccheck"}, "severity": "INFO", "diagnostics": []},
    )


def test_a_file_that_could_not_be_read_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty list would look as if all were well."""
    (folder / "broken.json").write_text('{"train_batch_size": ')
    code, rows = gitlab(capsys, "broken.json")
    assert code == 2
    assert [_shape(row) for row in rows] == [
        ("unreadable", "blocker", "broken.json", 1)
    ]
    _, result = rdjson(capsys, "broken.json")
    (row,) = result["diagnostics"]
    assert (row["severity"], row["location"]) == ("ERROR", {"path": "broken.json"})


@pytest.mark.usefixtures("folder")
def test_a_run_that_could_not_begin_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("ds.json", "--gpu", "Voodoo2")
    code, rows = gitlab(capsys, *words)
    assert code == 2
    assert [_shape(row) for row in rows] == [("not-run", "blocker", ".", 1)]
    _, result = rdjson(capsys, *words)
    assert result["diagnostics"][0]["message"].startswith("unknown GPU 'Voodoo2'")


@pytest.mark.usefixtures("folder")
def test_what_is_waived_is_left_out() -> None:
    found = waived(judged("ds.json"), BATCH, COMMENT)
    for form in ("gitlab", "rdjson"):
        text = told_in(form, found)
        assert BATCH not in text
        assert UNREAD_KEY in text


@pytest.mark.usefixtures("folder")
def test_parts_of_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    _, rows = gitlab(capsys, str(FAULTY_NODE))
    assert [row["description"].partition(":")[0] for row in rows] == [
        "HW-002 GPU 3",
        "FAB-001 node",
        "HW-030 GPU 5",
        "HW-071 node",
    ]
    assert "--gpu-reset -i 3" in rows[0]["description"]
    _, result = rdjson(capsys, str(FAULTY_NODE))
    assert {row["location"]["path"] for row in result["diagnostics"]} == {
        str(FAULTY_NODE)
    }


def test_paths_of_gitlab_are_those_of_the_repository_and_of_rdjson_as_called(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobs").mkdir()
    (folder / "ds.json").rename(folder / "jobs" / "ds ü.json")
    monkeypatch.chdir(folder / "jobs")
    _, rows = gitlab(capsys, "./ds ü.json", *JOB)
    assert {row["location"]["path"] for row in rows} == {"jobs/ds ü.json"}
    _, result = rdjson(capsys, "./ds ü.json", *JOB)
    assert {row["location"]["path"] for row in result["diagnostics"]} == {"ds ü.json"}


def test_fingerprints_of_gitlab_are_those_of_moved_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [row["fingerprint"] for row in gitlab(capsys, "ds.json", *JOB)[1]]
    (folder / "ds.json").write_text(DEEPSPEED.replace("{\n", "{\n\n"), "utf-8")
    after = gitlab(capsys, "ds.json", *JOB)[1]
    assert [row["fingerprint"] for row in after] == before
    assert [row["location"]["lines"]["begin"] for row in after] == [3, 1, 6]


RATE = """model_name_or_path: a/b
output_dir: /ckpt/größe
per_device_train_batch_size: 4
num_train_epochs: 3
"ü": 1
"learning_rate": 2e-5  # ü
"""
HANGS = "# größe\nTORCH_NCCL_ASYNC_ERROR_HANDLING=0 # ü\nNCCL_DEBUG=WARN\n"


def test_an_edit_that_mends_it_is_suggested(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sft.yaml").write_text(RATE, "utf-8")
    _, result = rdjson(capsys, "sft.yaml", "--select", "text_loaded_as_another_type")
    (row,) = result["diagnostics"]
    (suggestion,) = row["suggestions"]
    assert applied(RATE, suggestion) == RATE.replace("2e-5", "2.0e-5")


def test_an_edit_that_its_owner_has_to_want_is_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "job.env").write_text(HANGS, "utf-8")
    _, result = rdjson(capsys, "job.env", "--select", HELD_RULE)
    (row,) = result["diagnostics"]
    assert "suggestions" not in row


def applied(text: str, suggestion: dict[str, Any]) -> str:
    """Return the file with a suggestion taken, by columns in bytes, as in reviewdog."""
    lines = text.encode().splitlines(keepends=True)

    def offset(end: str) -> int:
        at = suggestion["range"][end]
        before = sum(map(len, lines[: at["line"] - 1]))
        return int(before + at["column"] - 1)

    whole = text.encode()
    inserted = str(suggestion["text"]).encode()
    return (whole[: offset("start")] + inserted + whole[offset("end") :]).decode()


@pytest.mark.usefixtures("folder")
def test_only_one_edit_on_the_line_that_is_shown_is_a_suggestion() -> None:
    """And none that changes what the model learns."""
    edit = PlacedEdit("ds.json", 5, 3, 5, 10, '"a"')

    def suggestions(*edits: PlacedEdit, is_safe: bool = True) -> list[Any]:
        def changed(item: LocatedFinding) -> LocatedFinding:
            finding = item.finding._replace(
                fix=Fix("says", (), "same meaning" if is_safe else "")
            )
            return item._replace(finding=finding, edits=edits)

        found = with_findings(judged("ds.json", rules=(UNREAD_KEY,)), changed)
        result = json.loads(told_in("rdjson", found))
        jsonschema.validate(result, RDJSON)
        (row,) = result["diagnostics"]
        found_suggestions: list[Any] = row.get("suggestions", [])
        return found_suggestions

    (suggestion,) = suggestions(edit)
    assert applied(DEEPSPEED, suggestion) == DEEPSPEED.replace('"größe"', '"a"')
    assert suggestions() == []
    assert suggestions(edit, is_safe=False) == []
    assert suggestions(edit, edit._replace(line=4, end_line=4)) == []
    assert suggestions(edit._replace(file="other.json")) == []
    assert suggestions(edit._replace(line=4, end_line=4)) == []
    assert suggestions(edit._replace(end_line=6, end_column=2)) == []

"""The waivers file: what it may say, what it covers, and one line for what is wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from speccheck.validator.cli.main import main

ENTRY = """schema: speccheck-waivers/1
waivers:
  - clause: CONF-011
    files: configs/*.json
    reason: resumed with 5,000 more steps
    owner: pretraining
    until: 2026-12-31
    ticket: TRAIN-7
"""
CONFIG = """{
  "train_batch_size": 64,
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 2},
  "optimizer": {"type": "AdamW", "params": {"lr": 0.0001}},
  "scheduler": {"type": "WarmupDecayLR", "params": {
    "warmup_num_steps": 20000, "total_num_steps": 15000}}
}
"""
DEEPSPEED = '{"train_batch_size": 64, "zero_optimization": {"stage": 3}}'
SCHEMA = Path(__file__).resolve().parents[1] / "schemas/json/waivers.schema.json"
Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a file whose warm-up is too long, on a fixed day."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795348800")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "ds.json").write_text(CONFIG)
    (tmp_path / "waivers.yaml").write_text(ENTRY)
    return tmp_path


@pytest.fixture
def judge(capsys: pytest.CaptureFixture[str]) -> Run:
    """Judge with the waivers file; the exit code and the report."""

    def judged(*words: str) -> tuple[int, dict[str, Any]]:
        code = main([*words, "--waivers", "waivers.yaml", "--output", "json"])
        return code, json.loads(capsys.readouterr().out)

    return judged


def failures(document: dict[str, Any]) -> list[tuple[str, bool]]:
    return [
        (finding["clause"], finding["waived"])
        for finding in document["findings"]
        if finding["outcome"] == "fail"
    ]


@pytest.mark.usefixtures("project")
def test_an_entry_waives_what_it_names_where_it_says(judge: Run) -> None:
    code, document = judge(".")
    assert code == 0
    assert failures(document) == [("CONF-011", True)]
    (waiver,) = [
        finding["waiver"] for finding in document["findings"] if finding["waived"]
    ]
    assert waiver == {
        "kind": "waiver",
        "file": "waivers.yaml",
        "key": "waivers[0]",
        "line": 3,
        "reason": "resumed with 5,000 more steps",
        "until": "2026-12-31",
        "owner": "pretraining",
        "ticket": "TRAIN-7",
    }


@pytest.mark.parametrize(
    ("line", "is_waived"),
    [
        ("files: configs/*.json", True),
        ("files: configs/", True),
        ("files: ds.json", True),
        ('files: ["**/other.json", "*.json"]', True),
        ("files: other/*.json", False),
        ("files: ds.jso", False),
        ("files: '[d]s.json'", False),
        ("subject: GPU 3", False),
        ("nodes: node1", False),
    ],
)
def test_which_files_an_entry_means(
    project: Path, judge: Run, line: str, *, is_waived: bool
) -> None:
    (project / "waivers.yaml").write_text(ENTRY.replace("files: configs/*.json", line))
    assert ("CONF-011", is_waived) in failures(judge("configs")[1])


def test_paths_are_seen_from_the_folder_of_the_waivers_file(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    main(["../configs", "--waivers", "../waivers.yaml", "--output", "json"])
    assert failures(json.loads(capsys.readouterr().out)) == [("CONF-011", True)]


@pytest.mark.parametrize(
    ("until", "clauses"),
    [
        ("2026-11-22", [("CONF-011", True)]),
        ("2026-11-21", [("CONF-011", False), ("CONF-081", False)]),
        ("2030-01-01", [("CONF-011", True), ("CONF-084", False)]),
    ],
)
def test_the_last_day_counts_in_utc(
    project: Path, judge: Run, until: str, clauses: list[tuple[str, bool]]
) -> None:
    (project / "waivers.yaml").write_text(ENTRY.replace("2026-12-31", until))
    assert failures(judge("configs")[1]) == clauses


def test_what_is_permanent_says_so(project: Path, judge: Run) -> None:
    text = ENTRY.replace("until: 2026-12-31", "permanent: true")
    (project / "waivers.yaml").write_text(text)
    _, document = judge("configs")
    assert failures(document) == [("CONF-011", True)]
    (waiver,) = [
        finding["waiver"] for finding in document["findings"] if finding["waived"]
    ]
    assert waiver["until"] is None


def test_only_failures_are_waived(project: Path, judge: Run) -> None:
    """What is not known stays so: nobody has seen that it fails."""
    (project / "configs" / "ds.json").write_text(DEEPSPEED)
    text = ENTRY.replace("CONF-011", "MEM-001").replace("configs/*.json", "configs/")
    (project / "waivers.yaml").write_text(text)
    _, document = judge("configs")
    (item,) = [
        finding for finding in document["findings"] if finding["clause"] == "MEM-001"
    ]
    assert (item["outcome"], item["waived"]) == ("unknown", False)
    assert document["summary"]["waived"] == 0


def test_an_unused_entry_is_told_of_where_all_it_means_was_seen(
    project: Path, judge: Run
) -> None:
    (project / "configs" / "ds.json").write_text(CONFIG.replace("20000", "200"))
    assert failures(judge(".")[1]) == [("CONF-082", False)]
    assert failures(judge("configs")[1]) == [("CONF-082", False)]
    assert failures(judge("configs/ds.json")[1]) == []
    text = ENTRY.replace("configs/*.json", "'**/*.json'")
    (project / "waivers.yaml").write_text(text)
    assert failures(judge("configs")[1]) == []
    assert failures(judge(".")[1]) == [("CONF-082", False)]
    (project / "elsewhere").mkdir()
    (project / "elsewhere" / "ds.json").write_text(CONFIG)
    assert failures(judge("configs")[1]) == []


def test_entries_on_other_files_say_nothing(project: Path, judge: Run) -> None:
    text = ENTRY.replace("configs/*.json", "elsewhere/*.json")
    (project / "waivers.yaml").write_text(text.replace("2026-12-31", "2020-01-01"))
    assert failures(judge(".")[1]) == [("CONF-011", False)]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("speccheck-waivers/1", "speccheck-waivers/2", "write schema: speccheck-w"),
        ("schema: speccheck-waivers/1\n", "", "write schema: speccheck-waivers/1"),
        ("    clause: CONF-011\n", "", "names neither clause nor rule"),
        ("CONF-011", "CONF-0111", "did you mean CONF-011?"),
        ("CONF-011", "'*'", "would silence everything"),
        ("CONF-011", "CONF", "CONF is an area"),
        ("CONF-011", "[CONF-011, 7]", "clause must be a text or a list"),
        ("clause: CONF-011", "rule: warmup_longer", "no rule or clause"),
        ("clause:", "cluase:", "no field cluase: did you mean clause?"),
        ("    files: configs/*.json\n", "", "it would cover everything"),
        ("configs/*.json", "'*'", "files: * covers everything"),
        ("configs/*.json", "'**/*'", "files: **/* covers everything"),
        ("configs/*.json", "a" * 501, "at most 500 characters"),
        ("files: configs/*.json", "nodes: 'node[1-'", "cannot read"),
        ("files: configs/*.json", "nodes: 'n[1-999999999]'", "more than 200,000"),
        ("files: configs/*.json", "nodes: '*'", "covers everything"),
        ("    reason: resumed with 5,000 more steps\n", "", "reason is missing"),
        ("resumed with 5,000 more steps", "''", "reason is missing"),
        ("    owner: pretraining\n", "", "owner is missing"),
        ("    until: 2026-12-31\n", "", "until is missing"),
        ("2026-12-31", "31.12.2026", "is no date"),
        ("2026-12-31", "2026-02-30", "is no date"),
        ("ticket", "permanent: true\n    ticket", "exclude each other"),
        ("until: 2026-12-31", "permanent: maybe", "must be true or false"),
        ("  - clause", "  - - clause", "waivers.yaml:"),
        ("waivers:", "waiver:", "no field waiver: did you mean waivers?"),
        ("waivers:", "waivers: {}\nx:", "no field x"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_file_and_line(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    says: str,
) -> None:
    text = ENTRY.replace("  - clause", "  -\n    clause")
    assert old in text or old.startswith("  - ")
    (project / "waivers.yaml").write_text(text.replace(old, new))
    if old.startswith("  - "):
        (project / "waivers.yaml").write_text(ENTRY.replace(old, new))
    assert main([".", "--waivers", "waivers.yaml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("speccheck: waivers.yaml")
    assert says in captured.err


def test_a_waivers_file_that_is_not_there_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "waivers.yaml").unlink()
    assert main([".", "--waivers", "waivers.yaml"]) == 2
    assert "waivers.yaml: no such file" in capsys.readouterr().err
    (project / "waivers.yaml").mkdir()
    assert main([".", "--waivers", "waivers.yaml"]) == 2
    assert "a directory" in capsys.readouterr().err


@pytest.mark.parametrize("day", ["tomorrow", "1e9", "9" * 30])
def test_a_day_that_is_none_is_one_line(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    day: str,
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", day)
    assert main([str(project), "--waivers", "waivers.yaml"]) == 2
    assert "SOURCE_DATE_EPOCH" in capsys.readouterr().err


def test_the_schema_takes_what_is_read(project: Path) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    text = (project / "waivers.yaml").read_text()
    document = json.loads(json.dumps(yaml.safe_load(text), default=str))
    jsonschema.validate(document, schema)
    for field in ("reason", "owner", "until", "files", "clause"):
        broken = json.loads(json.dumps(document))
        del broken["waivers"][0][field]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)

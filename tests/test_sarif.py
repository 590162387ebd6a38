"""SARIF: by the schema of OASIS, by what GitHub takes in, and finding by finding."""

import json
from pathlib import Path

import pytest

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
)
from sarif_log import run_of, schema
from speccheck.validator.evidence.finding import Waiver
from speccheck.validator.evidence.value import Place

MESSAGE = """\
global batch 500 is not a multiple of micro-batch 2 x accumulation 8 = 16: it holds \
for no number of ranks
cost: DeepSpeed stops at start-up; others train with another batch than stated
fix: Set the global batch to 496 (16 x 31 ranks), or leave one of the three out.
note: 8 nodes x 8 GPUs = 64
also at: [ds.json:3 train_micro_batch_size_per_gpu](1), \
[ds.json:4 gradient_accumulation_steps](2), command line --nodes, \
command line --gpus-per-node"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path, monkeypatch)
    (tmp_path / "ds.json").write_text(DEEPSPEED, "utf-8")
    return tmp_path


def test_the_schema_is_at_hand() -> None:
    if schema() is None:
        pytest.skip("no SARIF schema: make schemas-for-tests fetches it")


@pytest.mark.usefixtures("folder")
def test_each_failure_is_a_result_at_its_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, log = document(capsys, "sarif", "ds.json", *JOB)
    run = run_of(log)
    assert code == 1
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["automationDetails"] == {"id": "speccheck/ci/"}
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True
    assert invocation["exitCode"] == 1
    assert invocation["toolExecutionNotifications"] == []
    batch, not_set, unread = run["results"]
    assert [row["ruleId"] for row in run["results"]] == [BATCH, NOT_SET, UNREAD_KEY]
    assert [row["level"] for row in run["results"]] == ["error", "warning", "warning"]
    artifact = {"artifactLocation": {"uri": "ds.json"}}
    assert batch["locations"] == [
        {
            "physicalLocation": {
                **artifact,
                "region": {"startLine": 2, "startColumn": 23, "endColumn": 26},
            },
            "logicalLocations": [
                {"fullyQualifiedName": "train_batch_size", "kind": "property"}
            ],
        }
    ]
    assert [
        (item["id"], item["physicalLocation"]["region"]["startLine"])
        for item in batch["relatedLocations"]
    ] == [(1, 3), (2, 4)]
    assert batch["message"]["text"] == MESSAGE
    assert set(batch["partialFingerprints"]) == {"speccheckFinding/v1"}
    assert batch["properties"]["measured"] == 500
    # What is not set stands nowhere: the result is about the file.
    assert not_set["locations"] == [{"physicalLocation": artifact}]
    assert set(not_set["partialFingerprints"]) == {
        "speccheckFinding/v1",
        "primaryLocationLineHash",
    }
    # A column counts code points: ö and ß are one each.
    assert unread["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 5,
        "startColumn": 3,
        "endColumn": 10,
    }


@pytest.mark.usefixtures("folder")
def test_a_rule_says_what_it_asks_why_and_how_to_meet_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, log = document(capsys, "sarif", "ds.json", *JOB)
    rules = {rule["id"]: rule for rule in run_of(log)["tool"]["driver"]["rules"]}
    assert sorted(rules) == sorted([BATCH, NOT_SET, UNREAD_KEY])
    batch = rules[BATCH]
    assert batch["name"] == "GlobalBatchDiffersFromProduct"
    assert batch["shortDescription"]["text"].startswith("The stated global batch is")
    assert batch["help"]["text"].startswith("Requirement BATCH-001 (must)\nThe global")
    for heading in ("## Requirement", "## Why", "## What to change"):
        assert heading in batch["help"]["markdown"]
    assert batch["defaultConfiguration"] == {"level": "error"}
    assert batch["properties"] == {
        "tags": ["batching", "BATCH-001", "must"],
        "precision": "very-high",
        "problem.severity": "error",
    }
    assert rules[UNREAD_KEY]["properties"]["problem.severity"] == "warning"


def test_nothing_found_is_a_run_without_results(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "job.env").write_text(HOLDS)
    code, log = document(capsys, "sarif", "job.env", "--select", HELD_RULE)
    run = run_of(log)
    assert code == 0
    assert run["results"] == run["tool"]["driver"]["rules"] == []
    assert run["invocations"][0]["executionSuccessful"] is True
    assert run["properties"]["verdict"] == "pass"


def test_what_could_not_be_read_is_a_notification(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken one.json").write_text('{"train_batch_size": ')
    code, log = document(capsys, "sarif", "ds.json", "broken one.json", *JOB)
    run = run_of(log)
    assert code == 2
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 2
    (notice,) = invocation["toolExecutionNotifications"]
    assert notice["level"] == "error"
    assert notice["message"]["text"].startswith("broken one.json:1:22: ")
    (place,) = notice["locations"]
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "broken%20one.json"
    assert len(run["results"]) == 3


@pytest.mark.usefixtures("folder")
def test_a_run_that_could_not_begin_was_not_successful(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, log = document(capsys, "sarif", "ds.json", "--gpu", "Voodoo2")
    run = run_of(log)
    assert code == 2
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notice,) = invocation["toolExecutionNotifications"]
    assert notice["message"]["text"].startswith("unknown GPU 'Voodoo2'")
    assert run["results"] == []


@pytest.mark.usefixtures("folder")
def test_an_unknown_must_is_no_alert(capsys: pytest.CaptureFixture[str]) -> None:
    """GitHub takes every result for an alert, whatever its kind."""
    words = ("ds.json", "--select", "MEM-001")
    _, log = document(capsys, "sarif", *words, "--gpu", "H100-80GB")
    run = run_of(log)
    assert run["results"] == []
    notices = run["invocations"][0]["toolExecutionNotifications"]
    assert [item["level"] for item in notices] == ["note"]
    assert notices[0]["message"]["text"].startswith("MEM-001 ")
    _, log = document(capsys, "sarif", *words, "--profile", "preflight", "--full")
    run = run_of(log)
    assert {row["kind"] for row in run["results"]} <= {"open", "notApplicable", "pass"}
    assert {row["level"] for row in run["results"]} == {"none"}
    levels = [
        item["level"] for item in run["invocations"][0]["toolExecutionNotifications"]
    ]
    assert set(levels) == {"warning"}


@pytest.mark.usefixtures("folder")
def test_what_is_waived_is_left_out_unless_asked_for() -> None:
    found = waived(judged("ds.json"), UNREAD_KEY, COMMENT)
    left = run_of(json.loads(told_in("sarif", found)))
    assert [row["ruleId"] for row in left["results"]] == [BATCH, NOT_SET]
    every = run_of(json.loads(told_in("sarif", found, with_waived=True)))
    *others, row = every["results"]
    assert [item.get("suppressions") for item in others] == [None, None]
    assert row["ruleId"] == UNREAD_KEY
    assert row["suppressions"] == [
        {
            "kind": "inSource",
            "status": "accepted",
            "justification": "read by our fork",
            "location": {
                "physicalLocation": {
                    "artifactLocation": {"uri": "ds.json"},
                    "region": {"startLine": 5},
                }
            },
            "properties": {
                "until": "2031-01-31",
                "owner": "infra",
                "ticket": "OPS-7",
            },
        }
    ]
    entry = Waiver("waiver", Place("waivers.yaml", "waivers[0]"), "agreed")
    found = waived(judged("ds.json"), UNREAD_KEY, entry)
    *_, row = run_of(json.loads(told_in("sarif", found, with_waived=True)))["results"]
    assert row["suppressions"][0]["kind"] == "external"


def test_a_result_offers_the_edits_that_mend_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "job.env").write_text("NCCL_DEBUG=TRACE\n")
    _, log = document(capsys, "sarif", "job.env", "--select", "verbose_debug_logging")
    (row,) = run_of(log)["results"]
    (fix,) = row["fixes"]
    assert fix["artifactChanges"] == [
        {
            "artifactLocation": {"uri": "job.env"},
            "replacements": [
                {
                    "deletedRegion": {
                        "startLine": 1,
                        "startColumn": 12,
                        "endLine": 1,
                        "endColumn": 17,
                    },
                    "insertedContent": {"text": "WARN"},
                }
            ],
        }
    ]


@pytest.mark.usefixtures("folder")
def test_a_machine_is_shown_at_its_snapshot(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, log = document(capsys, "sarif", str(FAULTY_NODE))
    rows = run_of(log)["results"]
    assert [(row["ruleId"], row["level"]) for row in rows] == [
        ("memory_fault_pending", "error"),
        ("rail_missing", "error"),
        ("power_limited", "warning"),
        ("shared_memory_below_share", "warning"),
    ]
    uri = FAULTY_NODE.as_uri()  # outside of the repository
    (place,) = rows[0]["locations"]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": uri}}
    part, leaf = place["logicalLocations"]
    assert (part["name"], part["kind"]) == ("GPU 3", "resource")
    assert leaf["fullyQualifiedName"] == "gpus[3].remap_is_pending"
    assert all("primaryLocationLineHash" in row["partialFingerprints"] for row in rows)
    for row in rows:
        for other in row.get("relatedLocations", ()):
            assert "region" not in other["physicalLocation"]


def test_fingerprints_survive_moved_lines_and_not_renamed_keys(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fingerprints() -> dict[str, str]:
        rows = run_of(document(capsys, "sarif", "ds.json", *JOB)[1])["results"]
        return {
            row["ruleId"]: row["partialFingerprints"]["speccheckFinding/v1"]
            for row in rows
        }

    before = fingerprints()
    (folder / "ds.json").write_text(DEEPSPEED.replace("{\n", "{\n\n\n"), "utf-8")
    assert fingerprints() == before
    (folder / "ds.json").write_text(DEEPSPEED.replace("500", "501"), "utf-8")
    assert fingerprints() == before
    (folder / "ds.json").write_text(DEEPSPEED.replace("größe", "maß"), "utf-8")
    renamed = fingerprints()
    assert renamed[UNREAD_KEY] != before[UNREAD_KEY]
    assert renamed[BATCH] == before[BATCH]


def test_a_file_of_forty_plans_is_told_of_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        (folder / f"run{number}.json").write_text(DEEPSPEED, "utf-8")
    words = (".", "--node", str(FAULTY_NODE), "--select", "memory_fault_pending")
    _, log = document(capsys, "sarif", *words)
    (row,) = run_of(log)["results"]
    assert row["properties"]["plans"] == 4
    assert row["message"]["text"].endswith("\nthe same in 4 plans")
    # Each of four files that say the same has to be changed.
    rows = run_of(document(capsys, "sarif", ".", "--select", UNREAD_KEY)[1])["results"]
    uris = [
        row["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for row in rows
    ]
    assert uris == ["ds.json", "run0.json", "run1.json", "run2.json"]

"""SARIF at its edges: limits, odd paths, rules that broke, hostile values."""

import json
from pathlib import Path

import pytest

from machine_reports import (
    BATCH,
    DEEPSPEED,
    JOB,
    UNREAD_KEY,
    document,
    judged,
    repository,
    told_in,
    with_findings,
)
from sarif_log import run_of
from speccheck.validator.engine.locate import LocatedFinding, Location


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path, monkeypatch)
    (tmp_path / "ds.json").write_text(DEEPSPEED, "utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_only_the_gravest_5000_results_are_written() -> None:
    found = judged("ds.json", rules=(BATCH, UNREAD_KEY))

    def many(item: LocatedFinding) -> list[LocatedFinding]:
        if item.finding.rule != UNREAD_KEY:
            return [item]
        return [
            item._replace(locations=(Location("ds.json", f"key{number}", 5, 3, 2),))
            for number in range(5_001)
        ]

    (plan,) = found.plans
    findings = tuple(copy for finding in plan.findings for copy in many(finding))
    found = found._replace(plans=(plan._replace(findings=findings),))
    log = json.loads(told_in("sarif", found))
    (run,) = log["runs"]  # the schema takes a minute for so many
    assert len(run["results"]) == 5_000
    assert run["results"][0]["ruleId"] == BATCH
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice["level"] == "warning"
    assert notice["message"]["text"] == (
        "2 results left out, the least grave (2 warnings): code scanning keeps 5,000"
    )
    assert len(
        json.loads(told_in("sarif", found, full=True))["runs"][0]["results"]
    ) == (5_002)


def test_paths_are_percent_encoded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a b%,c:ü#?.json"
    (folder / "ds.json").rename(folder / name)
    _, log = document(capsys, "sarif", name, *JOB)
    uris = {
        row["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for row in run_of(log)["results"]
    }
    assert uris == {"a%20b%25%2Cc%3A%C3%BC%23%3F.json"}


def test_paths_are_those_of_the_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobs").mkdir()
    (folder / "ds.json").rename(folder / "jobs" / "ds.json")
    monkeypatch.chdir(folder / "jobs")
    _, log = document(capsys, "sarif", "ds.json", *JOB)
    for row in run_of(log)["results"]:
        physical = row["locations"][0]["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "jobs/ds.json"


@pytest.mark.usefixtures("folder")
def test_a_rule_that_broke_is_no_fault_of_the_file() -> None:
    def broken(item: LocatedFinding) -> LocatedFinding:
        finding = item.finding._replace(outcome="error", message="ValueError: no")
        return item._replace(finding=finding)

    found = with_findings(judged("ds.json", rules=(UNREAD_KEY,)), broken)
    run = run_of(json.loads(told_in("sarif", found)))
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 4)
    (notice,) = invocation["toolExecutionNotifications"]
    assert notice["message"]["text"] == (
        "the rule broke, a bug of speccheck: ValueError: no"
    )


@pytest.mark.usefixtures("folder")
def test_control_characters_and_links_of_a_file_go_nowhere() -> None:
    hostile = "a\x1b[31m\x00b\u202e [see](http://evil.example) \n::error::x"

    def changed(item: LocatedFinding) -> LocatedFinding:
        return item._replace(finding=item.finding._replace(message=hostile))

    found = with_findings(judged("ds.json", rules=(UNREAD_KEY,)), changed)
    (row,) = run_of(json.loads(told_in("sarif", found)))["results"]
    first = row["message"]["text"].splitlines()[0]
    assert first == (r"a\x1b[31m\x00b\x202e [see] (http://evil.example) \x0a::error::x")

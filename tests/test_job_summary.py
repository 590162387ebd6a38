"""The summary of a job on GitHub: the report in Markdown, added to what is there."""

from pathlib import Path

import pytest

from machine_reports import BATCH, DEEPSPEED, JOB, repository
from speccheck.validator.cli.main import main


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path, monkeypatch)
    (tmp_path / "ds.json").write_text(DEEPSPEED, "utf-8")
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_the_report_is_added_in_markdown(
    summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary.write_text("# Of the step before\n")
    assert main(["ds.json", *JOB]) == 1
    text = summary.read_text("utf-8")
    assert text.startswith("# Of the step before\n")
    assert BATCH in text
    assert capsys.readouterr().err == ""


def test_only_with_a_report_for_people_and_only_on_github(
    summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["ds.json", *JOB, "--output", "json"])
    assert not summary.exists()
    monkeypatch.delenv("GITHUB_ACTIONS")
    main(["ds.json", *JOB])
    assert not summary.exists()


def test_it_keeps_below_the_limit(summary: Path) -> None:
    """GitHub drops a summary of more than a mebibyte whole."""
    summary.write_text("x" * 999_000 + "\n")
    assert main(["ds.json", *JOB]) == 1
    assert 999_001 <= summary.stat().st_size <= 1_000_000


def test_one_that_cannot_be_written_changes_no_verdict(
    summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary.mkdir()
    assert main(["ds.json", *JOB]) == 1
    assert capsys.readouterr().err == (
        f"speccheck: {summary}: no summary: Is a directory\n"
    )

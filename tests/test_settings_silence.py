"""What settings say of waivers, baselines and comments, and of what is locked."""

import json
from pathlib import Path
from typing import Any

import pytest

from settings_files import DEEPSPEED, JOB, put, report, run

ENTRY = """schema: speccheck-waivers/1
waivers:
  - clause: BATCH-001
    files: sft/ds.json
    reason: the launcher takes 256 GPUs
    owner: training
    until: 2026-12-31
"""
IGNORES = '\n[per-file-ignores]\n"sft/**" = ["BATCH-001"]\n'


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the date to the 22nd of November 2026."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795348800")


def failures(
    capsys: pytest.CaptureFixture[str], *words: str
) -> dict[str, dict[str, Any] | None]:
    """Return the waivers of failures, by clause; of the last plan that fails one."""
    found = report(capsys, *words)["findings"]
    return {
        finding["clause"]: finding["waiver"]
        for finding in found
        if finding["outcome"] == "fail"
    }


def test_failures_in_some_files_are_waived_and_stay_failures(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", JOB + IGNORES)
    put(repository / "sft" / "ds.json", DEEPSPEED)
    found = failures(capsys, "sft/ds.json")
    assert found["COMM-006"] is None
    waiver = found["BATCH-001"]
    assert waiver is not None
    assert waiver["kind"] == "setting"
    assert (waiver["file"], waiver["line"]) == ("speccheck.toml", 8)
    assert failures(capsys, "ds.json")["BATCH-001"] is None


def test_patterns_are_relative_to_their_file(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(repository / "speccheck.toml", JOB + IGNORES)
    put(repository / "sft" / "ds.json", DEEPSPEED)
    monkeypatch.chdir(repository / "sft")
    assert failures(capsys, "ds.json")["BATCH-001"] is not None


def test_what_is_locked_is_waived_by_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'mandatory = ["BATCH-001"]\n')
    put(repository / "sft" / "ds.json", DEEPSPEED)
    put(repository / "sft" / "waivers.yaml", ENTRY.replace("sft/", ""))
    text = 'waivers = "waivers.yaml"\n' + JOB + IGNORES.replace("sft/**", "*.json")
    put(repository / "sft" / "speccheck.toml", text)
    found = failures(capsys, "sft/ds.json")
    assert found["BATCH-001"] is None
    _, _, err = run(capsys, "sft/ds.json")
    said = "per-file-ignores BATCH-001 has no effect: mandatory by speccheck.toml:1"
    assert said in err


def test_a_waiver_used_in_one_plan_is_not_idle_in_another(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Facts by pattern make two judges of one settings file, and one of its waivers."""
    text = 'waivers = "waivers.yaml"\n' + JOB + '[facts-for."sft/**"]\nrole = "sft"\n'
    put(repository / "speccheck.toml", text)
    put(repository / "waivers.yaml", ENTRY)
    put(repository / "sft" / "ds.json", DEEPSPEED)
    found = report(capsys, ".")["findings"]
    of_waivers = [finding for finding in found if "waiver" in (finding["rule"] or "")]
    assert [
        waiver["rule"] for waiver in of_waivers if waiver["outcome"] == "fail"
    ] == []
    waived = [finding["plan"] for finding in found if finding["waived"]]
    assert len(waived) == 1


def test_the_option_comes_before_the_setting(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "a.yaml", ENTRY)
    put(repository / "b.yaml", ENTRY.replace("sft/", ""))
    put(repository / "speccheck.toml", 'waivers = "a.yaml"\n' + JOB)
    assert failures(capsys, "ds.json")["BATCH-001"] is None
    waiver = failures(capsys, "ds.json", "--waivers", "b.yaml")["BATCH-001"]
    assert waiver is not None
    assert waiver["file"] == "b.yaml"
    shown = report(capsys, "--show-settings", "--waivers", "b.yaml")["run"]["settings"]
    (row,) = [item for item in shown if item["key"] == "waivers"]
    assert (row["value"], row["origin"]) == ("b.yaml", "command line")


def test_a_baseline_of_the_settings_is_written_and_kept(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'baseline = "ci/known.json"\n' + JOB)
    (repository / "ci").mkdir()
    code, _, err = run(capsys, "ds.json")
    assert code == 2
    assert err == "speccheck: speccheck.toml:1: baseline: no such file: ci/known.json\n"
    code, out, err = run(capsys, "baseline", "ds.json")
    assert (code, err) == (0, "")
    assert out.startswith("ci/known.json: 2 findings in 1 file")
    assert json.loads((repository / "ci" / "known.json").read_text())
    code, _, _ = run(capsys, "ds.json")
    assert code == 0
    put(repository / "ds.json", DEEPSPEED.replace("512", "500"))
    assert run(capsys, "ds.json")[0] == 1


def test_comments_waive_nothing_where_the_settings_say_so(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comment = "  # speccheck: ignore[CONF-011] resumed run; until=2026-12-31\n"
    text = (
        f"speccheck: 1\noptimizer:\n  warmup_steps: 2000{comment}run:\n  steps: 1000\n"
    )
    put(repository / "config.yaml", text)
    assert failures(capsys, "config.yaml")["CONF-011"] is not None
    put(repository / "speccheck.toml", "inline-ignores = false\n")
    assert failures(capsys, "config.yaml")["CONF-011"] is None

"""Deprecated and withdrawn clauses: what reports and commands say of them."""

import json
from pathlib import Path

import pytest

from compile_edition import main as compile_editions
from edition_folders import reasons, write
from speccheck.validator.cli.main import main as speccheck

SCRIPT = "torchrun --nproc_per_node 8 pretrain_gpt.py\n"
FAILS = {
    "train_batch_size": 63,
    "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 2,
}
NOTE = (
    "deprecated since edition 1.1, withdrawn in 2.0: the arithmetic is the "
    "framework's; BATCH-002 takes its place"
)


@pytest.fixture
def edition(tmp_path: Path) -> str:
    """Return an edition that announces the end of BATCH-001."""
    notice = {
        "since": "1.1",
        "removed_in": "2.0",
        "replaced_by": "BATCH-002",
        "reason": "the arithmetic is the framework's",
    }
    folder = write(
        tmp_path,
        "1.1-draft",
        {"deprecated": {"BATCH-001": notice}},
        changes=reasons("deprecated", "BATCH-001"),
    )
    assert compile_editions([str(folder)]) == 0
    return str(folder)


@pytest.fixture
def later(tmp_path: Path) -> str:
    """Return an edition that withdrew COMM-001."""
    stone = {"since": "2.0", "reason": "the model was never measured"}
    folder = write(
        tmp_path,
        "2.0-draft",
        {"withdrawn": {"COMM-001": {**stone, "replaced_by": "COMM-002"}}},
        changes=reasons("withdrawn", "COMM-001"),
    )
    assert compile_editions([str(folder)]) == 0
    return str(folder)


def judged(folder: Path, spec: str, capsys: pytest.CaptureFixture[str]) -> str:
    path = folder / "ds_config.json"
    path.write_text(json.dumps(FAILS), encoding="utf-8")
    words = ["--select", "BATCH-001", "--nodes", "1", "--gpus-per-node", "8"]
    assert speccheck([*words, "--spec", spec, str(path)]) == 1
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_failure_by_a_deprecated_clause_says_so_once(
    tmp_path: Path, edition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(tmp_path, edition, capsys).count(NOTE) == 1
    assert "withdrawn in 2.0" not in judged(tmp_path, "1.0", capsys)


def test_what_holds_by_a_deprecated_clause_stays_quiet(
    tmp_path: Path, edition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ds_config.json"
    path.write_text(json.dumps({**FAILS, "train_batch_size": 32}), encoding="utf-8")
    words = ["--select", "BATCH-001", "--nodes", "1", "--gpus-per-node", "8"]
    speccheck([*words, "--spec", edition, "--full", str(path)])
    said = capsys.readouterr().out
    assert "failed" not in said
    assert "withdrawn in 2.0" not in said


@pytest.mark.slow
def test_the_note_is_in_the_json_report(
    tmp_path: Path, edition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ds_config.json"
    path.write_text(json.dumps(FAILS), encoding="utf-8")
    words = ["--select", "BATCH-001", "--nodes", "1", "--gpus-per-node", "8"]
    speccheck([*words, "--spec", edition, "--output", "json", str(path)])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["note"] == f"1 node x 8 GPUs = 8; {NOTE}"


def shown(words: str, spec: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert speccheck([*words.split(), "--spec", spec]) == 0
    return capsys.readouterr().out


def test_spec_show_tells_what_is_deprecated(
    edition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = shown("spec show BATCH-001", edition, capsys)
    assert "\nDeprecated\n    deprecated since edition 1.1, withdrawn in 2.0: " in said
    assert "(draft, extends 1.0)" in said
    assert "(until 2.0)" in shown("spec list", edition, capsys)
    said = " ".join(shown("spec show", edition, capsys).split())
    assert f"BATCH-001: {NOTE}" in said
    assert "Extends edition 1.0, sha256 " in said


@pytest.mark.parametrize("words", ["spec show COMM-001", "explain comm-001"])
def test_a_tombstone_answers_for_its_clause(
    words: str, later: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = shown(words, later, capsys)
    assert said.startswith("COMM-001  Ring all-reduce")
    assert "\nWithdrawn\n    in edition 2.0; its id stays its own\n" in said
    assert "\nWhy\n    the model was never measured\n" in said
    assert "\nInstead\n    COMM-002\n" in said


@pytest.mark.slow
def test_withdrawn_clauses_are_listed_apart(
    later: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown("spec list", later, capsys).splitlines()
    at = lines.index("Withdrawn")
    assert lines[at + 1].startswith("  COMM-001  since 2.0  Ring all-reduce")
    assert sum("COMM-001" in line for line in lines) == 1


def test_what_asks_for_a_withdrawn_clause_is_told_its_reason(
    tmp_path: Path, later: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ds_config.json"
    path.write_text(json.dumps(FAILS), encoding="utf-8")
    assert speccheck(["--spec", later, "--select", "COMM-001", str(path)]) == 2
    reason = (
        "COMM-001: withdrawn in edition 2.0: the model was never measured; COMM-002 "
        "takes its place"
    )
    assert f"--select {reason}" in capsys.readouterr().err
    speccheck(["--spec", later, "--ignore", "COMM-001", str(path)])
    both = capsys.readouterr()
    said = " ".join((both.out + both.err).split())
    assert "COMM-001 has no effect: withdrawn in edition 2.0" in said


def test_rules_of_a_withdrawn_clause_judge_nothing_and_say_why(
    later: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = shown("explain ring_forced_at_scale", later, capsys)
    assert "clause COMM-001, edition 2.0-draft: withdrawn in edition 2.0: " in said
    assert "ring_forced_at_scale" not in shown("rules", later, capsys)
    assert "COMM-001" not in shown("spec coverage", later, capsys)


def test_a_waiver_of_a_withdrawn_clause_is_told_its_reason(
    tmp_path: Path, later: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.env"
    path.write_text(
        "# speccheck: ignore[COMM-001] as the vendor said\nNCCL_DEBUG=WARN\n",
        encoding="utf-8",
    )
    speccheck(["--spec", later, str(path)])
    said = " ".join(capsys.readouterr().out.split())
    assert "COMM-001 is withdrawn in edition 2.0: the model was never measured" in said

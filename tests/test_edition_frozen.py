"""Approved editions are frozen by hash, and only they stand in certificates."""

import shutil
from pathlib import Path

import pytest

from compile_edition import main as compile_editions
from edition_folders import SCHEMAS, base, write
from freeze import CannotFreeze, freeze
from freeze import main as freeze_main
from speccheck.validator.cli.main import main as speccheck
from speccheck.validator.editions.compose import may_certify
from speccheck.validator.editions.edition import editions, load_edition
from speccheck.validator.editions.source import FROZEN, frozen_editions

DAY = "2026-11-22"


@pytest.mark.parametrize("name", editions())
def test_an_approved_edition_is_what_was_frozen(name: str) -> None:
    edition, frozen = load_edition(name), frozen_editions()
    if edition.stage == "approved":
        assert name in frozen, f"make freeze EDITION={name}"
    if name in frozen:
        assert edition.sha256 == frozen[name].sha256
        assert frozen[name].stage == "approved"


def test_every_frozen_edition_is_still_there() -> None:
    assert set(frozen_editions()) <= set(editions())


@pytest.fixture
def approved(tmp_path: Path) -> Path:
    """Return a folder of editions with an approved 1.0."""
    folder = base(tmp_path)
    path = folder / "edition.yaml"
    text = path.read_text(encoding="utf-8")
    stage = load_edition("1.0").stage
    path.write_text(text.replace(f"stage: {stage}\n", "stage: approved\n"), "utf-8")
    shutil.copy(SCHEMAS / FROZEN, tmp_path)
    (tmp_path / FROZEN).write_text("# none yet\n", "utf-8")
    assert compile_editions([str(folder)]) == 0
    return tmp_path


@pytest.mark.slow
def test_an_edition_is_frozen_with_hash_and_day(approved: Path) -> None:
    found = freeze("1.0", DAY, approved)
    edition = load_edition(str(approved / "1.0"))
    assert found == frozen_editions(str(approved))["1.0"]
    assert found == (edition.sha256, DAY, "approved")
    again = freeze("1.0", "2027-01-01", approved)
    assert again.date == DAY


def test_a_frozen_edition_compiles_to_nothing_else(
    approved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    freeze("1.0", DAY, approved)
    path = approved / "1.0/clauses/comm.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("value: 8\n", "value: 16\n", 1), encoding="utf-8")
    kept = (approved / "1.0/compiled.json").read_bytes()
    assert compile_editions([str(approved / "1.0")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"1.0: edition.yaml: 1.0 is frozen since {DAY} with sha256 ")
    assert "write it in an edition that extends it" in said
    assert (approved / "1.0/compiled.json").read_bytes() == kept


@pytest.mark.slow
def test_what_extends_a_frozen_edition_is_held_to_its_hash(
    approved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    freeze("1.0", DAY, approved)
    write(approved, "1.1-draft", {})
    assert compile_editions([str(approved / "1.1-draft")]) == 0
    path = approved / "1.0/edition.yaml"
    path.write_text(path.read_text("utf-8").replace("title: Req", "title: The req"))
    assert compile_editions([str(approved / "1.1-draft")]) == 1
    assert "extends: 1.0 has changed: FROZEN.yaml names sha256" in (
        capsys.readouterr().err
    )


@pytest.mark.slow
def test_only_an_approved_and_compiled_edition_is_frozen(tmp_path: Path) -> None:
    folder = base(tmp_path)
    with pytest.raises(CannotFreeze, match="no such edition"):
        freeze("2.0", DAY, tmp_path)
    path = folder / "edition.yaml"
    stage = load_edition("1.0").stage
    text = path.read_text("utf-8").replace(f"stage: {stage}\n", "stage: retired\n")
    path.write_text(text, "utf-8")
    with pytest.raises(CannotFreeze, match=r"its compiled\.json is not that of its"):
        freeze("1.0", DAY, tmp_path)
    assert compile_editions([str(folder)]) == 0
    with pytest.raises(CannotFreeze, match="its stage is retired: only an approved"):
        freeze("1.0", DAY, tmp_path)
    assert not (tmp_path / FROZEN).exists()


@pytest.mark.parametrize("arguments", [[], ["1.0", DAY, "x"]])
def test_freezing_asks_for_an_edition(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert freeze_main(arguments) == 2
    assert "usage: " in capsys.readouterr().err


def test_a_day_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert freeze_main(["1.0", "today"]) == 1
    assert "today" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["- 1.0\n", '"1.0": {date: x}\n', "a: [\n"])
def test_a_broken_list_of_frozen_editions_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FROZEN).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="not a list of frozen editions"):
        frozen_editions(str(tmp_path))


# Certificates


def test_only_an_approved_edition_may_certify() -> None:
    edition = load_edition("1.0")
    approved = edition._replace(id="7.0", stage="approved")
    assert may_certify(approved) == (True, "edition 7.0 is approved")
    reasons = {
        "draft": "edition 7.0 certifies nothing: it is a draft and will change",
        "candidate": "edition 7.0 certifies nothing: it is a candidate and may still "
        "change until it is approved",
        "retired": "edition 7.0 certifies nothing: it is retired: evidence is judged "
        "by an edition that replaced it",
    }
    for stage, reason in reasons.items():
        assert may_certify(approved._replace(stage=stage)) == (False, reason)


def test_an_approved_edition_of_other_content_certifies_nothing(
    approved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = {"1.0": freeze("1.0", DAY, approved)}
    monkeypatch.setattr(
        "speccheck.validator.editions.source.frozen_editions", lambda: frozen
    )
    edition = load_edition(str(approved / "1.0"))
    assert may_certify(edition) == (
        True,
        f"edition 1.0 is approved and frozen on {DAY}",
    )
    found = may_certify(edition._replace(sha256="0" * 64))
    assert not found.is_given
    assert "its content has sha256 000000000000" in found.reason


def test_a_draft_writes_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = write(tmp_path / "editions", "1.1-draft", {})
    assert compile_editions([str(draft)]) == 0
    words = ["--profile", "instance/azure-nd96isr-h100-v5", "--spec", str(draft)]
    out = tmp_path / "certificate.json"
    words += ["--evidence", str(tmp_path), "--out", str(out)]
    assert speccheck(["certify", *words]) == 2
    assert "edition 1.1-draft certifies nothing: it is a draft" in (
        capsys.readouterr().err
    )
    assert not out.exists()


def test_a_draft_does_not_judge_for_certification(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ds_config.json"
    path.write_text(
        '{"train_batch_size": 64, "zero_optimization": {"stage": 2}}', encoding="utf-8"
    )
    draft = write(tmp_path / "editions", "1.1-draft", {})
    assert compile_editions([str(draft)]) == 0
    words = ["--spec", str(draft), "--fail-on", "never", str(path)]
    assert speccheck([*words, "--profile", "certify"]) == 2
    assert capsys.readouterr().err == (
        "speccheck: edition 1.1-draft certifies nothing: it is a draft and will "
        "change; judge for certification by an approved edition, and by the draft "
        "with --profile ci or preflight\n"
    )
    assert speccheck(words) == 0
    assert "edition 1.1-draft" in capsys.readouterr().out

"""Two editions over the same evidence: one counts, the other only warns."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import speccheck.schemas
from speccheck.validator.cli.main import main
from speccheck.validator.editions.edition import digest
from speccheck.validator.sources.documents.reading import read_text

COMPILED = Path(speccheck.schemas.__file__).parent / "1.1" / "compiled.json"
SFT = """model_name_or_path: mistralai/Mistral-7B-v0.3
output_dir: /ckpt/mistral
per_device_train_batch_size: 4
learning_rate: 2.0e-5
num_train_epochs: 3
bf16: true
logging_steps: 10
save_strategy: "no"
"""
JOB = ("sft.yaml", "--nodes", "1", "--gpus-per-node", "8")
Judge = Callable[..., tuple[int, dict[str, Any]]]
Change = Callable[[dict[str, Any]], None]


def saves_sooner(clauses: dict[str, Any]) -> None:
    """Require a save every half an hour, as a must of the next edition."""
    clause = clauses["CKPT-001"]
    clause["numbers"]["max_unsaved"]["value"] = 0.5
    clause["level"] = "must"


@pytest.fixture
def judge(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Judge:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795348800")
    (tmp_path / "sft.yaml").write_text(SFT)
    next_edition(tmp_path / "next.json", saves_sooner)

    def judged(*words: str) -> tuple[int, dict[str, Any]]:
        code = main([*JOB, *words, "--output", "json"])
        return code, json.loads(capsys.readouterr().out)

    return judged


def next_edition(path: Path, change: Change) -> None:
    content = json.loads(COMPILED.read_text("utf-8"))
    content["edition"]["id"] = "1.2"
    content["edition"]["stage"] = "draft"
    change(content["clauses"])
    content["sha256"] = digest(content)
    path.write_text(json.dumps(content))


def failures(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (finding["clause"], finding["level"], finding["spec"])
        for finding in found["findings"]
        if finding["outcome"] == "fail"
    ]


def test_what_only_the_next_edition_fails_is_a_warning_that_names_it(
    judge: Judge,
) -> None:
    code, found = judge("--hours", "0.75", "--warn", "next.json")
    assert (code, failures(found)) == (0, [("CKPT-001", "warning", "1.2")])
    (item,) = (finding for finding in found["findings"] if finding["spec"] == "1.2")
    assert item["clause_level"] == "must"
    assert item["note"].endswith("by edition 1.2 alone, which only warns")
    assert "runs longer than 0.5 h" in item["message"]
    assert found["edition"]["id"] == "1.1"
    second = found["second_edition"]
    assert (second["id"], second["stage"], second["found"]) == ("1.2", "draft", 1)
    assert found["summary"]["warned"] == 1


def test_it_changes_no_count_of_clauses_and_no_verdict(judge: Judge) -> None:
    _, alone = judge("--hours", "0.75")
    _, both = judge("--hours", "0.75", "--warn", "next.json")
    assert alone["summary"]["clauses"] == both["summary"]["clauses"]
    assert alone["summary"]["coverage"] == both["summary"]["coverage"]
    assert alone["verdict"] == both["verdict"]
    assert alone["second_edition"] is None


def test_only_fail_on_warning_counts_it(judge: Judge) -> None:
    code, found = judge("--hours", "0.75", "--warn", "next.json")
    assert (code, found["summary"]["failed"]["warning"]) == (0, 1)
    code, found = judge(
        "--hours", "0.75", "--warn", "next.json", "--fail-on", "warning"
    )
    assert (code, found["reason"]) == (
        1,
        "1 warning; 9 of 12 required checks could run",
    )


def test_what_both_fail_is_told_once_with_its_level_there(judge: Judge) -> None:
    code, found = judge("--hours", "6", "--warn", "next.json")
    assert (code, failures(found)) == (0, [("CKPT-001", "warning", "1.1")])
    (item,) = (
        finding for finding in found["findings"] if finding["clause"] == "CKPT-001"
    )
    assert item["note"].endswith("a must of edition 1.2")
    assert found["second_edition"]["found"] == 0


def test_the_same_edition_finds_nothing_more(judge: Judge) -> None:
    _, found = judge("--hours", "6", "--enforce", "1.1", "--warn", "1.1")
    assert failures(found) == [("CKPT-001", "warning", "1.1")]
    result = found["second_edition"]
    assert (result["found"], result["unknown"], result["broken"]) == (0, 0, 0)


def test_the_next_edition_may_count_and_this_one_warn(judge: Judge) -> None:
    code, found = judge("--hours", "0.75", "--enforce", "next.json", "--warn", "1.1")
    assert (code, failures(found)) == (1, [("CKPT-001", "error", "1.2")])
    assert found["edition"]["id"] == "1.2"


def test_a_verdict_without_a_must_stays_without_one(
    capsys: pytest.CaptureFixture[str], judge: Judge, tmp_path: Path
) -> None:
    def leaves_none(clauses: dict[str, Any]) -> None:
        for clause in clauses.values():
            clause["level"] = "may" if clause["level"] == "must" else clause["level"]

    next_edition(tmp_path / "lenient.json", leaves_none)
    words = [*JOB, "--hours", "0.75", "--enforce", "lenient.json"]
    alone = main(words)
    both = main([*words, "--warn", "next.json"])
    capsys.readouterr()
    assert (alone, both) == (3, 3)
    assert judge("--hours", "0.75")[0] == 0


def test_files_are_read_once(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counting(path: str) -> str:
        read.append(path)
        return read_text(path)

    monkeypatch.setattr("speccheck.validator.sources.files.read_text", counting)
    judge("--hours", "0.75", "--warn", "next.json")
    assert read.count("sft.yaml") == 1


def test_waivers_count_for_both(judge: Judge, tmp_path: Path) -> None:
    comment = "  # speccheck: ignore[CKPT-001] saved elsewhere; until=2027-01-31"
    text = SFT.replace('save_strategy: "no"', f'save_strategy: "no"{comment}')
    (tmp_path / "sft.yaml").write_text(text)
    _, found = judge("--hours", "0.75", "--warn", "next.json")
    (item,) = (finding for finding in found["findings"] if finding["outcome"] == "fail")
    assert (item["waived"], item["spec"]) == (True, "1.2")
    assert found["second_edition"]["found"] == 0
    assert found["summary"]["failed"]["warning"] == 0


def test_settings_may_ask_for_it(judge: Judge, tmp_path: Path) -> None:
    (tmp_path / "speccheck.toml").write_text('spec = "1.1"\nwarn = "next.json"\n')
    _, found = judge("--hours", "0.75")
    assert failures(found) == [("CKPT-001", "warning", "1.2")]
    _, found = judge("--hours", "0.75", "--enforce", "next.json", "--warn", "1.1")
    assert found["edition"]["id"] == "1.2"


def test_what_is_loosened_is_not_told_again(judge: Judge, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "schema: speccheck-tailoring/1\ntailoring:\n"
        "  - {clause: CKPT-001, number: max_unsaved, value: 12, unit: h,\n"
        "     reason: cheap nights, owner: ops, expires: 2099-01-31}\n"
    )
    words = ("--hours", "6", "--warn", "next.json", "--tailor", "own.yaml")
    _, found = judge(*words)
    assert failures(found) == []
    assert found["summary"]["loosened"] == 1


@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("text", "checkpoints_off [edition 1.2]"),
        ("text", "edition 1.2 (draft) gives 1 warning more"),
        ("markdown", "edition 1.2 (draft) gives 1 warning more"),
        ("markdown", "edition 1.2: nothing is saved"),
        ("html", "by edition 1.2 alone, which only warns"),
        ("html", "edition 1.2 (draft) gives 1 warning more"),
        ("sarif", '"text": "edition 1.2: nothing is saved'),
        ("junit", "warnings of edition 1.2"),
        ("github", "edition 1.2: nothing is saved"),
        ("gitlab", "edition 1.2: nothing is saved"),
        ("jsonl", '"spec": "1.2"'),
        ("csv", ",1.2,0,no"),
    ],
)
def test_every_form_names_the_edition(
    capsys: pytest.CaptureFixture[str], form: str, says: str
) -> None:
    main([*JOB, "--hours", "0.75", "--warn", "next.json", "--output", form])
    assert says in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--warn", "9.9"], "no edition 9.9: known is"),
        (["--spec", "1.1", "--enforce", "next.json"], "--spec 1.1 are one option"),
    ],
)
def test_bad_editions_are_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main([*JOB, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err


@pytest.mark.usefixtures("judge")
def test_a_clause_that_only_the_next_edition_has(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The first edition does not know the clause: no report may ask it."""
    content = json.loads(COMPILED.read_text("utf-8"))
    del content["clauses"]["CKPT-001"]
    for profile in content["profiles"].values():
        for entry in profile.get("raises_when", ()):
            entry["raises"].pop("CKPT-001", None)
        if "CKPT-001" in profile.get("not_applicable", {}):
            del profile["not_applicable"]["CKPT-001"]
    content["sha256"] = digest(content)
    (tmp_path / "before.json").write_text(json.dumps(content))
    words = ["--hours", "6", "--enforce", "before.json", "--warn", "1.1"]
    for form in ("text", "json", "sarif", "junit", "html", "markdown", "csv"):
        assert main([*JOB, *words, "--output", form]) == 0
        assert "CKPT-001" in capsys.readouterr().out

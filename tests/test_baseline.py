"""`speccheck baseline`: adoption of a project with old findings, and its refusals."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpus import corpus_folder
from speccheck.validator.cli.main import main

FILE = "speccheck-baseline.json"
LONG_WARMUP = """speccheck: 1
optimizer:
  warmup_steps: 2000
run:
  steps: 1000
"""
SHORT_WARMUP = LONG_WARMUP.replace("2000", "20")
JUDGE = (".", "--fail-on", "info", "--baseline", FILE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.yaml").write_text(LONG_WARMUP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def judged(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, Any]]:
    code, out, _ = run(capsys, *words, "--output", "json")
    return code, json.loads(out)


def failed(document: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the clause of each failure, and whether it is waived."""
    for finding in document["findings"]:
        if finding["outcome"] == "fail":
            yield finding["clause"], finding["waived"]


def test_the_first_call_writes_what_fails_and_says_how_much(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "baseline", ".")
    assert code == 0
    assert out.splitlines() == [
        f"{FILE}: 1 finding in 1 file",
        "       1  CONF-011 warmup_longer_than_schedule",
        f"judge with --baseline {FILE}, or name it in the settings",
    ]
    assert json.loads((folder / FILE).read_text()) == {
        "schema": "speccheck-baseline/1",
        "findings": [
            {
                "rule": "warmup_longer_than_schedule",
                "clause": "CONF-011",
                "places": [
                    {
                        "file": "a.yaml",
                        "key": "optimizer.warmup_steps",
                        "value": "2000",
                    },
                    {"file": "a.yaml", "key": "run.steps", "value": "1000"},
                ],
            }
        ],
    }


@pytest.mark.usefixtures("folder")
def test_what_it_lists_is_waived_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "baseline", ".")
    code, document = judged(capsys, *JUDGE)
    assert code == 0
    assert document["reason"] == (
        "nothing wrong found in 7 of 13 required checks; 1 waived"
    )
    assert document["summary"]["waived"] == 1
    assert document["summary"]["clauses"]["should"]["waived"] == 1
    (item,) = [finding for finding in document["findings"] if finding["waived"]]
    assert item["outcome"] == "fail"
    assert item["waiver"]["kind"] == "baseline"
    assert item["waiver"]["file"] == FILE


def test_a_moved_line_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "baseline", ".")
    before = (folder / FILE).read_bytes()
    (folder / "a.yaml").write_text("# moved\n\n\n" + LONG_WARMUP)
    assert judged(capsys, *JUDGE)[0] == 0
    code, out, _ = run(capsys, "baseline", ".")
    assert (code, out) == (0, f"{FILE}: 1 finding; all are still found\n")
    assert (folder / FILE).read_bytes() == before


def test_another_value_is_a_new_finding(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "baseline", ".")
    (folder / "a.yaml").write_text(LONG_WARMUP.replace("2000", "3000"))
    code, document = judged(capsys, *JUDGE)
    assert code == 1
    assert [*failed(document)] == [("CONF-011", False), ("CONF-085", False)]


def test_a_second_finding_of_the_same_kind_is_new(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "output_dir: out\nlearning_rate: 2.0e-5\nlearning_rate: 1.0e-5\nbf16: true\n"
    (folder / "a.yaml").write_text(text)
    run(capsys, "baseline", ".", "--format", "hf-trainer", "--select", "CONF-005")
    (folder / "a.yaml").write_text(text + "learning_rate: 1.0e-5\n")
    options = ("--format", "hf-trainer", "--select", "CONF-005")
    assert [*failed(judged(capsys, *JUDGE, *options)[1])].count(
        ("CONF-005", False)
    ) == 1


def test_it_shrinks_by_what_was_fixed_and_refuses_what_is_new(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "baseline", ".")
    (folder / "a.yaml").write_text(SHORT_WARMUP)
    (folder / "b").mkdir()
    (folder / "b" / "b.yaml").write_text(LONG_WARMUP)
    code, out, _ = run(capsys, "baseline", ".")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == f"{FILE}: 0 findings; 1 not found any more, and dropped"
    assert lines[2] == "1 new finding, not taken:"
    assert lines[3].startswith("  b/b.yaml:3 warning CONF-011 warmup_longer")
    assert lines[4].startswith("a baseline only shrinks")
    assert json.loads((folder / FILE).read_text())["findings"] == []


def test_a_run_over_other_files_drops_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b").mkdir()
    (folder / "b" / "b.yaml").write_text(LONG_WARMUP)
    run(capsys, "baseline", ".")
    before = (folder / FILE).read_bytes()
    (folder / "a.yaml").write_text(SHORT_WARMUP)
    code, out, _ = run(capsys, "baseline", "b")
    assert (code, out) == (0, f"{FILE}: 2 findings; all are still found\n")
    assert (folder / FILE).read_bytes() == before
    code, document = judged(capsys, "b", *JUDGE[1:])
    assert code == 0
    assert [*failed(document)] == [("CONF-011", True)]


@pytest.mark.parametrize("option", [("--select", "MEM"), ("--ignore", "CONF-011")])
def test_a_run_by_other_rules_drops_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    run(capsys, "baseline", ".")
    before = (folder / FILE).read_bytes()
    (folder / "a.yaml").write_text(SHORT_WARMUP)
    assert run(capsys, "baseline", ".", *option)[0] == 0
    assert (folder / FILE).read_bytes() == before


def test_entries_of_files_that_are_gone_go(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b").mkdir()
    (folder / "b" / "b.yaml").write_text(LONG_WARMUP)
    run(capsys, "baseline", ".")
    (folder / "a.yaml").unlink()
    run(capsys, "baseline", "b")
    rows = json.loads((folder / FILE).read_text())["findings"]
    assert [row["places"][0]["file"] for row in rows] == ["b/b.yaml"]


def test_files_are_named_from_the_folder_of_the_baseline(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "baseline", ".")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    code, _ = judged(capsys, "..", "--fail-on", "info", "--baseline", f"../{FILE}")
    assert code == 0


def test_no_secret_stands_in_a_baseline(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "hf_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC"
    text = f"speccheck: 1\nenvironment:\n  HF_TOKEN: {token}\n"
    (folder / "a.yaml").write_text(text)
    run(capsys, "baseline", ".")
    written = (folder / FILE).read_text()
    assert "SEC-002" in written
    assert "hidden:" in written
    assert token[3:] not in written
    assert token[3:10] not in written
    assert all(waived for _, waived in failed(judged(capsys, *JUDGE)[1]))
    (folder / "a.yaml").write_text(text.replace("aB3d", "Zz9x"))
    assert ("SEC-002", False) in failed(judged(capsys, *JUDGE)[1])


def test_what_waivers_silence_is_not_written_down(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comment = "  # speccheck: ignore[CONF-011] resumed\n"
    (folder / "a.yaml").write_text(LONG_WARMUP.replace("  warm", comment + "  warm"))
    code, out, _ = run(capsys, "baseline", ".")
    assert code == 0
    assert out.startswith(f"{FILE}: 0 findings in 0 files\n")


def test_mandatory_clauses_are_neither_written_down_nor_waived(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "baseline", ".")
    listed = (folder / FILE).read_bytes()
    (folder / "speccheck.toml").write_text('mandatory = ["CONF-011"]\n')
    code, document = judged(capsys, *JUDGE)
    assert code == 1
    assert [*failed(document)] == [("CONF-011", False), ("CONF-083", False)]
    (folder / FILE).unlink()
    code, out, _ = run(capsys, "baseline", ".")
    assert code == 0
    assert "not taken: 1 finding of mandatory clauses (CONF-011)" in out
    assert (folder / FILE).read_bytes() != listed
    assert json.loads((folder / FILE).read_text())["findings"] == []


def test_settings_name_the_baseline_for_every_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "speccheck.toml").write_text('baseline = "old.json"\n')
    code, out, _ = run(capsys, "baseline", ".")
    assert code == 0
    assert out.startswith("old.json: 1 finding in 1 file")
    code, document = judged(capsys, ".", "--fail-on", "info")
    assert (code, [*failed(document)]) == (0, [("CONF-011", True)])
    (folder / "a.yaml").write_text(SHORT_WARMUP)
    assert run(capsys, "baseline", ".")[0] == 0
    assert json.loads((folder / "old.json").read_text())["findings"] == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing in it"),
        ("{", f"{FILE}:1:2: the baseline is no JSON"),
        ("[]", "its schema must be speccheck-baseline/1"),
        ('{"schema": "speccheck-report/1"}', "its schema must be"),
        ('{"schema": "speccheck-baseline/1", "findings": 3}', "must be a list"),
        ('{"schema": "speccheck-baseline/1", "findings": [3]}', "findings[0] is no"),
        (
            '{"schema": "speccheck-baseline/1", "findings": [{"count": 1e9}]}',
            "findings[0] is no entry",
        ),
        ("[" * 100_000, "no JSON that can be read"),
        ('{"schema": ' + "9" * 5000 + "}", "no JSON that can be read"),
    ],
)
@pytest.mark.parametrize("command", ["judge", "baseline"])
def test_a_broken_baseline_is_one_line(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    text: str,
    says: str,
) -> None:
    (folder / FILE).write_text(text)
    words = JUDGE if command == "judge" else ("baseline", ".")
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"speccheck: {FILE}")
    assert says in err
    assert err.count("\n") == 1
    assert (folder / FILE).read_text() == text


@pytest.mark.usefixtures("folder")
def test_a_baseline_that_is_not_there_is_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = run(capsys, *JUDGE)
    assert code == 2
    assert "no such file" in err
    assert "speccheck baseline makes one" in err


def test_nothing_is_written_where_a_file_cannot_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.yaml").write_text("a: [1,\n")
    code, out, err = run(capsys, "baseline", ".")
    assert (code, out) == (2, "")
    assert "broken.yaml:2:1" in err
    assert not (folder / FILE).exists()


def test_an_unwritable_baseline_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "baseline", ".", "--out", "no/such/folder.json")
    assert code == 2
    assert "no/such/folder.json" in err
    (folder / "taken").mkdir()
    code, _, err = run(capsys, "baseline", ".", "--out", "taken")
    assert code == 2
    assert "taken" in err


def test_a_repository_of_published_files_is_adopted(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifty files with findings: adopted, moved, made worse, mended."""
    configs = corpus_folder("configs")
    document = judged(capsys, str(configs))[1]
    files = sorted(
        {
            finding["places"][0]["file"]
            for finding in document["findings"]
            if finding["outcome"] == "fail" and finding["places"]
        }
    )[:50]
    assert len(files) == 50
    for name in files:
        target = tmp_path / Path(name).relative_to(configs)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(name, target)
    monkeypatch.chdir(tmp_path)
    assert judged(capsys, *JUDGE[:3])[0] == 1
    assert run(capsys, "baseline", ".")[0] == 0
    written = Path(FILE).read_bytes()
    listed = json.loads(written)["findings"]
    assert len(listed) >= 50

    code, adopted = judged(capsys, *JUDGE)
    assert code == 0
    assert all(waived for _, waived in failed(adopted))
    assert adopted["summary"]["waived"] >= 50

    for path in tmp_path.rglob("*.yaml"):
        path.write_text("\n\n\n" + path.read_text())
    assert judged(capsys, *JUDGE)[0] == 0
    assert run(capsys, "baseline", ".")[0] == 0
    assert Path(FILE).read_bytes() == written

    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "new.yaml").write_text(LONG_WARMUP)
    code, worse = judged(capsys, *JUDGE)
    assert code == 1
    assert [item for item in failed(worse) if not item[1]] == [("CONF-011", False)]
    assert run(capsys, "baseline", ".")[0] == 1
    assert Path(FILE).read_bytes() == written

    (tmp_path / "own" / "new.yaml").unlink()
    gone = tmp_path / listed[0]["places"][0]["file"]
    of_gone = sum(
        any(place["file"] == listed[0]["places"][0]["file"] for place in item["places"])
        for item in listed
    )
    gone.unlink()
    assert run(capsys, "baseline", ".")[0] == 0
    left = json.loads(Path(FILE).read_bytes())["findings"]
    assert len(left) == len(listed) - of_gone
    assert judged(capsys, *JUDGE)[0] == 0

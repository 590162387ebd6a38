"""`speccheck spec diff`: two editions beside each other, and over a report."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from compile_edition import main as compile_editions
from edition_folders import clause, reasons, write
from json_schemas import SCHEMAS
from speccheck.validator.cli.main import main as speccheck
from speccheck.validator.editions.difference import differences
from speccheck.validator.editions.edition import Edition, Raise, Tombstone, load_edition
from speccheck.validator.editions.report_by_edition import (
    OtherwiseReport,
    ReportByEdition,
    by_edition,
)


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert speccheck(["spec", "diff", *words]) == 0
    return capsys.readouterr().out


def test_an_edition_beside_its_base(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ran(capsys, "1.0", "1.1").splitlines()
    assert lines[0] == "edition 1.1 (approved) against edition 1.0 (approved)"
    assert [line[:20] for line in lines[-2:]] == [
        f"edition {name}  sha256 " for name in ("1.0", "1.1")
    ]
    count = len(differences(load_edition("1.0"), load_edition("1.1")))
    assert lines[1] == f"{count} differences, together MINOR; the ids claim MINOR"
    assert lines[2] == "  nothing that passes by the first edition fails by the second"
    summary = " ".join(line.strip() for line in lines[3 : lines.index("Added")])
    levels = "7 required -> recommended, 5 recommended -> optional"
    assert f"12 clauses of another level: {levels}" in summary
    assert (
        "  COMM-071 required -> recommended: No measurement above what the wires carry"
        in lines
    )
    titles = [line for line in lines[2:-2] if line and not line.startswith(" ")]
    assert titles == [
        *("Added", "Deprecated", "Levels", "Numbers"),
        "Where clauses apply, and by which evidence",
        *("Profiles", "Wording"),
    ]
    assert (
        "  MRC-006 deprecated since edition 1.1, withdrawn in 2.0: its count of paths"
        in lines
    )
    assert all(len(line) <= 80 for line in lines)


def test_an_edition_beside_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, "1.0", "1.0").splitlines()[1:-2] == ["Nothing differs.", ""]


def test_the_document_has_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(ran(capsys, "1.0", "1.1", "--output", "json"))
    jsonschema.validate(document, SCHEMAS["edition-diff"]())
    assert document["schema"] == "speccheck-edition-diff/1"
    assert (document["weight"], document["claims"]) == ("MINOR", "MINOR")
    assert document["report"] is None
    count = len(differences(load_edition("1.0"), load_edition("1.1")))
    assert len(document["differences"]) == count


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["1.0", "9.9"],
            "no edition 9.9: known is 1.0, 1.1, 1.2-draft, or",
        ),
        (["1.0", "1.1", "--output", "xml"], "--output xml: must be text or json"),
        (["1.0", "1.1", "--on", "none.json"], "none.json: no such file"),
        (["1.0"], "spec diff takes two editions, not 1"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert speccheck(["spec", "diff", *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


# Over a report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the edition 2.0: 1.0 with two clauses, each with a ceiling of eight."""
    made = write(
        tmp_path_factory.mktemp("editions"),
        "2.0-draft",
        {},
        clauses={"clauses": [clause(), clause("COMM-902")]},
        changes=reasons("added", "COMM-901", "COMM-902"),
    )
    assert compile_editions([str(made)]) == 0
    return made


@pytest.fixture
def before(folder: Path) -> Edition:
    return load_edition(str(folder))


def after(before: Edition, most: int = 5, **second: Any) -> Edition:  # noqa: ANN401
    """Return the edition with another ceiling, and changes in its second clause."""
    item, two = before.clauses["COMM-901"], before.clauses["COMM-902"]
    numbers = {"most": item.numbers["most"]._replace(value=most)}
    clauses = {
        **before.clauses,
        "COMM-901": item._replace(numbers=numbers),
        "COMM-902": two._replace(**second),
    }
    return before._replace(id="3.0-draft", sha256="3", clauses=clauses)


def finding(**fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "clause": "COMM-901",
        "clause_level": "should",
        "rule": "a_rule",
        "outcome": "pass",
        "measured": 6,
        "required": 8,
        "subject": None,
        "plan": 0,
        **fields,
    }


def report(edition: Edition, *findings: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": "speccheck-report/1",
        "edition": {"id": edition.id, "sha256": edition.sha256},
        "plans": [{"files": ["train.sh"]}],
        "findings": [*findings],
    }


def over(item: Edition, two: Edition, *findings: dict[str, Any]) -> ReportByEdition:
    return by_edition(report(item, *findings), item, two, differences(item, two))


@pytest.mark.parametrize(
    ("number", "found", "change", "reason"),
    [
        (5, {}, "would_fail", "measured 6, most at most 8 -> 5 nodes"),
        (7, {}, None, ""),
        (9, {}, None, ""),
        (6, {}, None, ""),
        (
            *(5, {"outcome": "fail", "measured": 10}),
            *(None, ""),
        ),
        (
            *(12, {"outcome": "fail", "measured": 10}),
            *("would_pass", "measured 10, most at most 8 -> 12 nodes"),
        ),
        (5, {"outcome": "unknown", "measured": None}, None, ""),
        (5, {"outcome": "not_applicable", "measured": None}, None, ""),
        (
            *(5, {"measured": None}),
            *("not_said", "the finding does not say what it compared"),
        ),
        (5, {"required": 16}, "not_said", "and the finding compares with 16: judge"),
        (5, {"required": float("nan")}, "not_said", "does not say what it compared"),
        (
            *(5, {"measured": "6"}),
            *("not_said", "the finding does not say what it compared"),
        ),
    ],
)
def test_a_number_makes_of_a_finding_what_it_measured(
    before: Edition,
    number: int,
    found: dict[str, Any],
    change: str | None,
    reason: str,
) -> None:
    by = over(before, after(before, number), finding(**found))
    assert [item.change for item in by.findings] == ([change] if change else [])
    assert by.unchanged == (0 if change else 1)
    for item in by.findings:
        assert reason in item.reason
        assert item.files == ("train.sh",)


def test_a_clause_that_is_gone_is_judged_no_longer(before: Edition) -> None:
    two = after(before)
    kept = {name: item for name, item in two.clauses.items() if name != "COMM-902"}
    stone = Tombstone("COMM-902", "A clause", "a test", "3.0")
    two = two._replace(clauses=kept, withdrawn={"COMM-902": stone})
    by = over(before, two, finding(clause="COMM-902", outcome="fail"))
    (item,) = by.findings
    assert (item.change, item.outcome) == ("not_judged", "fail")
    assert item.reason.endswith("withdrawn in edition 3.0: a test")


def test_a_failure_that_weighs_more(before: Edition) -> None:
    two = after(before, level="must", requirement="Buckets must be at most {most}.")
    failed = finding(clause="COMM-902", outcome="fail", measured=10)
    by = over(before, two, failed, finding(clause="COMM-902", clause_level="must"))
    (item,) = by.findings
    assert (item.change, item.weight, item.reason) == (
        "weighs_otherwise",
        "must",
        "should -> must",
    )


def test_where_a_clause_applies_cannot_be_told_from_a_report(before: Edition) -> None:
    two = after(before, applies_when=("several_nodes",))
    (item,) = over(before, two, finding(clause="COMM-902")).findings
    assert item.change == "not_said"
    assert item.reason == "applies only where several_nodes: judge the files again"


def test_nor_what_a_profile_changes(before: Edition) -> None:
    raised = before.profiles["fabric/efa"]._replace(
        raises=(Raise({"COMM-902": "must"}, "a test"),)
    )
    two = after(before)
    two = two._replace(profiles={**two.profiles, "fabric/efa": raised})
    failed = finding(clause="COMM-902", outcome="fail", measured=10)
    by = over(before, two, failed, finding(clause="COMM-902"))
    (item,) = by.findings
    assert item.reason == "a profile treats it otherwise: judge the files again"
    assert by.unchanged == 1


def test_clauses_that_the_report_does_not_know_are_named() -> None:
    item, two = load_edition("1.0"), load_edition("1.1")
    by = over(item, two, finding(clause="COMM-001", outcome="fail"))
    assert by.unseen == (
        *("COMM-093", "CONF-012", "FT-023", "HW-169", "HW-170", "HW-171"),
        *("MRC-023", "MRC-024", "MRC-025", "MRC-027"),
    )
    assert not by.is_full


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "sarif"}, "no report of speccheck: give what --output json writes"),
        ({"edition": None}, "a report of a run that judged nothing"),
        (
            {"edition": {"id": "0.9", "sha256": "f" * 64}},
            "judged by edition 0.9, sha256",
        ),
        ({"edition": ["1.0"]}, "judged by edition another one"),
        ({"findings": None}, "no report of speccheck: findings or plans are missing"),
        ({"plans": "x"}, "no report of speccheck: findings or plans are missing"),
        ({"findings": [1]}, "its findings are of another form"),
        ({"findings": [{"clause": 1}]}, "its findings are of another form"),
    ],
)
def test_another_document_is_refused(change: dict[str, Any], message: str) -> None:
    item = load_edition("1.0")
    with pytest.raises(OtherwiseReport, match=message):
        by_edition({**report(item), **change}, item, item, ())


def test_findings_of_a_second_edition_are_not_looked_at() -> None:
    item, two = load_edition("1.0"), load_edition("1.1")
    own, other = (finding(clause="COMM-001", spec=spec) for spec in ("1.0", "1.1"))
    assert over(item, two, own, other).unchanged == 1


def test_odd_plans_are_no_traceback() -> None:
    item, two = load_edition("1.0"), load_edition("1.1")
    document = report(item, finding(plan="x"), finding(plan=7, clause="NONE-001"))
    document["plans"] = [{"files": None}]
    found = by_edition(document, item, two, differences(item, two))
    assert {row.change for row in found.findings} == {"not_judged"}


@pytest.mark.slow
def test_a_real_report_is_laid_over(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ds_config.json"
    path.write_text(
        '{"train_batch_size": 64, "zero_optimization": {"stage": 2}}', encoding="utf-8"
    )
    written = tmp_path / "report.json"
    words = ["--spec", str(folder), "--full", "--output", f"json={written}"]
    assert speccheck([*words, "--fail-on", "never", str(path)]) == 0
    row = {"id": "COMM-902", "applies_when": ["several_nodes"]}
    made = write(
        folder.parent,
        "3.0-draft",
        {"extends": "2.0-draft"},
        clauses={"changes": [row]},
        changes=reasons("condition", "COMM-902"),
    )
    assert compile_editions([str(made)]) == 0
    capsys.readouterr()
    words = [str(folder), str(made), "--on", str(written)]
    text = ran(capsys, *words)
    assert "  COMM-902 cannot be said: applies only where several_nodes" in text
    assert " findings come out as they did" in text
    document = json.loads(ran(capsys, *words, "--output", "json"))
    jsonschema.validate(document, SCHEMAS["edition-diff"]())
    assert document["report"]["is_full"]
    assert document["report"]["file"] == str(written)


@pytest.mark.parametrize("text", ["{", "[1]", "[" * 100_000, '{"schema": 1}'])
def test_a_hostile_report_is_one_line(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report\x1b[31m.json"
    path.write_text(text, encoding="utf-8")
    words = ["spec", "diff", "1.0", "1.1", "--on", str(path)]
    assert speccheck(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "\x1b" not in said

"""A waived failure stays one: every form shows it, says by whose word, counts it."""

import csv
import io
import json
from pathlib import Path

import pytest

from speccheck.validator.report.form import NAMES
from speccheck.validator.report.style import Style
from told_runs import BASELINE, COMMENT, text_of, told, with_findings

RULE = "global_batch_differs_from_product"
BROKEN_BATCH = """{
  "train_batch_size": 500,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8
}
"""
WORDS = ("ds.json", "--select", "BATCH-001,CONF-001")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)


def test_text_has_a_line_for_it_and_the_headline_counts_it() -> None:
    item = told(*WORDS, waive={RULE: COMMENT})
    lines = text_of("text", item).splitlines()
    assert f"waived error BATCH-001 {RULE}  ds.json:2" in lines
    assert "    the sweep sets it (until 2027-01-31, ada, TRAIN-7)" in lines
    verdict = "nothing else wrong found in 2 of 2 required checks · 1 waived"
    assert lines[0] == f"{verdict:<74}exit 0"
    assert lines[-2:] == [
        "edition 1.1 · profile ci",
        "required: 1 passed, 1 waived · --full lists them",
    ]


def test_what_is_waived_is_no_pass_and_hides_no_other_failure() -> None:
    item = told("ds.json", waive={RULE: COMMENT})
    assert (item.ending.code, item.summary.waived) == (0, 1)
    assert item.summary.clauses["must"]["waived"] == 1
    assert "waived" not in told("ds.json").ending.reason
    assert told("ds.json").ending.code == 1


def test_concise_marks_it() -> None:
    item = told(*WORDS, waive={RULE: COMMENT})
    finding, ending = text_of("concise", item).splitlines()
    assert finding.startswith(f"ds.json:2:23: waived error BATCH-001 {RULE}: ")
    assert finding.endswith("  the sweep sets it (until 2027-01-31, ada, TRAIN-7)")
    assert ending.endswith(" · 1 waived (exit 0)")


def test_without_a_reason_the_text_says_by_what() -> None:
    item = told(*WORDS, waive={RULE: BASELINE})
    text = text_of("text", item, Style(width=120))
    assert f"waived error BATCH-001 {RULE}  ds.json:2  by the baseline" in text


def test_many_fold_into_a_line_that_says_by_what() -> None:
    item = told(*WORDS)
    (failed,) = (
        at.finding for at in item.run.plans[0].findings if at.finding.outcome == "fail"
    )
    waivers = [COMMENT] * 12 + [BASELINE] * 5
    many = with_findings(
        item,
        (
            failed._replace(message=f"failure {number}", waiver=waiver)
            for number, waiver in enumerate(waivers)
        ),
    )
    text = text_of("text", many)
    assert text.count("waived error") == 10
    assert "7 more waived: 2 by a comment, 5 by the baseline (--full)" in text
    whole = text_of("text", many._replace(full=True))
    assert whole.count("waived error") == 17
    assert "more waived" not in whole


# A failure there is a comment on a line or an alert: what is waived raises none.
_OF_ALERTS = ("azure", "github", "gitlab", "rdjson", "sarif")


@pytest.mark.parametrize("form", [item for item in NAMES if item not in _OF_ALERTS])
def test_every_form_tells_it(form: str) -> None:
    item = told(*WORDS, waive={RULE: COMMENT})
    text = text_of(form, item).replace("<wbr>", "")
    assert "waived" in text
    assert RULE in text


@pytest.mark.parametrize("form", _OF_ALERTS)
def test_what_is_waived_raises_no_alert(form: str) -> None:
    item = told(*WORDS, waive={RULE: COMMENT})
    assert RULE not in text_of(form, item)
    assert RULE in text_of(form, told(*WORDS))


@pytest.mark.parametrize("form", ["azure", "github"])
def test_totals_of_annotations_count_what_is_waived(form: str) -> None:
    assert "1 waived" in text_of(form, told(*WORDS, waive={RULE: COMMENT}))


def test_jsonl_and_csv_keep_the_waiver() -> None:
    item = told(*WORDS, waive={RULE: COMMENT})
    rows = [json.loads(line) for line in text_of("jsonl", item).splitlines()]
    (failed,) = (row for row in rows if row.get("outcome") == "fail")
    assert failed["waived"] is True
    assert failed["waiver"]["reason"] == "the sweep sets it"
    assert rows[-1]["summary"]["waived"] == 1
    cells = list(csv.DictReader(io.StringIO(text_of("csv", item), newline="")))
    (cell,) = (row for row in cells if row["outcome"] == "fail")
    assert (cell["waived"], cell["waiver_until"]) == ("yes", "2027-01-31")
    assert (cell["waiver_owner"], cell["waiver_ticket"]) == ("ada", "TRAIN-7")


def test_html_has_a_part_of_its_own_for_it() -> None:
    text = text_of("html", told(*WORDS, waive={RULE: COMMENT})).replace("<wbr>", "")
    part = text[text.index('<section id="waived"') :]
    part = part[: part.index("</section>")]
    for word in (
        RULE,
        "the sweep sets it",
        "2027-01-31",
        "ada",
        "TRAIN-7",
        "ds.json:3",
    ):
        assert word in part
    findings = text[text.index('<section id="findings"') :]
    assert RULE not in findings[: findings.index("</section>")]


def test_markdown_folds_it() -> None:
    text = text_of("markdown", told(*WORDS, waive={RULE: COMMENT}))
    assert "<summary>1 waived finding</summary>" in text
    assert "the sweep sets it (until 2027-01-31, ada, TRAIN-7)" in text

"""One run over a small repository, told in many forms that say the same."""

import csv
import io
import json
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import junitparser
import pytest

import sarif_log
from diagnostic_schemas import GITLAB, RDJSON
from speccheck.validator.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[1] / "fixtures/examples/several-files"
SETTINGS = """\
[tool.speccheck]
waivers = "waivers.yaml"
[tool.speccheck.facts]
gpu = "H100-80GB"
[tool.speccheck.facts-for."configs/**"]
role = "sft"
"""
WAIVERS = """\
schema: speccheck-waivers/1
waivers:
  - clause: BATCH-001
    files: configs/**
    reason: the sweep sets the batch
    owner: ada
    until: 2027-01-31
"""
ERRORS = {"error_handling_off"}
WARNINGS = {
    "metrics_only_on_console",
    "key_silently_ignored",
}
WAIVED = "global_batch_differs_from_product"
FORMS = (
    *("text", "concise", "html", "markdown", "json", "jsonl", "csv"),
    *("sarif", "junit", "github", "gitlab", "azure", "rdjson"),
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the text of each form, all of one run."""
    folder = tmp_path_factory.mktemp("repository")
    shutil.copytree(EXAMPLE, folder / "configs")
    (folder / ".git").mkdir()
    (folder / "pyproject.toml").write_text(SETTINGS, "utf-8")
    (folder / "waivers.yaml").write_text(WAIVERS, "utf-8")
    words = [word for form in FORMS for word in ("--output", f"{form}={form}.out")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SOURCE_DATE_EPOCH", "1795000000")  # before the waiver ends
        assert main(["configs", *words]) == 1
    return {form: (folder / f"{form}.out").read_text("utf-8") for form in FORMS}


def test_the_document_says_what_was_found(reports: dict[str, str]) -> None:
    rows = json.loads(reports["json"])["findings"]
    failed = {
        (row["rule"], row["level"], row["waived"])
        for row in rows
        if row["outcome"] == "fail"
    }
    assert failed == {
        *((rule, "error", False) for rule in ERRORS),
        *((rule, "warning", False) for rule in WARNINGS),
        (WAIVED, "error", True),
    }


def test_sarif_holds_to_its_schema_and_leaves_out_what_is_waived(
    reports: dict[str, str],
) -> None:
    run = sarif_log.run_of(json.loads(reports["sarif"]))
    levels = {(row["ruleId"], row["level"]) for row in run["results"]}
    assert levels == {
        *((rule, "error") for rule in ERRORS),
        *((rule, "warning") for rule in WARNINGS),
    }
    (item,) = (row for row in run["results"] if row["level"] == "error")
    place = item["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "configs/job.sbatch"
    assert place["region"]["startLine"] == 10
    if sarif_log.schema() is None:
        pytest.skip("no SARIF schema here: make schemas-for-tests")


def test_junit_is_read_by_a_parser_of_others(reports: dict[str, str]) -> None:
    found = junitparser.JUnitXml.fromstring(reports["junit"].encode())
    cases = [case for suite in found for case in suite]
    results = Counter(
        type(case.result[0]).__name__ if case.result else "passed" for case in cases
    )
    assert results["Failure"] == len(ERRORS)
    assert results["passed"] > 20
    (red,) = (item for item in cases if item.result and item.is_failure)
    assert red.name == "FT-003 error_handling_off"
    (skipped,) = (item for item in cases if WAIVED in item.name)
    assert skipped.is_skipped
    assert "the sweep sets the batch" in skipped.result[0].message


def test_gitlab_and_reviewdog_get_the_same(reports: dict[str, str]) -> None:
    quality = json.loads(reports["gitlab"])
    jsonschema.validate(quality, GITLAB)
    assert {item["check_name"] for item in quality} == ERRORS | WARNINGS
    diagnostics = json.loads(reports["rdjson"])
    jsonschema.validate(diagnostics, RDJSON)
    result = {item["code"]["value"].split()[-1] for item in diagnostics["diagnostics"]}
    assert result == ERRORS | WARNINGS


class _Page(HTMLParser):
    """The words of a page, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get("src") or (tag == "link" and given.get("href"))
        if address and not str(address).startswith("data:"):
            self.loads.append(str(address))
        if tag not in {"meta", "br", "hr", "img", "link", "input", "wbr", "col"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count a shape of a drawing, which closes itself."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_is_whole_and_loads_nothing(reports: dict[str, str]) -> None:
    page = _Page()
    page.feed(reports["html"])
    page.close()
    assert not page.loads
    text = "".join(page.words)
    for rule in (*ERRORS, *WARNINGS, WAIVED):
        assert rule.replace("_", "") in text.replace("_", "").replace("\u200b", "")
    assert "1 error, 2 warnings · 13 of 14 required checks could run · 1 waived" in text


def test_tables_of_markdown_have_their_columns(reports: dict[str, str]) -> None:
    lines = reports["markdown"].splitlines()
    assert lines[0] == "### speccheck: 1 error, 2 warnings"
    rows = [re.split(r"(?<!\\)\|", line) for line in lines if line.startswith("|")]
    width = 0
    for before, row in zip([[], *rows], rows, strict=False):
        is_ruler = all(set(cell.strip()) <= set("-:") for cell in row)
        if is_ruler:
            width = len(before)
        elif width and len(row) != width:
            width = 0  # the head of the next table
        assert len(row) > 2
    assert reports["markdown"].count("<details") == reports["markdown"].count("</det")


def test_rows_and_lines_count_the_same(reports: dict[str, str]) -> None:
    rows = list(csv.DictReader(io.StringIO(reports["csv"], newline="")))
    lines = [json.loads(line) for line in reports["jsonl"].splitlines()]
    of_rows = Counter((row["rule"], row["outcome"]) for row in rows)
    of_lines = Counter(
        (line["rule"] or "", line["outcome"]) for line in lines if "outcome" in line
    )
    assert of_rows == of_lines
    assert lines[-1]["exit_code"] == 1


def test_every_form_for_people_has_the_verdict(reports: dict[str, str]) -> None:
    for form in ("text", "concise", "html", "markdown"):
        assert "1 waived" in reports[form], form
    for form in ("github", "azure"):
        assert "1 error, 2 warnings" in reports[form], form

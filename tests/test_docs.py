"""Generated pages equal what the rules and the edition say."""

from functools import cache
from pathlib import Path

import pytest

from speccheck.validator.report.rule_pages import FOLDER, pages
from speccheck.validator.rule_index import built_in_rules

ROOT = Path(__file__).resolve().parents[1]


def test_rule_pages_are_the_generated_ones() -> None:
    written = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert written == pages(), "run make generate"


@pytest.mark.parametrize("rule", built_in_rules(), ids=lambda rule: rule.name)
def test_every_page_has_requirement_reason_examples_and_source(rule: object) -> None:
    name = getattr(rule, "name", "")
    page = pages_once()[f"{name}.md"]
    for part in ("## Requirement", "## Why", "Bad::", "Good::", "Source", "## What to"):
        assert part in page, part


@cache
def pages_once() -> dict[str, str]:
    return pages()


def test_the_readme_names_commands_that_exist() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in readme
    assert "make test" in readme
    for word in (
        "spec show",
        "spec list",
        "spec coverage",
        "explain",
        "rules",
        "schema native",
    ):
        assert f"speccheck {word}" in readme

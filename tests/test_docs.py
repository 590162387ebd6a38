"""Generated pages equal what the rules, the edition and the options say."""

import re
from functools import cache
from pathlib import Path

import pytest

import clause_pages
import reference_pages
from rule_pages import FOLDER, pages
from speccheck.probes.collectives.settings import DATA_TYPES
from speccheck.probes.matrix_products import TYPES
from speccheck.validator.certification.kit import MANIFEST
from speccheck.validator.cli.baseline import FILE
from speccheck.validator.cli.certify import DERIVED
from speccheck.validator.cli.command_table import named
from speccheck.validator.cli.help import commands_help
from speccheck.validator.cli.option_table import OPTIONS
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.rule_index import built_in_rules

ROOT = Path(__file__).resolve().parents[1]


def test_rule_pages_are_the_generated_ones() -> None:
    written = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert written == pages(), "run make generate"


def test_clause_pages_are_the_generated_ones() -> None:
    folder = clause_pages.FOLDER
    written = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")}
    assert written == clause_pages.pages(), "run make generate"


def test_every_clause_is_an_anchor_with_its_rules_and_sources() -> None:
    for code in load_edition().areas:
        page = clause_pages.pages()[clause_pages.page_name(code)]
        for clause in load_edition().clauses.values():
            if clause.area == code:
                assert f'<a id="{clause.id.lower()}"></a>' in page
                part = page.split(f"## {clause.id} ")[1].split("<a id=")[0]
                for word in (
                    "*Why.*",
                    "*What to change.*",
                    "*Judged by.*",
                    "*Rests on.*",
                ):
                    assert word in part, f"{clause.id} {word}"
                for name, number in clause.numbers.items():
                    assert f"| {name} | " in part
                    assert f" | {number.confidence} | " in part


def test_the_pages_of_the_command_line_are_the_generated_ones() -> None:
    for name, text in reference_pages.pages().items():
        written = (reference_pages.FOLDER / name).read_text("utf-8")
        assert written == text, "run make generate"


def test_the_page_of_the_command_line_has_every_command_and_option() -> None:
    page = reference_pages.pages()[reference_pages.COMMAND_LINE]
    commands = re.findall(r"^  ((?:spec )?[a-z]+)\b", commands_help(), re.MULTILINE)
    assert len(commands) > 8
    for command in commands:
        assert f"\n## speccheck {command}\n" in page
    for option in OPTIONS:
        assert f"\n| `{option.flag}" in page


@pytest.mark.parametrize(
    ("command", "flag", "words"),
    [
        ("bench all-reduce", "--data-type", ", ".join(DATA_TYPES)),
        ("bench gemm", "--types", ", ".join(TYPES)),
        ("certify", "--derive", " or ".join(DERIVED)),
        ("evidence pack", "--out", MANIFEST),
        ("baseline", "--out", FILE),
    ],
)
def test_help_names_what_the_command_knows(command: str, flag: str, words: str) -> None:
    """The table of options is loaded without the modules of the commands."""
    (text,) = [option.help for option in named(command).options if option.flag == flag]
    assert words in text


def test_every_page_has_requirement_reason_examples_and_source() -> None:
    parts = [
        "## Requirement",
        "## Why",
        "\nBad:\n",
        "\nGood:\n",
        "Source",
        "## What to",
    ]
    wrong = [
        f"{rule.name}: {part.strip()}"
        for rule in built_in_rules()
        for part in parts
        if part not in pages_once()[f"{rule.name}.md"]
    ]
    assert not wrong, "\n".join(wrong)


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

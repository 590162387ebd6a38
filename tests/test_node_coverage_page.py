"""docs/node-coverage.md names rules that there are, and counts them right."""

import re
from pathlib import Path

from speccheck.validator.engine.rule_index import built_in_rules

PAGE = Path(__file__).resolve().parents[1] / "docs" / "node-coverage.md"
NODES = PAGE.with_name("nodes.md")
_ROW = re.compile(r"^\| (.+?) \| (T0|T0r|T1|T2|T3) \| (.+) \|$", re.MULTILINE)
_RULE = re.compile(r"\[(\w+)\]\(rules/(\w+)\.md\)")
_LEAST = 183


def _rows() -> list[tuple[str, str, str]]:
    return _ROW.findall(PAGE.read_text("utf-8"))


def test_each_row_names_rules_or_says_why_none() -> None:
    known = {rule.name for rule in built_in_rules()}
    for title, _, judged in _rows():
        links = _RULE.findall(judged)
        assert links or re.fullmatch(r"\*not judged: .{10,}\*", judged), title
        for name, target in links:
            assert name == target, title
            assert name in known, title


def test_the_numbers_on_the_page_are_those_of_its_rows() -> None:
    text = PAGE.read_text("utf-8")
    rows = _rows()
    judged = [row for row in rows if _RULE.search(row[2])]
    for tier in ("T0", "T0r", "T1", "T2", "T3"):
        counts = (
            sum(finding[1] == tier for finding in found) for found in (rows, judged)
        )
        assert f"| {tier} | {next(counts)} | {next(counts)} |" in text
    assert f"| all | {len(rows)} | {len(judged)} |" in text
    assert f"look at {len(rows)} things" in text
    assert f"{len(judged)} of them are judged" in text
    assert f"{len(judged)} of {len(rows)} things" in NODES.read_text("utf-8")
    assert len(judged) >= _LEAST


def test_every_rule_on_nodes_is_on_the_page() -> None:
    on_page = {name for row in _rows() for name, _ in _RULE.findall(row[2])}
    of_nodes = {rule.name for rule in built_in_rules() if rule.scope == "node"}
    assert of_nodes - on_page == set()

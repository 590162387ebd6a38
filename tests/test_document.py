"""The blocks of a document, and what its writers make of them."""

import pytest

from speccheck.validator.report.document import (
    Code,
    Fold,
    Group,
    Items,
    Link,
    Name,
    Paragraph,
    Parts,
    ReportSection,
    Strong,
    Table,
    Terms,
    Word,
)
from speccheck.validator.report.write_html import html
from speccheck.validator.report.write_markdown import markdown, markdown_blocks


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ("a < b", "a &lt; b"),
        (("a", [" ", Code("<x>")]), "a <code>&lt;x&gt;</code>"),
        (Name("a_b"), "a_<wbr>b"),
        (Link("COMM-001", "x"), '<a href="#x">COMM-001</a>'),
        (Word(("a", Code("b")), "id"), '<span class="id">a<code>b</code></span>'),
        (Strong("MUST"), "<strong>MUST</strong>"),
        (Code(""), ""),
        (Items([]), ""),
        (Terms([], "facts"), ""),
        (ReportSection("a", "A", ["", Items([])]), ""),
        (Paragraph("x", "note"), '<p class="note">x</p>\n'),
    ],
)
def test_parts_as_html(parts: Parts, text: str) -> None:
    assert html(parts) == text


def test_a_column_of_numbers_is_one_in_each_row() -> None:
    text = html(Table("T", ("what", ">n"), [Group("g"), ("a", "1")]))
    assert '<th scope="col" class="number">n</th>' in text
    assert '<tr class="group"><th scope="colgroup" colspan="2">g</th></tr>' in text
    assert '<tr><th scope="row">a</th><td class="number">1</td></tr>' in text


def test_a_summary_is_one_line() -> None:
    text = html(Fold(Paragraph("head"), Paragraph("body"), "finding", "a-1"))
    assert text.startswith('<details class="finding" id="a-1">\n<summary><p>head</p></')


def test_parts_as_markdown() -> None:
    line = ("a_ ", Strong("MUST"), " ", Code("x_y"), " ", Link("*", "top"))
    assert markdown(line) == r"a\_ **MUST** `x_y` [\*](#top)"
    blocks = (Table("T", ("a", "b"), [("x|y", Code("z"))]), Items(["one", "two"]))
    table, items = markdown_blocks(blocks)
    assert table == "| a | b |\n| --- | --- |\n| x\\|y | `z` |"
    assert items == "- one\n- two"

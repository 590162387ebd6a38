"""The pages and pictures of machines and fleets show what the program says of them."""

import re
from collections import defaultdict
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

import fleet_report
import node_report
from speccheck.validator.cli.preflight import OPTIONS

ROOT = Path(__file__).resolve().parents[1]
NODES = ROOT / "docs" / "nodes.md"
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_TEXT = re.compile(r"<text [^>]*#report-line-(\d+)\)[^>]*>(.*?)</text>")


@pytest.mark.parametrize(
    ("drawing", "target"),
    [(node_report, "node-report"), (fleet_report, "fleet-report")],
    ids=["node", "fleet"],
)
def test_the_picture_shows_the_report(drawing: ModuleType, target: str) -> None:
    """But for blanks, which are drawn as places."""
    picture, report = drawing.PICTURE, drawing.report()
    drawn: defaultdict[int, str] = defaultdict(str)
    for line, text in _TEXT.findall(picture.read_text("utf-8")):
        drawn[int(line)] += unescape(text)
    lines = ["".join(drawn[number].split()) for number in sorted(drawn)]
    told = [_COLOUR.sub("", "".join(line.split())) for line in report.splitlines()]
    assert [line for line in lines if line] == [line for line in told if line], (
        f"run make {target}"
    )


def test_every_option_that_the_page_names_exists() -> None:
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", NODES.read_text("utf-8")))
    others = {"--node", "--record"}
    assert flags <= {one.flag for one in OPTIONS} | others


def test_every_exit_code_is_explained() -> None:
    page = NODES.read_text("utf-8")
    for code in (0, 1, 2, 3, 4, 130):
        assert f"\n| {code} | " in page

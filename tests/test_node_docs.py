"""The pages and pictures of machines and fleets show what the program says of them."""

import re
from pathlib import Path
from types import ModuleType

import pytest

import fleet_report
import node_report
from pictures import drawn_lines, told_lines
from speccheck.validator.cli.command_table import named

ROOT = Path(__file__).resolve().parents[1]
NODES = ROOT / "docs" / "nodes.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drawing", "target"),
    [(node_report, "node-report"), (fleet_report, "fleet-report")],
    ids=["node", "fleet"],
)
def test_the_picture_shows_the_report(drawing: ModuleType, target: str) -> None:
    """But for blanks, which are drawn as places."""
    picture = drawing.PICTURE.read_text("utf-8")
    assert drawn_lines(picture) == told_lines(drawing.report()), f"run make {target}"


def test_every_option_that_the_page_names_exists() -> None:
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", NODES.read_text("utf-8")))
    others = {"--node", "--record"}
    assert flags <= {option.flag for option in named("preflight").options} | others


def test_every_exit_code_is_explained() -> None:
    page = NODES.read_text("utf-8")
    for code in (0, 1, 2, 3, 4, 130):
        assert f"\n| {code} | " in page

"""10,000 nodes with faults of thirteen kinds: all found, none invented, one screen."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import fleet_report
from pictures import drawn_lines, told_lines
from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.fleet_text import fleet_groups
from speccheck.validator.report.forms.html_fleet import fleet_html

pytestmark = pytest.mark.slow

_LINES_OF_TWO_SCREENS = 100
# What finds a fault that no node shows by itself.
_OF_FLEETS = {
    "straggler": "slower_than_the_fleet",
    "driver_drift": "driver_differs_across_nodes",
    "firmware_drift": "adapter_firmware_differs_across_nodes",
    "variable": "variable_differs_across_nodes",
    "missing": "expected_node_missing",
    "damaged": "report_unread",
}


@dataclass(frozen=True)
class Many:
    """The fleet as it was judged, and what was planted in it."""

    told: FleetContext
    planted: list[dict[str, Any]]


@pytest.fixture(scope="module")
def many() -> Iterator[Many]:
    """Yield a fleet, judged once."""
    with fleet_report.a_fleet(10_000, fleet_report.MANY_FAULTS) as result:
        manifest = json.loads(Path("pre/simulation.json").read_text("utf-8"))
        yield Many(result, manifest["planted"])


def _blamed(many: Many) -> dict[str, set[str]]:
    """Return the nodes of each rule that fails above an info."""
    found: dict[str, set[str]] = {}
    for group in fleet_groups(many.told.run, "error", "fail"):
        if group.level != "info":
            found.setdefault(group.rule, set()).update(group.hosts)
    return found


def test_every_planted_fault_is_found_and_none_is_invented(many: Many) -> None:
    blamed = _blamed(many)
    for fault in many.planted:
        rules = set(fault["rules"]) or {_OF_FLEETS[fault["fault"]]}
        named = set().union(*(blamed.get(rule, set()) for rule in rules))
        assert set(fault["nodes"]) <= named, fault["fault"]
    faulty = set().union(*(fault["nodes"] for fault in many.planted))
    assert set().union(*blamed.values()) == faulty


def test_all_of_it_fits_two_screens_with_its_fixes(many: Many) -> None:
    shown = fleet_report.shown(many.told, fleet_report.MANY_WIDTH)
    lines = told_lines(shown)
    assert len(shown.splitlines()) < _LINES_OF_TWO_SCREENS
    picture = fleet_report.MANY_PICTURE.read_text("utf-8")
    assert drawn_lines(picture) == lines, "run make fleet-report"


def test_the_page_of_it_stays_small(many: Many) -> None:
    text = "".join(fleet_html(many.told))
    assert len(text) < 1_000_000
    assert text.count("<i ") > 10_000  # a cell each, and the legend
    assert text.count('<svg class="histogram"') == 6

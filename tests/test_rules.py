"""Every rule's fixtures, through the public way in: files to located findings."""

from pathlib import Path
from typing import Any

import pytest

from rule_fixtures import OUTCOMES, all_fixtures, findings_of, load
from speccheck.validator.locate import LocatedFinding


def _id(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", all_fixtures(), ids=_id)
def test_fixture_gives_exactly_the_expected_findings(
    path: Path, tmp_path: Path
) -> None:
    assert path.name.startswith(tuple(f"{o}_" for o in OUTCOMES)), path.name
    fixture = load(path)
    found = findings_of(fixture, tmp_path)
    outcomes = [one.finding.outcome for one in found]
    messages = [one.finding.message for one in found]
    assert outcomes == [row["outcome"] for row in fixture.expect], messages
    assert fixture.outcome in outcomes, messages
    for row, located in zip(fixture.expect, found, strict=True):
        _compare(row, located)


def _compare(row: dict[str, Any], located: LocatedFinding) -> None:
    finding = located.finding
    assert set(row) <= {"outcome", "level", "at", "says", "missing"}, row
    if finding.outcome == "fail":
        assert "level" in row, "a fail states its level"
        assert row["level"] == finding.level
        places = [
            f"{at.file}:{at.line} {at.key}"
            if at.line
            else f"{at.file} {at.key}".strip()
            for at in located.locations
        ]
        assert places == row.get("at", []), finding.message
        assert finding.remedy, "a failure always says what to change"
    assert row.get("says", "") in finding.message, finding.message
    if "missing" in row:
        assert list(finding.missing) == row["missing"]

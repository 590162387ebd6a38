"""Rule fixtures: small real files with the exact findings that a rule must give."""

from collections.abc import Generator
from contextlib import chdir as working_in
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet_fixtures import fleet_findings
from speccheck.validator.editions.edition import DEFAULT_EDITION
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import (
    FileIgnore,
    Judging,
    NamedAt,
    Policy,
    Request,
    Selection,
)
from speccheck.validator.evidence.declaration import Declaration, EvidenceDigest
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.value import Place
from speccheck.validator.run.judging import RunState
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"
OUTCOMES = ("pass", "fail", "unknown", "not_applicable")


@dataclass(frozen=True)
class RuleFixture:
    """One fixture file of a rule.

    also: names of other clauses and rules to judge by. policy: what settings say.
    today: the date of UTC that counts as now. fleet: nodes instead of files
    (fleet_fixtures.py). declaration: what a judgement for a certificate says of itself.
    spec: the edition, where it is not the default.
    """

    path: Path
    files: dict[str, str] = field(default_factory=dict)
    expect: list[dict[str, Any]] = field(default_factory=list)
    context: dict[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    policy: dict[str, Any] = field(default_factory=dict)
    today: str = ""
    fleet: dict[str, Any] = field(default_factory=dict)
    declaration: dict[str, Any] = field(default_factory=dict)
    spec: str = DEFAULT_EDITION

    @property
    def rule(self) -> str:
        """The rule that the fixture is for."""
        return self.path.parent.name

    @property
    def outcome(self) -> str:
        """The outcome that the file name promises."""
        return next(o for o in OUTCOMES if self.path.name.startswith(o + "_"))


def load(path: Path) -> RuleFixture:
    """Read a fixture; unknown fields are an error."""
    text = path.read_text(encoding="utf-8")
    data = yaml.load(text, yaml.CSafeLoader)  # thousands of them
    return RuleFixture(path, **data)


def all_fixtures() -> list[Path]:
    """Return all fixture files, ordered."""
    return sorted(FIXTURES.glob("*/*.yaml"))


def of_files() -> list[Path]:
    """Return those that judge files, and no fleet: one says `fleet:` in a line."""
    return [
        path
        for path in all_fixtures()
        if "\nfleet:" not in "\n" + path.read_text(encoding="utf-8")
    ]


def _policy(
    mandatory: tuple[str, ...] = (),
    file_ignores: dict[str, list[str]] | None = None,
    **files: str,
) -> Policy:
    settings = Place("speccheck.toml", "")
    return Policy(
        mandatory=tuple(NamedAt(name, settings) for name in mandatory),
        file_ignores=tuple(
            FileIgnore(pattern, ".", tuple(names), settings)
            for pattern, names in (file_ignores or {}).items()
        ),
        waivers=files.get("waivers"),
        baseline=files.get("baseline"),
    )


def _declaration(
    evidence: list[dict[str, str]] | None = None,
    profiles_named: list[str] | None = None,
    **result: Any,  # noqa: ANN401 - as YAML has it
) -> Declaration:
    return Declaration(
        evidence=tuple(EvidenceDigest(**item) for item in evidence or ()),
        profiles_named=tuple(profiles_named or ()),
        **result,
    )


@contextmanager
def on_the_day(today: str) -> Generator[None, None, None]:
    """Make a date of UTC today; nothing for an empty one."""
    with pytest.MonkeyPatch.context() as patch:
        if today:
            noon = datetime.fromisoformat(f"{today}T12:00:00+00:00")
            patch.setenv("SOURCE_DATE_EPOCH", str(int(noon.timestamp())))
        yield


def findings_of(
    fixture: RuleFixture, folder: Path, state: RunState | None = None
) -> list[LocatedFinding]:
    """Judge the fixture's files in a folder; return the findings of its rule.

    Args:
        fixture: What is judged.
        folder: An empty one, or one that held the same files in another state.
        state: Of such a state, which need not compose the edition again.
    """
    if fixture.fleet:
        said = fleet_findings(fixture.fleet, request_of(fixture), folder)
        return [LocatedFinding(item, ()) for item in said if _is_of(fixture, item)]
    for name, text in fixture.files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    with working_in(folder), on_the_day(fixture.today):
        judged = run(request_of(fixture), state)
    return [
        located
        for plan in judged.plans
        for located in plan.findings
        if _is_of(fixture, located.finding)
    ]


def _is_of(fixture: RuleFixture, finding: Finding) -> bool:
    is_of_clause = not finding.rule and finding.outcome != "fail"
    return finding.rule == fixture.rule or is_of_clause


def request_of(fixture: RuleFixture) -> Request:
    """Return what is asked of a run in the folder with the fixture's files."""
    context = dict(fixture.context)
    profiles = context.pop("profile", ["ci"])
    return Request(
        arguments=tuple(fixture.files),
        judging=Judging(
            context=Context(**context),
            profiles=tuple(profiles[1:]),
            selection=Selection(select=(fixture.rule, *fixture.also)),
            policy=_policy(**fixture.policy),
        ),
        use=profiles[0],
        spec=fixture.spec,
        full=True,
        declaration=_declaration(**fixture.declaration)
        if fixture.declaration
        else None,
    )

"""What no waiver may ever do: turn another finding, make a pass, or leave a trace.

Every fixture that fails is waived three ways: by a comment, an entry of a waivers file
and a baseline.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from rule_fixtures import RuleFixture, load, of_files, request_of
from slow_cases import few, first_of
from speccheck.validator.engine.request import Policy, Request
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.report.summary import summarize
from speccheck.validator.rule import by_clause
from speccheck.validator.run.judging import RunState
from speccheck.validator.run.run import RunResult, run
from speccheck.validator.run.waivers.baseline import Baseline, baseline_text

_AREAS = {entry.name: entry.area for entry in rule_entries()}
_OF_WAIVERS = {entry.name for entry in rule_entries() if entry.scope == "waiver"}
FAILING = [
    path
    for path in of_files()
    if path.name.startswith("fail_") and path.parent.name not in _OF_WAIVERS
]
_FIRST = {path.parent: path for path in reversed(FAILING)}.values()
_EVERYDAY = first_of(FAILING, lambda path: _AREAS[path.parent.name])
# Nothing about a waiver depends on the rule: a third of the rules, and each area.
_WAIVED = sorted({*_EVERYDAY, *list(_FIRST)[::3]})
_OF_COMMENTS = (".yaml", ".yml", ".toml", ".sh", ".sbatch", ".slurm", ".env")


def _id(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", few(_WAIVED, _EVERYDAY.__contains__), ids=_id)
def test_a_waiver_silences_what_it_names_and_nothing_else(
    path: Path, tmp_path: Path
) -> None:
    fixture = load(path)
    _write(fixture, tmp_path)
    request = request_of(fixture)
    with chdir(tmp_path):
        before = run(request)
        if _takes_comments(fixture):
            comment = f"\n# speccheck: ignore-file[{fixture.rule}] known, of a test\n"
            for name in fixture.files:
                with Path(name).open("a", encoding="utf-8") as file:
                    file.write(comment)
            _compare(before, run(request), fixture.rule)
            if path in _FIRST:
                ignored = _by(request, Policy(inline_ignores=False))
                assert _told(run(ignored)) == _told(before)
            _write(fixture, tmp_path)
        _waive_by_file(before, request, fixture)
        _waive_by_baseline(before, request, fixture.rule)
        if path in _FIRST:
            assert _told(run(request)) == _told(before)


def _write(fixture: RuleFixture, folder: Path) -> None:
    for name, text in fixture.files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _takes_comments(fixture: RuleFixture) -> bool:
    return all(
        name.endswith(_OF_COMMENTS) and "templates/" not in name
        for name in fixture.files
    )


def _waive_by_file(before: RunResult, request: Request, fixture: RuleFixture) -> None:
    patterns = ", ".join(f"/{name}" for name in fixture.files)
    Path("waivers.yaml").write_text(
        "schema: speccheck-waivers/1\nwaivers:\n"
        f"  - rule: {fixture.rule}\n    files: [{patterns}]\n"
        "    reason: known, of a test\n    owner: tests\n    permanent: true\n",
        encoding="utf-8",
    )
    policy = Policy(waivers="waivers.yaml")
    _compare(before, run(_by(request, policy)), fixture.rule)


def _waive_by_baseline(before: RunResult, request: Request, rule: str) -> None:
    found = Baseline("baseline.json", {})
    run(request, RunState(request, baseline=found))
    text = "".join(baseline_text(found.open))
    Path("baseline.json").write_text(text, encoding="utf-8")
    policy = Policy(baseline="baseline.json")
    _compare(before, run(_by(request, policy)), rule)


def _by(request: Request, policy: Policy) -> Request:
    return request._replace(judging=request.judging._replace(policy=policy))


def _compare(before: RunResult, after: RunResult, rule: str) -> None:
    old, new = [*_judged(before)], [*_judged(after)]
    assert [item._replace(waiver=None) for item in new] == old
    waived = [item for item in new if item.waiver]
    assert waived
    assert all(item.outcome == "fail" and item.rule == rule for item in waived)
    assert not [item for item in new if item.outcome == "fail" and not item.waiver]
    assert _outcomes(old, "pass") == _outcomes(new, "pass")
    assert not _outcomes(new, "waived") - _outcomes(old, "fail", "unknown")
    assert summarize(after.plans).waived == len(waived)


def _judged(found: RunResult) -> Iterator[Finding]:
    """Yield all findings but those on waivers themselves."""
    for plan in found.plans:
        for located in plan.findings:
            if not "CONF-080" <= located.finding.clause <= "CONF-086":
                yield located.finding


def _outcomes(findings: list[Finding], *outcomes: str) -> Counter[str]:
    return Counter(
        item.clause for item in by_clause(findings) if item.outcome in outcomes
    )


def _told(found: RunResult) -> list[object]:
    return [located for plan in found.plans for located in plan.findings]

"""Rules on measurements: what is taken away or odd makes none of them pass, or break.

The cases are their own fixtures: each leaf of each measurement is left out once, of one
part and of all, and replaced by odd values.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rule_fixtures import (
    RuleFixture,
    all_fixtures,
    findings_of,
    load,
    request_of,
)
from slow_cases import few, first_of
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.evidence.node.node import MEASURED
from speccheck.validator.run.judging import RunState

ODD: tuple[object, ...] = ("", -1, [], [None, None], {"status": "absent"})
MEASURING = {entry.name for entry in rule_entries() if entry.scope == "measurement"}
# Of each rule one fixture an outcome: another adds nothing about absent leaves.
CASES = sorted(
    first_of(
        [path for path in all_fixtures() if path.parent.name in MEASURING],
        lambda path: (path.parent, path.name.partition("_")[0]),
    )
)
Content = dict[str, Any]
# Their absence says something: no algorithm was forced, no results were compared. And
# nvbandwidth tells no size; its own is 512 MiB, and a cache shows as beyond the memory.
_SAYS_SO = {
    ("collective_runs", "algorithm"),
    ("collective_runs", "wrong_values"),
    ("copy_tests", "size_bytes"),
}
_WORST_FIRST = ("error", "fail", "unknown", "pass")


def contents(fixture: RuleFixture) -> dict[str, Content]:
    """Return the files of a fixture that hold measurements."""
    found: dict[str, Content] = {}
    for name, text in fixture.files.items():
        if name.endswith(".json"):
            data = json.loads(text)
            if isinstance(data, dict) and MEASURED.keys() & data.keys():
                found[name] = data
    return found


def leaves(content: Content) -> Iterator[tuple[str, str]]:
    for kind in MEASURED.keys() & content.keys():
        names = {leaf for part in content[kind] for leaf in part}
        yield from ((kind, leaf) for leaf in sorted(names))


def changed(content: Content, kind: str, leaf: str, value: object) -> Content:
    """Return the same with a leaf of all parts replaced; Ellipsis takes it away."""
    copied = deepcopy(content)
    for part in copied[kind]:
        if leaf in part:
            del part[leaf]
            if value is not ...:
                part[leaf] = value
    return copied


def outcome(fixture: RuleFixture, folder: Path, state: RunState | None = None) -> str:
    """Return what the rule says in all: the worst of its findings."""
    found = findings_of(fixture, folder, state)
    result = {finding.finding.outcome for finding in found if finding.finding.rule}
    return next((item for item in _WORST_FIRST if item in result), "not_applicable")


@pytest.mark.parametrize(
    "path",
    few(CASES, first_of(CASES, lambda path: path.parent).__contains__),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_what_is_not_told_or_odd_is_no_pass(path: Path, tmp_path: Path) -> None:
    fixture = load(path)
    before = outcome(fixture, tmp_path)
    plain = RuleFixture(path, fixture.files, fixture.expect, fixture.context)
    state = RunState(request_of(plain), proposes=False)
    for name, content in contents(fixture).items():
        for kind, leaf in leaves(content):
            for value in (..., *ODD):
                text = json.dumps(changed(content, kind, leaf, value))
                files = {**fixture.files, name: text}
                after = outcome(replace(plain, files=files), tmp_path, state)
                assert after != "error", (kind, leaf, value)
                is_gone = value is ... or isinstance(value, dict)
                if (kind, leaf) in _SAYS_SO:
                    continue
                is_better = after == "pass" and before in {"fail", "unknown"}
                assert not (is_gone and is_better), (kind, leaf, before)

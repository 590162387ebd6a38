"""Any value may stand at any key: every reader and rule gets through, none breaks.

The files are those of the rules' fixtures, with values replaced by odd ones, the same
in every run.
"""

import copy
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from slow_cases import few
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.run.judging import RunState, judge_plan
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.joining.grouping import group
from speccheck.validator.sources.registry import Readers

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, 0.5, float("inf"), float("nan")),
    *(
        "",
        "auto",
        "${a}",
        "${..x}",
        "???",
        "{{ x }}",
        "no",
        "8",
        "1e-5",
        "::",
        "x" * 5000,
    ),
    *([], [1], [None], [[1]], ["a", {"b": 1}], {}, {"a": 1}, {1: 2}, {"_target_": "x"}),
)
RUNS = 20
CHANGES = 40  # of each run


@cache
def trees() -> tuple[tuple[str, dict[Any, Any]], ...]:
    """Return the YAML and JSON files of all fixtures, each tree of keys once."""
    found: dict[str, tuple[str, dict[Any, Any]]] = {}
    for fixture in sorted(FIXTURES.glob("rules/*/*.yaml")):
        content = fixture.read_text("utf-8")
        files = yaml.load(content, yaml.CSafeLoader).get("files", {})
        for name, text in files.items():
            if not name.endswith((".yaml", ".yml", ".json")):
                continue
            try:
                tree = yaml.load(text, yaml.CSafeLoader)
            except yaml.YAMLError:
                continue
            if isinstance(tree, dict):
                found.setdefault(str(sorted(map(str, tree))), (name, tree))
    return tuple(found.values())


def paths(tree: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(tree, dict):
        children = iter(tree.items())
    elif isinstance(tree, list):
        children = iter(enumerate(tree))
    for key, child in children:
        yield (*path, key)
        yield from paths(child, (*path, key))


def changed(tree: dict[Any, Any], choose: random.Random) -> dict[Any, Any]:
    """Return the tree with up to four values replaced."""
    made = copy.deepcopy(tree)
    for _ in range(choose.choice((1, 1, 2, 4))):
        known = list(paths(made))
        if not known:
            break
        *above, last = choose.choice(known)
        node: Any = made
        for key in above:
            node = node[key]
        node[last] = copy.deepcopy(choose.choice(ODD))
    return made


@pytest.mark.parametrize("seed", few(range(RUNS), range(2).__contains__))
def test_no_value_breaks_a_reader_or_a_rule(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)  # noqa: S311 - the same in every run
    context = Context(nodes=4, gpus_per_node=8, gpu="H100-80GB")
    state = RunState(Request((), judging=Judging(context=context), full=True))
    readers = Readers()
    for number in range(CHANGES):
        name, tree = choose.choice(trees())
        text = yaml.safe_dump(changed(tree, choose), sort_keys=False)
        path = tmp_path / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        _, files = read_file(str(path), readers=readers)
        for plan in group(files):
            broken = [
                finding.finding.message
                for finding in judge_plan(plan, state).findings
                if finding.finding.outcome == "error"
            ]
            assert broken == [], text

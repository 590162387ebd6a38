"""Labelled cases: the faulty files are mended by `--fix`, and by that alone.

The files lie beside the checkout; the test skips without them. Each case has a twin
that a person has mended, to compare with.
"""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus import corpus_folder, needs_corpus
from speccheck.validator.cli.main import main

MENDED, SAFELY, AS_PERSONS = 39, 2, 29  # at least
_COMMENT = ("#", "//")
_OPTIONS = {"instance_type": "--instance"}

Texts = dict[str, str]
Findings = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A labelled case: faulty files, mended ones, and where the fault is."""

    name: str
    bad: Texts
    good: Texts
    options: list[str]
    places: set[tuple[str, str]]


@dataclass(frozen=True)
class Outcome:
    """What `--fix` made of a case: how, and whether a person did the same."""

    name: str
    how: str  # safe, unsafe, other, none
    as_a_person: bool
    lines: list[str]


@needs_corpus
def test_faulty_files_are_mended_and_nothing_else_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes = []
    for case in _cases(corpus_folder("cases")):
        folder = tmp_path / case.name
        _write(folder, case.bad)
        monkeypatch.chdir(folder)
        outcomes.append(_mend(case, folder, capsys))
    counts = Counter(item.how for item in outcomes)
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *_table(outcomes), str(dict(counts)), ""]))
    assert counts["safe"] + counts["unsafe"] >= MENDED
    assert counts["safe"] >= SAFELY
    assert sum(item.as_a_person for item in outcomes) >= AS_PERSONS


def _table(outcomes: list[Outcome]) -> Iterator[str]:
    for item in outcomes:
        yield f"{item.name:34} {item.how:7} {'as a person' * item.as_a_person}".rstrip()
        yield from () if item.as_a_person else (f"    {line}" for line in item.lines)


def _mend(case: Case, folder: Path, capsys: pytest.CaptureFixture[str]) -> Outcome:
    """Fix safely first, then all; `other`: lines that are not what the label is of."""
    before = _findings(capsys, case)
    was_there = _is_there(case, before)
    texts, how = case.bad, ""
    for name, more in (("safe", []), ("unsafe", ["--unsafe-fixes"])):
        after = _findings(capsys, case, "--fix", *more)
        texts = {file: (folder / file).read_text() for file in case.bad}
        _demand_better(case.name, before, after)
        _demand_comments(case, texts)
        if was_there and not _is_there(case, after):
            how = name
            break
    how = how or ("other" if texts != case.bad else "none")
    return Outcome(case.name, how, texts == case.good, _changed(case.bad, texts))


def _cases(folder: Path) -> list[Case]:
    found = []
    for path in sorted(folder.iterdir()):
        if not (path / "bad").is_dir():
            continue
        label = yaml.safe_load((path / "case.yaml").read_text())
        options = []
        for name, value in (label.get("command_context") or {}).items():
            options += [_OPTIONS.get(name, "--" + name.replace("_", "-")), str(value)]
        marks = [label["bad"], *(label.get("alternatives") or [])]
        places = {
            (item.get("file", label["bad"]["file"]), str(item["key"]))
            for item in marks
            if isinstance(item, dict) and item.get("key")
        }
        texts = (_read(path / "bad"), _read(path / "good"))
        found.append(Case(path.name, *texts, options, places))
    return found


def _read(folder: Path) -> Texts:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def _write(folder: Path, texts: Texts) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)


def _findings(
    capsys: pytest.CaptureFixture[str], case: Case, *options: str
) -> Findings:
    code = main([*case.bad, *case.options, *options, "--output", "json"])
    out = capsys.readouterr().out
    assert code in {0, 1, 3}, (case.name, code)
    return [
        finding
        for finding in json.loads(out)["findings"]
        if finding["outcome"] == "fail"
    ]


def _is_there(case: Case, findings: Findings) -> bool:
    """Return whether the labelled fault is still told."""
    result = {
        (at["file"], at["key"])
        for finding in findings
        if finding["level"] != "info"
        for at in finding["places"]
    }
    return bool(result & case.places)


def _demand_better(name: str, before: Findings, after: Findings) -> None:
    """Assert that there are no new errors or warnings."""

    def counts(findings: Findings) -> Counter[str]:
        return Counter(f"{finding['level']} {finding['rule']}" for finding in findings)

    more = counts(after) - counts(before)
    assert not [item for item in more if not item.startswith("info")], (name, more)


def _demand_comments(case: Case, texts: Texts) -> None:
    """Assert that each comment is still there, but for one behind what went."""
    for name, text in case.bad.items():
        kept = texts[name]
        for line in text.split("\n"):
            if line.strip().startswith(_COMMENT):
                assert line in kept.split("\n") or "SBATCH" in line, (case.name, line)
            elif "#" in line and line.split("#")[0] in kept:
                assert line.split("#", 1)[1] in kept, (case.name, line)


def _changed(old: Texts, new: Texts) -> list[str]:
    found: list[str] = []
    for name, text in old.items():
        before, after = text.split("\n"), new[name].split("\n")
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        for kind, i1, i2, j1, j2 in matcher.get_opcodes():
            if kind != "equal":
                found += [f"-{line}" for line in before[i1:i2]]
                found += [f"+{line}" for line in after[j1:j2]]
    return found

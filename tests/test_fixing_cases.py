"""`--fix` on the bad twins of labelled cases: mended, and nothing else touched."""

import json
import shutil
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus import SHARED, needs_corpus
from speccheck.validator.cli.main import main

CASES = sorted((SHARED / "corpus" / "cases").glob("*/bad")) if SHARED else []
FLAGS = {
    "nodes": "--nodes",
    "gpus_per_node": "--gpus-per-node",
    "gpu": "--gpu",
    "fabric": "--fabric",
    "instance_type": "--instance",
    "nvlink_domain": "--nvlink-domain",
    "role": "--role",
    "framework_version": "--framework-version",
    "nccl_version": "--nccl-version",
}
Failures = Counter[tuple[str, str]]


def words_of(case: dict[str, Any]) -> list[str]:
    words = list(case["files"])
    for name, value in (case.get("command_context") or {}).items():
        words += [FLAGS[name], str(value)] if name in FLAGS else []
    return words


def failures(words: list[str]) -> tuple[Failures, set[tuple[str, int]]]:
    """Return what fails at which level, and the lines that fixes of it change."""
    main([*words, "--output", "json=report.json"])
    report = json.loads(Path("report.json").read_text("utf-8"))
    failed = [finding for finding in report["findings"] if finding["outcome"] == "fail"]
    fixed = {
        (edit["file"], line)
        for item in failed
        if item["fix"]
        for edit in item["fix"]["edits"]
        for line in range(edit["line"], edit["end_line"] + 1)
    }
    return Counter((item["rule"], item["level"]) for item in failed), fixed


def changed_lines(old: str, new: str) -> set[int]:
    before, after = old.split("\n"), new.split("\n")
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    found: set[int] = set()
    for kind, start, stop, _, _ in matcher.get_opcodes():
        if kind != "equal":
            found |= set(range(start + 1, max(stop, start + 1) + 1))
    return found


@needs_corpus
@pytest.mark.parametrize("more", [(), ("--unsafe-fixes",)], ids=["safe", "all"])
@pytest.mark.parametrize("bad", CASES, ids=lambda path: path.parent.name)
def test_a_bad_twin_is_mended_and_nothing_else(
    bad: Path,
    more: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = words_of(yaml.safe_load((bad.parent / "case.yaml").read_text("utf-8")))
    shutil.copytree(bad, tmp_path, dirs_exist_ok=True, copy_function=shutil.copyfile)
    monkeypatch.chdir(tmp_path)
    before, fixed = failures(words)
    old = {path: path.read_text("utf-8") for path in map(Path, words) if path.exists()}
    capsys.readouterr()
    main([*words, "--fix", *more])
    if not capsys.readouterr().err.startswith("speccheck: fixed "):
        pytest.skip("no such fix")
    for path, text in old.items():
        new = path.read_text("utf-8")
        # What a later pass mends stands where an earlier one has changed something.
        near = {(name, line + by) for name, line in fixed for by in (-1, 0, 1)}
        strange = {
            line for line in changed_lines(text, new) if (str(path), line) not in near
        }
        assert more or not strange, new  # proposals name keys, no lines
        assert comments(new) <= comments(text)
    after, _ = failures(words)
    assert told(after).total() < told(before).total()
    assert not told(after) - told(before)
    assert main([*words, "--diff", *more]) == 0, (
        "a second time there is something to fix"
    )


def told(failed: Failures) -> Failures:
    """Return the errors and warnings: advice on what is new there may come."""
    return Counter({item: count for item, count in failed.items() if item[1] != "info"})


def comments(text: str) -> Counter[str]:
    lines = (item for item in text.split("\n") if not item.startswith("#SBATCH"))
    return Counter(line.partition("#")[2].strip() for line in lines if "#" in line)

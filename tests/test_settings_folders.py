"""Settings in nested folders: the closest counts, locks add up, in every batch."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from settings_files import DEEPSPEED, JOB, failed, put, report, run

CONFIG = "{}/ds.json"


def _plan_of(report: dict[str, Any], path: str) -> dict[str, Any]:
    (index,) = [n for n, item in enumerate(report["plans"]) if path in item["files"]]
    plan: dict[str, Any] = report["plans"][index]
    plan["findings"] = [
        {name: value for name, value in finding.items() if name != "plan"}
        for finding in report["findings"]
        if finding["plan"] == index
    ]
    return plan


@pytest.fixture
def tree(repository: Path) -> Path:
    """Return the folders with settings of their own, of others, and none."""
    put(repository / "speccheck.toml", 'ignore = ["COMM-006"]\n' + JOB)
    put(repository / "a" / "speccheck.toml", JOB.replace("nodes = 8", "nodes = 4"))
    put(
        repository / "a" / "deep" / "pyproject.toml",
        '[tool.speccheck]\nextend = "../speccheck.toml"\nselect = ["BATCH", "COMM"]\n',
    )
    put(repository / "b" / "pyproject.toml", "[project]\nname = 'no settings'\n")
    put(
        repository / "c" / "speccheck.toml",
        JOB + '[levels]\nCOMM-006 = "error"\n[facts-for."x/**"]\nrole = "sft"\n',
    )
    for folder in ("a", "a/deep", "b", "c", "c/x"):
        put(repository / CONFIG.format(folder), DEEPSPEED)
    return repository


FILES = ["ds.json", *(CONFIG.format(item) for item in ("a", "a/deep", "b", "c", "c/x"))]
SETTINGS = {
    "ds.json": ["speccheck.toml"],
    "a/ds.json": ["a/speccheck.toml"],
    "a/deep/ds.json": ["a/deep/pyproject.toml", "a/speccheck.toml"],
    "b/ds.json": ["speccheck.toml"],
    "c/ds.json": ["c/speccheck.toml"],
    "c/x/ds.json": ["c/speccheck.toml"],
}


def _batches() -> Iterator[list[str]]:
    """Yield the files in twos, in both orders, all of them, and by folder."""
    for item, other in itertools.combinations(FILES, 2):
        yield [item, other]
        yield [other, item]
    yield FILES
    yield FILES[::-1]
    yield ["."]
    yield ["a", "c"]


@pytest.mark.slow
@pytest.mark.usefixtures("tree")
def test_a_verdict_is_the_same_in_every_batch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    alone = {item: _plan_of(report(capsys, item), item) for item in FILES}
    assert {name: plan["settings"] for name, plan in alone.items()} == SETTINGS
    judged = {json.dumps(plan["findings"]) for plan in alone.values()}
    assert len(judged) >= len(FILES) - 1  # the tree does tell its folders apart
    for batch in _batches():
        found = report(capsys, *batch)
        for plan in found["plans"]:
            (path,) = plan["files"]
            assert _plan_of(found, path) == alone[path], batch


def test_the_closest_counts_and_nothing_is_merged(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tree / "a" / "speccheck.toml", "")
    assert failed(capsys, "ds.json") == ["BATCH-001"]
    _, out, _ = run(capsys, "a/ds.json")
    assert "number of GPUs not known" in out
    assert "settings a/speccheck.toml" in out


def test_of_one_folder_the_own_file_counts(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tree / "pyproject.toml", "[tool.speccheck.facts]\nnodes = 2\n")
    assert report(capsys, "ds.json")["plans"][0]["settings"] == ["speccheck.toml"]


def test_a_search_ends_at_the_top_of_the_repository(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "b" / ".git").write_text("gitdir: elsewhere\n")
    assert report(capsys, "b/ds.json")["plans"][0]["settings"] == []


def test_outside_of_a_repository_it_goes_on_to_the_top(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / ".git").rmdir()
    assert report(capsys, "b/ds.json")["plans"][0]["settings"] == ["speccheck.toml"]


def test_from_another_folder_the_same_settings(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree / "c" / "x")
    plan = report(capsys, "ds.json")["plans"][0]
    assert plan["settings"] == ["../speccheck.toml"]
    monkeypatch.chdir(tree / "b")
    plan = report(capsys, str(tree / "c" / "ds.json"))["plans"][0]
    assert plan["settings"] == ["../c/speccheck.toml"]


def test_standard_input_lies_where_its_name_says(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream:
        buffer = (tree / "ds.json").open("rb")

    monkeypatch.setattr("sys.stdin", Stream)
    found = report(capsys, "-", "--stdin-filename", "c/x/ds.json")
    Stream.buffer.close()
    assert found["plans"][0]["settings"] == ["c/speccheck.toml"]
    assert found["settings"]["files"] == ["c/speccheck.toml"]


def test_files_of_one_plan_under_several_settings_say_whose_count(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=8\nsrun deepspeed t.py --deepspeed"
    put(tree / "a" / "run.sh", f"{script} c/ds.json\n")
    trainer = "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n"
    put(tree / "b" / "train.yaml", trainer + "deepspeed: c/ds.json\n")
    reason = "settings of speccheck.toml, the closest to train.yaml"
    for words in (["b/train.yaml", "c/ds.json"], ["c/ds.json", "b/train.yaml"]):
        _, out, _ = run(capsys, *words, "--show-files")
        assert reason in out, words
        (plan,) = report(capsys, *words)["plans"]
        assert plan["settings"] == ["speccheck.toml"]
        assert reason in plan["grouping"]


def test_locks_of_all_files_above_add_up(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tree / "org.toml", 'mandatory = ["MEM-001"]\n')
    put(tree / "pyproject.toml", '[tool.speccheck]\nmandatory = ["CKPT-001"]\n')
    text = 'extend = "org.toml"\nmandatory = ["COMM-006"]\n' + JOB
    put(tree / "speccheck.toml", text)
    put(tree / "a" / "speccheck.toml", 'mandatory = ["BATCH"]\n' + JOB)
    _, out, _ = run(capsys, "--show-settings", "a/deep/ds.json")
    assert [line.split("  ")[-1].strip() for line in out.splitlines() if "mand" in line]
    (row,) = [line for line in out.splitlines() if line.startswith("  mandatory")]
    assert '["BATCH", "COMM-006", "MEM-001", "CKPT-001"]' in row
    origins = "a/speccheck.toml:1, speccheck.toml:2, org.toml:1, pyproject.toml:2"
    assert row.endswith(origins)


@pytest.mark.parametrize(
    "words",
    [
        ["--ignore", "BATCH-001"],
        ["--ignore", "BATCH"],
        ["--ignore", "global_batch_differs_from_product"],
        ["--ignore", "batching"],
        ["--extend-ignore", "BATCH"],
        ["--select", "COMM"],
        ["--settings", "empty.toml", "--ignore", "BATCH", "--nodes", "8"],
    ],
)
@pytest.mark.parametrize(
    "lock", ["BATCH-001", "BATCH", "global_batch_differs_from_product", "batching"]
)
def test_nothing_switches_off_what_is_mandatory(
    repository: Path, capsys: pytest.CaptureFixture[str], words: list[str], lock: str
) -> None:
    put(repository / "empty.toml", JOB)
    put(repository / "speccheck.toml", f'mandatory = ["{lock}"]\n' + JOB)
    assert "BATCH-001" in failed(capsys, "ds.json", *words)


def test_only_isolation_gets_past_a_lock_and_the_report_says_so(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'mandatory = ["BATCH-001"]\n' + JOB)
    job = ["--nodes", "8", "--gpus-per-node", "8", "--ignore", "BATCH"]
    assert "BATCH-001" in failed(capsys, "ds.json", *job)
    assert "BATCH-001" not in failed(capsys, "ds.json", *job, "--isolated")
    for form in ("text", "concise"):
        _, out, _ = run(capsys, "ds.json", *job, "--isolated", "--output", form)
        assert "settings not read (--isolated)" in out
    found = report(capsys, "ds.json", *job, "--isolated")
    assert found["settings"] == {"files": [], "isolated": True}


def test_what_a_line_switches_off_is_counted(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", '\nignore = ["BATCH", "COMM-006"]\n' + JOB)
    code, out, _ = run(capsys, "ds.json")
    assert code == 0
    assert "switched off by speccheck.toml:2 (BATCH-001, " in " ".join(out.split())
    found = report(capsys, "ds.json")
    (off,) = found["summary"]["switched_off"]
    assert off["by"] == "speccheck.toml:2"
    assert "BATCH-001" in off["clauses"]["must"]
    assert "COMM-006" in off["clauses"]["should"]
    assert found["plans"][0]["summary"]["switched_off"] == [off]


def test_a_rule_that_is_switched_off_is_counted(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", JOB)
    rule = "global_batch_differs_from_product"
    found = report(capsys, "ds.json", "--ignore", rule)
    (off,) = found["summary"]["switched_off"]
    assert off["by"] == "--ignore"
    assert off["rules"] == [f"{rule} of BATCH-001"]


def test_what_does_not_apply_is_not_switched_off(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", JOB)
    assert report(capsys, "ds.json")["summary"]["switched_off"] == []
    found = report(capsys, "ds.json", "--ignore", "MRC", "--fabric", "infiniband")
    assert found["summary"]["switched_off"] == []


def test_a_selection_of_settings_is_counted_that_of_the_command_line_is_not(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'select = ["BATCH"]\n' + JOB)
    (off,) = report(capsys, "ds.json")["summary"]["switched_off"]
    assert off["by"] == "speccheck.toml:1"
    assert "COMM-006" in off["clauses"]["should"]
    put(repository / "speccheck.toml", JOB)
    found = report(capsys, "ds.json", "--select", "BATCH")
    assert found["summary"]["switched_off"] == []


@pytest.mark.parametrize(
    "pattern", ["vendor", "vendor/", "vendor/**", "**/vendor/*.json", "v*r/d?.json"]
)
def test_what_is_excluded_is_not_searched(
    repository: Path, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    put(repository / "vendor" / "ds.json", DEEPSPEED)
    put(repository / "speccheck.toml", f'exclude = ["{pattern}"]\n')
    files = [file["path"] for file in report(capsys, ".")["files"]]
    assert files == ["ds.json"]
    named = report(capsys, "vendor/ds.json")["files"]
    assert [item["status"] for item in named] == ["judged"]
    put(repository / "speccheck.toml", "")
    files = [
        file["path"] for file in report(capsys, ".", "--exclude", pattern)["files"]
    ]
    assert files == ["ds.json"]


def test_hooks_name_every_file_and_exclude_some(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "vendor" / "ds.json", DEEPSPEED)
    text = 'exclude = ["vendor"]\nforce-exclude = true\n'
    put(repository / "speccheck.toml", text + JOB)
    code, out, _ = run(capsys, "vendor/ds.json")
    assert code == 3
    assert "vendor/ds.json: not judged: excluded by speccheck.toml:1" in out
    assert "settings exclude every file" in out
    found = report(capsys, "vendor/ds.json", "ds.json")
    assert [file["status"] for file in found["files"]] == ["excluded", "judged"]
    assert found["exit_code"] == 1
    assert report(capsys, "vendor/ds.json", "--no-force-exclude")["exit_code"] != 0

"""The first screen: causes before symptoms, width and colour, what --quiet keeps."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.engine.request import Request
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.report.causes import EXPLAINS, with_effects
from speccheck.validator.report.merge_findings import Shown, shown_findings
from speccheck.validator.report.style import Style
from speccheck.validator.run.run import run

ROOT = Path(__file__).resolve().parents[1]
SLOW = ROOT / "fixtures" / "examples" / "slow-all-reduce" / "all_reduce.log"
WRONG = '{"train_batch_size": "many", "zero_optimization": {"stage": 2}}'

NAMING = """\
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: data.jsonl
micro_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 2.0e-5
bf16: auto
output_dir: out
deepspeed: zero3.json
"""


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ds.json"
    path.write_text(WRONG, "utf-8")
    return path


def screen(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    main([*words])
    return capsys.readouterr().out.splitlines()


def test_causes_are_rules_that_exist() -> None:
    known = {entry.name for entry in rule_entries()}
    assert known >= {
        *EXPLAINS,
        *(name for names in EXPLAINS.values() for name in names),
    }


def test_no_rule_explains_itself() -> None:
    assert not [name for name, effects in EXPLAINS.items() if name in effects]


def test_a_symptom_hangs_below_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    lines = screen(
        capsys,
        str(SLOW),
        "--nodes",
        "2",
        "--instance",
        "p5.48xlarge",
        "--fabric",
        "efa",
    )
    heads = [line for line in lines if line.startswith(("error ", "warning "))]
    assert heads == ["error FAB-029 plugin_not_in_run"]
    hence = [line for line in lines if line.startswith("  hence ")]
    assert hence[0].startswith("  hence error COMM-010 all_reduce_below_floor: ")


def test_a_cause_hides_no_error_from_documents(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main([str(SLOW), "--nodes", "2", "--instance", "p5.48xlarge", "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    failed = {
        finding["rule"]
        for finding in report["findings"]
        if finding["outcome"] == "fail" and finding["level"] == "error"
    }
    assert failed == {"plugin_not_in_run", "all_reduce_below_floor"}


def names(shown: Iterable[Shown]) -> list[str]:
    return [item.finding.rule for item in shown]


def failure(shown: Shown, rule: str, plan: str = "a", *subjects: str) -> Shown:
    finding = shown.finding._replace(rule=rule, outcome="fail", level="error")
    return shown._replace(finding=finding, plan_name=plan, subjects=subjects)


@pytest.fixture
def some(wrong: Path) -> Shown:
    return shown_findings(run(Request(arguments=(str(wrong),))).plans)[0]


def test_a_chain_hangs_below_its_beginning(some: Shown) -> None:
    chain = [
        failure(some, rule)
        for rule in ("all_reduce_below_floor", "ran_over_sockets", "plugin_not_found")
    ]
    (first,) = with_effects(chain)
    assert first.finding.rule == "plugin_not_found"
    assert names(first.effects) == ["all_reduce_below_floor", "ran_over_sockets"]


def test_what_is_of_another_plan_or_part_is_not_explained(some: Shown) -> None:
    apart = [
        failure(some, "nvlink_down", "a", "GPU 1"),
        failure(some, "peer_copy_slow", "a", "GPU 2"),
        failure(some, "peer_copy_slow", "b", "GPU 1"),
    ]
    assert with_effects(apart) == apart
    together = [apart[0], failure(some, "peer_copy_slow", "a", "GPU 1", "GPU 2")]
    assert names(with_effects(together)) == ["nvlink_down"]


def test_a_warning_that_explains_an_error_stands_with_the_errors(some: Shown) -> None:
    cause = failure(some, "ran_over_sockets")
    cause = cause._replace(finding=cause.finding._replace(level="warning"))
    (first,) = with_effects([failure(some, "all_reduce_below_floor"), cause])
    assert first.gravest == "error"


def test_quiet_prints_what_is_wrong_alone(
    wrong: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(wrong), "-q"]) == 1
    text = capsys.readouterr().out
    assert "error CONF-010 value_refused" in text
    assert "could not run. Tell me more" not in text
    assert "edition" not in text


def test_quiet_prints_nothing_where_nothing_is_wrong(
    wrong: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong.write_text('{"zero_optimization": {"stage": 2}}', "utf-8")
    assert main([str(wrong), "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("columns", "width"), [("", 80), ("100", 100), ("300", 120), ("20", 60), ("x", 80)]
)
def test_the_report_is_as_wide_as_columns_says(
    columns: str,
    width: int,
    wrong: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    first = screen(capsys, str(wrong))[0]
    assert len(first) == width
    assert first.endswith("exit 1")


@pytest.mark.parametrize(
    ("variables", "escapes"),
    [
        ({}, ""),
        ({"FORCE_COLOR": "1"}, "\x1b["),
        ({"FORCE_COLOR": "0"}, ""),
        ({"CLICOLOR_FORCE": "1"}, "\x1b["),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, ""),
    ],
)
def test_colour_follows_the_environment(
    variables: dict[str, str],
    escapes: str,
    wrong: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    text = "".join(screen(capsys, str(wrong)))
    assert ("\x1b[" in text) is bool(escapes)


def test_a_place_links_to_its_file_on_a_terminal_alone() -> None:
    text = Style(has_links=True).linked("ds.json:1:2", "/srv/ds.json")
    assert text == "\x1b]8;;file:///srv/ds.json\x1b\\ds.json:1:2\x1b]8;;\x1b\\"
    assert Style().linked("ds.json:1:2", "/srv/ds.json") == "ds.json:1:2"


def test_a_terminal_without_a_size_is_80_columns_wide(wrong: Path) -> None:
    ours, terminal = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".imports"), "TERM": "xterm"}
    command = [sys.executable, "-m", "speccheck", wrong.name, "--color", "always", "-q"]
    subprocess.run(
        command, stdout=terminal, stdin=terminal, env=environment, check=False
    )
    os.close(terminal)
    text = os.read(ours, 65536).decode()
    os.close(ours)
    assert "\x1b]8;;file://" in text
    first = re.sub(r"\x1b\[[0-9;]*m", "", text.splitlines()[0])
    assert len(first) == 80
    assert first.endswith("exit 1")


def test_a_named_file_that_is_not_here_is_no_pass_outside_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, elsewhere = tmp_path / "job", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    path = folder / "train.yaml"
    path.write_text(NAMING, "utf-8")
    monkeypatch.chdir(elsewhere)
    assert main([str(path)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("zero3.json, which train.yaml names, is not here")
    (folder / "zero3.json").write_text('{"zero_optimization": {"stage": 3}}', "utf-8")
    assert main([str(path)]) == 0

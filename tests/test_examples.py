"""The examples of speccheck's own format: what holds, and what exactly fails."""

import re
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.engine.request import Request
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import run

EXAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "examples" / "native"
SIZES = ("xs", "s", "m", "l", "xl", "xxl")
MOST_LINES, MOST_COLUMNS = 110, 88
# Musts that no file alone can settle, or that no rule judges yet.
OPEN_MUSTS = {"MRC-011", "FT-006", "CKPT-007"}

FAILURES: dict[str, list[tuple[str, str, int]]] = {
    "xs": [
        ("global_batch_differs_from_product", "error", 42),
        ("two_half_precision_modes", "error", 46),
    ],
    "s": [
        ("heads_not_divisible_by_tensor_parallel", "error", 24),
        ("tensor_parallel_beyond_nvlink_domain", "warning", 32),
        ("sequence_not_divisible_by_context_parallel", "error", 43),
        ("interface_of_one_host", "error", 102),
    ],
    "m": [
        ("global_batch_not_divisible", "error", 45),
        ("gradient_reduction_not_overlapped", "warning", 71),
        ("key_refused", "error", 72),
        ("watchdog_in_effect_off", "warning", 73),
        ("error_handling_off", "error", 106),
    ],
    "l": [
        ("watchdog_shorter_than_gathered_save", "error", 76),
        ("checkpoint_interval_off_optimum", "error", 82),
        ("gathered_blocking_save", "warning", 84),
        ("optimizer_state_not_saved", "error", 86),
        ("expected_waste_above_limit", "warning", 89),
        ("no_restart_budget", "warning", 93),
        ("error_handling_off", "error", 107),
    ],
    "xl": [
        ("layers_not_divisible_by_pipeline", "error", 24),
        ("world_not_divisible_by_model_parallel", "error", 34),
        ("algorithm_pinned", "warning", 106),
        ("invalid_algorithm_list", "error", 106),
        ("fast_transport_disabled", "warning", 107),
    ],
    "xxl": [
        ("checkpoint_interval_off_optimum", "error", 80),
        ("single_checkpoint_tier", "warning", 80),
        ("expected_waste_above_limit", "warning", 87),
        ("recovery_budget_exceeded", "warning", 92),
        ("logs_too_rarely", "warning", 100),
        ("mrc_value_out_of_range", "error", 105),
        ("transport_retries_outlast_watchdog", "warning", 105),
    ],
}


def path_of(size: str, ending: str) -> str:
    return str(EXAMPLES / f"size-{size}-{ending}.yaml")


def judged(path: str) -> JudgedPlan:
    (plan,) = run(Request((path,))).plans
    return plan


def failures(plan: JudgedPlan) -> list[tuple[str, str, int]]:
    """Return the rule, level and line of each failure, in the order of the lines."""
    found = [
        (finding.finding.rule, finding.finding.level, finding.locations[0].line)
        for finding in plan.findings
        if finding.finding.outcome in {"fail", "error"}
    ]
    return sorted(found, key=lambda row: (row[2], row[0]))


def test_every_size_class_has_both() -> None:
    names = [f"size-{size}-{end}.yaml" for size in SIZES for end in ("fails", "holds")]
    assert sorted(path.name for path in EXAMPLES.iterdir()) == sorted(names)


@pytest.mark.parametrize("size", SIZES)
def test_where_all_holds_nothing_is_found(
    size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = judged(path_of(size, "holds"))
    assert plan.size == size.upper()
    assert failures(plan) == []
    assert main([path_of(size, "holds")]) == 0
    assert capsys.readouterr().out.startswith(
        ("no problems: ", "nothing wrong found in")
    )


@pytest.mark.parametrize("size", SIZES)
def test_where_all_holds_next_to_no_must_is_open(size: str) -> None:
    unknown = {
        finding.finding.clause
        for finding in judged(path_of(size, "holds")).findings
        if finding.finding.outcome == "unknown"
        and finding.finding.clause_level == "must"
    }
    assert unknown <= OPEN_MUSTS


@pytest.mark.parametrize("size", SIZES)
def test_each_fault_is_found_at_its_line(
    size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = judged(path_of(size, "fails"))
    assert plan.size == size.upper()
    assert failures(plan) == FAILURES[size]
    assert main([path_of(size, "fails")]) == 1
    assert " required checks could run " in capsys.readouterr().out.split("\n")[0]


@pytest.mark.parametrize("size", SIZES)
def test_faults_are_of_different_areas(size: str) -> None:
    areas = {
        finding.finding.clause.partition("-")[0]
        for finding in judged(path_of(size, "fails")).findings
        if finding.finding.outcome == "fail" and finding.finding.level == "error"
    }
    assert len(areas) > 1


@pytest.mark.parametrize("size", SIZES)
def test_each_line_that_is_called_wrong_has_its_finding(size: str) -> None:
    lines = Path(path_of(size, "fails")).read_text(encoding="utf-8").splitlines()
    called = {n for n, line in enumerate(lines, 1) if "# wrong" in line}
    places = {
        at.line
        for finding in judged(path_of(size, "fails")).findings
        if finding.finding.outcome == "fail"
        for at in finding.locations
    }
    assert called
    assert called <= places


def test_an_example_can_be_read_at_a_glance() -> None:
    wrong = []
    for path in sorted(EXAMPLES.iterdir()):
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MOST_LINES:
            wrong.append(f"{path.name}: {len(lines)} lines")
        if max(len(line) for line in lines) > MOST_COLUMNS:
            wrong.append(f"{path.name}: a line of more than {MOST_COLUMNS} columns")
        if not re.match(r"# Size class X{0,2}[SML]: ", lines[0]):
            wrong.append(f"{path.name}: the first line names no size class")
    assert not wrong, "\n".join(wrong)


CONFLICT = EXAMPLES.parent / "conflict"


def test_a_conflict_across_files_is_framed_on_both_sides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(CONFLICT.parent)
    assert main(["conflict"]) == 1
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("error CONF-009 conflicting_statements")
    assert lines[start + 1 : start + 8] == [
        "  batch.gradient_accumulation_steps is stated as 8 and as 4",
        "    conflict/train.yaml:8:30",
        "     8 | gradient_accumulation_steps: 8",
        "       |                              ^ stated here",
        "    conflict/zero2.json:3:34",
        '     3 |   "gradient_accumulation_steps": 4,',
        "       |                                  ^ and here",
    ]
    assert "error COMM-017 interface_of_one_host" in lines

"""Every rule's fixtures, through the public way in: files to located findings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from message_wording import wrong_wording
from rule_fixes import files_after, told
from rule_fixtures import OUTCOMES, all_fixtures, findings_of, load
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.node.host_names import fold

FIXING_RULES = 82  # at least
# Rules that show no finding without a fix: each finding names the one variable or key,
# or it is `mending` that is not always certain, which tests/test_mending.py holds.
WITHOUT_A_TRAP = frozenset(
    {
        "activation_offload_without_recompute",
        "algorithm_pinned",
        "asynchronous_save_ineffective",
        "captured_graphs_with_expandable_segments",
        "compression_without_warmup",
        "connection_limit_refused",
        "debugging_variable_left_set",
        "diagnosis_port_exposed",
        "differs_from_published_set",
        "elastic_mode_with_fixed_batch",
        "expert_layers_under_weight_sharding",
        "fast_transport_disabled",
        "flight_recorder_off",
        "fsdp1_key_in_fsdp2",
        "gradient_clipping_off",
        "gradient_sharding_under_pipeline_engine",
        "heartbeat_shorter_than_step",
        "in_switch_reduction_off",
        "keep_count_refused",
        "length_grouping_with_streaming",
        "loss_scale_setting_out_of_range",
        "micro_batch_group_out_of_range",
        "mrc_plugin_switched_off",
        "mrc_value_out_of_range",
        "offload_without_pinned_memory",
        "one_queue_with_fsdp",
        "only_one_checkpoint_kept",
        "peer_access_disabled",
        "refused_value_type",
        "repeated_key",
        "restart_policy_refused",
        "save_bound_to_parallelism",
        "sequence_parallel_without_tensor_parallel",
        "split_limit_beside_expandable_segments",
        "streamed_ranks_unequal",
        "tasks_differ_from_devices",
        "tensor_overlap_without_sequence_parallel",
        "text_loaded_as_another_type",
        "tf32_switched_off",
        "throughput_not_logged",
        "variable_of_newer_release",
        "verbose_debug_logging",
        "watchdog_shorter_than_gathered_save",
    }
)

_FIELDS = {"outcome", "level", "at", "says", "missing", "fix", "hosts"}


def _id(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", all_fixtures(), ids=_id)
def test_fixture_gives_exactly_the_expected_findings(
    path: Path, tmp_path: Path
) -> None:
    assert path.name.startswith(tuple(f"{o}_" for o in OUTCOMES)), path.name
    fixture = load(path)
    found = findings_of(fixture, tmp_path)
    outcomes = [finding.finding.outcome for finding in found]
    messages = [finding.finding.message for finding in found]
    assert outcomes == [row["outcome"] for row in fixture.expect], messages
    assert fixture.outcome in outcomes, messages
    for row, located in zip(fixture.expect, found, strict=True):
        _compare(row, located)
        if located.finding.outcome == "fail":
            assert not [*wrong_wording(located.finding)]
        fix = located.finding.fix
        assert row.get("fix") == told(fix, fixture), located.finding.message
        if fix is not None and "lines" in row["fix"]:
            mended = replace(fixture, files=files_after(fix, fixture))
            left = _failures(findings_of(mended, tmp_path))
            assert len(left) < len(_failures(found)), left


def _failures(found: list[LocatedFinding]) -> list[str]:
    return [
        finding.finding.message
        for finding in found
        if finding.finding.outcome == "fail"
    ]


def test_rules_with_fixes_show_where_there_is_none() -> None:
    rows: dict[str, list[Any]] = {}
    for path in all_fixtures():
        fixture = load(path)
        fails = [row for row in fixture.expect if row["outcome"] == "fail"]
        rows.setdefault(fixture.rule, []).extend(row.get("fix") for row in fails)
    fixing = {rule for rule, fixes in rows.items() if any(fixes)}
    certain = {
        rule
        for rule in fixing
        if all(item is not None and "cannot" not in item for item in rows[rule])
    }
    assert certain == WITHOUT_A_TRAP
    assert len(fixing) >= FIXING_RULES


def _compare(row: dict[str, Any], located: LocatedFinding) -> None:
    finding = located.finding
    assert set(row) <= {"outcome", "level", "at", "says", "missing", "fix", "hosts"}, (
        row
    )
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
    assert fold(finding.hosts) == row.get("hosts", ""), finding.message
    assert row.get("says", "") in finding.message, finding.message
    if "missing" in row:
        assert list(finding.missing) == row["missing"]

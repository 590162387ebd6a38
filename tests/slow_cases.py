"""Cases of a parametrised test, of which few run every day and the others are slow."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

# How many cases of a parametrised test run every day, by module and test; the others
# are slow. Those of a test are alike, and each costs as much as a file of small ones.
EVERYDAY_CASES: Mapping[str, Mapping[str, int]] = {
    "test_adapter": {
        "test_a_broken_half_of_a_script_blocks_nobody": 23,
        "test_what_is_no_verdict_follows_the_policy": 9,
    },
    "test_bad_machines": {
        "test_a_machine_without_gpus_is_inconclusive_where_some_are_needed": 2,
    },
    "test_certificate_diff": {
        "test_whatever_a_certificate_says_is_compared_or_refused": 2,
    },
    "test_certification": {
        "test_a_wrong_command_line_is_told": 3,
    },
    "test_config_on_node": {
        "test_a_job_fits_one_machine_and_not_its_twin": 3,
    },
    "test_edition": {
        "test_a_broken_edition_is_refused": 2,
    },
    "test_edition_diff": {
        "test_a_number_makes_of_a_finding_what_it_measured": 3,
    },
    "test_edition_refused": {
        "test_a_patch_that_breaks_a_rule_is_refused": 2,
    },
    "test_environment_faults": {
        "test_a_reported_fault_is_told_where_it_stands": 31,
    },
    "test_fleet_rules": {
        "test_a_fault_is_found_on_exactly_its_nodes": 8,
        "test_healthy_nodes_that_measured_are_no_outliers": 2,
        "test_no_fault_accuses_another_node": 8,
    },
    "test_history": {
        "test_a_wrong_command_line_is_one_line": 2,
    },
    "test_house": {
        "test_the_plain_path_imports_only_what_it_needs": 2,
    },
    "test_known_defects": {
        "test_a_known_mistake_is_not_made": 8,
    },
    "test_measurement_properties": {
        "test_what_is_not_told_or_odd_is_no_pass": 16,
    },
    "test_nccl_log_leaves": {
        "test_a_leaf_that_is_not_told_turns_no_rule_into_a_pass": 2,
    },
    "test_node_end_to_end": {
        "test_a_fault_is_found_with_what_to_do_and_nothing_else": 8,
    },
    "test_node_properties": {
        "test_a_fault_is_found_by_its_rule_alone": 29,
        "test_a_leaf_that_is_gone_hides_no_fault": 2,
        "test_nothing_fails_on_a_healthy_machine": 17,
    },
    "test_own_profile": {
        "test_a_broken_profile_is_one_line_with_its_place": 2,
    },
    "test_preflight": {
        "test_an_interruption_leaves_no_half_file_and_no_probe_behind": 2,
    },
    "test_preflight_engines": {
        "test_what_nobody_knows_is_unknown_to_nagios": 2,
    },
    "test_probe_faults": {
        "test_one_leaf": 11,
        "test_one_leaf_of_what_is_missing": 6,
    },
    "test_probe_gpu": {
        "test_a_call_that_fails_costs_its_own_leaves": 3,
    },
    "test_report_html": {
        "test_the_page_is_whole_and_asks_nobody_for_anything": 2,
    },
    "test_settings_folders": {
        "test_nothing_switches_off_what_is_mandatory": 7,
    },
    "test_shell_flow": {
        "test_what_a_script_expands_to_stays_small": 3,
    },
    "test_signing_envelope": {
        "test_anything_else_is_refused_in_one_line": 5,
    },
    "test_simulate_evidence": {
        "test_what_is_wrong_denies_its_track": 2,
    },
    "test_simulate_faults": {
        "test_a_fault_is_found_by_its_rules_on_a_node_of_a_fleet": 5,
        "test_a_fault_of_a_gpu_is_found_on_each": 10,
    },
    "test_telemetry_hostile": {
        "test_a_damaged_log_is_read_as_far_as_it_goes": 2,
    },
    "test_tournament_judgement": {
        "test_noise_alone_blames_nobody": 3,
        "test_slow_nodes_are_found_and_no_other": 7,
    },
    "test_variable_relations": {
        "test_the_example_of_a_row_is_told_once": 31,
        "test_the_mended_twin_of_a_row_is_left_alone": 31,
    },
    "test_verification": {
        "test_a_change_of_anything_is_rejected": 2,
        "test_who_holds_the_key_cannot_sign_another_verdict": 2,
    },
    "test_waiver_properties": {
        "test_a_waiver_silences_what_it_names_and_nothing_else": 5,
    },
    "test_waiver_words": {
        "test_what_is_no_waiver_is_told": 5,
    },
    "test_waivers_hostile": {
        "test_a_waivers_file_has_limits": 2,
    },
    "test_waivers_of_nodes": {
        "test_which_machines_and_parts_are_meant": 3,
    },
    "test_what_if": {
        "test_what_is_set_replaces_statements_and_the_rest_follows": 5,
    },
}


def few(cases: Iterable[T], is_everyday: Callable[[T], bool]) -> list[Any]:
    """Return the cases for `parametrize`, marked slow but for the everyday ones."""
    return [
        pytest.param(case, marks=[] if is_everyday(case) else pytest.mark.slow)
        for case in cases
    ]


def few_rows(count: int, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return rows of several arguments, marked slow but for the first ones."""
    later = (pytest.param(*row, marks=pytest.mark.slow) for row in rows[count:])
    return [*rows[:count], *later]


def first_of(cases: Iterable[T], key: Callable[[T], object]) -> frozenset[T]:
    """Return the first case of each key."""
    first: dict[object, T] = {}
    for case in cases:
        first.setdefault(key(case), case)
    return frozenset(first.values())


def mark_repeats(items: Sequence[pytest.Item]) -> None:
    """Mark as slow what EVERYDAY_CASES leaves to the slow tests, evenly spread."""
    cases: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        module, _, name = item.nodeid.partition("[")[0].partition("::")
        key = module.removeprefix("tests/").removesuffix(".py"), name
        is_slow = item.get_closest_marker("slow") is not None
        if name in EVERYDAY_CASES.get(key[0], ()) and not is_slow:
            cases[key].append(item)
    for (module, name), repeats in cases.items():
        most = EVERYDAY_CASES[module][name]
        shares = [index * most // len(repeats) for index in range(len(repeats))]
        for item, before, share in zip(repeats, [-1, *shares], shares, strict=False):
            if share == before:
                item.add_marker(pytest.mark.slow)

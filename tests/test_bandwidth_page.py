"""Every published bandwidth is judged through the engine: what must hold of them."""

from functools import cache

import pytest

from bandwidth_page import PAGE, page
from published_runs import (
    INSTANCES,
    Judged,
    average_gigabytes,
    judge_snapshot,
    judged_rows,
    whole_table,
)

pytestmark = pytest.mark.slow  # judges all of them

# A healthy fabric with the wrong algorithm forced on it: 0.78 of what its own choice
# is held to, and 0.85 of what its own choice reaches.
FORCED = "h200-38"
REFUSED = {"thr-33", "thr-35", "thr-36", "thr-37"}


@cache
def judged() -> dict[str, Judged]:
    return {row.row["id"]: row for row in judged_rows()}


def test_the_page_says_what_the_rules_say_now() -> None:
    assert PAGE.read_text("utf-8") == page([*judged().values()]), "run make bandwidth"


def test_no_healthy_run_fails() -> None:
    failing = {
        name
        for name, item in judged().items()
        if item.row["kind"] == "measured" and item.verdict == "fail"
    }
    assert failing == {FORCED}


def test_whatever_is_no_pass_says_why() -> None:
    silent = [
        name
        for name, item in judged().items()
        if item.verdict not in {"pass", "plausible"} and not item.why
    ]
    assert silent == []


def test_thresholds_that_nobody_can_reach_are_refused() -> None:
    refused = {name for name, item in judged().items() if item.verdict == "implausible"}
    assert refused == REFUSED
    rejected = {
        name
        for name, item in judged().items()
        if item.row["kind"] == "rejected-threshold"
    }
    assert rejected == REFUSED


def test_a_low_average_over_sizes_says_nothing() -> None:
    document = whole_table("dgxh100")
    assert round(average_gigabytes(document)) == 159
    found = judge_snapshot(document, INSTANCES["DGX H100"], "preflight")
    floor, usual = (
        finding for finding in found if finding.clause in {"COMM-010", "COMM-070"}
    )
    assert (floor.outcome, usual.outcome) == ("pass", "pass")
    assert "480.2 GB/s at 8 GiB" in floor.message


def test_without_its_machine_a_run_between_nodes_is_unknown() -> None:
    document = whole_table("b200-4")
    (floor,) = (
        item
        for item in judge_snapshot(document, None, "preflight")
        if item.clause == "COMM-010"
    )
    assert floor.outcome == "unknown"
    assert "--instance" in floor.message

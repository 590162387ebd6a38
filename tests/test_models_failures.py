"""Failures: times between them, effective time and spare nodes against fleets."""

from collections.abc import Mapping
from typing import Any

import pytest

from predictions.failures import effective_share, predictions
from predictions.prediction import Prediction, rows, vectors
from speccheck.validator.models.failures import (
    DEFAULTS,
    NODE_FAILURES,
    FailureRate,
    abort_of_torch,
    detection,
    effective_time_ratio,
    hot_spares,
    initialization,
    mean_time_between_failures,
)

ROWS = tuple(predictions())
HELD = [row for row in ROWS if row.band_percent is not None]
_FAILURES = [row for row in ROWS if row.table == "failures"]
_RATIOS = [row for row in rows("ettr") if effective_share(row) is not None]


def _id(row: Prediction | Mapping[str, Any]) -> str:
    return row.id if isinstance(row, Prediction) else str(row["id"])


def test_all_rows_are_there() -> None:
    assert len(ROWS) == 4 + 8 + 11
    assert [row.id for row in HELD] == [
        "llama3-unexpected",
        "llama3-all",
        "mttf-rsc1-16384",
        "mttf-rsc1-131072",
        "ettr-03",
    ]


@pytest.mark.parametrize("row", HELD, ids=_id)
def test_rows_within_their_band(row: Prediction) -> None:
    assert row.error_percent is not None
    assert row.band_percent is not None
    assert abs(row.error_percent) <= row.band_percent


@pytest.mark.parametrize("row", _FAILURES, ids=_id)
def test_bounds_hold_every_published_time(row: Prediction) -> None:
    assert row.published is not None
    assert row.lower is not None
    assert row.upper is not None
    assert row.lower <= row.published <= row.upper


@pytest.mark.parametrize("row", _RATIOS, ids=_id)
def test_effective_time_of_each_run(row: Mapping[str, str]) -> None:
    share = effective_share(row)
    assert share is not None
    assert share == pytest.approx(float(row["predicted"]), abs=1e-4)
    if row["relation"] == "ge":
        assert share >= float(row["published"])
    if row["relation"] == "lt":
        assert share < float(row["published"])


@pytest.mark.parametrize("item", vectors("job_mttf_h"), ids=_id)
def test_time_between_failures_vectors(item: Mapping[str, Any]) -> None:
    inputs = item["inputs"]
    own = inputs["rate_per_node_day"]
    rate = FailureRate(own, own, own, "")
    nodes = inputs["gpus"] // inputs["gpus_per_node"]
    seconds = mean_time_between_failures(nodes, rate).value
    assert seconds / 3600 == pytest.approx(item["expected"], rel=item["tolerance"])


@pytest.mark.parametrize("item", vectors("ettr_meta"), ids=_id)
def test_effective_time_vectors(item: Mapping[str, Any]) -> None:
    inputs = item["inputs"]
    found = effective_time_ratio(
        inputs["nodes"],
        inputs["rate_per_node_day"],
        inputs["restart_s"],
        inputs["interval_s"],
        inputs["write_s"],
    )
    assert found == pytest.approx(item["expected"], abs=item["tolerance"])


@pytest.mark.parametrize("item", vectors("hot_spares"), ids=_id)
def test_spare_vectors(item: Mapping[str, Any]) -> None:
    inputs = item["inputs"]
    mean = inputs["nodes"] * inputs["rate_per_node_day"] * inputs["repair_days"]
    assert hot_spares(mean, inputs["quantile"]).value == item["expected"]


@pytest.mark.parametrize("item", vectors("hot_spares_from_mean"), ids=_id)
def test_spare_vectors_by_mean(item: Mapping[str, Any]) -> None:
    inputs = item["inputs"]
    assert hot_spares(inputs["mean"], inputs["quantile"]).value == item["expected"]


def test_very_many_broken_nodes_do_not_overflow() -> None:
    assert hot_spares(2000.0, 0.99).value == 2105


def test_no_failures_ask_for_no_spares() -> None:
    assert hot_spares(1e-9, 0.99).value == 0


def test_the_law_is_calibrated_for_large_jobs_alone() -> None:
    assert mean_time_between_failures(512).kind == "calibrated"
    small = mean_time_between_failures(511)
    assert small.kind == "advisory"
    assert "from 512 nodes" in small.valid


def test_the_rates_are_those_of_the_table() -> None:
    defaults = {row["id"]: row for row in rows("failures") if row["kind"] == "default"}
    found = [
        float(defaults[f"default-{name}"]["rate_per_node_day"])
        for name in ("low", "mid", "high")
    ]
    assert found == [NODE_FAILURES.low, NODE_FAILURES.usual, NODE_FAILURES.high]


def test_defaults_of_recovery_are_those_of_the_table() -> None:
    table = {row["id"]: float(row["value_s"]) for row in rows("recovery_defaults")}
    found = {name: default.seconds for name, default in DEFAULTS.items()}
    assert found == {name: table[name] for name in found}


def test_a_watchdog_bounds_detection_from_above() -> None:
    found = detection(600, "")
    assert (found.value, found.lower, found.upper, found.kind) == (
        0.1,
        0.1,
        600,
        "advisory",
    )


def test_the_abort_of_torch_waits_four_dumps() -> None:
    assert abort_of_torch().upper == 60


def test_initialization_ends_where_the_plan_gives_up() -> None:
    assert initialization(2048, None).upper == 1047
    assert initialization(2048, 300).upper == 300
    assert initialization(2048, 3).value == 3
    assert initialization(16384, None).value == 30

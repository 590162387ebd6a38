"""Forecasts of saves, failures and recovery: numbers of a known job, what they need."""

from math import inf

import pytest

from speccheck.validator.forecast.checkpointing import checkpoint_forecast
from speccheck.validator.forecast.quantity import Quantity
from speccheck.validator.forecast.recovery import recovery_forecast
from stated_plan import plan

# BLOOM-176B: 384 GPUs, 2.3 TB written in 40 s, every three hours.
BLOOM: dict[str, object] = {
    "cluster.nodes": 48,
    "cluster.world_size": 384,
    "model.parameters": 176_247_271_424,
    "parallelism.engine": "deepspeed",
    "precision.compute_dtype": "bf16",
    "optimizer.name_of_optimizer": "adam",
    "checkpoint.enabled": True,
    "checkpoint.format": "sharded",
    "checkpoint.interval_steps": 100,
    "checkpoint.keep_last": 3,
    "checkpoint.storage_bytes_per_second": 63e9,
    "run.step_seconds": 108.0,
    "run.uses_torch": True,
    "kernels.compiled": False,
}
ALL_PHASES: dict[str, object] = {
    **BLOOM,
    "recovery.detect_seconds": 30,
    "recovery.replace_seconds": 15,
    "recovery.initialize_seconds": 15,
    "recovery.load_seconds": 30,
    "recovery.in_process_restart": True,
}


def saving(name: str, **changes: object) -> Quantity:
    return checkpoint_forecast(plan(BLOOM, **changes)).named(name)


def recovering(name: str, **changes: object) -> Quantity:
    return recovery_forecast(plan(BLOOM, **changes)).named(name)


def test_names_that_reports_rely_on() -> None:
    found = checkpoint_forecast(plan(BLOOM))
    assert [(item.name, item.unit) for item in found.quantities] == [
        ("size", "bytes"),
        ("stored", "bytes"),
        ("write_time", "seconds"),
        ("stall", "seconds"),
        ("interval", "seconds"),
        ("time_between_failures", "seconds"),
        ("optimum_interval", "seconds"),
        ("expected_waste", "share"),
        ("effective_share", "share"),
    ]
    found = recovery_forecast(plan(BLOOM))
    assert [(item.name, item.unit) for item in found.quantities] == [
        ("detect", "seconds"),
        ("abort", "seconds"),
        ("replace", "seconds"),
        ("rendezvous", "seconds"),
        ("load", "seconds"),
        ("first_step", "seconds"),
        ("total", "seconds"),
        ("hot_spares", "count"),
    ]


def test_an_empty_plan_says_what_each_needs() -> None:
    forecasts = (checkpoint_forecast(plan({})), recovery_forecast(plan({})))
    for forecast in forecasts:
        for item in forecast.quantities:
            assert item.estimate is None, item.name
            assert item.missing, item.name


def test_a_save_of_bloom() -> None:
    """2.47 TB at 63 GB/s take 39 s; published are 40 s."""
    assert saving("size").need().value == 14 * 176_247_271_424
    assert saving("stored").need().value == 3 * 14 * 176_247_271_424
    written = saving("write_time").need()
    assert written.value == pytest.approx(39.2, abs=0.05)
    assert written.lower < 40 < written.upper
    assert saving("stall").need() == written
    assert saving("interval").need().value == 10_800


def test_a_checkpoint_that_one_rank_writes_takes_longer_than_the_store() -> None:
    found = saving("write_time", checkpoint__format="full").need()
    assert (found.kind, found.upper) == ("lower_bound", inf)


def test_a_stated_stall_in_the_background_is_no_write_time() -> None:
    changes = {"checkpoint__asynchronous": True, "checkpoint__save_seconds": 2}
    assert saving("stall", **changes).need().value == 2
    assert saving("write_time", **changes).need().value == pytest.approx(39.2, abs=0.05)


def test_a_background_save_stalls_for_the_copy_to_the_host() -> None:
    found = saving("stall", checkpoint__asynchronous=True).need()
    assert found.kind == "advisory"
    assert found.value < 1


def test_the_size_of_an_adapter_is_not_that_of_the_model() -> None:
    assert saving("size", model__adapter="lora").missing == ("checkpoint.size_bytes",)


def test_a_size_is_counted_where_it_is_not_stated() -> None:
    """Llama 3.1 8B has 8,030,261,248 parameters."""
    llama = {
        "model__parameters": None,
        "model__layers": 32,
        "model__hidden_size": 4096,
        "model__attention_heads": 32,
        "model__key_value_heads": 8,
        "model__feed_forward_size": 14336,
        "model__gated_feed_forward": True,
        "model__vocabulary_size": 128_256,
        "model__tied_embeddings": False,
    }
    assert saving("size", **llama).need().value == 14 * 8_030_261_248
    open_ended = saving("size", **{**llama, "model__vocabulary_size": None}).need()
    assert open_ended.kind == "lower_bound"
    assert open_ended.lower < 14 * 8_030_261_248
    assert open_ended.upper == inf


def test_an_unknown_optimizer_leaves_wide_bounds() -> None:
    found = saving("size", optimizer__name_of_optimizer="muon").need()
    assert (found.lower, found.upper) == (2 * 176_247_271_424, 18 * 176_247_271_424)


def test_failures_by_the_law_or_as_measured() -> None:
    by_law = saving("time_between_failures").need()
    assert by_law.value == 86_400 / (48 * 0.004)
    assert by_law.kind == "advisory"
    measured = saving("time_between_failures", cluster__job_mtbf_hours=84).need()
    assert (measured.value, measured.kind) == (84 * 3600, "exact")


def test_waste_lies_between_what_failures_leave_possible() -> None:
    waste, rest = saving("expected_waste").need(), saving("effective_share").need()
    assert waste.lower < waste.value < waste.upper
    assert rest.value == 1 - waste.value
    assert (rest.lower, rest.upper) == (1 - waste.upper, 1 - waste.lower)
    assert saving("expected_waste", cluster__nodes=None).missing == ("cluster.nodes",)


def test_the_optimum_follows_from_save_and_failures() -> None:
    """Young: the root of 2 x 40 s x 604,800 s is 6,956 s."""
    found = saving(
        "optimum_interval", checkpoint__save_seconds=40, cluster__job_mtbf_hours=168
    )
    assert found.need().value == pytest.approx(6929.23, abs=0.05)
    assert found.need().kind == "exact"


def test_phases_that_a_plan_states_add_up() -> None:
    found = recovery_forecast(plan(ALL_PHASES)).named("total").need()
    assert found.value == 30 + 15 + 15 + 30 + 108
    assert found.upper == found.value + 60


def test_a_missing_phase_leaves_a_bound_from_below() -> None:
    total = recovering("total")
    assert total.missing == ("recovery.replace_seconds",)
    assert total.note == "without replace"
    assert total.need().upper == inf


def test_detection_is_the_watchdog_or_the_default_of_torch() -> None:
    stated = recovering("detect", communication__timeout_seconds=60).need()
    assert (stated.value, stated.lower, stated.upper) == (0.1, 0.1, 60)
    default = recovering("detect").need()
    assert (default.value, default.upper, default.kind) == (0.1, 1800, "advisory")
    assert recovering("detect", run__uses_torch=False).missing == (
        "communication.timeout_seconds",
    )


def test_loading_reads_what_was_saved() -> None:
    found = recovering("load").need()
    assert found.value == pytest.approx(39.2, abs=0.05)
    assert found.lower == 0


def test_compilation_has_no_bound() -> None:
    assert recovering("first_step").need().upper == 108
    assert recovering("first_step", kernels__compiled=None).need().upper == inf


def test_experts_of_unknown_size_count_for_nothing() -> None:
    """Their lower bound is zero parameters, of which no checkpoint has a size."""
    dimensions = {"layers": 32, "hidden_size": 4096, "attention_heads": 32}
    named: dict[str, object] = {
        f"model__{name}": item for name, item in dimensions.items()
    }
    found = saving("size", model__parameters=None, model__experts=8, **named)
    assert found.missing == ("model.parameters",)
    assert found.estimate is None


def test_spares_for_a_day_of_repair() -> None:
    """48 nodes x 0.004 a day: 0.19 broken on average, 2 in 99 of 100 cases."""
    found = recovering("hot_spares").need()
    assert (found.lower, found.value, found.upper) == (1, 2, 2)


@pytest.mark.parametrize("size", [0, -1, 10**18])
def test_sizes_of_no_job_end_no_forecast(size: int) -> None:
    """Rules of their own refuse them; a division by zero helps nobody."""
    for base in (BLOOM, ALL_PHASES):
        numbers = [name for name, item in base.items() if type(item) in {int, float}]
        for name in numbers:
            odd = plan({**base, name: size})
            for forecast in (checkpoint_forecast(odd), recovery_forecast(odd)):
                for item in forecast.quantities:
                    assert item.estimate is not None or item.missing, (name, item.name)

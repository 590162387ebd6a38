"""NeMo 1's trainer and `exp_manager`."""

import pytest

from nemo1_files import PRETRAINING
from reader_text import ReadText, read_text
from speccheck.validator.sources.formats.nemo1 import READER


def read(text: str) -> ReadText:
    return read_text(READER, text, "gpt.yaml")


@pytest.mark.parametrize(
    ("devices", "count"),
    [("8", 8), ("'4'", 4), ("[0, 1]", 2), ("'0,1,2'", 3), ("auto", None), ("-1", None)],
)
def test_devices(devices: str, count: int | None) -> None:
    text = PRETRAINING.replace("devices: 8", f"devices: {devices}")
    assert read(text).value("cluster.gpus_per_node") == count


def test_processes_on_the_cpu_are_no_gpus() -> None:
    text = PRETRAINING.replace("accelerator: gpu", "accelerator: cpu")
    assert read(text).status("cluster.gpus_per_node") is None


@pytest.mark.parametrize(
    ("precision", "leaves"),
    [
        ("bf16", {"bf16": True, "fp16": False}),
        ("16", {"fp16": True, "bf16": False}),
        ("'16-mixed'", {"fp16": True, "bf16": False}),
        ("32", {"compute_dtype": "fp32"}),
        ("32-true", {"compute_dtype": "fp32"}),
        ("int8", {"compute_dtype": None}),
    ],
)
def test_words_for_precision(precision: str, leaves: dict[str, object]) -> None:
    found = read(PRETRAINING.replace("bf16-mixed", precision))
    assert {name: found.value(f"precision.{name}") for name in leaves} == leaves


def test_the_scaler_of_fp16() -> None:
    scaler = (
        "  native_amp_init_scale: 4294967296\n"
        "  native_amp_growth_interval: 1000\n"
        "  hysteresis: 2\n"
    )
    text = PRETRAINING.replace("  seed: 1234\n", scaler)
    assert read(text).status("precision.initial_scale_power") is None
    found = read(text.replace("bf16-mixed", "16"))
    assert found.value("precision.initial_scale_power") == 32
    assert found.value("precision.loss_scale_window") == 1000
    assert found.value("precision.hysteresis") == 2
    assert found.value("precision.loss_scale") == 0


STEPS = "    every_n_train_steps: 250\n"


@pytest.mark.parametrize(
    ("old", "new", "unit", "steps", "seconds"),
    [
        (STEPS, "", "steps", 500, None),
        (STEPS, "    train_time_interval: 00:30:00\n", "seconds", None, 1800.0),
        (STEPS, "    train_time_interval: {hours: 2}\n", "seconds", None, 7200.0),
        ("500\n  limit_val_batches: 32", "0.25", None, None, None),
        ("limit_val_batches: 32", "limit_val_batches: 0.0", None, None, None),
    ],
)
def test_when_checkpoints_are_written(
    old: str, new: str, unit: str | None, steps: int | None, seconds: float | None
) -> None:
    text = PRETRAINING.replace(old, new)
    if old != STEPS:
        text = text.replace(STEPS, "")
    found = read(text)
    assert found.value("checkpoint.interval_steps") == steps
    assert found.value("checkpoint.interval_seconds") == seconds
    if unit is not None:
        assert found.value("checkpoint.interval_unit") == unit


@pytest.mark.parametrize(("top", "kept"), [("-1", 0), ("1", 2), ("0", 1)])
def test_how_many_checkpoints_stay(top: str, kept: int) -> None:
    text = PRETRAINING.replace("save_top_k: 4", f"save_top_k: {top}")
    assert read(text).value("checkpoint.keep_last") == kept


def test_a_run_that_outlasts_its_job_is_not_ended_in_time() -> None:
    text = PRETRAINING.replace("00:23:30:00", "03:00:00:00")
    found = read(text)
    assert found.value("recovery.exit_before_walltime") is False
    assert found.line("recovery.exit_before_walltime") == 14


@pytest.mark.parametrize(
    ("limit", "is_in_time"), [("00:23:00:00", True), ("02:00:00:00", False)]
)
def test_the_clock_of_each_run_takes_the_place_of_max_time(
    limit: str, *, is_in_time: bool
) -> None:
    block = "exp_manager:\n"
    found = read(PRETRAINING.replace(block, f"{block}  max_time_per_run: '{limit}'\n"))
    leaf = "recovery.exit_before_walltime"
    assert found.value(leaf) is is_in_time
    assert found.note(leaf).startswith("max_time_per_run")

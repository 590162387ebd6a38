"""Logs of MLPerf: among what others print, with samples where others have steps."""

import json

import pytest

from corpus import corpus_folder
from run_logs import DAY, EXAMPLES, ReadLog, read_log


def entry(seconds: float, key: str, value: object = None, **result: object) -> str:
    kind = result.pop("kind", "POINT_IN_TIME")
    return ":::MLLOG " + json.dumps(
        {
            "namespace": "",
            "time_ms": int((DAY + seconds) * 1000),
            "event_type": kind,
            "key": key,
            "value": value,
            "metadata": {"file": "train.py", "lineno": 7, **result},
        }
    )


def start(seconds: float, key: str, **result: object) -> str:
    return entry(seconds, key, kind="INTERVAL_START", **result)


def end(seconds: float, key: str, **result: object) -> str:
    return entry(seconds, key, kind="INTERVAL_END", **result)


def log(*lines: str) -> ReadLog:
    return read_log("\n".join(lines) + "\n", "slurm-1.out")


def test_ends_of_intervals_are_events() -> None:
    found = log(
        start(0, "init_start"),
        start(1, "run_start"),
        start(5, "eval_start", samples_count=64),
        end(9, "eval_stop", samples_count=64),
        end(10, "run_stop", samples_count=64, status="aborted"),
    )
    assert [(event.event.value, event.written.value) for event in found.events] == [
        (None, "init_start"),
        ("run.start", "run_start"),
        ("run.eval_start", "eval_start"),
        ("run.eval_stop", "eval_stop"),
        ("run.stop", "run_stop"),
    ]
    assert found.events[-1].status.value == "aborted"
    assert found.events[-1].time.value == DAY + 10
    assert found.log.is_complete.value is True


def test_samples_become_steps_by_the_batch_that_the_log_tells() -> None:
    found = log(
        entry(0, "submission_benchmark", "demo"),
        entry(0, "global_batch_size", 64),
        start(1, "run_start"),
        entry(31, "train_loss", 2.5, samples_count=640, lr=1e-4),
        entry(62, "train_loss", 2.4, samples_count=1280.0, lr=2e-4),
    )
    loss = found.metric("train.loss")
    assert (loss.steps.value, loss.values.value) == ((10, 20), (2.5, 2.4))
    assert found.metric("train.learning_rate").values.value == (1e-4, 2e-4)
    assert found.metric("train.global_batch").values.value == (64,)
    assert found.log.run.value == "demo"


@pytest.mark.parametrize(
    ("batch", "result", "steps"),
    [
        (64, (640, 1280), (10, 20)),  # more than the samples allow: these are samples
        (64, (10, 20), (10, 20)),
        (1, (10, 20), (10, 20)),
        (None, (10, 20), (10, 20)),
    ],
)
def test_steps_that_count_samples_are_known_by_the_samples(
    batch: int | None, result: tuple[int, int], steps: tuple[int, int]
) -> None:
    settings = [entry(0, "global_batch_size", batch)] if batch else []
    found = log(
        *settings,
        start(1, "run_start"),
        entry(31, "tracked_stats", {"train_step_time": 3.1}, step=result[0]),
        entry(62, "tracked_stats", {"train_step_time": 3.1}, step=result[1]),
        end(63, "block_stop", samples_count=20 * (batch or 1)),
    )
    assert found.metric("train.step_time").steps.value == steps


def test_settings_before_the_run_are_no_series() -> None:
    found = log(
        entry(0, "seed", 1234),
        entry(0, "opt_base_learning_rate", 4e-4),
        start(1, "run_start"),
        entry(9, "eval_accuracy", 0.93, samples_count=640),
    )
    assert [item.written.value for item in found.metrics] == ["eval_accuracy"]
    assert not found.metrics[0].metric.is_known


def test_the_mean_of_a_block_has_no_step() -> None:
    stats = {"throughput": 46.7, "train_step_time": 3.2, "max_memory_usage": 93.5}
    found = log(
        start(1, "run_start"),
        entry(31, "tracked_stats", {"train_step_time": 3.1}, step=10),
        entry(40, "tracked_stats", stats, step=0),
    )
    assert found.metric("train.step_time").steps.value == (10, None)
    # Samples a second, and gigabytes of one kind or the other: no value follows.
    candidates = {
        item.written.value: item.candidates.value
        for item in found.metrics
        if not item.metric.is_known
    }
    assert candidates == {
        "tracked_stats.throughput": ("train.tokens_per_second_per_gpu",),
        "tracked_stats.max_memory_usage": ("gpu.memory.peak",),
    }


def test_what_stands_around_the_lines_does_not_matter() -> None:
    found = log(
        "+ srun --ntasks=8 python train.py",
        f"+ echo '{start(0, 'run_start')}'",
        f"3: {start(1, 'run_start')}",
        "0: Epoch 0: 12%",
        f"[2026-05-04 08:00:31] 0: {entry(31, 'train_loss', 2.5, samples_count=1)}",
        f"{end(40, 'run_stop', status='success')} trailing words",
    )
    assert [event.rank.value for event in found.events] == [3, None]
    assert found.metric("train.loss").values.value == (2.5,)
    assert (found.log.lines.value, found.log.unread_lines.value) == (3, 0)


def test_broken_lines_are_counted() -> None:
    found = log(
        start(1, "run_start"),
        ':::MLLOG {"key": ',
        ':::MLLOG {"event_type": "OTHER", "key": "x"}',
        ':::MLLOG {"event_type": "POINT_IN_TIME", "key": 7}',
        ":::MLLOG [1]",
        ":::MLLOG " + "[" * 100_000,
    )
    assert (found.log.lines.value, found.log.unread_lines.value) == (6, 5)


def test_a_line_that_is_cut_off_is_not_the_end() -> None:
    whole = "\n".join((start(1, "run_start"), end(9, "run_stop", status="success")))
    assert read_log(whole, "a.log").log.is_complete.value is True
    cut = read_log(whole[:-30], "a.log")
    assert cut.log.is_complete.value is False
    assert cut.log.unread_lines.value == 1


def test_a_log_of_nccl_around_it_is_read_as_well() -> None:
    found = log(
        "n1:10:20 [0] NCCL INFO NCCL version 2.22.3+cuda12.6",
        start(1, "run_start"),
        entry(9, "train_loss", 2.5, samples_count=64),
    )
    assert found.format == "mllog"
    assert set(found.node.measured) >= {"run_logs", "metrics", "run_events"}


def test_a_published_run_of_eight_gpus() -> None:
    path = corpus_folder("logs/mllog") / "llama2_70b_lora_8gpu.txt"
    found = read_log(path.read_text("utf-8"), path.name)
    assert (found.log.lines.value, found.log.unread_lines.value) == (90, 0)
    assert found.log.is_complete.value is True
    assert found.log.run.value == "llama2_70b_lora"
    loss = found.metric("train.loss")
    assert len(loss.values.need()) == 38
    # A line each 80 samples, ten steps of its batch of 8.
    assert loss.steps.need()[:3] == (10, 20, 30)
    assert loss.steps.need()[-1] == 380
    assert found.metric("train.learning_rate").values.need()[0] == pytest.approx(
        4.998e-4, rel=1e-3
    )
    result = [event.event.value for event in found.events if event.event.is_known]
    assert result == [
        "run.start",
        *["run.eval_start", "run.eval_stop"] * 5,
        "run.stop",
    ]
    assert found.events[-1].status.value == "success"
    assert "communicators" in found.node.measured


def test_a_published_run_of_512_gpus() -> None:
    path = corpus_folder("logs/mllog") / "llama31_405b_512gpu.txt"
    found = read_log(path.read_text("utf-8"), path.name)
    assert (found.log.lines.value, found.log.unread_lines.value) == (1064, 0)
    loss, step_time = found.metric("train.loss"), found.metric("train.step_time")
    assert loss.steps.value == tuple(range(1, 313))
    assert len(step_time.values.need()) == 312 + 6  # and the means of six blocks
    assert step_time.steps.need().count(None) == 6
    known = {item.metric.value for item in found.metrics if item.metric.is_known}
    assert known == {"train.global_batch", "train.loss", "train.step_time"}


def test_the_example() -> None:
    path = EXAMPLES / "mlperf.log"
    found = read_log(path.read_text("utf-8"), path.name)
    assert found.metric("train.loss").steps.value == tuple(range(10, 130, 10))
    assert found.log.unread_lines.value == 0

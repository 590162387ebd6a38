"""Run logs of JSON lines: metrics, events, labels, times, and what is no log."""

import json
import math
from collections.abc import Mapping

import pytest

from corpus import corpus_folder
from run_logs import DAY, EXAMPLES, ReadLog, read_log, state_of
from speccheck.validator.evidence.measurement.telemetry import RunLogs
from speccheck.validator.sources.joining.one_node import joined


def lines(*records: Mapping[str, object]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def test_metrics_of_a_step_are_series_with_lists_of_one_length() -> None:
    found = read_log(
        lines(
            {"time": "2026-05-04T08:00:00Z", "step": 10, "loss": 2.5, "lr": 1e-4},
            {"time": "2026-05-04T08:00:42Z", "step": 20, "loss": 2.4},
        )
    )
    assert found.format == "run-log-jsonl"
    loss = found.metric("train.loss")
    assert loss.values.value == (2.5, 2.4)
    assert loss.steps.value == (10, 20)
    assert loss.times.value == (DAY, DAY + 42)
    assert loss.unit.value == "1"
    assert loss.written.value == "loss"
    assert found.metric("train.learning_rate").values.value == (1e-4,)
    log = found.log
    assert (log.dialect.value, log.lines.value, log.clock.value) == ("jsonl", 2, "utc")
    assert (log.first_seconds.value, log.last_seconds.value) == (DAY, DAY + 42)
    assert not log.is_complete.is_known  # nothing tells of a beginning or an end


def test_labels_make_series_of_their_own() -> None:
    found = read_log(
        lines(
            *(
                {"ts": DAY, "host": f"gpu-{node}", "rank": rank, "gpu": "1", "loss": 2}
                for node in (1, 2)
                for rank in (0, 9)
            )
        )
    )
    result = [
        (item.node.value, item.rank.value, item.gpu.value) for item in found.metrics
    ]
    assert result == [
        ("gpu-1", 0, 1),
        ("gpu-1", 9, 1),
        ("gpu-2", 0, 1),
        ("gpu-2", 9, 1),
    ]


def test_two_runs_in_one_log_are_two_series() -> None:
    found = read_log(
        lines(
            {"time": DAY, "run": "r1", "loss": 2.5},
            {"time": DAY + 1, "run": "r2", "loss": 9.5},
            {"time": DAY + 2, "run": "r1", "loss": 2.4},
        )
    )
    assert [(item.run.value, item.values.value) for item in found.metrics] == [
        ("r1", (2.5, 2.4)),
        ("r2", (9.5,)),
    ]


def test_values_come_in_the_unit_of_the_dictionary() -> None:
    found = read_log(
        lines(
            {
                "step": 1,
                "mfu(%)": 41.5,
                "memory/max_active(GiB)": 70.5,
                "step_time_ms": 4200,
            }
        )
    )
    assert found.metric("train.mfu").values.value == (0.415,)
    assert found.metric("gpu.memory.peak").values.value == (70.5 * 2**30,)
    assert found.metric("train.step_time").values.value == (4.2,)


def test_one_number_a_line_may_name_its_unit() -> None:
    found = read_log(
        lines(
            {"time": DAY, "metric": "gpu.power", "value": 691_000, "unit": "mW"},
            {"time": DAY, "metric": "gpu.utilization", "value": 97, "unit": "%"},
            {"time": DAY, "metric": "gpu.temperature", "value": 60, "unit": "K"},
        )
    )
    assert found.metric("gpu.power").values.value == (691.0,)
    assert found.metric("gpu.power").told_unit.value == "mW"
    assert found.metric("gpu.utilization").values.value == (0.97,)
    other = found.written("gpu.temperature")  # kelvin: no way is known
    assert not other.metric.is_known
    assert other.candidates.value == ("gpu.temperature",)
    assert (other.unit.value, other.values.value) == ("K", (60.0,))


def test_tables_within_a_record_are_part_of_the_name() -> None:
    found = read_log(
        lines({"time": DAY, "train": {"loss": 2.5}, "metrics": {"grad_norm": 1.5}})
    )
    assert found.metric("train.loss").values.value == (2.5,)
    assert found.metric("train.grad_norm").values.value == (1.5,)


def test_events_keep_what_they_tell() -> None:
    found = read_log(
        lines(
            {"time": DAY, "run_id": "r1", "edition": "1.0", "event": "run.start"},
            {
                "time": DAY + 9,
                "event": "run.oom",
                "rank": 12,
                "node": "gpu-2",
                "step": 40,
                "requested_bytes": 2**31,
            },
            {
                "time": DAY + 10,
                "event": "run.batch_size_change",
                "step": 50,
                "old": 512,
                "new": 1024,
                "reason": "schedule",
            },
            {
                "time": DAY + 11,
                "event": "run.resumed",
                "drill": "d1",
                "seconds": 74.5,
                "status": "success",
            },
            {"time": DAY + 12, "event": "coffee"},
        )
    )
    oom = found.events[1]
    assert (oom.event.value, oom.rank.value, oom.node.value) == ("run.oom", 12, "gpu-2")
    assert (oom.step.value, oom.size_bytes.value) == (40, 2**31)
    change = found.events[2]
    assert (change.old_value.value, change.new_value.value) == (512, 1024)
    assert change.reason.value == "schedule"
    drill = found.events[3]
    assert (drill.drill.value, drill.seconds.value) == ("d1", 74.5)
    assert drill.status.value == "success"
    assert not found.events[4].event.is_known
    assert found.events[4].written.value == "coffee"
    assert found.metrics == ()
    assert found.log.is_complete.value is False  # a beginning, and no end
    assert (found.log.run.value, found.log.edition.value) == ("r1", "1.0")


def test_a_record_that_calls_itself_an_event_may_be_metrics() -> None:
    found = read_log(lines({"time": DAY, "event": "log", "step": 1, "loss": 2.5}))
    assert found.events == ()
    assert found.metric("train.loss").values.value == (2.5,)


def test_no_finite_number_is_no_value_and_is_counted() -> None:
    text = (
        '{"step": 1, "loss": NaN}\n{"step": 2, "loss": -Infinity}\n'
        '{"step": 3, "loss": "nan"}\n{"step": 4, "loss": 2.5}\n'
        '{"step": 5, "loss": null}\n{"step": 6, "loss": true}\n'
    )
    loss = read_log(text).metric("train.loss")
    assert loss.values.value == (None, None, None, 2.5)
    assert loss.not_finite.value == 3


@pytest.mark.parametrize(
    ("result", "seconds", "clock"),
    [
        ("2026-05-04T08:00:00Z", DAY, "utc"),
        ("2026-05-04T10:00:00+02:00", DAY, "utc"),
        ("2026-05-04 08:00:00,250", DAY + 0.25, "local"),
        ("2026-05-04 08:00:00 UTC", DAY, "utc"),
        (DAY, DAY, "utc"),
        (DAY * 1e3, DAY, "utc"),
        (DAY * 1e6, DAY, "utc"),
        (int(DAY) * 10**9, DAY, "utc"),
        (str(DAY), DAY, "utc"),
        (12.5, None, "none"),  # since the start: no moment
        ("soon", None, "none"),
        (10**400, None, "none"),
        (True, None, "none"),
    ],
)
def test_times(result: object, seconds: float | None, clock: str) -> None:
    found = read_log(lines({"time": result, "step": 1, "loss": 2.5}))
    assert found.metric("train.loss").times.value == (seconds,)
    assert found.log.clock.value == clock


def test_lines_in_any_order_stay_as_they_are() -> None:
    moments = (DAY + 20, DAY, DAY + 10)
    found = read_log(lines(*({"time": item, "loss": 2.5} for item in moments)))
    assert found.metric("train.loss").times.value == moments
    assert found.log.first_seconds.value == DAY


def test_what_cannot_be_read_is_counted() -> None:
    good = lines(*({"step": item, "loss": 2.5} for item in range(20)))
    bad = '{"step": 1, "loss": 2.5, "loss": 3.5}\n[1]\nwarning: slow\n{"step":\n'
    found = read_log(good + bad)
    assert (found.log.lines.value, found.log.unread_lines.value) == (24, 4)
    assert len(found.metric("train.loss").values.need()) == 20


def test_a_last_line_that_is_cut_off_is_not_the_end() -> None:
    text = lines(
        {"time": DAY, "event": "run.start"},
        {"time": DAY + 1, "step": 1, "loss": 2.5},
        {"time": DAY + 2, "event": "run.stop", "status": "success"},
    )
    assert read_log(text).log.is_complete.value is True
    cut = read_log(text[:-20])
    assert cut.log.is_complete.value is False
    assert cut.log.unread_lines.value == 1


def test_the_monitor_of_superbench_numbers_its_gpus_in_the_name() -> None:
    text = (corpus_folder("logs") / "monitor.jsonl").read_text("utf-8")
    found = read_log(text, "monitor.jsonl")
    gpus = [item for item in found.metrics if item.metric.value == "gpu.utilization"]
    assert [gpu.gpu.value for gpu in gpus] == [*range(8)]
    assert gpus[0].values.value == (0.56, 0.56, 0.55, 0.3, 0.0)
    used = next(
        item for item in found.metrics if item.metric.value == "gpu.memory.used"
    )
    assert used.values.need()[0] == 267_517_952  # bytes, whatever its docstring says
    assert found.log.clock.value == "local"
    assert found.log.unread_lines.value == 0
    times = used.times.need()
    assert [later - times[0] for later in times if later and times[0]] == [
        *(0, 11, 22, 33, 44)
    ]


def test_each_series_stands_on_the_line_of_its_first_point() -> None:
    found = read_log(
        lines({"step": 1, "loss": 2.5}, {"step": 2, "grad_norm": 1.0}), "run.jsonl"
    )
    (place,) = found.metric("train.grad_norm").values.places
    assert (place.file, place.span and place.span.line) == ("run.jsonl", 2)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"messages": [{"role": "user", "content": "x"}]}\n', "data.jsonl"),
        ('{"schema": "speccheck-node-result/1", "time": 1}\n', "results.jsonl"),
        ('{"prompt": "a", "score": 0.5}\n{"prompt": "b", "score": 1}\n', "d.jsonl"),
        ('{"a": 1}\n', "train.log"),
        ("[1, 2]\n", "x.jsonl"),
    ],
)
def test_other_lines_of_json_are_no_logs(text: str, name: str) -> None:
    state, format_id = state_of(text, name)
    assert "run-log" not in format_id
    assert state != "judged"


def test_results_of_superbench_stay_what_they_are() -> None:
    text = '{"node": "n1", "nccl-bw:nvlink/allreduce_8589934592_busbw:0": 470.9}\n'
    assert state_of(text, "results-summary.jsonl") == ("judged", "superbench")


def test_deep_and_endless_records_end() -> None:
    deep = '{"step": 1, "x": ' + '{"y": ' * 50_000 + "1" + "}" * 50_001
    digits = '{"step": 2, "loss": 1' + "0" * 5000 + "}"
    good = lines(*({"step": item, "loss": 2.5} for item in range(40)))
    found = read_log(f"{good}{deep}\n{digits}\n")
    assert found.log.unread_lines.value == 2


def test_secrets_in_labels_are_starred() -> None:
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3h"
    found = read_log(
        lines({"time": DAY, "run": f"train {token}", "node": token, "loss": 2.5})
    )
    leaves = (found.log.run.value, found.metric("train.loss").node.value)
    assert all(leaf is not None and token not in leaf for leaf in leaves)


def test_the_healthy_example_is_whole() -> None:
    path = EXAMPLES / "healthy.jsonl"
    found = read_log(path.read_text("utf-8"), path.name)
    assert found.log.is_complete.value is True
    assert found.log.unread_lines.value == 0
    assert all(item.not_finite.value == 0 for item in found.metrics)
    lengths = {
        (len(item.values.need()), len(item.times.need()), len(item.steps.need()))
        for item in found.metrics
    }
    assert all(len({*item}) == 1 for item in lengths)


@pytest.mark.slow
def test_many_lines_are_read_once() -> None:
    count = 20_000
    text = lines(*({"time": DAY + item, "loss": item} for item in range(count)))
    values = read_log(text).metric("train.loss").values.need()
    assert math.fsum(value or 0 for value in values) == count * (count - 1) / 2


def test_series_of_several_logs_name_their_own() -> None:
    first = read_log(lines({"time": DAY, "step": 1, "loss": 2.5}), "a.jsonl")
    second = read_log(
        lines(
            {"time": DAY, "run": "r2", "grad_norm": 1.0},
            {"time": DAY, "event": "run.oom"},
        ),
        "b.jsonl",
    )
    both = ReadLog(joined([first.node, second.node]), "")
    assert [item.dialect.value for item in both.node.several(RunLogs).shown] == [
        "jsonl",
        "jsonl",
    ]
    assert [(item.metric.value, item.log.value) for item in both.metrics] == [
        ("train.loss", 0),
        ("train.grad_norm", 1),
    ]
    assert [event.log.value for event in both.events] == [1]
    (place,) = both.metrics[1].values.places
    assert place.file == "b.jsonl"

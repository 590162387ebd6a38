"""What exporters show: labels, timestamps, several scrapes, and broken lines."""

import pytest

from run_logs import DAY, EXAMPLES, read_log, state_of

MILLISECONDS = int(DAY * 1000)


def test_a_scrape_with_timestamps() -> None:
    found = read_log(
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
        "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",Hostname="n1"}} 97 {MILLISECONDS}\n'
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="1",Hostname="n1"}} 98 {MILLISECONDS}\n'
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",Hostname="n1"}} 99 {MILLISECONDS + 30_000}\n',
        "metrics.prom",
    )
    assert found.format == "prometheus"
    first, second = found.metrics
    assert (first.metric.value, first.unit.value) == ("gpu.utilization", "1")
    assert (first.node.value, first.gpu.value, second.gpu.value) == ("n1", 0, 1)
    assert first.values.value == (0.97, 0.99)
    assert first.times.value == (DAY, DAY + 30)
    assert found.log.clock.value == "utc"


def test_without_timestamps_nobody_knows_when() -> None:
    found = read_log(
        '# TYPE x gauge\nnode_infiniband_state_id{device="mlx5_0",port="1"} 4\n'
        'node_infiniband_state_id{device="mlx5_1",port="1"} 1\n',
        "scrape.txt",
    )
    up, down = found.metrics
    assert (up.metric.value, up.values.value) == ("net.port.up", (1.0,))
    assert (down.device.value, down.values.value) == ("mlx5_1 1", (0.0,))
    assert up.times.value == (None,)
    assert found.log.clock.value == "none"


def test_an_exporter_is_known_by_its_names_without_any_comment() -> None:
    text = 'DCGM_FI_DEV_POWER_USAGE{gpu="0",instance="10.0.0.7:9400"} 612.5\n'
    found = read_log(text * 3, "scrape.log")
    power = found.metric("gpu.power")
    assert power.values.value == (612.5,) * 3
    assert power.node.value == "10.0.0.7"


def test_open_metrics_tells_seconds_and_units() -> None:
    found = read_log(
        "# TYPE train_step gauge\n# UNIT train_step seconds\n"
        f'train_step{{rank="3"}} 4.2 {DAY}\n# EOF\n',
        "x.prom",
    )
    (series,) = found.metrics
    assert (series.told_unit.value, series.rank.value) == ("seconds", 3)
    assert series.times.value == (DAY,)
    assert not series.metric.is_known


def test_what_is_no_finite_number() -> None:
    found = read_log(
        '# TYPE x gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0"} NaN\n'
        'DCGM_FI_DEV_GPU_TEMP{gpu="0"} +Inf\nDCGM_FI_DEV_GPU_TEMP{gpu="0"} 61\n'
        'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 9223372036854775794\n',
        "x.prom",
    )
    series = found.metric("gpu.temperature")
    assert series.values.value == (None, None, 61.0)  # the blank of DCGM is none
    assert series.not_finite.value == 2


def test_labels_may_hold_anything() -> None:
    found = read_log(
        '# TYPE x gauge\nup{Hostname="a\\"b}\\\\c",note="x, y=\\"z\\""} 1\n'
        'up{Hostname="n2",} 1\nup{} 1\nup 1\n',
        "x.prom",
    )
    assert [item.node.value for item in found.metrics] == ['a"b}\\c', "n2", None]
    assert found.log.unread_lines.value == 0


@pytest.mark.parametrize(
    "line",
    [
        "up{a=b} 1",
        'up{a="1",a="2"} 1',
        "up",
        "up one",
        'up{a="1" 1',
        'up{a="' + "x" * 100_000,
        "9up 1",
    ],
)
def test_a_broken_line_is_counted(line: str) -> None:
    found = read_log(f"# TYPE x gauge\n{line}\nok 1\n", "x.prom")
    assert (found.log.lines.value, found.log.unread_lines.value) == (2, 1)


def test_a_last_line_that_is_cut_off() -> None:
    found = read_log('# TYPE x gauge\nok 1\nDCGM_FI_DEV_FB_USED{gpu="0",Hos', "x.prom")
    assert found.log.is_complete.value is False


@pytest.mark.parametrize(
    "text", ["DCGM_FI_DEV_GPU_UTIL is a field\n", "- # TYPE of thing\n", "a 1\nb 2\n"]
)
def test_other_texts_are_no_scrapes(text: str) -> None:
    _, format_id = state_of(text, "notes.txt")
    assert format_id == ""


def test_the_example_has_a_series_for_each_gpu_and_metric() -> None:
    path = EXAMPLES / "healthy.prom"
    found = read_log(path.read_text("utf-8"), path.name)
    assert len(found.metrics) == 5 * 2
    assert {item.node.value for item in found.metrics} == {"gpu-01", "gpu-02"}
    assert {len(item.values.need()) for item in found.metrics} == {35}

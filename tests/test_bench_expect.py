"""`speccheck bench expect`: what a collective should reach, and thresholds refused."""

import pytest

from speccheck.validator.cli.main import main

# Vendor thresholds that no fabric of theirs carries (docs/bandwidth.md): GB/s of
# awslabs/awsome-distributed-ai, 5-nccl-allreduce.sh.
REJECTED = [
    ("p4d.24xlarge", 300, "3.2 times the ceiling of 93.75 GB/s"),
    ("p5.48xlarge", 800, "1.63 times the ceiling of 490 GB/s"),
    ("p6-b200.48xlarge", 900, "times the ceiling"),
]


def expect(words: str) -> int:
    """Return the exit code of a command line."""
    arguments: list[str] = ["bench", "expect", *words.split()]
    return main(arguments)


def row(text: str, size: str) -> list[str]:
    """Return the figures of a size: ceiling, healthy, warning, failure."""
    (line,) = [item for item in text.splitlines() if item.strip().startswith(size)]
    return line.removeprefix(f"  {size}").split()


def test_a_fabric_is_known_before_anybody_measured_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert expect("all-reduce --instance p5.48xlarge --nodes 4") == 0
    text = capsys.readouterr().out
    assert text.startswith("all_reduce over 32 GPUs in 4 nodes of p5.48xlarge")
    # 8 x 400 Gbit/s; 0.92 and 0.80 of it.
    assert row(text, "8 GiB") == ["490", "371", "368", "320"]
    assert "400 GB/s, 8 GPUs x 50 GB/s of adapters" in text


def test_inside_a_node_it_is_open_whether_the_switch_adds_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert expect("all-reduce --instance azure-nd96isr-h100-v5 --size 8GiB") == 0
    text = capsys.readouterr().out
    assert row(text, "8 GiB") == ["490", "480", "442", "297"]
    assert "not known: whether NVLS added up" in text


@pytest.mark.parametrize(("instance", "rate", "why"), REJECTED)
def test_thresholds_that_nobody_can_reach_are_refused(
    instance: str, rate: int, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"all-reduce --instance {instance} --nodes 2 --threshold {rate}"
    assert expect(words) == 1
    text = capsys.readouterr().out
    assert f"refused: {rate} GB/s is " in text
    assert why in text


def test_a_threshold_that_can_be_reached_is_none_to_refuse() -> None:
    words = "all-gather --instance a3-ultragpu-8g --nodes 2 --threshold 250"
    assert expect(words) == 0


@pytest.mark.parametrize(
    ("words", "code", "result"),
    [
        ("", 2, "name one collective: all-reduce"),
        ("ring", 2, "name one collective: all-reduce"),
        ("all-reduce", 2, "how many GPUs has a node"),
        ("all-reduce --instance p99", 2, "p99"),
        ("all-reduce --instance p5.48xlarge --size tiny", 2, "--size tiny"),
        ("all-reduce --gpu B300 --gpus-per-node 8 --nodes 2", 3, "not known: needs"),
    ],
)
def test_what_is_wrong_or_not_known_is_one_line(
    words: str, code: int, result: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expect(words) == code
    both = capsys.readouterr()
    assert result in both.out + both.err
    assert (both.out + both.err).count("\n") == 1

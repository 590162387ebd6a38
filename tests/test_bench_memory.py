"""`speccheck bench memory`: what is copied, timed, kept and judged."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from speccheck.probes.memory_copies import (
    Amounts,
    CopyFailed,
    CopyStep,
    Rate,
    copy_tests,
    measured,
    steps,
)
from speccheck.probes.torch_copies import processors_of
from speccheck.validator.cli.bench_node import Budget, measure_and_judge
from speccheck.validator.cli.bench_node import run_copies as run
from speccheck.validator.cli.command_table import named
from speccheck.validator.cli.main import main

COMMAND = named("bench memory")
SIZE = 4096
AMOUNTS = Amounts(SIZE, 5)
H100 = "NVIDIA H100 80GB HBM3"
GIGA = 1e9
# Bytes a second of a healthy H100, by where a copy begins and ends.
HEALTHY = {"host": 55.4 * GIGA, "peer": 395.7 * GIGA, "local": 1519.0 * GIGA}


class Memory(bytearray):
    """Bytes that lie somewhere: on the host (None), or on a GPU."""

    gpu: int | None = None


class StandIn:
    """GPUs whose copies are real and whose clock says what it is told."""

    def __init__(self, count: int = 2, **rates: float) -> None:
        self.gpus: Sequence[int] = range(count)
        self.rates = {**HEALTHY, **rates}
        self.slow: dict[tuple[int | None, int | None], float] = {}
        self.unreachable: set[tuple[int, int]] = set()
        self.spoiled: set[tuple[int | None, int | None]] = set()
        self.interrupt_at: tuple[int | None, int | None] | None = None
        self.moved: Counter[tuple[int | None, int | None]] = Counter()

    def name_of(self, gpu: int | None) -> str:
        return "" if gpu is None else H100

    def can_reach(self, source: int, target: int) -> bool:
        return (source, target) not in self.unreachable

    def host_memory(self, gpu: int | None, size: int) -> Memory:
        assert gpu is not None
        return self._memory(None, size)

    def device_memory(self, gpu: int | None, size: int) -> Memory:
        return self._memory(gpu, size)

    def _memory(self, gpu: int | None, size: int) -> Memory:
        memory = Memory(size)
        memory.gpu = gpu
        return memory

    def fill(self, memory: Memory, seed: int) -> None:
        memory[:] = bytes((seed + n) % 251 for n in range(len(memory)))

    def seconds(
        self, target: Memory, source: Memory, times: int, batch: int
    ) -> list[float]:
        way = source.gpu, target.gpu
        if way == self.interrupt_at:
            raise KeyboardInterrupt
        for _ in range(times * batch):
            target[:] = source
            self.moved[way] += len(source)
        if way in self.spoiled:
            target[7] ^= 1
        kind = "host" if None in way else "local" if way[0] == way[1] else "peer"
        right = len(source) / self.slow.get(way, self.rates[kind])
        # One hiccup and one early reading: the median is neither.
        return [right * (9 if n == 0 else 0.5 if n == 1 else 1) for n in range(times)]

    def are_equal(self, target: Memory, source: Memory) -> bool:
        return target == source


def all_rates(device: StandIn) -> list[Rate]:
    return list(measured(device, AMOUNTS, lambda: True))


def test_each_gpu_and_pair_is_measured_each_way_and_by_its_median() -> None:
    device = StandIn(3)
    rates = all_rates(device)
    assert [item.step for item in rates] == steps(device)
    assert Counter(item.step.direction for item in rates) == {
        "host_to_device": 3,
        "device_to_host": 3,
        "local": 3,
        "device_to_device": 6,
    }
    by_kind = {
        item.step.direction: item.bytes_per_second
        for item in rates
        if item.bytes_per_second
    }
    assert by_kind == pytest.approx(
        {
            "host_to_device": HEALTHY["host"],
            "device_to_host": HEALTHY["host"],
            "local": HEALTHY["local"],
            "device_to_device": HEALTHY["peer"],
        }
    )


def test_every_copy_moves_all_bytes() -> None:
    device = StandIn(2)
    all_rates(device)
    copies = 3 + AMOUNTS.iterations  # to warm up, and timed
    assert device.moved == {
        (None, 0): copies * SIZE,
        (None, 1): copies * SIZE,
        (0, None): copies * SIZE,
        (1, None): copies * SIZE,
        (0, 0): 8 * copies * SIZE,  # in batches of eight: they are short
        (1, 1): 8 * copies * SIZE,
        (0, 1): 8 * copies * SIZE,
        (1, 0): 8 * copies * SIZE,
    }


def test_a_copy_that_brings_other_bytes_has_no_rate() -> None:
    device = StandIn(2)
    device.spoiled = {(0, 1)}
    device.unreachable = {(1, 0)}
    found = {item.step: item for item in all_rates(device)}
    spoiled = found[CopyStep("device_to_device", 0, 1)]
    assert spoiled.bytes_per_second is None
    assert spoiled.reason == "the copy differs from its source"
    assert found[CopyStep("device_to_device", 1, 0)].reason == "no peer access"
    (*_, pairs) = copy_tests(list(found.values()), device, AMOUNTS)
    assert pairs["bytes_per_second"] == [None, None]


def test_a_gpu_without_memory_does_not_end_the_others() -> None:
    class Full(StandIn):
        def device_memory(self, gpu: int | None, size: int) -> Memory:
            if gpu == 0:
                message = "the GPU has too little memory free"
                raise CopyFailed(message)
            return super().device_memory(gpu, size)

    rates = [item for item in all_rates(Full(2)) if item.step.direction == "local"]
    assert [item.reason for item in rates] == ["the GPU has too little memory free", ""]


def test_what_there_was_no_time_for_stands_there_without_a_rate() -> None:
    device, left = StandIn(2), iter([True] * 5 + [False])
    rates = list(measured(device, AMOUNTS, lambda: next(left)))
    tests = copy_tests(rates, device, AMOUNTS)
    result = {str(item["name"]): item["bytes_per_second"] for item in tests}
    assert list(result) == ["host_to_device", "device_to_host", "local"]
    assert result["local"] == [pytest.approx(HEALTHY["local"]), None]


def test_gpus_of_two_types_have_no_shared_name() -> None:
    class Mixed(StandIn):
        def name_of(self, gpu: int | None) -> str:
            return f"GPU of type {gpu}"

    device = Mixed(2)
    (first, *_) = copy_tests(all_rates(device), device, AMOUNTS)
    assert first["gpu"] == {"status": "absent"}


def judged(
    device: StandIn, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, str]]:
    """Return the exit code, and what each rule says at worst."""
    amounts = Amounts(2**20, 5)
    code = measure_and_judge(
        ["--output", "json", "--full", *words],
        COMMAND,
        lambda _, budget: run(device, amounts._replace(size_bytes=2**16), budget),
    )
    result = json.loads(capsys.readouterr().out)
    worst = ["not_applicable", "pass", "unknown", "fail"]
    found: dict[str, str] = {}
    for finding in result["findings"]:
        if finding["rule"]:
            before = found.get(finding["rule"], worst[0])
            found[finding["rule"]] = max(before, finding["outcome"], key=worst.index)
    return code, found


def test_healthy_gpus_hold_what_is_asked_of_their_type(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "copies.json"
    code, found = judged(StandIn(4), capsys, "--out", str(kept))
    # Copies of 64 KiB are too small to show the memory, and large enough for a floor
    # that they reach.
    assert found == {
        "host_copy_slow": "pass",
        "peer_copy_slow": "pass",
        "copy_beyond_link": "pass",
        "copies_slower_than_peers": "pass",
        "memory_slower_than_type": "unknown",
    }
    assert code == 3
    again = main([str(kept), "--profile", "preflight", "--output", "json", "--full"])
    assert again == code
    result = json.loads(capsys.readouterr().out)
    assert {finding["rule"] for finding in result["findings"]} == set(found)


def test_one_gpu_behind_its_peers_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    device = StandIn(4)
    device.slow = {(None, 3): 50.0 * GIGA}
    measure_and_judge(
        ["--output", "concise"],
        COMMAND,
        lambda _, budget: run(device, AMOUNTS, budget),
    )
    shown = capsys.readouterr()
    assert "GPU 3 copies from the host 50.0 GB/s, 10% below the median" in shown.out
    # The table goes where it does not mix with a report for programs.
    assert "host to GPU, GB/s" in shown.err
    assert "host to GPU, GB/s" not in shown.out


def test_an_interrupt_keeps_what_was_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    device, kept = StandIn(2), tmp_path / "copies.json"
    device.interrupt_at = (0, 0)
    code, found = judged(device, capsys, "--out", str(kept))
    assert code == 130
    assert found["host_copy_slow"] == "pass"
    names = [item["name"] for item in json.loads(kept.read_text())["copy_tests"]]
    assert names == ["host_to_device", "device_to_host"]


def test_an_interrupt_before_the_first_copy_is_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = StandIn(1)
    device.interrupt_at = (None, 0)
    code = measure_and_judge(
        [], COMMAND, lambda _, budget: run(device, AMOUNTS, budget)
    )
    assert code == 130
    assert "nothing was measured: interrupted" in capsys.readouterr().err


def test_a_budget_that_is_spent_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = run(StandIn(2), AMOUNTS, Budget(1e-9))
    (test,) = found.kinds["copy_tests"]  # one copy was begun in time, and no other
    assert test["bytes_per_second"] == [pytest.approx(HEALTHY["host"]), None]
    assert found.stopped == "stopped after 1e-09 s, its budget"
    nothing = found._replace(kinds={})
    assert measure_and_judge([], COMMAND, lambda _, __: nothing) == 3
    result = capsys.readouterr().err
    assert "speccheck: stopped after 1e-09 s, its budget: the rest was not" in result
    assert "nothing was measured: stopped after" in result


def test_without_a_gpu_nothing_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without = SimpleNamespace(
        __version__="2.9", cuda=SimpleNamespace(is_available=lambda: False)
    )
    monkeypatch.setitem(sys.modules, "torch", without)
    for kind in ("memory", "gemm"):
        assert main(["bench", kind]) == 3
        result = capsys.readouterr()
        assert result.err.startswith("speccheck: no GPU: PyTorch 2.9 sees none")
        assert result.out == ""


def test_without_torch_it_is_said_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for kind in ("memory", "gemm"):
        assert main(["bench", kind]) == 2
        message = "speccheck: needs torch: pip install 'speccheck[bench]'\n"
        assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "0"], "--size 0: must be a whole number above zero"),
        (["--size", "999999999"], "--size 999,999,999: at most 65,536"),
        (["--iterations", "1e9"], "must be a whole number"),
        (["--budget", "soon"], "--budget soon: must be seconds above zero"),
        (["--device", "tpu"], "--device tpu: must be one of cuda, cpu"),
        (["--out", "/no/such/folder/x.json"], "no such folder: /no/such/folder"),
        (["--gpu", "H999"], "H999"),
        (["node.json"], "takes no file: node.json"),
        (["--speed"], "no option --speed"),
    ],
)
def test_a_wrong_command_line_is_refused_before_anything_is_measured(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("memory", "gemm"):
        assert main(["bench", kind, *words]) == 2
        assert message in capsys.readouterr().err


def test_help_tells_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("memory", "gemm"):
        assert main(["bench", kind, "--help"]) == 0
        shown = capsys.readouterr().out
        assert f"usage: speccheck bench {kind}" in shown
        assert "--budget SECONDS" in shown


def test_lists_of_processors_are_read() -> None:
    assert processors_of("0-2,8,10-11\n") == {0, 1, 2, 8, 10, 11}
    for text in ("", "all", "-4"):
        with pytest.raises(OSError, match="no list of processors"):
            processors_of(text)


def test_copies_of_the_host_are_measured_and_say_nothing_of_a_gpu(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch")
    words = ["--device", "cpu", "--size", "1", "--iterations", "3", "--gpu", "H200-SXM"]
    assert main(["bench", "memory", *words, "--output", "json", "--full"]) == 3
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    outcomes = {finding["outcome"] for finding in result["findings"]}
    assert outcomes <= {"unknown", "not_applicable"}
    assert "unknown" in outcomes


def test_the_bytes_of_a_copy_within_the_host_are_those_of_its_source() -> None:
    torch = pytest.importorskip("torch")
    from speccheck.probes.torch_copies import TorchHost  # noqa: PLC0415 - needs torch

    clock = iter(range(100))
    host = TorchHost(torch, lambda: float(next(clock)))
    source, target = host.host_memory(None, 4096), host.device_memory(None, 4096)
    host.fill(source, 5)
    assert source[:3].tolist() == [6, 7, 8]
    assert not host.are_equal(target, source)
    assert host.seconds(target, source, 3, 2) == [0.5, 0.5, 0.5]
    assert host.are_equal(target, source)
    (rate,) = measured(TorchHost(torch), Amounts(2**20, 3), lambda: True)
    assert rate.step == CopyStep("local", None, None)
    assert rate.bytes_per_second

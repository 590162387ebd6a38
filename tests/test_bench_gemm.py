"""`speccheck bench gemm`: what is multiplied, timed, compared, kept and judged."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from speccheck.probes.matrix_products import (
    Effort,
    GemmProblem,
    Product,
    ProductFailed,
    fitting,
    matrix_products,
    measured,
)
from speccheck.validator.cli.bench_node import Budget, measure_and_judge
from speccheck.validator.cli.bench_node import run_products as run
from speccheck.validator.cli.command_table import named
from speccheck.validator.cli.main import main

H100 = "NVIDIA H100 80GB HBM3"
SIZE = 8192
EFFORT = Effort(SIZE, 10, 2.0)
TERA = 1e12
BOTH = ("bfloat16", "float8_e4m3")


class StandInProblem:
    """Products whose time and wrong values are what they are told."""

    def __init__(self, seconds: float, wrong: int, log: list[int]) -> None:
        self._seconds = seconds
        self._wrong = wrong
        self._log = log

    def seconds(self, times: int) -> list[float]:
        self._log.append(times)
        # The first of some is an outlier that the median does not follow.
        return [self._seconds * (5 if n == 0 else 1) for n in range(times)]

    def wrong_values(self) -> int:
        return self._wrong


class StandIn:
    """GPUs of one type, with a rate each."""

    def __init__(self, *teraflops: float) -> None:
        self.gpus: Sequence[int] = range(len(teraflops))
        self.teraflops = teraflops
        self.wrong: dict[int, int] = {}
        self.broken: set[int] = set()
        self.power = 700.0
        self.log: list[int] = []
        self.interrupt_at: int | None = None

    def name_of(self, gpu: int | None) -> str:
        return "" if gpu is None else H100

    def free_bytes(self, gpu: int | None) -> int:
        assert gpu is not None
        return 80 * 2**30

    def multiplies(self, gpu: int | None, data_type: str) -> bool:
        assert gpu is not None
        return data_type == "bfloat16"

    def problem(self, gpu: int | None, data_type: str, size: int) -> StandInProblem:
        assert data_type == "bfloat16"
        assert gpu is not None
        if gpu == self.interrupt_at:
            raise KeyboardInterrupt
        if gpu in self.broken:
            message = "CUDA error: an illegal memory access was encountered"
            raise ProductFailed(message)
        seconds = 2 * size**3 / (self.teraflops[gpu] * TERA)
        return StandInProblem(seconds, self.wrong.get(gpu, 0), self.log)

    def power_limits(self, gpu: int | None) -> tuple[float | None, float | None]:
        assert gpu is not None
        return self.power, 700.0


def judged(
    device: StandIn, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, list[tuple[str, str, str]]]:
    """Return the exit code; rule, subject and message of what does not hold."""
    effort = EFFORT._replace(warm_up_seconds=0.0)
    code = measure_and_judge(
        ["--output", "json", "--full", *words],
        named("bench gemm"),
        lambda _, budget: run(device, BOTH, effort, budget),
    )
    result = json.loads(capsys.readouterr().out)
    found = [
        (finding["rule"], finding["subject"], finding["message"])
        for finding in result["findings"]
        if finding["outcome"] in {"fail", "unknown", "error"}
    ]
    return code, found


def test_a_rate_is_that_of_the_median_product_after_a_warm_up() -> None:
    device, ticks = StandIn(742.0), iter(range(100))
    (product,) = measured(
        device, BOTH, EFFORT, lambda: True, lambda: float(next(ticks))
    )
    assert product.flops_per_second == pytest.approx(742.0 * TERA)
    assert len(product.seconds) == EFFORT.iterations
    # One to begin with, four more before the two seconds are over, then the ten.
    assert device.log == [1, 4, 4, 4, 2]
    (leaves,) = matrix_products([product], device)
    assert leaves["rows"] == leaves["columns"] == leaves["depth"] == SIZE
    assert (leaves["power_limit_watts"], leaves["wrong_values"]) == (700.0, 0)
    assert (leaves["gpu"], leaves["gpu_index"]) == (H100, 0)


def test_spread_is_that_of_the_quartiles() -> None:
    product = Product(0, "bfloat16", 16, (1.0, 2.0, 3.0, 4.0, 5.0))
    assert product.spread == pytest.approx((4.5 - 1.5) / 3)
    assert Product(0, "bfloat16", 16, (1.0,)).spread is None
    assert Product(0, "bfloat16", 16, (0.0,)).flops_per_second is None


def test_matrices_shrink_until_they_fit() -> None:
    assert fitting(8192, 2, 80 * 2**30) == 8192
    assert fitting(8192, 2, 2**30) == 4096
    assert fitting(8192, 1, 0) == 256


def test_healthy_gpus_hold_what_is_asked_of_their_type(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert judged(StandIn(742.0, 739.0, 741.0), capsys) == (0, [])


def test_a_slow_gpu_and_a_wrong_one_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = StandIn(742.0, 739.0, 741.0, 512.0)
    device.wrong = {1: 3}
    code, found = judged(device, capsys)
    assert code == 1
    assert [finding[:2] for finding in found] == [
        ("matrix_products_slow", "GPU 3"),
        ("product_slower_than_peers", "GPU 3"),
        ("product_wrong", "GPU 1"),
    ]
    assert "3 values of a product of 8192 x 8192 x 8192" in found[-1][2]


def test_a_lower_power_limit_lowers_what_is_expected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = StandIn(512.0)
    device.power = 500.0
    assert judged(device, capsys) == (0, [])


def test_a_gpu_that_fails_is_told_and_the_others_are_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = StandIn(742.0, 739.0)
    device.broken = {0}
    effort = EFFORT._replace(warm_up_seconds=0.0)
    found = run(device, BOTH, effort, Budget(60))
    (leaves,) = found.kinds["matrix_products"]
    assert leaves["gpu_index"] == 1
    assert any("illegal memory access" in line for line in found.table)
    device.broken = {0, 1}
    nothing = run(device, BOTH, effort, Budget(60))
    assert measure_and_judge([], named("bench gemm"), lambda _, __: nothing) == 3
    assert "nothing was measured: each attempt failed" in capsys.readouterr().err


def test_an_interrupt_keeps_what_was_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = StandIn(742.0, 739.0)
    device.interrupt_at = 1
    code, found = judged(device, capsys)
    assert (code, found) == (130, [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "1000"], "--size 1000: must be a multiple of 16"),
        (
            ["--types", "int4"],
            "--types int4: must be of bfloat16, float16, float8_e4m3",
        ),
    ],
)
def test_a_wrong_command_line_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "gemm", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def torch() -> Any:  # noqa: ANN401 - its types are not ours
    return pytest.importorskip("torch")


def a_problem(torch: Any) -> GemmProblem:  # noqa: ANN401
    from speccheck.probes.torch_products import (  # noqa: PLC0415 - needs torch
        TorchProcessors,
    )

    return TorchProcessors(torch).problem(None, "bfloat16", 256)


@pytest.mark.slow
def test_real_products_are_right(torch: Any) -> None:  # noqa: ANN401
    problem = a_problem(torch)
    times = problem.seconds(3)
    assert len(times) == 3
    assert min(times) > 0
    assert problem.wrong_values() == 0


@pytest.mark.slow
def test_each_wrong_value_is_counted(
    torch: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, right = a_problem(torch), torch.mm
    problem.seconds(2)

    def spoiled(left: object, other: object) -> Any:  # noqa: ANN401
        found = right(left, other)
        found[0, 5] += 1
        found[-1, 7] = float("nan")
        return found

    monkeypatch.setattr(torch, "mm", spoiled)
    assert problem.wrong_values() == 2


def test_a_product_that_does_not_repeat_itself_is_wrong(
    torch: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, right = a_problem(torch), torch.mm
    problem.seconds(1)

    def flipped(left: object, other: object) -> Any:  # noqa: ANN401
        found = right(left, other)
        found[3, 3] *= 2
        return found

    with monkeypatch.context() as during:
        during.setattr(torch, "mm", flipped)
        problem.seconds(1)
    assert problem.wrong_values() == 1


@pytest.mark.usefixtures("torch")
def test_products_of_the_host_say_nothing_of_a_gpu(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--device", "cpu", "--size", "256", "--iterations", "4", "--gpu", "H200"]
    assert main(["bench", "gemm", *words, "--output", "json", "--full"]) == 3
    result = json.loads(capsys.readouterr().out)
    assert {finding["outcome"] for finding in result["findings"]} <= {
        "unknown",
        "not_applicable",
    }

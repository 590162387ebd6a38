"""Products of dense matrices, timed and compared: what `speccheck bench gemm` does.

What multiplies is a `Multiplier`: GPUs through PyTorch, or the processors of the host.
Timed are products of random numbers, which cost the power that training costs; small
whole numbers would run faster. Compared are products of small whole numbers, whose
results every order of summation gives alike, with the same computed in double
precision by the host; and the first with the last of the timed ones, bit by bit, since
a GPU that is well repeats itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median, quantiles
from typing import Protocol

from speccheck.validator import VERSION
from speccheck.validator.evidence.record import Record

TYPES = ("bfloat16", "float16", "float8_e4m3")
BYTES = {"bfloat16": 2, "float16": 2, "float8_e4m3": 1}
_MATRICES = 8  # random ones, those of whole numbers, results, what they are made of
_RESULT_BYTES = 2
_SHARE_OF_MEMORY = 0.8
_LEAST_SIZE = 256
_QUARTERS = 4
_FEW = 4  # products between two looks at the clock


class ProductFailed(Exception):  # noqa: N818 - a result like others: it has no rate
    """A product could not be computed; the message says why."""


class GemmProblem(Protocol):
    """Matrices of one size and type on one GPU."""

    def seconds(self, times: int) -> list[float]:
        """Multiply the random ones so many times; seconds of each."""
        ...

    def wrong_values(self) -> int:
        """Return how many compared values are wrong, after all that was timed."""
        ...


class Multiplier(Protocol):
    """What multiplies, and times it."""

    @property
    def gpus(self) -> Sequence[int | None]:
        """The GPUs by their numbers; None for the host that has none."""
        ...

    def name_of(self, gpu: int | None) -> str:
        """Return what the driver calls it; empty for the host."""
        ...

    def free_bytes(self, gpu: int | None) -> int:
        """Return how much memory is free."""
        ...

    def multiplies(self, gpu: int | None, data_type: str) -> bool:
        """Return whether it multiplies numbers of that type."""
        ...

    def problem(self, gpu: int | None, data_type: str, size: int) -> GemmProblem:
        """Return the square matrices; raises ProductFailed where there is no room."""
        ...

    def power_limits(self, gpu: int | None) -> tuple[float | None, float | None]:
        """Return the watts in force and by default; None for what is not known."""
        ...


class Effort(Record):
    """How large the matrices are, and how long they are multiplied."""

    size: int
    iterations: int
    warm_up_seconds: float


class Product(Record):
    """The result of one GPU and one type of numbers."""

    gpu: int | None
    data_type: str
    size: int
    seconds: tuple[float, ...] = ()
    wrong_values: int | None = None
    reason: str = ""

    @property
    def flops_per_second(self) -> float | None:
        """The median rate; None for a product without one."""
        middle = median(self.seconds) if self.seconds else 0.0
        return 2 * self.size**3 / middle if middle > 0 else None

    @property
    def spread(self) -> float | None:
        """How far the quartiles lie apart, as a share of the median."""
        if self.flops_per_second is None or len(self.seconds) < _QUARTERS:
            return None
        first, middle, third = quantiles(self.seconds, n=_QUARTERS)
        return (third - first) / middle


def steps(multiplier: Multiplier, types: Sequence[str]) -> list[tuple[int | None, str]]:
    """Return each GPU with each type of numbers that it multiplies."""
    return [
        (gpu, kind)
        for kind in types
        for gpu in multiplier.gpus
        if multiplier.multiplies(gpu, kind)
    ]


def measured(
    multiplier: Multiplier,
    types: Sequence[str],
    effort: Effort,
    has_time: Callable[[], bool],
    clock: Callable[[], float],
) -> Iterator[Product]:
    """Measure one after another for as long as there is time."""
    for gpu, kind in steps(multiplier, types):
        if not has_time():
            return
        size = fitting(effort.size, BYTES[kind], multiplier.free_bytes(gpu))
        try:
            problem = multiplier.problem(gpu, kind, size)
            _warm_up(problem, effort.warm_up_seconds, has_time, clock)
            seconds = _timed(problem, effort.iterations, has_time)
            wrong = problem.wrong_values()
        except ProductFailed as error:
            yield Product(gpu, kind, size, reason=str(error))
            continue
        yield Product(gpu, kind, size, tuple(seconds), wrong)


def fitting(size: int, value_bytes: int, free_bytes: int) -> int:
    """Return the size, halved until its matrices fit into the memory that is free."""
    each = max(value_bytes, _RESULT_BYTES)
    while size > _LEAST_SIZE and _MATRICES * each * size**2 > (
        free_bytes * _SHARE_OF_MEMORY
    ):
        size //= 2
    return size


def _warm_up(
    problem: GemmProblem,
    seconds: float,
    has_time: Callable[[], bool],
    clock: Callable[[], float],
) -> None:
    """Multiply until clocks and temperature are those of work."""
    end = clock() + seconds
    problem.seconds(1)
    while clock() < end and has_time():
        problem.seconds(_FEW)


def _timed(
    problem: GemmProblem, iterations: int, has_time: Callable[[], bool]
) -> list[float]:
    """Return the times of so many products, or of as many as there is time for."""
    result = problem.seconds(min(_FEW, iterations))
    while len(result) < iterations and has_time():
        result += problem.seconds(min(_FEW, iterations - len(result)))
    return result


def matrix_products(
    products: Sequence[Product], multiplier: Multiplier
) -> list[Mapping[str, object]]:
    """Return the products as evidence; those that failed are none."""
    return [
        _leaves(product, multiplier) for product in products if product.flops_per_second
    ]


def _leaves(product: Product, multiplier: Multiplier) -> Mapping[str, object]:
    gpu = product.gpu
    limit, default = multiplier.power_limits(gpu)
    leaves: dict[str, object] = {
        "tool": "speccheck",
        "tool_version": VERSION,
        "gpu": multiplier.name_of(gpu) or None,
        "gpu_index": gpu,
        "data_type": product.data_type,
        "rows": product.size,
        "columns": product.size,
        "depth": product.size,
        "iterations": len(product.seconds),
        "seconds": median(product.seconds),
        "spread": product.spread,
        "flops_per_second": product.flops_per_second,
        "is_compared": product.wrong_values is not None,
        "wrong_values": product.wrong_values,
        "power_limit_watts": limit,
        "power_limit_default_watts": default,
    }
    absent = {"status": "absent"}
    return {name: absent if leaf is None else leaf for name, leaf in leaves.items()}

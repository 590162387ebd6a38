"""`speccheck bench gemm`: products of dense matrices, timed, compared and judged."""

import time
from collections.abc import Iterator, Sequence

from speccheck.probes.matrix_products import (
    TYPES,
    Effort,
    Multiplier,
    Product,
    matrix_products,
    measured,
    steps,
)
from speccheck.probes.torch_library import load
from speccheck.validator.cli.bench_memory import no_gpu
from speccheck.validator.cli.judge_measured import (
    Budget,
    Measured,
    NothingMeasured,
    device_of,
    measure_and_judge,
    number_of,
    option,
    options,
    tell_progress,
)
from speccheck.validator.cli.options import Parsed, UsageError, options_help

_SIZE, _SIZE_OF_HOST, _MOST_SIZE = 8192, 1024, 65536
_ITERATIONS, _MOST_ITERATIONS = 50, 10_000
_WARM_UP_SECONDS, _WARM_UP_OF_HOST = 3.0, 0.1
_STEP = 16  # what float8 asks of each dimension
_DEFAULT_TYPES = ("bfloat16", "float8_e4m3")
_TERA = 1e12
OPTIONS = options(
    option("--size", f"rows of each square matrix (default {_SIZE})", "N"),
    option("--iterations", f"timed products (default {_ITERATIONS})", "N"),
    option("--types", f"of {', '.join(TYPES)} (default without float16)", "TYPES"),
)
HELP = f"""\
usage: speccheck bench gemm [options]

Times products of square matrices of random numbers on each GPU, in bf16, and in fp8
where it has it (compute capability 8.9), compares products of whole numbers with exact
ones of the host and the first timed product with the last, and judges rates and values
by the type of the GPUs. Run it while no job does.

Exit codes: as those of speccheck FILE, with the profile preflight; 2 also without
PyTorch, 3 also without a GPU; 130 when interrupted, with what was measured so far.
{options_help(OPTIONS)}
"""


def command(_: str, words: list[str]) -> int:
    """Measure and judge; returns the exit code."""
    return measure_and_judge(words, HELP, OPTIONS, _measure)


def _measure(parsed: Parsed, budget: Budget) -> Measured:
    is_of_host = device_of(parsed) == "cpu"
    size = number_of(parsed, "size", _SIZE_OF_HOST if is_of_host else _SIZE, _MOST_SIZE)
    if size % _STEP:
        message = f"--size {size}: must be a multiple of {_STEP}"
        raise UsageError(message)
    times = number_of(parsed, "iterations", _ITERATIONS, _MOST_ITERATIONS)
    warm_up = _WARM_UP_OF_HOST if is_of_host else _WARM_UP_SECONDS
    types = _types(parsed)
    multiplier = _multiplier(device_of(parsed))
    return run(multiplier, types, Effort(size, times, warm_up), budget)


def _types(parsed: Parsed) -> Sequence[str]:
    told = parsed.values.get("types")
    if not isinstance(told, str):
        return _DEFAULT_TYPES
    names = tuple(dict.fromkeys(name.strip() for name in told.split(",")))
    unknown = [name for name in names if name not in TYPES]
    if unknown:
        message = f"--types {unknown[0]}: must be of {', '.join(TYPES)}"
        raise UsageError(message)
    return names


def _multiplier(where: str) -> Multiplier:
    """What multiplies; raises NoTorch, and NothingMeasured without a GPU."""
    torch = load()
    from speccheck.probes.torch_products import (  # noqa: PLC0415 - needs torch
        TorchMultiplier,
        TorchProcessors,
    )

    if where == "cpu":
        return TorchProcessors(torch)
    if not torch.cuda.is_available():
        raise NothingMeasured(no_gpu(torch))
    return TorchMultiplier(torch)


def run(
    multiplier: Multiplier, types: Sequence[str], effort: Effort, budget: Budget
) -> Measured:
    """Measure until there is nothing left to measure, or no time."""
    products: list[Product] = []
    total = len(steps(multiplier, types))
    with budget.interruptible():
        for one in measured(multiplier, types, effort, budget.has_time, time.monotonic):
            products.append(one)
            tell_progress(len(products), total, one.data_type)
    found = matrix_products(products, multiplier)
    kinds = {"matrix_products": found} if found else {}
    return Measured(kinds, list(table(products)), budget.stopped)


def table(products: Sequence[Product]) -> Iterator[str]:
    """A line for each product, and what failed."""
    if products:
        yield f"{'':<8}{'type':<13}{'size':>6}{'TFLOPS':>10}{'spread':>9}{'wrong':>8}"
    for one in products:
        who = "host" if one.gpu is None else f"GPU {one.gpu}"
        start = f"{who:<8}{one.data_type:<13}{one.size:>6}"
        rate = one.flops_per_second
        if rate is None:
            yield f"{start}  {one.reason}"
            continue
        spread = "-" if one.spread is None else f"{one.spread:.1%}"
        wrong = "-" if one.wrong_values is None else f"{one.wrong_values:,}"
        yield f"{start}{rate / _TERA:>10,.4g}{spread:>9}{wrong:>8}"

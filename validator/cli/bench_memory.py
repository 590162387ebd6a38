"""`speccheck bench memory`: copies between host and GPUs, timed and judged."""

from collections.abc import Iterator, Sequence

from speccheck.probes.memory_copies import (
    DIRECTIONS,
    Amounts,
    CopyDevice,
    Rate,
    copy_tests,
    measured,
    steps,
)
from speccheck.probes.torch_library import load
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
from speccheck.validator.cli.options import Parsed, options_help

_MEBIBYTE = 2**20
_SIZE, _MOST_SIZE = 256, 65536  # MiB
_ITERATIONS, _MOST_ITERATIONS = 20, 10_000
_GIGA = 1e9
_TITLES = {
    "host_to_device": "host to GPU",
    "device_to_host": "GPU to host",
    "local": "within GPU",
    "device_to_device": "GPU (row) to GPU (column)",
}
OPTIONS = options(
    option("--size", f"MiB of each copy (default {_SIZE})", "MIB"),
    option("--iterations", f"timed copies (default {_ITERATIONS})", "N"),
)
HELP = f"""\
usage: speccheck bench memory [options]

Times copies from the host to each GPU and back, within each GPU, and between each pair
of GPUs, one at a time, and judges the rates by the type of the GPUs. Memory of the host
is pinned and lies near the GPU. Run it while no job does.

Exit codes: as those of speccheck FILE, with the profile preflight; 2 also without
PyTorch, 3 also without a GPU; 130 when interrupted, with what was measured so far.
{options_help(OPTIONS)}
"""


def command(_: str, words: list[str]) -> int:
    """Measure and judge; returns the exit code."""
    return measure_and_judge(words, HELP, OPTIONS, _measure)


def _measure(parsed: Parsed, budget: Budget) -> Measured:
    size = number_of(parsed, "size", _SIZE, _MOST_SIZE) * _MEBIBYTE
    times = number_of(parsed, "iterations", _ITERATIONS, _MOST_ITERATIONS)
    return run(_device(device_of(parsed)), Amounts(size, times), budget)


def _device(where: str) -> CopyDevice:
    """What copies; raises NoTorch, and NothingMeasured without a GPU."""
    torch = load()
    from speccheck.probes.torch_copies import (  # noqa: PLC0415 - needs torch
        TorchGpus,
        TorchHost,
    )

    if where == "cpu":
        return TorchHost(torch)
    if not torch.cuda.is_available():
        raise NothingMeasured(no_gpu(torch))
    return TorchGpus(torch)


def no_gpu(torch: object) -> str:
    """What to say where PyTorch sees no GPU."""
    version = getattr(torch, "__version__", "")
    return (
        f"no GPU: PyTorch {version} sees none; look at nvidia-smi and at "
        "CUDA_VISIBLE_DEVICES, or measure the host alone with --device cpu"
    )


def run(device: CopyDevice, amounts: Amounts, budget: Budget) -> Measured:
    """Measure until there is nothing left to measure, or no time."""
    rates: list[Rate] = []
    total = len(steps(device))
    with budget.interruptible():
        for rate in measured(device, amounts, budget.has_time):
            rates.append(rate)
            tell_progress(len(rates), total, _TITLES[rate.step.direction])
    kinds = {}
    if any(one.bytes_per_second is not None for one in rates):
        kinds["copy_tests"] = copy_tests(rates, device, amounts)
    return Measured(kinds, list(table(rates, device)), budget.stopped)


def table(rates: Sequence[Rate], device: CopyDevice) -> Iterator[str]:
    """The rates in GB/s, a line for each direction or GPU, and what failed."""
    gpus = list(device.gpus)
    for direction in DIRECTIONS:
        its = [one for one in rates if one.step.direction == direction]
        if not its:
            continue
        title = _TITLES[direction] if gpus != [None] else "within the host"
        yield f"{title}, GB/s"
        if direction == "device_to_device":
            yield "     " + "".join(f"{gpu:>9}" for gpu in gpus)
            for source in gpus:
                row = {one.step.target: one for one in its if one.step.source == source}
                yield f"{source:>5}" + "".join(_cell(row.get(gpu)) for gpu in gpus)
        else:
            yield "     " + "".join(_cell(one) for one in its)
    for one in rates:
        if one.reason:
            ends = (one.step.source, one.step.target)
            names = ("host" if gpu is None else f"GPU {gpu}" for gpu in ends)
            yield f"{' to '.join(names)}: {one.reason}"


def _cell(rate: Rate | None) -> str:
    if rate is None or rate.bytes_per_second is None:
        return f"{'-':>9}"
    return f"{rate.bytes_per_second / _GIGA:>9.1f}"

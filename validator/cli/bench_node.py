"""`speccheck bench memory` and `bench gemm`: copies and products of one machine.

Both measure, keep, show and judge what they measured.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager

from speccheck.probes.matrix_products import (
    TYPES,
    Effort,
    Multiplier,
    Product,
    matrix_products,
)
from speccheck.probes.matrix_products import measured as measured_products
from speccheck.probes.matrix_products import steps as product_steps
from speccheck.probes.memory_copies import (
    DIRECTIONS,
    Amounts,
    CopyDevice,
    Rate,
    copy_tests,
)
from speccheck.probes.memory_copies import measured as measured_copies
from speccheck.probes.memory_copies import steps as copy_steps
from speccheck.probes.parent import end_with_named_parent
from speccheck.probes.torch_library import NoTorch, load
from speccheck.validator.cli.command_line import (
    CommandLine,
    UsageError,
    parse,
    with_settings,
)
from speccheck.validator.cli.command_table import Command
from speccheck.validator.cli.guarded import (
    guarded,
)
from speccheck.validator.cli.plain import judge
from speccheck.validator.cli.reports import outputs_of
from speccheck.validator.cli.request import request_of
from speccheck.validator.cli.take_snapshot import seconds_of
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.form import FORMS
from speccheck.validator.report.write import write
from speccheck.validator.sources.context import context_facts

_NAME = "this measurement"
_NOTHING, _INTERRUPTED = 3, 130
_BY_HAND = "interrupted"
_BUDGET = "120s"
DEVICES = ("cuda", "cpu")


class NothingMeasured(Exception):  # noqa: N818 - a state of the machine, not an error
    """There is nothing to measure; the message says why, and the exit code."""

    def __init__(self, message: str, code: int = _NOTHING) -> None:
        super().__init__(message)
        self.code = code


class BenchResult(Record):
    """The result of a measurement.

    kinds: measurements by the key of the snapshot under which they lie.
    table: for people, a line each.
    stopped: why it did not get to its end; empty where it did.
    """

    kinds: Mapping[str, Sequence[Mapping[str, object]]]
    table: Sequence[str]
    stopped: str = ""


class Budget:
    """How long measuring may take, and whether somebody stopped it."""

    def __init__(self, seconds: float) -> None:
        """Begin at the first query: to load PyTorch may take as long again."""
        self._seconds = seconds
        self._end: float | None = None
        self.stopped = ""

    def has_time(self) -> bool:
        """Return whether some is left; remembers that none was."""
        now = time.monotonic()
        if self._end is None:
            self._end = now + self._seconds
        if not self.stopped and now > self._end:
            self.stopped = f"stopped after {self._seconds:g} s, its budget"
        return not self.stopped

    @contextmanager
    def interruptible(self) -> Generator[None]:
        """Take an interrupt as the end of measuring, and keep what there is."""
        try:
            yield
        except KeyboardInterrupt:
            self.stopped = _BY_HAND


def measure_and_judge(
    words: list[str],
    command: Command,
    measure: Callable[[CommandLine, Budget], BenchResult],
) -> int:
    """Measure by a command line, keep it, show it and judge it.

    Returns the exit code: that of the judgement, 2 for a wrong command line, 3 where
    there was nothing to measure, 130 when it was interrupted.
    """

    def measured_and_judged() -> int:
        end_with_named_parent()
        line = with_settings(parse(words, command.options))
        measured = measure(line, _verified(line))
        text = _kept(measured, line)

        def with_measured(request: Request, _: CommandLine) -> Request:
            return request._replace(node=line.text("out") or _NAME, snapshot=text)

        code = judge(words, command.options, _request, with_measured)
        return _code(measured, code)

    return guarded(measured_and_judged, (NoTorch, NothingMeasured))


def _code(measured: BenchResult, code: int) -> int:
    """Return the exit code, but for a measurement that somebody stopped."""
    return _INTERRUPTED if measured.stopped == _BY_HAND else code


def _request(line: CommandLine) -> Request:
    return request_of(line, "preflight")


def _verified(line: CommandLine) -> Budget:
    """Return the budget, once the command line is known to be right.

    Raises UsageError.
    """
    if line.files:
        message = f"takes no file: {line.files[0]}; see --out and --help"
        raise UsageError(message)
    where = device_of(line)
    if where not in DEVICES:
        message = f"--device {where}: must be one of {', '.join(DEVICES)}"
        raise UsageError(message)
    context_facts(_request(line).judging.context)
    outputs_of(line)
    out = line.text("out")
    folder = os.path.dirname(os.path.abspath(out)) if out is not None else "."
    if not os.path.isdir(folder):
        message = f"--out {out}: no such folder: {folder}"
        raise UsageError(message)
    return Budget(seconds_of(line.text("budget") or _BUDGET))


def device_of(line: CommandLine) -> str:
    """Return where to measure."""
    return line.text("device") or DEVICES[0]


def number_of(line: CommandLine, name: str, default: int, most: int) -> int:
    """Return a whole number of the command line; raises UsageError for a larger one."""
    number = line.integer(name) or default
    if number > most:
        message = f"--{name} {number:,}: at most {most:,}"
        raise UsageError(message)
    return number


def _kept(measured: BenchResult, line: CommandLine) -> str:
    """Show the table and keep the measurement; raises NothingMeasured without any."""
    shown = sys.stdout if _has_company(line) else sys.stderr
    shown.writelines(f"{line}\n" for line in measured.table)
    if measured.stopped:
        sys.stderr.write(f"speccheck: {measured.stopped}: the rest was not measured\n")
    if not any(measured.kinds.values()):
        message = f"nothing was measured: {measured.stopped or 'each attempt failed'}"
        raise NothingMeasured(message, _code(measured, _NOTHING))
    shown.write("\n")
    shown.flush()
    document = {
        "schema": "speccheck-snapshot/1",
        "taken": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **measured.kinds,
    }
    text = json.dumps(document, indent=1) + "\n"
    out = line.text("out")
    if out is not None:
        write(text, out)
    return text


def _has_company(line: CommandLine) -> bool:
    outputs = outputs_of(line)
    return all(
        FORMS[output.format].has_company or output.path is not None
        for output in outputs
    )


def tell_progress(done: int, total: int, what: str) -> None:
    """Show how far it is, on a terminal alone."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r{done} of {total}  {what:<48.48}{end}")
        sys.stderr.flush()


_MEBIBYTE = 2**20
_MEBIBYTES, _MOST_MEBIBYTES = 256, 65536
_COPIES, _MOST_COPIES = 20, 10_000
_GIGA = 1e9
_TITLES = {
    "host_to_device": "host to GPU",
    "device_to_host": "GPU to host",
    "local": "within GPU",
    "device_to_device": "GPU (row) to GPU (column)",
}


def bench_memory(words: list[str], command: Command) -> int:
    """Time copies and judge the rates; returns the exit code."""
    return measure_and_judge(words, command, _copies)


def _copies(line: CommandLine, budget: Budget) -> BenchResult:
    size = number_of(line, "size", _MEBIBYTES, _MOST_MEBIBYTES) * _MEBIBYTE
    times = number_of(line, "iterations", _COPIES, _MOST_COPIES)
    return run_copies(_device(device_of(line)), Amounts(size, times), budget)


def _device(where: str) -> CopyDevice:
    """Return what copies; raises NoTorch, and NothingMeasured without a GPU."""
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
    """Return what to say where PyTorch sees no GPU."""
    version = getattr(torch, "__version__", "")
    return (
        f"no GPU: PyTorch {version} sees none; look at nvidia-smi and at "
        "CUDA_VISIBLE_DEVICES, or measure the host alone with --device cpu"
    )


def run_copies(device: CopyDevice, amounts: Amounts, budget: Budget) -> BenchResult:
    """Measure until there is nothing left to measure, or no time."""
    rates: list[Rate] = []
    total = len(copy_steps(device))
    with budget.interruptible():
        for rate in measured_copies(device, amounts, budget.has_time):
            rates.append(rate)
            tell_progress(len(rates), total, _TITLES[rate.step.direction])
    kinds = {}
    if any(rate.bytes_per_second is not None for rate in rates):
        kinds["copy_tests"] = copy_tests(rates, device, amounts)
    return BenchResult(kinds, list(copies_table(rates, device)), budget.stopped)


def copies_table(rates: Sequence[Rate], device: CopyDevice) -> Iterator[str]:
    """Return the rates in GB/s, a line for each direction or GPU, and what failed."""
    gpus = list(device.gpus)
    for direction in DIRECTIONS:
        its = [rate for rate in rates if rate.step.direction == direction]
        if not its:
            continue
        title = _TITLES[direction] if gpus != [None] else "within the host"
        yield f"{title}, GB/s"
        if direction == "device_to_device":
            yield "     " + "".join(f"{gpu:>9}" for gpu in gpus)
            for source in gpus:
                row = {
                    rate.step.target: rate for rate in its if rate.step.source == source
                }
                yield f"{source:>5}" + "".join(_cell(row.get(gpu)) for gpu in gpus)
        else:
            yield "     " + "".join(_cell(rate) for rate in its)
    for rate in rates:
        if rate.reason:
            ends = (rate.step.source, rate.step.target)
            names = ("host" if gpu is None else f"GPU {gpu}" for gpu in ends)
            yield f"{' to '.join(names)}: {rate.reason}"


def _cell(rate: Rate | None) -> str:
    if rate is None or rate.bytes_per_second is None:
        return f"{'-':>9}"
    return f"{rate.bytes_per_second / _GIGA:>9.1f}"


_SIZE, _SIZE_OF_HOST, _MOST_SIZE = 8192, 1024, 65536
_ITERATIONS, _MOST_ITERATIONS = 50, 10_000
_WARM_UP_SECONDS, _WARM_UP_OF_HOST = 3.0, 0.1
_STEP = 16  # what float8 asks of each dimension
_DEFAULT_TYPES = ("bfloat16", "float8_e4m3")
_TERA = 1e12


def bench_gemm(words: list[str], command: Command) -> int:
    """Time products and judge rates and values; returns the exit code."""
    return measure_and_judge(words, command, _products)


def _products(line: CommandLine, budget: Budget) -> BenchResult:
    is_of_host = device_of(line) == "cpu"
    size = number_of(line, "size", _SIZE_OF_HOST if is_of_host else _SIZE, _MOST_SIZE)
    if size % _STEP:
        message = f"--size {size}: must be a multiple of {_STEP}"
        raise UsageError(message)
    times = number_of(line, "iterations", _ITERATIONS, _MOST_ITERATIONS)
    warm_up = _WARM_UP_OF_HOST if is_of_host else _WARM_UP_SECONDS
    types = _types(line)
    multiplier = _multiplier(device_of(line))
    return run_products(multiplier, types, Effort(size, times, warm_up), budget)


def _types(line: CommandLine) -> Sequence[str]:
    text = line.text("types")
    if text is None:
        return _DEFAULT_TYPES
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = [name for name in names if name not in TYPES]
    if unknown:
        message = f"--types {unknown[0]}: must be of {', '.join(TYPES)}"
        raise UsageError(message)
    return names


def _multiplier(where: str) -> Multiplier:
    """Return what multiplies; raises NoTorch, and NothingMeasured without a GPU."""
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


def run_products(
    multiplier: Multiplier, types: Sequence[str], effort: Effort, budget: Budget
) -> BenchResult:
    """Measure until there is nothing left to measure, or no time."""
    products: list[Product] = []
    total = len(product_steps(multiplier, types))
    with budget.interruptible():
        for measured_product in measured_products(
            multiplier, types, effort, budget.has_time, time.monotonic
        ):
            products.append(measured_product)
            tell_progress(len(products), total, measured_product.data_type)
    result = matrix_products(products, multiplier)
    kinds = {"matrix_products": result} if result else {}
    return BenchResult(kinds, list(products_table(products)), budget.stopped)


def products_table(products: Sequence[Product]) -> Iterator[str]:
    """Return a line for each product, and what failed."""
    if products:
        yield f"{'':<8}{'type':<13}{'size':>6}{'TFLOPS':>10}{'spread':>9}{'wrong':>8}"
    for product in products:
        who = "host" if product.gpu is None else f"GPU {product.gpu}"
        start = f"{who:<8}{product.data_type:<13}{product.size:>6}"
        rate = product.flops_per_second
        if rate is None:
            yield f"{start}  {product.reason}"
            continue
        spread = "-" if product.spread is None else f"{product.spread:.1%}"
        wrong = "-" if product.wrong_values is None else f"{product.wrong_values:,}"
        yield f"{start}{rate / _TERA:>10,.4g}{spread:>9}{wrong:>8}"

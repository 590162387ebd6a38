"""Copies between host and GPUs, timed one by one: what `speccheck bench memory` does.

What copies is a `CopyDevice`: GPUs through PyTorch, or the memory of the host. What is
measured, in which order and what becomes of it stands here and knows no PyTorch.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any, Protocol

from speccheck.validator import VERSION
from speccheck.validator.evidence.record import Record

DIRECTIONS = ("host_to_device", "device_to_host", "local", "device_to_device")
_WARM_UP = 3
# Copies that one reading of the clock spans: those within a GPU take a fifth of a
# millisecond, of which starting is a few hundredths.
_BATCH = {"local": 8, "device_to_device": 8}


class CopyFailed(Exception):  # noqa: N818 - a result like others: it has no rate
    """A copy could not be made, or did not bring what its source held."""


class CopyDevice(Protocol):
    """What copies, and times it."""

    @property
    def gpus(self) -> Sequence[int | None]:
        """The GPUs by their numbers; None for the host that has none."""
        ...

    def name_of(self, gpu: int | None) -> str:
        """Return what the driver calls it; empty for the host."""
        ...

    def can_reach(self, source: int, target: int) -> bool:
        """Return whether the one GPU can address the memory of the other."""
        ...

    def host_memory(self, gpu: int | None, size: int) -> Any:  # noqa: ANN401
        """Return host memory that is fit for copies to that GPU, and near it."""
        ...

    def device_memory(self, gpu: int | None, size: int) -> Any:  # noqa: ANN401
        """Return the memory of the GPU."""
        ...

    def seconds(self, target: Any, source: Any, times: int, batch: int) -> list[float]:  # noqa: ANN401
        """Copy so many times in batches; seconds of one copy, batch by batch."""
        ...

    def fill(self, memory: Any, seed: int) -> None:  # noqa: ANN401
        """Write a pattern that no other seed gives."""
        ...

    def are_equal(self, target: Any, source: Any) -> bool:  # noqa: ANN401
        """Return whether both hold the same bytes."""
        ...


class CopyStep(Record):
    """One GPU or one pair, one way."""

    direction: str
    source: int | None
    target: int | None


class Rate(Record):
    """The result of a step: bytes a second, or why there are none."""

    step: CopyStep
    bytes_per_second: float | None
    reason: str = ""


class Amounts(Record):
    """How much is copied, and how often."""

    size_bytes: int
    iterations: int


def steps(device: CopyDevice) -> list[CopyStep]:
    """Return all that can be measured, those that matter most first."""
    gpus = list(device.gpus)
    if gpus == [None]:
        return [CopyStep("local", None, None)]
    result = [CopyStep("host_to_device", None, gpu) for gpu in gpus]
    result += [CopyStep("device_to_host", gpu, None) for gpu in gpus]
    result += [CopyStep("local", gpu, gpu) for gpu in gpus]
    pairs = [(gpu, other) for gpu in gpus for other in gpus if gpu != other]
    return result + [
        CopyStep("device_to_device", number, other) for number, other in pairs
    ]


def measured(
    device: CopyDevice, amounts: Amounts, has_time: Callable[[], bool]
) -> Iterator[Rate]:
    """Measure step after step for as long as there is time."""
    for number, step in enumerate(steps(device)):
        if not has_time():
            return
        try:
            yield Rate(step, _rate(device, step, amounts, number))
        except CopyFailed as error:
            yield Rate(step, None, str(error))


def _rate(device: CopyDevice, step: CopyStep, amounts: Amounts, seed: int) -> float:
    """Return the median rate of a step whose last copy brought what its source held."""
    source_gpu, target_gpu, size = step.source, step.target, amounts.size_bytes
    if step.direction == "device_to_device" and not _is_reached(device, step):
        message = "no peer access"
        raise CopyFailed(message)
    if step.direction == "host_to_device":
        source = device.host_memory(target_gpu, size)
    else:
        source = device.device_memory(source_gpu, size)
    if step.direction == "device_to_host":
        target = device.host_memory(source_gpu, size)
    else:
        target = device.device_memory(target_gpu, size)
    device.fill(source, seed)
    batch = _BATCH.get(step.direction, 1)
    device.seconds(target, source, _WARM_UP, batch)
    times = device.seconds(target, source, amounts.iterations, batch)
    if not device.are_equal(target, source):
        message = "the copy differs from its source"
        raise CopyFailed(message)
    middle = median(times)
    if middle <= 0:
        message = "the clock did not advance"
        raise CopyFailed(message)
    return size / middle


def _is_reached(device: CopyDevice, step: CopyStep) -> bool:
    if step.source is None or step.target is None:
        return False
    return device.can_reach(step.source, step.target)


def copy_tests(
    rates: Sequence[Rate], device: CopyDevice, amounts: Amounts
) -> list[dict[str, object]]:
    """Return the rates as evidence: a test for each direction that was measured.

    A GPU or pair that was not come to, or failed, stands there without a rate.
    """
    by_step = {rate.step: rate.bytes_per_second for rate in rates}
    names = {device.name_of(gpu) for gpu in device.gpus}
    result: list[dict[str, object]] = []
    for direction in DIRECTIONS:
        its = [step for step in steps(device) if step.direction == direction]
        if by_step.keys().isdisjoint(its):
            continue
        test: dict[str, object] = {
            "tool": "speccheck",
            "tool_version": VERSION,
            "name": direction,
            "direction": direction,
            "method": "copy_engine",
            "is_bidirectional": False,
            "is_all_at_once": False,
            "gpu": names.copy().pop() if len(names) == 1 else "",
            "size_bytes": amounts.size_bytes,
            "iterations": amounts.iterations,
            "from_gpu": [step.source for step in its],
            "to_gpu": [step.target for step in its],
            "bytes_per_second": [by_step.get(step) for step in its],
        }
        if not test["gpu"]:
            test["gpu"] = {"status": "absent"}
        result.append(test)
    return result

"""A GPU near or beyond the temperature at which it slows itself.

Why it hurts: cooling that is weak at rest is too weak under load; the hardware then
lowers clocks, and beyond the next limit it stops.

What passes: enough margin to the temperature of slowdown, less of it under load, a
temperature below the highest of the clause, and memory below its own limit.

Where it does not apply: boards that report no temperature.

Source: facebookresearch/gcm; Hopper and newer report the margin itself
(nvmlDeviceGetMarginTemperature), older boards the temperature of slowdown.

Bad::

    nvidia-smi -q -d TEMPERATURE   # GPU Current Temp: 85 C

Good::

    nvidia-smi -q -d TEMPERATURE   # GPU Current Temp: 38 C
"""

from speccheck.rules.hardware._leaves import needed
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class Limits(Numbers):
    """The highest temperature of a GPU, and its distance from slowing down.

    margin_idle, margin_loaded: degrees Celsius that must be left below the temperature
    at which the GPU slows itself.
    """

    margin_idle: int
    margin_loaded: int
    temperature_max: int


@rule(clause="HW-031")
def gpu_too_hot(gpu: Gpu, limit: Limits) -> Verdicts:
    """Judge margin, temperature and memory; each as far as the board reports it."""
    now = gpu.temperature_celsius
    if now.status == "not_supported":
        return
    hot = [*_temperature(now, limit), *_margin(gpu, limit), *_memory(gpu)]
    if hot:
        yield from hot
        return
    margin = gpu.temperature_margin_celsius
    other = gpu.temperature_slowdown_celsius
    memory = gpu.memory_temperature_celsius, gpu.memory_temperature_maximum_celsius
    list(needed(now, margin if margin.is_known else other, *memory))
    yield passed(at=now, measured=now.value, required=limit.temperature_max)


def _temperature(now: Value[int], limit: Limits) -> Verdicts:
    if now.or_else(0) >= limit.temperature_max:
        yield _hot(
            f"{now.value} degrees; it should be below {limit.temperature_max}",
            now,
            limit.temperature_max,
        )


def _margin(gpu: Gpu, limit: Limits) -> Verdicts:
    margin, slowdown = gpu.temperature_margin_celsius, gpu.temperature_slowdown_celsius
    left = margin.value
    at = margin
    if left is None and slowdown.is_known and gpu.temperature_celsius.is_known:
        left, at = slowdown.need() - gpu.temperature_celsius.need(), slowdown
    if left is None:
        return
    is_loaded = gpu.compute_processes.or_else(1) > 0
    least = limit.margin_loaded if is_loaded else limit.margin_idle
    if left <= least:
        state = "under load" if is_loaded else "idle"
        yield _hot(
            f"{left} degrees below its slowdown; a GPU {state} should be more than "
            f"{least} below",
            at,
            least,
        )


def _memory(gpu: Gpu) -> Verdicts:
    memory, most = (
        gpu.memory_temperature_celsius,
        gpu.memory_temperature_maximum_celsius,
    )
    if memory.is_known and most.is_known and memory.need() >= most.need():
        text = f"its memory has {memory.value} degrees, the limit is {most.value}"
        yield _hot(text, memory, most.need())


def _hot(text: str, at: Value[int], required: int) -> Verdict:
    return fail(
        f"the GPU is hot: {text}",
        at=at,
        measured=at.value,
        required=required,
        action="MONITOR",
    )

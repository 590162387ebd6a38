"""A setting of the kernel that costs time on a training node.

Why it hurts: a slow clock source makes each reading of the time a trap into the
hypervisor, a governor that saves power lets loaders and launches wait, and swapping
stalls the rank that every other one waits for.

What passes: a fast clock source, the governor of performance, no swap.

Where it does not apply: governors of virtual machines, which mostly show none.

Source: facebookresearch/gcm (clock source, governor); Azure/azurehpc-health-checks
(swap 0 kB).

Bad::

    cat /sys/devices/system/clocksource/clocksource0/current_clocksource    # hpet

Good::

    cat /sys/devices/system/clocksource/clocksource0/current_clocksource    # tsc
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.value import Value
from speccheck.validator.models.units import mebibytes
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class Settings(Numbers):
    """What the settings should be."""

    clock_sources: tuple[str, ...]
    governor: str
    swap_max: int


@rule(clause="HW-072")
def kernel_setting_slows(host: Host, wanted: Settings) -> Verdicts:
    """Judge each setting by itself."""
    source = host.clock_source
    if source.need() in wanted.clock_sources:
        yield passed(at=source, measured=source.value)
    else:
        yield _fail(
            source,
            f"the clock source is {source.value}",
            f"one of {', '.join(wanted.clock_sources)}",
            "Boot with clocksource=tsc tsc=reliable where the processor has it.",
        )
    swap = host.swap_total_bytes
    if swap.need() <= wanted.swap_max:
        yield passed(at=swap, measured=swap.value)
    else:
        yield _fail(
            swap,
            f"{mebibytes(swap.need())} of swap are on",
            "no swap",
            "swapoff -a, and take it out of /etc/fstab.",
        )
    governors = host.governors
    if governors.status == "absent" or host.virtualisation.need() != "none":
        return
    others = sorted({text for text in governors.need() if text} - {wanted.governor})
    if not others:
        yield passed(at=governors, measured=wanted.governor)
        return
    yield _fail(
        governors,
        f"processors run under the governor {', '.join(others)}",
        wanted.governor,
        "cpupower frequency-set -g performance.",
    )


def _fail(leaf: Value[object], text: str, required: str, remedy: str) -> Verdict:
    return fail(
        f"{text}; wanted: {required}",
        at=leaf,
        required=required,
        cost="the rank that is late makes every other one wait",
        remedy=remedy,
        action="FIX_CONFIG",
    )

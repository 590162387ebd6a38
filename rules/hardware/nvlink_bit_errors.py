"""An NVLink 5 with many bit errors after correction.

Why it hurts: what error correction leaves over is sent again, and a link that gets
worse goes down.

What passes: an effective bit error rate at or below the limit on each link that is up.
A link without errors tells 15e-255.

Where it does not apply: NVLink before generation 5.

Source: NVIDIA/DCGM errors 119 and 121; the limit is an engineering default.

Bad::

    nvidia-smi nvlink -e -i 1    # Effective BER: 3e-9

Good::

    nvidia-smi nvlink -e -i 1    # Effective BER: 15e-255
"""

from speccheck.rules.hardware._links import (
    counts_as_before,
    has_no_links,
    listed,
    need_all,
    seen,
)
from speccheck.validator.evidence.node.fault_codes import bit_error_rate
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Errors(Numbers):
    """The most errors for each bit."""

    bit_error_rate_max: float


@rule(clause="HW-106")
def nvlink_bit_errors(gpu: Gpu, profiles: GpuProfiles, limit: Errors) -> Verdicts:
    """Judge the rate of each link that is up."""
    coded, most = gpu.nvlink_effective_bit_errors, limit.bit_error_rate_max
    if coded.status == "not_supported" or has_no_links(gpu, profiles):
        return
    if counts_as_before(gpu, coded, profiles):
        return
    rates = {link: bit_error_rate(code) for link, code in seen(gpu, coded).items()}
    over = {link: rate for link, rate in rates.items() if rate > most}
    if over:
        worst = max(over.values())
        yield fail(
            f"{listed(over)}: effective bit error rate {worst:.0e}; at most {most:.0e} "
            "is sound",
            at=coded,
            measured=worst,
            required=most,
            remedy="Reseat the tray or the cable cartridge at the next chance, and "
            "look again with nvidia-smi nvlink -e; replace it if the rate stays.",
            action="ISOLATE",
        )
        return
    need_all(gpu, coded)
    yield passed(at=coded, required=most)

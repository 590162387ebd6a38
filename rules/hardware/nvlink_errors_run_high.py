"""CRC errors of an NVLink at a high rate since the machine was started.

Why it hurts: each flit with an error is sent again; at such a rate the signal is bad,
and the link will lose its training.

What passes: counts that make fewer errors a second than the limit, spread over the time
since the start. That is less than the rate while they happened: what fails here is
sure, and what passes was not high for long.

Where it does not apply: GPUs without a link that is up, and NVLink 5, which corrects
errors and tells their rate.

Source: NVIDIA/DCGM error 70, more than 100 CRC errors a second.

Bad::

    nvidia-smi nvlink -e -i 3    # CRC Flit Errors: 90,000,000 after a day

Good::

    nvidia-smi nvlink -e -i 3    # CRC Flit Errors: 12 after a day
"""

from speccheck.rules.hardware._links import has_no_links, need_all, seen
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Rate(Numbers):
    """The most errors in a second."""

    crc_errors_per_second_max: float


@rule(clause="HW-107")
def nvlink_errors_run_high(
    gpu: Gpu, profiles: GpuProfiles, host: Host, limit: Rate
) -> Verdicts:
    """Judge the mean rate of each link that is up."""
    counts, most = gpu.nvlink_crc_flit_errors, limit.crc_errors_per_second_max
    if counts.status == "not_supported" or has_no_links(gpu, profiles):
        return
    result = seen(gpu, counts)
    if not any(result.values()):
        need_all(gpu, counts)
        yield passed(at=counts, measured=0, required=most)
        return
    seconds = host.uptime_seconds.need()
    if seconds <= 0:
        raise MissingEvidence(host.uptime_seconds.name, "not above zero")
    link, worst = max(result.items(), key=lambda item: item[1])
    if worst > most * seconds:
        yield fail(
            f"link {link}: {worst:,} CRC errors in {seconds:,.0f} seconds, "
            f"{worst / seconds:,.0f} a second; at most {most:,.0f} is sound",
            at=[counts, host.uptime_seconds],
            measured=worst / seconds,
            required=most,
            remedy="Read the count twice (nvidia-smi nvlink -e): if it still grows "
            "so, drain the node, reset its GPUs, and replace the board if it stays.",
            action="MONITOR",
        )
        return
    need_all(gpu, counts)
    yield passed(at=[counts, host.uptime_seconds], required=most)

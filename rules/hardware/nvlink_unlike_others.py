"""A link with far more errors than the other links of the node.

Why it hurts: it may not; errors of the training of links at the start count too. One
link far above all others is the first to look at when the node is slow.

What passes: counts of CRC errors and replays that are few, or like those of the other
links. A second read tells whether they grow: one does not.

Where it does not apply: GPUs without a link that is up, and those that count none of
them.

Source: facebookresearch/gcm, which watches these counts; the limits are engineering
defaults.

Bad::

    nvidia-smi nvlink -e    # Link 9 of GPU 3: 80,000 replays, all others below 10

Good::

    nvidia-smi nvlink -e    # all links below 10
"""

from speccheck.rules.hardware._leaves import median, supported
from speccheck.rules.hardware._links import has_no_links, need_all, seen
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_COUNTS = {
    "nvlink_crc_flit_errors": "CRC errors of flits",
    "nvlink_crc_data_errors": "CRC errors of data",
    "nvlink_replays": "replays",
}


class Standing(Numbers):
    """How many more errors than the other links one link may have.

    times_of_median: the largest multiple of the median.
    errors_min: the count up to which a link is never blamed.
    """

    times_of_median: float
    errors_min: int


@rule(clause="HW-108")
def nvlink_unlike_others(
    gpu: Gpu, profiles: GpuProfiles, gpus: Gpus, limit: Standing
) -> Verdicts:
    """Compare the links of a GPU with all links of the node, count by count."""
    counted = supported(*(getattr(gpu, name) for name in _COUNTS))
    if not counted or has_no_links(gpu, profiles):
        return
    has_failed = False
    for name, what in _COUNTS.items():
        counts = getattr(gpu, name)
        all_links = [
            n for gpu in gpus.shown for n in seen(gpu, getattr(gpu, name)).values()
        ]
        if not all_links:
            continue
        middle = median([float(number) for number in all_links])
        most = max(limit.times_of_median * middle, limit.errors_min)
        link, worst = max(seen(gpu, counts).items(), key=_by_count, default=(0, 0))
        if worst > most:
            has_failed = True
            yield fail(
                f"link {link}: {worst:,} {what} since the driver was loaded; half of "
                f"the links of the node have {middle:,.0f} or less",
                at=counts,
                measured=worst,
                required=most,
                action="MONITOR",
            )
    if not has_failed:
        for counts in counted:
            need_all(gpu, counts)
        gpus.count.need()
        yield passed(at=counted)


def _by_count(numbers: tuple[int, int]) -> int:
    return numbers[1]

"""A library of MRC whose interface is older than the plugin needs.

Why it hurts: an older library lacks the extended query of devices, so that what a card
can do reads as nothing.

What passes: a version of at least the clause's, compared number by number.

Where it does not apply: other fabrics.

Source: opencomputeproject/OCP-Multipath-Reliable-Connection mrc.h (mrc_query_device_ex
from 1.0.1 on), mrc_api_ver.h.

Bad::

    mrc_query_version: 1.0.0

Good::

    mrc_query_version: 1.0.1
"""

from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Interface(Numbers):
    """The oldest version that has what is needed."""

    api_min: str


@rule(clause="MRC-003")
def mrc_library_too_old(driver: Driver, limit: Interface) -> Verdicts:
    """Judge the version that the library tells."""
    value = driver.mrc_api_version
    if _numbers(value.need()) >= _numbers(limit.api_min):
        yield passed(at=value, measured=value.value, required=limit.api_min)
        return
    yield fail(
        f"the library of MRC has version {value.value} of its interface; "
        f"{limit.api_min} is the first with the extended query of devices",
        at=value,
        measured=value.value,
        required=limit.api_min,
        cost="what the cards can do is not seen",
        remedy="Upgrade the library of the NIC's vendor.",
        action="FIX_CONFIG",
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())

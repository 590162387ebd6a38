"""Limits of open files or processes that large jobs reach.

Why it hurts: loaders and connections of thousands of ranks hold files open: the job
stops with `Too many open files`, or cannot start a worker.

What passes: both limits are at least the clause's, or there is none.

Where it does not apply: nowhere.

Source: leptonai/gpud, check of file descriptors; awslabs/awsome-distributed-ai.

Bad::

    ulimit -n       # 1024

Good::

    ulimit -n       # 1048576
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_UNLIMITED = -1


class Least(Numbers):
    """How many files and processes must be allowed."""

    limit_min: int


@rule(clause="HW-070")
def process_limits_low(host: Host, limit: Least) -> Verdicts:
    """Judge both limits of the process that looked."""
    for value, what, option in (
        (host.open_files, "open files", "n"),
        (host.process_limit, "processes", "u"),
    ):
        if value.need() == _UNLIMITED or value.need() >= limit.limit_min:
            yield passed(at=value, measured=value.value, required=limit.limit_min)
            continue
        yield fail(
            f"{value.value:,} {what} are allowed; it should be at least "
            f"{limit.limit_min:,}",
            at=value,
            measured=value.value,
            required=limit.limit_min,
            cost="loaders or connections fail in the middle of a run",
            remedy=f"ulimit -{option} {limit.limit_min} before the job; for good in "
            "/etc/security/limits.conf, or in the unit of the scheduler's daemon.",
            action="FIX_CONFIG",
        )

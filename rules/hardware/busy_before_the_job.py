"""A node whose processors work although no job is on its GPUs.

Why it hurts: stray processes take time from loaders and launches: this rank is late.

What passes: a load below the clause's share of the processors.

Where it does not apply: nodes without GPU; nodes with a process on a GPU.

Source: an engineering default; mej/nhc has such a check.

Bad::

    uptime      # load average: 55.10 on 96 processors, before the job

Good::

    uptime      # load average: 0.80
"""

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Load(Numbers):
    """The largest share of the processors that may be busy before a job."""

    share_max: float


@rule(clause="HW-079")
def busy_before_the_job(gpus: Gpus, host: Host, limit: Load) -> Verdicts:
    """Judge the load of an idle node."""
    each = gpus.each()
    if not each or any(gpu.compute_processes.need() for gpu in each):
        return
    most = limit.share_max * host.processors.need()
    load = host.load_one_minute
    if load.need() <= most:
        yield passed(at=load, measured=load.value, required=most)
        return
    yield fail(
        f"the load is {load.value:g} and no process is on a GPU; at most {most:.3g}, "
        f"{limit.share_max:.0%} of {host.processors.value} processors, should it be",
        at=[load, host.processors],
        measured=load.value,
        required=most,
        cost="the ranks of this node start late",
        remedy="Find the processes with top and stop what is left over.",
        action="MONITOR",
    )

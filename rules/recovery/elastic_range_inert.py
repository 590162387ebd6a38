"""A range of nodes that the rendezvous does not use.

Why it hurts: without a backend torchrun meets by fixed ranks, and waits for the most
nodes of the range. The job neither starts nor goes on with fewer, which is what the
range was written for.

What passes: a range with --rdzv-backend=c10d or etcd.

Where it does not apply: one number of nodes; options that stand in a variable.

Source: pytorch torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py
(create_rdzv_handler: world_size = max_nodes).

Bad::

    torchrun --nnodes=2:4 --master-addr=$HEAD train.py

Good::

    torchrun --nnodes=2:4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.launch import Launches, is_certain
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-011", about=("recovery.minimum_nodes",))
def elastic_range_inert(account: Launches, environment: Environment) -> Verdicts:
    """Judge the backend of launches on a range of nodes."""
    for launch in account.launches:
        least, most = launch.elastic_from, launch.nodes
        if not is_certain(least) or not is_certain(most) or least.need() == most.need():
            continue
        if launch.rendezvous.backend.is_known and not launch.rendezvous.is_static:
            yield passed(at=[most, launch.rendezvous.backend])
            continue
        if not launch.rendezvous.is_static or environment.sets("PET_*"):
            continue
        yield fail(
            f"{least.need()} to {most.need()} nodes, and the rendezvous is static: "
            f"it waits for all {most.need()}",
            at=[most, launch.launcher],
            measured=most.need(),
            required="a rendezvous that takes fewer",
            cost="the job does not start, and does not go on, with fewer nodes",
            remedy="Add --rdzv-backend=c10d and --rdzv-endpoint=HOST:PORT.",
        )

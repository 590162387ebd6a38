"""NCCL_ALGO or NCCL_PROTO set by hand.

Why it hurts: one choice then holds for all sizes, all collectives and all scales, and
keeps better algorithms of later releases out. An explicit LL128 can corrupt data where
the platform does not support it.

What passes: both are left to NCCL, to a tuner plugin or tuner file, or to the values
that the provider of the machine publishes. NCCL_ALGO in a deterministic run, which
Megatron-LM does not start without.

Where it does not apply: one node.

Source: NVIDIA/nccl, environment variables; NCCL issues 790 and 831; Megatron-LM,
arguments.py, --deterministic-mode.

Bad::

    NCCL_PROTO=LL128

Good::

    (the line deleted)
"""

from speccheck.rules.communication._algorithms import has_tuner
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import without_variables
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

# Without the protocol that is unsafe on some networks, the choice stays the library's.
_LEFT_OPEN = ("", "^LL128", "^ll128")


@rule(clause="COMM-002")
def algorithm_pinned(
    environment: Environment, nccl: NcclVariables, cluster: Cluster, run: Run
) -> Verdicts:
    """Judge whether the choice is left to the library."""
    instance = cluster.instance_type.value
    if not environment.files:
        yield unknown("no script sets the environment", missing=["environment"])
        return
    variables = [
        variable
        for name in ("NCCL_ALGO", "NCCL_PROTO")
        if (variable := environment.find(name)) and variable.value not in _LEFT_OPEN
    ]
    is_deterministic = bool(run.deterministic.value)
    pinned = [
        item
        for item in variables
        if not (is_deterministic and item.name == "NCCL_ALGO")
        and not nccl.is_published(item, environment, instance)
    ]
    unread = [item for item in pinned if item.value is None]
    if unread and len(unread) == len(pinned) and not has_tuner(environment):
        yield unknown(
            f"what {unread[0].name} is set to is not known before the job starts",
            missing=[unread[0].name],
            at=[item.place for item in unread],
        )
        return
    if not pinned or has_tuner(environment):
        yield passed(at=[item.place for item in variables])
        return
    for variable in pinned:
        text = variable.value
        if text is None:
            continue
        is_named = "ll128" in text.lower() and not text.startswith("^")
        explicit = is_named and variable.name == "NCCL_PROTO"
        danger = "; LL128 by name can corrupt data where it is not supported"
        yield fail(
            f"{variable.name}={text} holds for all sizes and scales"
            f"{danger if explicit else ''}",
            at=variable.place,
            measured=text,
            required="not set",
            cost="the best algorithm of most sizes is excluded",
            fix=without_variables([variable]),
        )

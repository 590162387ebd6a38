"""A number outside the range that NCCL documents.

Why it hurts: NCCL clips it, falls back to its default or takes another meaning, and
reports it at most in the log of the first rank.

What passes: numbers in the documented range.

Where it does not apply: texts, lists, and variables without a known range; values that
the provider of the machine publishes.

Source: NVIDIA/nccl, environment variables, and the sources named in the catalogue.

Bad::

    NCCL_IB_RETRY_CNT=15      # the field has three bits: 0 to 7

Good::

    NCCL_IB_RETRY_CNT=7
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import NcclVariables, out_of_range
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", confidence="advisory", about=("*",))
def value_out_of_range(
    environment: Environment, nccl: NcclVariables, cluster: Cluster
) -> Verdicts:
    """Judge each number against its range."""
    instance = cluster.instance_type.value
    is_clean, was_read = True, False
    for variable in environment.variables:
        row = nccl.lookup(variable.name)
        if row is None or variable.value is None or not row.has_range:
            continue
        was_read = True
        allowed = out_of_range(row, variable.value)
        if allowed is None or nccl.is_published(variable, environment, instance):
            continue
        is_clean = False
        yield fail(
            f"{variable.name}={variable.value} is out of range: {allowed}",
            at=variable.place,
            measured=variable.value,
            required=allowed,
            cost="NCCL clips the value or takes its default",
            remedy=f"Set {allowed}, or delete the line.",
        )
    if is_clean and was_read:
        yield passed()

"""A value that the NCCL of the job does not know yet, or does not take.

Why it hurts: the name of the variable is known, so that nothing looks wrong; the value
is clipped, or read as the default.

What passes: values that the stated release reads as they are written.

Where it does not apply: the variables are not set. Where the release is not stated, the
verdict is unknown.

Source: NVIDIA/nccl docs, environment variables (since and deprecated notes).

Bad::

    NCCL_DEBUG=ATTN     # with NCCL 2.27: nothing is logged

Good::

    NCCL_DEBUG=WARN
    NCCL_DEBUG_LEVELS=ATTN
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(
    clause="COMM-062",
    about=("NCCL_CTA_POLICY", "NCCL_DEBUG", "NCCL_MAX_CTAS", "NCCL_MIN_CTAS"),
)
def value_of_another_release(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `other_release`."""
    yield from related(
        "other_release",
        variables,
        cost="the setting is not the one that is written, and nothing says so",
    )

"""A list that leaves the library nothing to use.

Why it hurts: CUDA drops the whole list when a device stands in it twice, and the job
sees no GPU.

What passes: lists that name each device once.

Where it does not apply: the variable is not set, or set outside the files.

Source: pytorch/pytorch torch/cuda/__init__.py (_parse_visible_devices).

Bad::

    CUDA_VISIBLE_DEVICES=0,1,1,3

Good::

    CUDA_VISIBLE_DEVICES=0,1,2,3
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(clause="CONF-060", about=("CUDA_VISIBLE_DEVICES",))
def unusable_list(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `unusable`."""
    yield from related(
        "unusable",
        variables,
        cost="the job stops: it finds no GPU",
    )

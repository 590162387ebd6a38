"""Tensor parallelism over an odd number of GPUs.

Why it hurts: it does not; a rule needs something to say.

Source: none, this is an example.
"""

from speccheck.validator.evidence.plan import Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-003")
def tensor_parallel_odd(parallelism: Parallelism) -> Verdicts:
    """Judge whether the degree is even."""
    size = parallelism.tensor_parallel_size
    if size.need() % 2 and size.need() > 1:
        yield fail(f"tensor parallelism over {size.value} GPUs is odd", at=size)
    else:
        yield passed()

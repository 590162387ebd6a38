"""A parallel degree of zero or less.

Why it hurts: a group needs at least one rank. Frameworks stop on the assertion; -1 has
a meaning only as the shard degree that fills the mesh.

What passes: degrees of 1 or more, and a shard degree of -1.

Where it does not apply: Axolotl takes 0 for "not set".

Source: torchtitan torchtitan/distributed/parallel_dims.py (ParallelDims._validate);
accelerate parallelism_config.py.

Bad::

    [parallelism]
    tensor_parallel_degree = -1

Good::

    [parallelism]
    tensor_parallel_degree = 1
    data_parallel_shard_degree = -1
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Parallelism, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005")
def parallel_degree_below_one(
    parallelism: Parallelism, run: Run, stated: StatedKeys
) -> Verdicts:
    """Judge each stated degree; -1 is legal for the shard degree alone."""
    lowest = 0 if run.framework.value == "axolotl" else 1
    degrees = (
        parallelism.tensor_parallel_size,
        parallelism.pipeline_parallel_size,
        parallelism.context_parallel_size,
        parallelism.ulysses_size,
        parallelism.expert_parallel_size,
        parallelism.expert_tensor_parallel_size,
        parallelism.replicate_size,
        parallelism.shard_size,
    )
    given = [degree for degree in degrees if degree.is_known and degree.places]
    low = [
        degree
        for degree in given
        if degree.need() < lowest
        and not (degree is parallelism.shard_size and degree.value == -1)
    ]
    for degree in low:
        name = degree.name.partition(".")[2].replace("_", " ")
        yield fail(
            f"the {name} is {degree.value}; a group has at least 1 rank"
            + ("" if degree is parallelism.shard_size else ", and -1 does not fill it"),
            at=degree,
            measured=degree.value,
            required=1,
            cost="the framework stops at start-up",
            remedy="Set it to 1, or to the number of ranks that is meant.",
            # 0 can only mean none; -1 may be meant to fill the mesh.
            fix=rewritten(degree, 1, stated) if degree.value == 0 else None,
        )
    if given and not low:
        yield passed(at=given, required=1)

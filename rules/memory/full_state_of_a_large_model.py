"""A large sharded model that is saved as one full state dict.

Why it hurts: the shards of all ranks are gathered on one rank and moved to the memory
of its host. For tens of billions of parameters that ends out of memory, or takes longer
than the others wait.

What passes: saves in shards.

Where it does not apply: smaller models, adapters, weights that are not sharded.

Source: pytorch issue 104143; axolotl pull request 1828 (405B).

Bad::

    # 70 billion parameters
    fsdp_state_dict_type: FULL_STATE_DICT

Good::

    fsdp_state_dict_type: SHARDED_STATE_DICT
"""

from speccheck.validator.evidence.plan import Checkpoint, Model, Parallelism
from speccheck.validator.models.training_memory import WEIGHT_STAGE
from speccheck.validator.models.units import billions
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Largest(Numbers):
    """How large a model may be that one host gathers."""

    parameters_max: int


@rule(clause="MEM-034", confidence="advisory", about=("checkpoint.format",))
def full_state_of_a_large_model(
    checkpoint: Checkpoint, model: Model, parallelism: Parallelism, limit: Largest
) -> Verdicts:
    """Judge the format of the saves of a large model whose weights are sharded."""
    layout, parameters = checkpoint.format, model.parameters
    if not layout.is_known or checkpoint.enabled.value is False:
        return
    if model.adapter.or_else("none") != "none":
        return
    if parallelism.sharding_stage.or_else(WEIGHT_STAGE) != WEIGHT_STAGE:
        return
    if parameters.need() <= limit.parameters_max:
        return
    parallelism.sharding_stage.need()
    at = [layout, parameters]
    if layout.need() != "full":
        yield passed(at=at, measured=layout.need())
        return
    yield fail(
        f"each save gathers {billions(parameters.need())} parameters on one rank; "
        f"from {billions(limit.parameters_max)} on shards should be saved",
        at=at,
        measured=parameters.need(),
        required=limit.parameters_max,
        cost="the save ends out of host memory, or outlasts the collective timeout",
    )

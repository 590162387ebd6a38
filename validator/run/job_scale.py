"""How large a job is: all that reports keep of its plan."""

from typing import Any

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Value

_OF_SCALE = tuple(
    f"cluster.{name}"
    for name in ("nodes", "gpus_per_node", "world_size", "accelerator", "instance_type")
)


class JobScale:
    """The leaves of a plan that reports show; the others go when it is judged."""

    __slots__ = ("_leaves",)

    def __init__(self, plan: TrainingPlan) -> None:
        """Keep the numbers of nodes and GPUs, and what these are."""
        self._leaves = {name: plan.value(name) for name in _OF_SCALE}

    def value(self, name: str) -> Value[Any]:
        """The leaf of that name; raises KeyError for one that is not kept."""
        return self._leaves[name]

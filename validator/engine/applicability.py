"""Whether a clause or a rule has anything to say of a plan."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from speccheck.validator.editions.compose import ComposedEdition, size_class
from speccheck.validator.editions.edition import Condition
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value

EvidenceByType = Mapping[type, object]


class Gate(Record):
    """Whether a clause applies to a plan: yes, no, or not known for want of facts."""

    applies: bool
    reason: str = ""
    missing: tuple[str, ...] = ()


OPEN = Gate(applies=True)


def condition_gate(
    condition: Condition, plan: TrainingPlan, edition: ComposedEdition
) -> Gate:
    """Whether one condition holds; use and size class are worked out here."""
    if condition.fact == "profile.use":
        found: object = edition.use
    elif condition.fact == "cluster.size_class":
        found = edition.size or plan_size_class(plan)
    else:
        found = plan.value(condition.fact).value
    if condition.is_stated is not None:
        holds = (found is not None) == condition.is_stated
    elif found is None:
        return unknown_gate((condition.fact,))
    else:
        holds = condition.holds(found)
    return Gate(holds, "" if holds else f"applies only where {condition.text}")


@lru_cache(maxsize=256)
def unknown_gate(missing: tuple[str, ...]) -> Gate:
    """The gate of a condition that cannot be told."""
    reason = f"whether it applies needs {', '.join(missing)}"
    return Gate(applies=False, reason=reason, missing=missing)


class Spoken:
    """What a plan says anything of: its leaves, and the variables that it sets."""

    __slots__ = ("_names", "_variables")

    def __init__(self, plan: TrainingPlan, environment: object) -> None:
        """Look through the plan once: rules are many."""
        variables = (
            environment.variables if isinstance(environment, Environment) else ()
        )
        self._variables = [one.name for one in variables]
        self._names = {
            leaf.name
            for leaf in plan.told()
            if (leaf.is_known or leaf.places or leaf.note) and not _is_bare(leaf)
        }
        self._names.update(self._variables)

    def has_any(self, names: Iterable[str]) -> bool:
        """Whether it speaks of one of these; `NCCL_IB_*` is any of that kind."""
        for name in names:
            if name in self._names:
                return True
            if name.endswith("*"):
                start = name[:-1]
                if any(one.startswith(start) for one in self._variables):
                    return True
        return False


def _is_bare(leaf: Value[Any]) -> bool:
    """Whether a default alone is known, and it is that of a plan that cuts nothing.

    Nothing offloaded, groups of one rank, no sharding: nobody spoke of it.
    """
    if leaf.status != "default":
        return False
    if leaf.name.endswith("_offload_device"):
        return leaf.value == "none"
    is_of_groups = leaf.name.startswith("parallelism.")
    return is_of_groups and type(leaf.value) is int and leaf.value <= 1


def lacking(evidence: EvidenceByType, names: Iterable[str]) -> Value[Any] | None:
    """The first of these leaves that is not known; None where all are."""
    plan = evidence[TrainingPlan]
    if isinstance(plan, TrainingPlan):
        for name in names:
            leaf = plan.value(name)
            if not leaf.is_known:
                return leaf
    return None


def plan_size_class(plan: TrainingPlan) -> str | None:
    """XS to XXL by the GPUs of the job; None while they are not known."""
    world_size = plan.value("cluster.world_size").value
    nodes = plan.value("cluster.nodes").value
    if world_size is None:
        return "XS" if nodes == 1 else None
    return size_class(world_size, nodes)

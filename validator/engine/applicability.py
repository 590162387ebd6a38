"""Whether a clause or a rule has anything to say of a plan."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

from speccheck.validator.editions.compose import ComposedEdition, size_class
from speccheck.validator.editions.edition import Condition
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.bounds import BOUNDED, least_gpus, least_nodes


class Applicability(Record):
    """Whether a clause applies to a plan.

    Attributes:
        applies: whether it does, as far as is known.
        reason: why it does not, or may not.
        missing: the facts without which that cannot be decided.
        bounds: what the scale of the job is at least, where that alone decides.
        keeps_failures: the missing facts only tell where there is something to judge,
            so that a failure stands without them.

    """

    applies: bool
    reason: str = ""
    missing: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    keeps_failures: bool = False


APPLIES = Applicability(applies=True)


def _of_condition(
    condition: Condition, plan: TrainingPlan, edition: ComposedEdition
) -> Applicability:
    """Return whether one condition holds; use and size class are worked out here."""
    if condition.fact == "profile.use":
        result: object = edition.use
    elif condition.fact == "cluster.size_class":
        result = edition.size or plan_size_class(plan)
    else:
        result = plan.value(condition.fact).value
    if condition.is_stated is not None:
        holds = (result is not None) == condition.is_stated
    elif result is None:
        return _by_bounds(condition, plan, edition) or undecided(
            (condition.fact,), keeps_failures=condition.is_about_evidence
        )
    else:
        holds = condition.holds(result)
    return Applicability(holds, "" if holds else f"applies only where {condition.text}")


def _by_bounds(
    condition: Condition, plan: TrainingPlan, edition: ComposedEdition
) -> Applicability | None:
    """Return what the least scale of a job decides; None where it decides nothing."""
    if condition.fact == "cluster.size_class":
        gpus, nodes = least_gpus(plan), least_nodes(plan)
        if gpus is None:
            return None
        smallest = edition.edition.size_class(
            int(gpus.number), None if nodes is None else int(nodes.number)
        )
        if smallest is None:
            return None
        sizes = edition.edition.sizes_from(smallest)
        holds = all(condition.holds(size) for size in sizes)
        return Applicability(applies=True, bounds=(gpus.in_words,)) if holds else None
    bounded = BOUNDED.get(condition.fact) if condition.holds_from else None
    bound = bounded(plan) if bounded is not None else None
    if bound is None or not condition.holds(bound.number):
        return None
    return Applicability(applies=True, bounds=(bound.in_words,))


def applicability_of(
    conditions: tuple[str, ...],
    plan: TrainingPlan,
    edition: ComposedEdition,
    known: dict[tuple[str, ...], Applicability],
) -> Applicability:
    """Return whether all conditions hold, and keep it in `known`.

    Args:
        conditions: by their names in the edition.
        plan: what they are about.
        edition: that has them.
        known: of other clauses and of single conditions of this plan.

    """
    missing: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    keeps_failures = True
    for name in conditions:
        applicability = known.get((name,))
        if applicability is None:
            applicability = _of_condition(edition.conditions[name], plan, edition)
            known[(name,)] = applicability
        if not applicability.applies and not applicability.missing:
            break
        missing += applicability.missing
        bounds += applicability.bounds
        keeps_failures &= applicability.applies or applicability.keeps_failures
    else:
        applicability = APPLIES
        if missing:
            applicability = undecided(missing, keeps_failures=keeps_failures)
        elif bounds:
            applicability = Applicability(applies=True, bounds=bounds)
    known[conditions] = applicability
    return applicability


@lru_cache(maxsize=256)
def undecided(
    missing: tuple[str, ...], *, keeps_failures: bool = False
) -> Applicability:
    """Return the applicability that hangs on facts which are missing."""
    reason = f"whether it applies needs {', '.join(missing)}"
    return Applicability(
        applies=False, reason=reason, missing=missing, keeps_failures=keeps_failures
    )


class Concern(Protocol):
    """What a rule is about, as far as that is known before it is imported."""

    frameworks: tuple[str, ...]
    triggers: tuple[str, ...]


class Mentioned:
    """What a plan mentions: its leaves, and the variables that it sets."""

    __slots__ = ("_framework", "_names", "_variables")

    def __init__(self, plan: TrainingPlan, environment: Environment | None) -> None:
        """Look through the plan once: rules are many."""
        self._framework = plan.value("run.framework").value
        variables = () if environment is None else environment.variables
        self._variables = [variable.name for variable in variables]
        self._names = {
            leaf.name
            for leaf in plan.stated()
            if (leaf.is_known or leaf.places or leaf.note) and not _is_bare(leaf)
        }
        self._names.update(self._variables)

    def concerns(self, rule: Concern) -> bool:
        """Return whether a rule has anything to say of the plan."""
        if rule.frameworks and self._framework not in rule.frameworks:
            return False
        return not rule.triggers or self.has_any(rule.triggers)

    def has_any(self, names: Iterable[str]) -> bool:
        """Return whether it mentions one of these; `NCCL_IB_*` is any of that kind."""
        for name in names:
            if name in self._names:
                return True
            if name.endswith("*"):
                start = name[:-1]
                if any(variable.startswith(start) for variable in self._variables):
                    return True
        return False


def _is_bare(leaf: Value[Any]) -> bool:
    """Return whether a default alone is known, and is of a plan that cuts nothing.

    Nothing offloaded, groups of one rank, no sharding: nobody spoke of it.
    """
    if leaf.status != "default":
        return False
    if leaf.name.endswith("_offload_device"):
        return leaf.value == "none"
    is_of_groups = leaf.name.startswith("parallelism.")
    return is_of_groups and type(leaf.value) is int and leaf.value <= 1


def lacking(evidence: Evidence, names: Iterable[str]) -> Value[Any] | None:
    """Return the first of these leaves that is not known; None where all are."""
    plan = evidence[TrainingPlan]
    for name in names:
        leaf = plan.value(name)
        if not leaf.is_known:
            return leaf
    return None


def plan_size_class(plan: TrainingPlan) -> str | None:
    """Return XS to XXL by the GPUs of the job; None while they are not known."""
    world_size = plan.value("cluster.world_size").value
    nodes = plan.value("cluster.nodes").value
    if world_size is None:
        return "XS" if nodes == 1 else None
    return size_class(world_size, nodes)

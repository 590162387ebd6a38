"""Verdicts on the relations of one kind, whose rows stand in the catalogue."""

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import (
    combined,
    variable_set,
    without_variables,
)
from speccheck.validator.evidence.value import Place
from speccheck.validator.evidence.variable_relations import (
    DROPPED,
    Match,
    RelatedVariables,
)
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, unknown


def related(
    kind: str,
    variables: RelatedVariables | None,
    *,
    cost: str,
    spares_debug_runs: bool = False,
    advises: bool = False,
) -> Verdicts:
    """Judge each relation of the kind that concerns a variable that is set.

    Args:
        kind: of the rows.
        variables: what the files set, and the rows; None where they set nothing.
        cost: what a failure costs.
        spares_debug_runs: whether a debug run may do so.
        advises: what cannot be judged for want of a fact is no advice, and not told.
    """
    if variables is None:
        return
    job = variables.job
    environment = job.environment
    if spares_debug_runs and job.plan.value("run.role").value == "debug":
        return
    missing: dict[str, str] = {}
    seen: list[Place] = []
    failed = False
    for relation in variables.relations.about(kind, environment):
        found = relation.judge(job)
        if isinstance(found, Match):
            failed = True
            yield _failure(found, cost)
        elif found is not None:
            missing.setdefault(found, relation.reason)
        else:
            known = (environment.find(name) for name in relation.triggers())
            seen += [one.place for one in known if one is not None]
    if missing and not advises:
        names = ", ".join(missing)
        reason = next(iter(missing.values()))
        yield unknown(f"needs {names} to tell whether {reason}", missing=list(missing))
    elif seen and not failed and not missing:
        yield passed(at=seen)


def _failure(found: Match, cost: str) -> Verdict:
    causes = [_shown(one) for one in found.causes]
    around = [
        f"{leaf.name} {_text(leaf.value)}" for leaf in found.leaves if leaf.is_known
    ]
    told = " and ".join(causes)
    if found.dropped:
        names = [_shown(one) for one in found.dropped]
        told += f" leaves {', '.join(names)} without effect" if told else ""
        told = told or f"{', '.join(names)} has no effect"
    elif not told:
        told = "a variable is not set"
    if around:
        told += f" ({', '.join(around)})"
    variables = [*found.causes, *found.dropped]
    return fail(
        f"{told}: {found.relation.reason}",
        at=[*(one.place for one in variables), *found.leaves],
        measured=", ".join(_shown(one) for one in variables),
        required=found.relation.remedy,
        cost=cost,
        remedy=found.relation.remedy,
        fix=_fix(found),
    )


def _fix(found: Match) -> Fix | None:
    """The change of the row, where what it changes is set in files."""
    set_here = {one.name: one for one in (*found.causes, *found.dropped)}
    wanted = dict(found.relation.fix)
    if wanted.pop(DROPPED, "") is None:
        wanted |= {one.name: None for one in found.dropped}
    if not wanted or any(name not in set_here for name in wanted):
        return None
    steps = [
        without_variables([set_here[name]], is_safe=True)
        if value is None
        else variable_set(set_here[name], value, is_safe=True)
        for name, value in wanted.items()
    ]
    return combined(
        "; ".join(one.says for one in steps),
        (change for one in steps for change in one.changes),
        is_safe=not found.relation.fix_is_unsafe,
    )


def _shown(variable: Variable) -> str:
    text = variable.raw if variable.value is None else variable.value
    return f"{variable.name}={text}"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ".".join(str(one) for one in value)
    return f"{value:,}" if isinstance(value, int) else str(value)

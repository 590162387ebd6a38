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
    RelatedVariables,
    RelationMatch,
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
        match = relation.judge(job)
        if isinstance(match, RelationMatch):
            failed = True
            yield _failure(match, cost)
        elif match is not None:
            missing.setdefault(match, relation.reason)
        else:
            known = (environment.find(name) for name in relation.triggers())
            seen += [variable.place for variable in known if variable is not None]
    if missing and not advises:
        names = ", ".join(missing)
        reason = next(iter(missing.values()))
        yield unknown(f"needs {names} to tell whether {reason}", missing=list(missing))
    elif seen and not failed and not missing:
        yield passed(at=seen)


def _failure(match: RelationMatch, cost: str) -> Verdict:
    causes = [_shown(cause) for cause in match.causes]
    around = [
        f"{leaf.name} {_text(leaf.value)}" for leaf in match.leaves if leaf.is_known
    ]
    text = " and ".join(causes)
    if match.dropped:
        names = [_shown(variable) for variable in match.dropped]
        text += f" leaves {', '.join(names)} without effect" if text else ""
        text = text or f"{', '.join(names)} has no effect"
    elif not text:
        text = "a variable is not set"
    if around:
        text += f" ({', '.join(around)})"
    variables = [*match.causes, *match.dropped]
    return fail(
        f"{text}: {match.relation.reason}",
        at=[*(variable.place for variable in variables), *match.leaves],
        measured=", ".join(_shown(variable) for variable in variables),
        required=match.relation.remedy,
        cost=cost,
        remedy=match.relation.remedy,
        fix=_fix(match),
    )


def _fix(match: RelationMatch) -> Fix | None:
    """Propose the change of the row, where what it changes is set in files."""
    set_here = {cause.name: cause for cause in (*match.causes, *match.dropped)}
    wanted = dict(match.relation.fix)
    if wanted.pop(DROPPED, "") is None:
        wanted |= {variable.name: None for variable in match.dropped}
    if not wanted or any(name not in set_here for name in wanted):
        return None
    steps = [
        without_variables([set_here[name]])
        if value is None
        else variable_set(set_here[name], value)
        for name, value in wanted.items()
    ]
    return combined(
        "; ".join(step.says for step in steps),
        (change for step in steps for change in step.changes),
    )


def _shown(variable: Variable) -> str:
    text = variable.raw if variable.value is None else variable.value
    return f"{variable.name}={text}"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ".".join(str(item) for item in value)
    return f"{value:,}" if isinstance(value, int) else str(value)

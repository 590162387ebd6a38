"""What a rule is: a pure function from typed evidence to verdicts on one clause.

The engine fills the parameters of a rule by their types: a section of the plan, another
kind of evidence, `X | None` for evidence that may be missing, or the rule's own
parameter class, whose annotated names are numbers of the clause. A rule that asks for
one of several parts of a node, such as `Gpu`, judges each of them by itself.
"""

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from speccheck.validator.evidence.finding import Action, Finding, Fix, Outcome
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Value

Confidence = Literal["exact", "calibrated", "lower_bound", "advisory"]
# node: what a machine is, by a snapshot. environment: variables, of files or of a node.
# measurement: what was measured under load, or told by the log of a run. waiver: what
# waivers have covered, after all plans. fleet: all nodes of a job beside each other.
Scope = Literal["plan", "node", "environment", "measurement", "waiver", "fleet"]
OF_FILES: tuple[Scope, ...] = ("plan", "environment")
_OF_THE_ENVIRONMENT = {"Environment", "NcclVariables", "RelatedVariables"}
Where = Place | Value[Any] | Iterable[Place | Value[Any]]


class Verdict(Record):
    """What a rule says of one subject.

    message: what was found, with the number, then what is required, with the
    arithmetic. cost: what it costs the user. remedy: the concrete change, when the rule
    knows better than its clause. fix: that change as edits of the files. hosts: the
    nodes of a fleet that it is about; none where it is about the fleet.
    """

    outcome: Outcome
    message: str
    places: tuple[Place, ...] = ()
    measured: str | float | None = None
    required: str | float | None = None
    cost: str = ""
    remedy: str = ""
    missing: tuple[str, ...] = ()
    note: str = ""
    action: Action | None = None
    fix: Fix | None = None
    hosts: tuple[str, ...] = ()


Verdicts = Iterator[Verdict]


class Numbers:
    """Base of a rule's parameters: each annotated name is a number of the clause.

    `int | None` is for one that the edition may not have for this job: without it the
    rule is undecided before it runs.
    """

    def __init__(self, **numbers: Any) -> None:  # noqa: ANN401 - any unit's type
        """Take the numbers by name."""
        self.__dict__.update(numbers)


class Rule(Record):
    """A rule as the engine sees it."""

    name: str
    clause: str
    area: str
    confidence: Confidence
    function: Callable[..., Verdicts]
    evidence: tuple[tuple[type, bool], ...]  # in order; True: may be missing
    numbers: type[Numbers] | None
    numbers_at: int  # position of the numbers among the parameters, -1 for none
    frameworks: tuple[str, ...] = ()  # the only ones it judges; empty for all
    about: tuple[str, ...] = ()  # it judges plans that speak of one; empty for any
    scope: Scope = "plan"
    each_at: int = -1  # position of the part of which it judges one after another
    needs: tuple[str, ...] = ()  # it is undecided on a plan that lacks one

    def load(self) -> "Rule":
        """Return the rule itself: it is imported."""
        return self


def rule(
    *,
    clause: str,
    confidence: Confidence = "exact",
    frameworks: tuple[str, ...] = (),
    about: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
) -> Callable[[Callable[..., Verdicts]], Rule]:
    """Make a rule of a function; the module's name is the rule's name.

    Args:
        clause: the clause of the edition that the rule judges.
        confidence: how sure a failure is. Only exact and lower_bound failures may be
            errors; calibrated and advisory ones are warnings at most.
        frameworks: for a constraint of these alone; the rule does not apply to a plan
            of another, or of none that is known.
        about: names of leaves (`section.field`) and of environment variables, that end
            in `*` for all that begin so: the rule does not apply to a plan that speaks
            of none of them, and is not even imported for it.
        needs: names of leaves that it needs first of any plan: a plan
            that lacks one is undecided, and the rule is not imported for it either.

    """

    def decorate(function: Callable[..., Verdicts]) -> Rule:
        evidence: list[tuple[type, bool]] = []
        numbers: type[Numbers] | None = None
        numbers_at = each_at = -1
        for name, kind in function.__annotations__.items():
            if name == "return":
                continue
            optional = isinstance(kind, types.UnionType)
            wanted = kind.__args__[0] if isinstance(kind, types.UnionType) else kind
            if issubclass(wanted, Numbers):
                numbers, numbers_at = wanted, len(evidence)
            else:
                if not getattr(wanted, "is_single", True):
                    each_at = len(evidence)
                evidence.append((wanted, optional))
        *_, area, module = function.__module__.split(".")
        return Rule(
            name=module,
            clause=clause,
            area=area,
            confidence=confidence,
            function=function,
            evidence=tuple(evidence),
            numbers=numbers,
            numbers_at=numbers_at,
            frameworks=frameworks,
            about=about,
            scope=_scope(kind for kind, may_lack in evidence if not may_lack),
            each_at=each_at,
            needs=needs,
        )

    return decorate


def _scope(evidence: Iterable[type]) -> Scope:
    kinds = tuple(evidence)
    scopes = {getattr(kind, "scope", "") for kind in kinds}
    for text in ("waiver", "fleet"):
        if text in scopes:
            return text
    if "measurement" in scopes:
        return "measurement"
    if "node" in scopes:
        return "node"
    if all(kind.__name__ in _OF_THE_ENVIRONMENT for kind in kinds):
        return "environment"
    return "plan"


def fail(  # noqa: PLR0913 - what a verdict may tell, each by its name
    message: str,
    *,
    at: Where = (),
    measured: str | float | None = None,
    required: str | float | None = None,
    cost: str = "",
    remedy: str = "",
    action: Action | None = None,
    fix: Fix | None = None,
    hosts: tuple[str, ...] = (),
) -> Verdict:
    """Return the clause does not hold; `at` names all places, the one to change first.

    action: what is to be done with a machine. fix: edits that mend it. hosts: the
    nodes of a fleet that are to blame; none where that is not known.
    """
    return Verdict(
        "fail",
        message,
        places_of(at),
        measured,
        required,
        cost,
        remedy,
        note=notes(at),
        action=action,
        fix=fix,
        hosts=hosts,
    )


def passed(
    message: str = "",
    *,
    at: Where = (),
    measured: str | float | None = None,
    required: str | float | None = None,
) -> Verdict:
    """Return the clause holds for this subject, on evidence that was seen."""
    return Verdict("pass", message, places_of(at), measured, required)


def unknown(
    message: str,
    *,
    missing: Iterable[str],
    at: Where = (),
    hosts: tuple[str, ...] = (),
) -> Verdict:
    """Return that the clause cannot be judged for want of the `missing` leaves."""
    return Verdict(
        "unknown", message, places_of(at), missing=tuple(missing), hosts=hosts
    )


def places_of(where: Where) -> tuple[Place, ...]:
    """Return all places of a place, a value, or several of them, each once."""
    if isinstance(where, Place):
        return (where,)
    if isinstance(where, Value):
        return where.places
    places: dict[Place, None] = {}
    for item in _several(where):
        places.update(dict.fromkeys(places_of(item)))
    return tuple(places)


def _several(where: Iterable[object]) -> Iterator[Place | Value[Any]]:
    """Yield the places and values of a collection; Place and Value are tuples too."""
    return (item for item in where if isinstance(item, Place | Value))


def notes(where: Where) -> str:
    """Return why values in no file are as they are: defaults and derivations."""
    if isinstance(where, Value):
        return where.note if where.status in {"default", "derived"} else ""
    if isinstance(where, Place):
        return ""
    texts = (notes(item) for item in _several(where))
    return "; ".join(dict.fromkeys(text for text in texts if text))


class ClauseOutcome(Record):
    """One clause with what all its rules say together: an outcome, or waived."""

    clause: str
    clause_level: str
    outcome: str


_WAIVED = "waived"
_RANKS = {
    "error": 0,
    "fail": 1,
    "unknown": 2,
    _WAIVED: 3,
    "pass": 4,
    "not_applicable": 5,
}


def by_clause(findings: Iterable[Finding]) -> list[ClauseOutcome]:
    """Return the outcome of each clause: the worst of its findings; unknown beats pass.

    A must that only advice speaks against is in doubt: it neither holds nor fails. A
    waived failure hides none that is not waived, and nothing that is not known.
    """
    worst: dict[str, tuple[str, Finding]] = {}
    for finding in findings:
        outcome: str = finding.outcome
        if outcome == "fail":
            outcome = _WAIVED if finding.waiver else _weighed(finding)
        known = worst.get(finding.clause)
        if known is None or _RANKS[outcome] < _RANKS[known[0]]:
            worst[finding.clause] = outcome, finding
    return [
        ClauseOutcome(finding.clause, finding.clause_level, outcome)
        for outcome, finding in worst.values()
    ]


def _weighed(failed: Finding) -> Outcome:
    """Return what a failure counts as.

    One that is only advice leaves a must in doubt.
    """
    is_doubt = failed.clause_level == "must" and failed.level != "error"
    return "unknown" if is_doubt else "fail"

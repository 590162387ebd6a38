"""Several sources, one plan: facts on the same leaf are joined or set against."""

from collections.abc import Iterable
from typing import Any

from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.facts import Fact

# Boards of one nominal size report totals that differ (hardware catalogue: A100 80 GB,
# H100 80 GB), so `H100-80GB` and an instance type with one such board agree.
_TOLERANCE = {"cluster.accelerator_memory_bytes": 0.1}
_EXACT = 1e-9
_RANK = {"stated": 0, "derived": 1, "unknown": 2, "default": 3}


def merge(facts: Iterable[Fact]) -> dict[str, Value[Any]]:
    """One value for each leaf that any fact speaks of.

    Statements win over derivations of a single source, those over texts that could not
    be worked out, those over framework defaults. Statements that differ make a
    conflict, which keeps every place and has no value.
    """
    by_name: dict[str, list[Fact]] = {}
    for fact in facts:
        by_name.setdefault(fact.name, []).append(fact)
    return {name: _one(name, rows) for name, rows in by_name.items()}


def _one(name: str, rows: list[Fact]) -> Value[Any]:
    if len(rows) == 1:
        return _value(name, rows[0])
    strongest = min(_RANK[fact.status] for fact in rows)
    # A derivation that contradicts a statement is a conflict too: both were written.
    known = [
        fact for fact in rows if _RANK[fact.status] <= 1 and fact.value is not None
    ]
    if not known:
        return _value(name, next(f for f in rows if _RANK[f.status] == strongest))
    if all(_same(name, fact.value, known[0].value) for fact in known):
        main = min(known, key=lambda fact: _RANK[fact.status])
        places = tuple(dict.fromkeys(place for fact in known for place in fact.places))
        return Value(name, main.value, main.status, places, main.note)
    return Value(
        name,
        None,
        "conflict",
        tuple(dict.fromkeys(_first_place(fact) for fact in known)),
        "stated with different values",
        tuple(dict.fromkeys(f"{fact.value}" for fact in known)),
    )


def _value(name: str, fact: Fact) -> Value[Any]:
    return Value(name, fact.value, fact.status, fact.places, fact.note)


def _first_place(fact: Fact) -> Place:
    return fact.places[0] if fact.places else Place("", "")


def _same(name: str, left: Any, right: Any) -> bool:  # noqa: ANN401 - any leaf
    if isinstance(left, int | float) and isinstance(right, int | float):
        allowed = _TOLERANCE.get(name, _EXACT)
        return abs(left - right) <= allowed * max(abs(left), abs(right))
    return bool(left == right)

"""`speccheck-bench-plan/1`: the rounds as a JSON document, for whoever runs them."""

import json
from collections.abc import Iterator, Mapping
from typing import NoReturn

from speccheck.validator.straggler_search.rounds import Hosts, Kind, Plan, Round

SCHEMA = "speccheck-bench-plan/1"
_KINDS: tuple[Kind, ...] = ("pairs", "groups")
_MOST_SETS = 5_000_000


class PlanFileError(ValueError):
    """No plan, or a damaged one; the message says where and what is wrong."""


def plan_text(plan: Plan, about: Mapping[str, object]) -> Iterator[str]:
    """The document, a set a line; `about` says more of it, for people."""
    yield "{\n"
    yield f' "schema": {json.dumps(SCHEMA)},\n "kind": {json.dumps(plan.kind)},\n'
    for name, value in about.items():
        yield f" {json.dumps(name)}: {json.dumps(value)},\n"
    yield ' "rounds": ['
    for index, sets in enumerate(plan.rounds):
        yield ",\n  [\n   " if index else "\n  [\n   "
        yield ",\n   ".join(json.dumps(one) for one in sets)
        yield "\n  ]"
    yield "\n ]\n}\n" if plan.rounds else "]\n}\n"


def plan_lines(plan: Plan) -> Iterator[str]:
    """`round set host,host,...`, a set a line, for a shell loop; counted from 0."""
    for number, sets in enumerate(plan.rounds):
        for index, hosts in enumerate(sets):
            yield f"{number} {index} {','.join(hosts)}\n"


def plan_of(text: str, name: str) -> Plan:
    """The plan of a document; raises PlanFileError."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        _refuse(name, f"line {error.lineno}: no JSON: {error.msg}")
    except RecursionError:
        _refuse(name, "nested too deeply")
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else None
        _refuse(name, f"schema is {json.dumps(found)[:60]}, not {SCHEMA}")
    kind, rounds = data.get("kind"), data.get("rounds")
    if kind not in _KINDS:
        _refuse(name, f"kind is {json.dumps(kind)[:60]}, not one of {_KINDS}")
    if not isinstance(rounds, list):
        _refuse(name, "rounds: no list")
    plan = Plan(
        kind,
        tuple(
            _round(one, f"rounds[{index}]", name) for index, one in enumerate(rounds)
        ),
    )
    if sum(map(len, plan.rounds)) > _MOST_SETS:
        _refuse(name, f"more than {_MOST_SETS:,} sets")
    return plan


def _round(data: object, at: str, name: str) -> Round:
    if not isinstance(data, list):
        _refuse(name, f"{at}: no list of sets")
    sets = tuple(_set(one, f"{at}[{index}]", name) for index, one in enumerate(data))
    seen: set[str] = set()
    for index, one in enumerate(sets):
        twice = seen.intersection(one) or (len({*one}) < len(one) and {*one})
        if twice:
            _refuse(name, f"{at}[{index}]: {min(twice)} is in two sets of the round")
        seen.update(one)
    return sets


def _set(data: object, at: str, name: str) -> Hosts:
    if not isinstance(data, list) or not data:
        _refuse(name, f"{at}: no list of host names")
    if not all(isinstance(one, str) and one for one in data):
        _refuse(name, f"{at}: a host name is a text")
    return tuple(data)


def _refuse(name: str, problem: str) -> NoReturn:
    message = f"{name}: {problem}; write it with speccheck bench plan"
    raise PlanFileError(message)

"""Rounds of disjoint sets of nodes: pairs by the circle method, and groups.

Within a round no node is in two sets, so that all sets measure at the same time.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NoReturn

from speccheck.validator.evidence.record import Record

Kind = Literal["pairs", "groups"]
Hosts = tuple[str, ...]
Round = tuple[Hosts, ...]
PAIR = 2
# Every pair of so few nodes is measured in at most seven rounds.
ALL_PAIRS_UP_TO = 8
LEAST_PARTNERS = 3
GROUP_ROUNDS = 3
# Sets of up to 32 nodes, and at least so many of them that most are without a slow one.
LARGEST_GROUP = 32
_LEAST_GROUPS = 8
_LEAST_SHARE_OF_SIZE = 0.75


class SearchPlan(Record):
    """Rounds of sets; the sets of a round measure at the same time."""

    kind: Kind
    rounds: tuple[Round, ...]

    @property
    def hosts(self) -> Hosts:
        """All nodes that take part, each once."""
        result = (host for sets in self.rounds for set_ in sets for host in set_)
        return tuple(dict.fromkeys(result))

    @property
    def largest_set(self) -> int:
        """The nodes of its largest set."""
        return max((len(set_) for sets in self.rounds for set_ in sets), default=0)


def usual_pair_rounds(count: int) -> int:
    """Return the rounds of pairs when nobody says how many.

    Few nodes meet all others; of many each meets three, also where it waits once.
    """
    if count <= ALL_PAIRS_UP_TO:
        return all_pair_rounds(count)
    return LEAST_PARTNERS + count % 2


def all_pair_rounds(count: int) -> int:
    """Return the rounds in which every pair of so many nodes meets once."""
    return max(count - 1 + count % 2, 0)


def pairs(hosts: Sequence[str], rounds: int | None = None) -> SearchPlan:
    """Return pairs by the circle method; of an odd number, a node waits in each round.

    Fewer rounds than all are spread over the circle: partners of one node are then far
    from each other in the list, and so seldom in one rack.
    """
    count = len(hosts)
    seats: list[str | None] = [*hosts, *([None] if count % 2 else [])]
    turns = len(seats) - 1
    wanted = usual_pair_rounds(count) if rounds is None else rounds
    wanted = max(0, min(wanted, turns))
    made = tuple(_turn(seats, index * turns // wanted) for index in range(wanted))
    return SearchPlan("pairs", tuple(text_lists for text_lists in made if text_lists))


def _turn(seats: Sequence[str | None], turn: int) -> Round:
    """Return one turn of the circle: the last seat stays, seats i and turn - i meet."""
    ring = len(seats) - 1
    text_lists: list[Hosts] = []
    for seat in range(ring):
        other = (turn - seat) % ring
        if other < seat:
            continue
        left, right = seats[seat], seats[ring if other == seat else other]
        if left is not None and right is not None:
            text_lists.append((left, right))
    return tuple(text_lists)


def usual_group_size(count: int) -> int:
    """Return the nodes of a group when nobody says how many.

    Few of them wait in a round.
    """
    largest = min(LARGEST_GROUP, max(PAIR, count // _LEAST_GROUPS))
    smallest = max(PAIR, int(largest * _LEAST_SHARE_OF_SIZE))
    return min(range(largest, smallest - 1, -1), key=lambda size: count % size)


def groups(
    hosts: Sequence[str], size: int | None = None, rounds: int | None = None
) -> SearchPlan:
    """Return the groups of one size; what is left over waits, each round others.

    Only sets of one size can be compared. With at least as many groups as members of a
    group, two nodes that meet in one round seldom meet in another.
    """
    count = len(hosts)
    size = usual_group_size(count) if size is None else size
    wanted = GROUP_ROUNDS if rounds is None else rounds
    whole = count // size * size
    made: list[Round] = []
    for index in range(wanted if whole else 0):
        start = index * (count - whole)
        seated = [hosts[(start + seat) % count] for seat in range(whole)]
        made.append(_groups(seated, size, index))
    return SearchPlan("groups", tuple(made))


def _groups(seated: Sequence[str], size: int, step: int) -> Round:
    """Return groups along the rows of a table, then along ever steeper diagonals."""
    number = len(seated) // size
    text_lists: list[list[str]] = [[] for _ in range(number)]
    for seat, host in enumerate(seated):
        row, column = divmod(seat, size)
        down = step * column
        # A turn further each time around, or members of a row would meet again.
        text_lists[(row + down + down // number) % number].append(host)
    return tuple(map(tuple, text_lists))


SCHEMA = "speccheck-bench-plan/1"
_KINDS: tuple[Kind, ...] = ("pairs", "groups")
_MOST_SETS = 5_000_000


class PlanFileError(ValueError):
    """No plan, or a damaged one; the message says where and what is wrong."""


def plan_text(plan: SearchPlan, about: Mapping[str, object]) -> Iterator[str]:
    """Yield the document, a set a line; `about` says more of it, for people."""
    yield "{\n"
    yield f' "schema": {json.dumps(SCHEMA)},\n "kind": {json.dumps(plan.kind)},\n'
    for name, value in about.items():
        yield f" {json.dumps(name)}: {json.dumps(value)},\n"
    yield ' "rounds": ['
    for index, sets in enumerate(plan.rounds):
        yield ",\n  [\n   " if index else "\n  [\n   "
        yield ",\n   ".join(json.dumps(set_) for set_ in sets)
        yield "\n  ]"
    yield "\n ]\n}\n" if plan.rounds else "]\n}\n"


def plan_lines(plan: SearchPlan) -> Iterator[str]:
    """Yield `round set host,host,...`, a set a line, for a shell loop.

    Counted from 0.
    """
    for number, sets in enumerate(plan.rounds):
        for index, hosts in enumerate(sets):
            yield f"{number} {index} {','.join(hosts)}\n"


def plan_of(text: str, name: str) -> SearchPlan:
    """Return the plan of a document; raises PlanFileError."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        _refuse(name, f"line {error.lineno}: no JSON: {error.msg}")
    except RecursionError:
        _refuse(name, "nested too deeply")
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        result = data.get("schema") if isinstance(data, dict) else None
        _refuse(name, f"schema is {json.dumps(result)[:60]}, not {SCHEMA}")
    kind, rounds = data.get("kind"), data.get("rounds")
    if kind not in _KINDS:
        _refuse(name, f"kind is {json.dumps(kind)[:60]}, not one of {_KINDS}")
    if not isinstance(rounds, list):
        _refuse(name, "rounds: no list")
    plan = SearchPlan(
        kind,
        tuple(
            _round(round_, f"rounds[{index}]", name)
            for index, round_ in enumerate(rounds)
        ),
    )
    if sum(map(len, plan.rounds)) > _MOST_SETS:
        _refuse(name, f"more than {_MOST_SETS:,} sets")
    return plan


def _round(data: object, at: str, name: str) -> Round:
    if not isinstance(data, list):
        _refuse(name, f"{at}: no list of sets")
    sets = tuple(_set(item, f"{at}[{index}]", name) for index, item in enumerate(data))
    seen: set[str] = set()
    for index, set_ in enumerate(sets):
        twice = seen.intersection(set_) or (len({*set_}) < len(set_) and {*set_})
        if twice:
            _refuse(name, f"{at}[{index}]: {min(twice)} is in two sets of the round")
        seen.update(set_)
    return sets


def _set(data: object, at: str, name: str) -> Hosts:
    if not isinstance(data, list) or not data:
        _refuse(name, f"{at}: no list of host names")
    if not all(isinstance(text, str) and text for text in data):
        _refuse(name, f"{at}: a host name is a text")
    return tuple(data)


def _refuse(name: str, problem: str) -> NoReturn:
    message = f"{name}: {problem}; write it with speccheck bench plan"
    raise PlanFileError(message)

"""Which collective a table of nccl-tests shows, by all that tells of it.

Its program names it since 2.16.7. Before, the log may hold the command, and the rows
tell what they can: whether values are reduced, whether there is a root, and what bus
bandwidth is of algorithm bandwidth (NVIDIA/nccl-tests doc/PERFORMANCE.md).
"""

from collections.abc import Iterable, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.formats._collective_runs import Point

_PROGRAMS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_allv",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "sendrecv": "sendrecv",
    "hypercube": "hypercube",
}
COLLECTIVES = tuple(_PROGRAMS.values())
_PROGRAM = lazy_pattern(
    r"(?<![a-z_])(all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|reduce|"
    r"gather|scatter|sendrecv|hypercube)_perf(?:_mpi)?(?![a-z])"
)
_FILE_NAME = lazy_pattern(
    r"all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|broadcast"
    r"|send[-_]?recv"
)
_PLAIN = str.maketrans("", "", "-_")
_REDUCED = frozenset({"all_reduce", "reduce_scatter", "sendrecv"})
_NOT_REDUCED = frozenset({"all_gather", "all_to_all", "sendrecv", "hypercube"})
_ROOTED = frozenset({"broadcast", "gather", "scatter"})
_SHARED = frozenset({"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"})
# Rates are printed with two decimals, and tell of a factor where they are large.
_ROUNDING, _LEAST_RATE = 0.005e9, 0.2e9
_MOST_RANKS = 4096  # beyond, the factor of an all-reduce is 2 in the printed digits


class Factor(Record):
    """Bus bandwidth over algorithm bandwidth, as far as the printed digits tell."""

    least: float
    most: float

    def may_be(self, value: float) -> bool:
        """Whether the digits allow that value."""
        return self.least <= value <= self.most


def program_in(text: str) -> str | None:
    """The collective of the program that a line names; None for none, or several."""
    found = {match[1] for match in _PROGRAM.finditer(text)}
    return _PROGRAMS[found.pop()] if len(found) == 1 else None


def factor_of(points: Iterable[Point]) -> Factor | None:
    """What the row with the largest bandwidth says; None where all are too small."""
    best: Point | None = None
    for point in points:
        rate = point.algorithm
        if rate is None or point.bus is None or rate < _LEAST_RATE:
            continue
        if best is None or rate > (best.algorithm or 0.0):
            best = point
    if best is None or best.algorithm is None or best.bus is None:
        return None
    # Rates above 999.99 GB/s have one decimal, and none above 9999.9.
    half = max(_ROUNDING, best.algorithm * 5e-5)
    return Factor(
        (best.bus - half) / (best.algorithm + half),
        (best.bus + half) / (best.algorithm - half),
    )


def candidates(
    redop: str, root: str, factor: Factor | None, ranks: int | None
) -> set[str]:
    """The collectives that rows may show.

    redop and root: as they print them; empty where they print none.
    """
    is_rooted = bool(root) and root != "-1"
    is_reduced = redop not in {"", "none"}
    if is_rooted:
        found = {"reduce"} if is_reduced else set(_ROOTED)
    else:
        found = set(_REDUCED if is_reduced else _NOT_REDUCED)
    return {one for one in found if factor is None or _fits(one, factor, ranks)}


def _fits(collective: str, factor: Factor, ranks: int | None) -> bool:
    if collective == "all_reduce":
        if ranks is None:
            return factor.most >= 1 and factor.least < 2  # noqa: PLR2004 - 2 (n - 1) / n
        return factor.may_be(2 * (ranks - 1) / ranks)
    if collective in _SHARED:
        if ranks is None:
            return factor.least < 1
        return factor.may_be((ranks - 1) / ranks)
    return factor.may_be(1.0)


def ranks_of_all_reduce(factor: Factor | None, ranks: int) -> int | None:
    """The number of ranks, where an all-reduce over so many has that factor."""
    if factor is None or not 1 < ranks <= _MOST_RANKS:
        return None
    return ranks if factor.may_be(2 * (ranks - 1) / ranks) else None


def chosen(possible: set[str], path: str) -> str | None:
    """The one collective that is possible, or the one of these that a file is named."""
    if len(possible) == 1:
        return next(iter(possible))
    name = path.rpartition("/")[2].lower()
    words = {match[0].translate(_PLAIN) for match in _FILE_NAME.finditer(name)}
    found = [one for one in possible if one.replace("_", "") in words]
    return found[0] if len(words) == len(found) == 1 else None


def alternatives(possible: set[str]) -> str:
    """What rows may show, in words."""
    if not possible:
        return ", and the rates are those of no collective over these ranks"
    return f", and the rows may be of {' or '.join(sorted(possible))}"


Message = tuple[tuple[str, ...], int]  # type, operation and root; size


def passages(
    messages: Sequence[Message], *, has_one_size: bool, is_mixed: bool
) -> list[list[int]]:
    """The numbers of the rows of each passage over the sizes.

    They start over for another type, operation or root, and with `-N`. Rows of
    processes that print at the same time come in any order: the first of each size
    make one passage, the second ones another, whosever they are.
    """
    found: dict[tuple[object, ...], list[int]] = {}
    seen: dict[Message, int] = {}
    count = 0
    before = messages[0] if messages else ((), 0)
    for number, message in enumerate(messages):
        kind, size = message
        if is_mixed:
            times = seen.get(message, 0)
            seen[message] = times + 1
            key: tuple[object, ...] = (kind, times if size else 0)
        else:
            is_again = has_one_size and number > 0 and size == before[1]
            if kind != before[0] or size < before[1] or is_again:
                count += 1
            before = message
            key = (count,)
        found.setdefault(key, []).append(number)
    return list(found.values())

"""A table of paths that misses a pair of addresses, or names a path twice.

Why it hurts: the MRC shim under libibverbs looks up each of its connections, in both
directions, and ends the process where the table has no list. A path that a list names
twice is one path less.

What passes: for each direction that a table has also the other, each with a list of
different paths.

Where it does not apply: no table is at hand.

Source: microsoft/mrc-verbs-shim-lib src/vmrc_json.c.

Bad::

    {"2001:db8::1": {"2001:db8::2": [{"ps_list": [4, 9, 9, 19]}]}}

Good::

    {"2001:db8::1": {"2001:db8::2": [{"ps_list": [4, 9, 14, 19]}]},
     "2001:db8::2": {"2001:db8::1": [{"ps_list": [4, 9, 14, 19]}]}}
"""

from collections.abc import Iterator

from speccheck.validator.evidence.multipath_paths import PathList, PathTable, PathTables
from speccheck.validator.evidence.value import Place
from speccheck.validator.rule import Verdicts, fail, passed, rule

_ENDS = "the shim ends the process as it connects"


@rule(clause="MRC-027")
def pair_without_paths(paths: PathTables) -> Verdicts:
    """Judge each table: the first fault of its kind, and how many there are."""
    for table in paths.tables:
        if not table.lists:
            continue
        is_sound = True
        for faults, cost, remedy in (
            ([*_without_list(table)], _ENDS, "Give each pair a list of its paths."),
            ([*_one_way(table)], _ENDS, "Give each direction its own list of paths."),
            (
                [*_with_repeats(table)],
                "traffic has fewer paths than the table seems to give",
                "Name each path once; the shim takes 0 for 8.",
            ),
        ):
            if not faults:
                continue
            is_sound = False
            text, place = faults[0]
            others = len(faults) - 1
            more = f"; so it is for {others:,} more" if others else ""
            yield fail(
                f"{text}{more}",
                at=place,
                measured=len(faults),
                required=0,
                cost=cost,
                remedy=remedy,
                action="FIX_CONFIG",
            )
        if is_sound:
            yield passed(at=table.lists[0].place)


def _without_list(table: PathTable) -> Iterator[tuple[str, Place]]:
    for item in table.lists:
        if not item.paths:
            yield f"from {item.origin} to {item.peer} there is no path", item.place


def _one_way(table: PathTable) -> Iterator[tuple[str, Place]]:
    known = {(item.origin, item.peer) for item in table.lists}
    for item in table.lists:
        if (item.peer, item.origin) not in known:
            text = f"there are paths from {item.origin} to {item.peer}"
            yield f"{text}, and no entry for the way back", item.place


def _with_repeats(table: PathTable) -> Iterator[tuple[str, Place]]:
    for item in table.lists:
        if item.paths and (twice := _repeated(item)):
            text = f"from {item.origin} to {item.peer} path {twice[0]} stands"
            times = item.paths.count(twice[0])
            yield f"{text} {times} times in the list", item.place


def _repeated(item: PathList) -> list[int]:
    paths = item.paths or ()
    return [path for path in paths if paths.count(path) > 1]

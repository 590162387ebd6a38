"""How often the tournament finds slow nodes, and how often it blames a healthy one.

    python bench/slow_node.py            the table of docs/slow-node.md
    python bench/slow_node.py --write    the same, into that page

Each row is many simulated clusters: a set of nodes is as fast as its slowest member,
times a normal jitter, and some sets swing down for the length of one run. What plan,
judge and `judge --next` do is the program's own code.
"""

import argparse
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from speccheck.validator.cli.bench_search import limits_of
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.sources.formats.snapshot import node_of
from speccheck.validator.straggler_search.follow_up import next_plan
from speccheck.validator.straggler_search.judgement import judge
from speccheck.validator.straggler_search.rounds import SearchPlan, groups, pairs

PAGE = Path(__file__).resolve().parents[1] / "docs" / "slow-node.md"
_BEGIN, _END = "<!-- simulated -->", "<!-- end -->"
_SIZE = 1 << 30
_USUAL = 46e9  # bytes a second of one 400 Gbit/s port, as in published two-node runs
_MOST_STAGES = 8
_JITTER = 0.01
_SWINGS = (0.05, 0.20)


class Cluster(NamedTuple):
    """A simulated cluster: its nodes, what slow ones keep of their speed, its noise."""

    hosts: tuple[str, ...]
    slow: dict[str, float]
    swings: float = 0.05  # share of the sets that swing down
    jitter: float = _JITTER


class Outcome(NamedTuple):
    """The result of one cluster."""

    blamed: frozenset[str]
    suspects: frozenset[str]
    stages: int
    rounds: int


def host_names(count: int) -> tuple[str, ...]:
    """Return the names of that many nodes."""
    return tuple(f"node{number:05d}" for number in range(1, count + 1))


def cluster(count: int, slow: int, keeps: float, chance: random.Random) -> Cluster:
    """Return a cluster with so many slow nodes among its own, anywhere."""
    hosts = host_names(count)
    return Cluster(hosts, dict.fromkeys(chance.sample(hosts, slow), keeps))


def measured(
    plan: SearchPlan, item: Cluster, chance: random.Random, name: str = "results.json"
) -> tuple[CollectiveRun, ...]:
    """Return the runs of a plan on that cluster, as a file of measurements has them."""
    runs = [
        _run(number, hosts, item, chance)
        for number, sets in enumerate(plan.rounds)
        for hosts in sets
    ]
    data = {"schema": "speccheck-snapshot/1", "collective_runs": runs}
    return node_of(data, name).several(CollectiveRuns).shown


def _run(
    number: int, hosts: Iterable[str], item: Cluster, chance: random.Random
) -> dict[str, object]:
    listed = list(hosts)
    rate = _USUAL * min(item.slow.get(host, 1.0) for host in listed)
    rate *= max(0.1, chance.gauss(1, item.jitter))
    if chance.random() < item.swings:
        rate *= 1 - chance.uniform(*_SWINGS)
    return {
        "tool": "speccheck",
        "collective": "all_reduce",
        "data_type": "float32",
        "backend": "nccl",
        "ranks": 8 * len(listed),
        "nodes": len(listed),
        "hosts": listed,
        "round": number,
        "is_complete": True,
        "size_bytes": [_SIZE],
        "bus_bytes_per_second": [rate],
        "wrong_values": [0],
    }


def search(plan: SearchPlan, item: Cluster, chance: random.Random) -> Outcome:
    """Plan, measure and judge, again and again, until nothing is open."""
    limits = limits_of(load_edition())
    runs: list[CollectiveRun] = []
    rounds = 0
    following: SearchPlan | None = plan
    stage = 0
    judgement = judge((), limits)
    while following is not None and stage < _MOST_STAGES:
        runs.extend(measured(following, item, chance, f"stage{stage}.json"))
        rounds += len(following.rounds)
        stage += 1
        judgement = judge(runs, limits)
        following = next_plan(judgement)
    return Outcome(
        frozenset(judgement.hosts("slow")),
        frozenset(judgement.hosts("suspect")) | frozenset(judgement.open),
        stage,
        rounds,
    )


_ROWS = (
    ("pairs", 4, (0, 1)),
    ("pairs", 8, (0, 1, 2)),
    ("pairs", 16, (0, 1, 3)),
    ("pairs", 64, (0, 1, 3)),
    ("pairs", 256, (0, 1, 3)),
    ("groups", 64, (0, 1, 3)),
    ("groups", 256, (0, 1, 3)),
    ("groups", 1024, (0, 3)),
)
_KEPT = (0.5, 0.75, 0.9)


def rows(seeds: int) -> Iterator[str]:
    """Yield the table, a row for each kind of cluster."""
    yield (
        "| plan | nodes | slow nodes | speed they keep | clusters | all found | "
        "healthy blamed | left open | rounds, mean |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for kind, count, numbers in _ROWS:
        for slow in numbers:
            for keeps in _KEPT if slow else (1.0,):
                yield _row(kind, count, slow, keeps, seeds)


def _row(kind: str, count: int, slow: int, keeps: float, seeds: int) -> str:
    number = blamed = left = rounds = 0
    for seed in range(seeds):
        chance = random.Random(f"{kind} {count} {slow} {keeps} {seed}")  # noqa: S311
        result = cluster(count, slow, keeps, chance)
        plan = pairs(result.hosts) if kind == "pairs" else groups(result.hosts)
        outcome = search(plan, result, chance)
        number += outcome.blamed >= result.slow.keys()
        blamed += bool(outcome.blamed - result.slow.keys())
        left += bool(outcome.suspects)
        rounds += outcome.rounds
    detected = f"{number / seeds:.1%}" if slow else "-"
    speed = f"{keeps:.0%}" if slow else "-"
    return (
        f"| {kind} | {count:,} | {slow} | {speed} | {seeds:,} | {detected} | {blamed} "
        f"| {left} | {rounds / seeds:.1f} |"
    )


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="clusters of each row")
    parser.add_argument("--write", action="store_true", help="into docs/slow-node.md")
    arguments = parser.parse_args()
    if not arguments.write:
        for row in rows(arguments.seeds):
            sys.stdout.write(row + "\n")
            sys.stdout.flush()
        return
    before, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    table = "\n".join(rows(arguments.seeds))
    PAGE.write_text(f"{before}{_BEGIN}\n\n{table}\n\n{_END}{after}", "utf-8")


if __name__ == "__main__":
    main()

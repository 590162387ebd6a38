"""Rounds of pairs and groups: disjoint, complete, and few for many nodes."""

from collections import Counter
from itertools import combinations, pairwise
from math import ceil, log2

import pytest

from slow_node import host_names
from speccheck.validator.straggler_search.follow_up import follow_up
from speccheck.validator.straggler_search.rounds import (
    SearchPlan,
    all_pair_rounds,
    groups,
    pairs,
    usual_group_size,
)


def partners(plan: SearchPlan) -> dict[str, set[str]]:
    """Return with whom each node measures."""
    found: dict[str, set[str]] = {}
    for sets in plan.rounds:
        for item in sets:
            for host in item:
                found.setdefault(host, set()).update({*item} - {host})
    return found


def demand_disjoint(plan: SearchPlan) -> None:
    for sets in plan.rounds:
        named = [host for item in sets for host in item]
        assert len(named) == len(set(named))


def test_all_pairs_meet_once_in_disjoint_rounds() -> None:
    for count in range(2, 41):
        hosts = host_names(count)
        plan = pairs(hosts, all_pair_rounds(count))
        demand_disjoint(plan)
        met = Counter(frozenset(pair) for sets in plan.rounds for pair in sets)
        assert met == Counter(map(frozenset, combinations(hosts, 2))), count
        assert len(plan.rounds) == count - 1 + count % 2
        # In each round all nodes take part, but for one of an odd number.
        assert {len(sets) for sets in plan.rounds} == {count // 2}, count


def test_each_node_meets_three_others_or_all() -> None:
    for count in range(2, 41):
        plan = pairs(host_names(count))
        demand_disjoint(plan)
        assert {len(pair) for sets in plan.rounds for pair in sets} == {2}, count
        fewest = min(map(len, partners(plan).values()))
        assert fewest >= min(3, count - 1)
        assert set(plan.hosts) == set(host_names(count))
        assert count <= 8 or len(plan.rounds) == 3 + count % 2, count


@pytest.mark.parametrize("count", [9, 16, 64, 1000])
def test_partners_of_one_node_are_no_neighbours_of_each_other(count: int) -> None:
    hosts = host_names(count)
    number = {host: index for index, host in enumerate(hosts)}
    for met in partners(pairs(hosts)).values():
        seats = sorted(number[host] for host in met)
        assert all(right - left > 1 for left, right in pairwise(seats))


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_groups_are_disjoint_and_of_one_size(size: int) -> None:
    for count in range(max(4, size), 80):
        hosts = host_names(count)
        plan = groups(hosts, size)
        demand_disjoint(plan)
        assert {len(group) for sets in plan.rounds for group in sets} == {size}, count
        # Who waits in one round takes part in the next.
        waiting = [{*hosts}.difference(*sets) for sets in plan.rounds]
        if count % size * 2 <= count:
            for before, after in pairwise(waiting):
                assert before.isdisjoint(after), count


@pytest.mark.parametrize(
    ("count", "size"), [(64, 8), (1024, 32), (10_000, 25), (15, 3), (100, 8)]
)
def test_two_nodes_seldom_share_two_groups(count: int, size: int) -> None:
    plan = groups(host_names(count), size)
    assert len(plan.rounds) == 3
    met = partners(plan)
    mean = sum(map(len, met.values())) / count
    seated = count // size * size / count
    assert mean >= 0.85 * 3 * (size - 1) * seated


@pytest.mark.parametrize(
    ("count", "size"), [(4, 2), (16, 2), (64, 8), (128, 16), (256, 32), (10_000, 25)]
)
def test_groups_are_many_and_fill_the_cluster(count: int, size: int) -> None:
    assert usual_group_size(count) == size
    assert count % size == 0


@pytest.mark.parametrize("good", [16, 20, 31])
@pytest.mark.parametrize("size", [8, 16, 32])
def test_a_slow_group_is_bisected_in_about_log2_rounds(size: int, good: int) -> None:
    """One slow node in one group; too few others for each suspect to have its own."""
    suspects = list(host_names(size))
    cleared = [f"good{number}" for number in range(good)]
    bad = suspects[size // 3]
    met: dict[str, set[str]] = {}
    stages = 0
    while len(suspects) > 1:
        plan = follow_up([suspects], cleared, size, met)
        assert plan is not None
        demand_disjoint(plan)
        stages += 1
        # Two halves, and both once more where the last of them are confirmed.
        assert len(plan.rounds) <= 4
        for item in (item for sets in plan.rounds for item in sets):
            assert len(item) == size
            if bad not in item:
                suspects = [host for host in suspects if host not in item]
                cleared.extend(host for host in item if host not in cleared)
            else:
                suspects = [host for host in suspects if host in item]
    assert suspects == [bad]
    assert stages <= ceil(log2(size))


def test_suspects_meet_two_different_partners_each() -> None:
    met = {"bad1": {"bad1", "good1"}, "bad2": {"bad2", "good2"}}
    plan = follow_up([["bad1", "bad2"]], [f"good{n}" for n in range(1, 9)], 2, met)
    assert plan is not None
    demand_disjoint(plan)
    assert len(plan.rounds) == 2
    found = partners(plan)
    assert len(found["bad1"]) == len(found["bad2"]) == 2
    assert "good1" not in found["bad1"]
    assert "good2" not in found["bad2"]


def test_with_few_good_nodes_suspects_wait_their_turn() -> None:
    plan = follow_up([["a"], ["b"], ["c"]], ["good"], 2, {})
    assert plan is not None
    assert [len(sets) for sets in plan.rounds] == [1] * 6
    demand_disjoint(plan)


def test_without_a_good_node_there_is_nobody_to_measure_with() -> None:
    assert follow_up([["a", "b"]], [], 2, {}) is None

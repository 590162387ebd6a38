"""Who is blamed, suspected and cleared: planted slow nodes, noise, mixed conditions."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from slow_node import Cluster, cluster, host_names, measured, search
from speccheck.validator.cli.bench_search import limits_of
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.models.peers import at_least, peers_of
from speccheck.validator.sources.formats.snapshot import node_of
from speccheck.validator.straggler_search.judgement import SearchJudgement, judge
from speccheck.validator.straggler_search.rounds import groups, pairs

LIMITS = limits_of(load_edition())
FOUR = ("ab", "cd", "ac", "bd", "ad", "bc")
GIGA = 10**9


def runs_of(*runs: dict[str, Any], name: str = "results.json") -> list[CollectiveRun]:
    data = {"schema": "speccheck-snapshot/1", "collective_runs": [*runs]}
    return [*node_of(data, name).several(CollectiveRuns).shown]


def a_run(hosts: Sequence[str], rate: float | None, **leaves: object) -> dict[str, Any]:
    """Return a run of nodes of one letter each, at so many GB/s."""
    return {
        "collective": "all_reduce",
        "hosts": [*hosts],
        "size_bytes": [1 << 30],
        "bus_bytes_per_second": [None if rate is None else rate * GIGA],
        **leaves,
    }


def pairs_with(slow: str, rate: float = 20) -> list[dict[str, Any]]:
    """Return all pairs of four nodes, slow where one of these takes part."""
    return [a_run(item, rate if {*item} & {*slow} else 46) for item in FOUR]


def verdicts(found: SearchJudgement) -> dict[str, str]:
    return {node.host: node.verdict for node in found.nodes}


def why(found: SearchJudgement, host: str) -> str:
    return next(node.why for node in found.nodes if node.host == host)


# --- planted nodes -------------------------------------------------------------------


@pytest.mark.parametrize("keeps", [0.5, 0.75, 0.9])
@pytest.mark.parametrize(
    ("kind", "count", "slow"),
    [
        ("pairs", 4, 1),
        ("pairs", 5, 1),
        ("pairs", 9, 2),
        ("pairs", 16, 3),
        ("pairs", 33, 3),
        ("pairs", 256, 3),
        ("groups", 64, 2),
        ("groups", 100, 3),
        ("groups", 256, 3),
    ],
)
def test_slow_nodes_are_found_and_no_other(
    kind: str, count: int, slow: int, keeps: float
) -> None:
    """Plan, measure with swings, judge, measure what comes next, judge."""
    for seed in range(5):
        chance = random.Random(f"{count} {slow} {keeps} {seed}")  # noqa: S311
        item = cluster(count, slow, keeps, chance)
        plan = pairs(item.hosts) if kind == "pairs" else groups(item.hosts)
        found = search(plan, item, chance)
        assert found.blamed == {*item.slow}
        assert not found.suspects


@pytest.mark.parametrize("swings", [0.0, 0.05, 0.15])
@pytest.mark.parametrize(
    ("kind", "count"), [("pairs", 4), ("pairs", 64), ("groups", 256)]
)
def test_noise_alone_blames_nobody(kind: str, count: int, swings: float) -> None:
    hosts = host_names(count)
    for seed in range(10):
        chance = random.Random(f"{kind} {count} {swings} {seed}")  # noqa: S311
        item = Cluster(hosts, {}, swings=swings, jitter=0.02)
        plan = pairs(hosts) if kind == "pairs" else groups(hosts)
        assert search(plan, item, chance).blamed == frozenset()


def test_slow_neighbours_do_not_pull_a_healthy_node_down() -> None:
    """Four nodes of one bad rack, all partners of some healthy node in a short plan."""
    hosts = host_names(64)
    for seed in range(10):
        chance = random.Random(seed)  # noqa: S311
        first = chance.randrange(60)
        slow = dict.fromkeys(hosts[first : first + 4], 0.6)
        found = search(pairs(hosts), Cluster(hosts, slow), chance)
        assert found.blamed == {*slow}
        assert not found.suspects


@pytest.mark.slow
def test_ten_thousand_nodes_are_planned_and_judged() -> None:
    chance = random.Random(7)  # noqa: S311
    item = cluster(10_000, 3, 0.6, chance)
    plan = pairs(item.hosts)
    found = judge(measured(plan, item, chance), LIMITS)
    blamed = {*found.hosts("slow")}
    assert blamed <= item.slow.keys() <= blamed | {*found.hosts("suspect")}


# --- what one judgement says ---------------------------------------------------------


def test_one_slow_pair_blames_nobody() -> None:
    sets = [a_run(item, 46) for item in ("ab", "cd", "ef", "gh")]
    found = judge(runs_of(*sets, a_run("ij", 20)), LIMITS)
    assert found.hosts("slow") == ()
    assert {*found.hosts("suspect")} == {"i", "j"}
    assert why(found, "i") == "its partners are not cleared either"


def test_one_partner_is_not_enough() -> None:
    sets = [a_run(item, 46) for item in ("ab", "cd", "ef", "bc")]
    again = runs_of(a_run("ax", 20, round=1), name="again.json")
    found = judge([*runs_of(*sets, a_run("ax", 20)), *again], LIMITS)
    assert verdicts(found)["x"] == "suspect"
    assert why(found, "x") == "with one partner that is cleared; it takes two"
    assert verdicts(found)["a"] == "cleared"


def test_partners_must_be_cleared() -> None:
    """Node x met only nodes that are slow themselves."""
    sets = [a_run(item, 46) for item in ("ab", "cd", "ac", "bd")]
    slow = [a_run(item, 20) for item in ("sa", "sb", "tc", "td", "xs", "xt")]
    found = judge(runs_of(*sets, *slow), LIMITS)
    assert {*found.hosts("slow")} == {"s", "t"}
    assert found.hosts("suspect") == ("x",)


def test_two_partners_that_are_cleared_are_enough() -> None:
    found = judge(runs_of(*pairs_with("d")), LIMITS)
    assert verdicts(found) == {
        "a": "cleared",
        "b": "cleared",
        "c": "cleared",
        "d": "slow",
    }
    assert why(found, "d") == (
        "with 3 different partners that are cleared, by over 20%"
    )
    (node,) = [item for item in found.nodes if item.host == "d"]
    assert (node.sets, node.slow_sets, node.partners) == (3, 3, 3)
    assert node.share == pytest.approx(20 / 46)


def test_all_slow_alike_is_no_outlier() -> None:
    found = judge(runs_of(*(a_run(item, 5) for item in FOUR)), LIMITS)
    assert {*verdicts(found).values()} == {"cleared"}


def test_half_of_the_nodes_slow_is_not_decided() -> None:
    found = judge(runs_of(*pairs_with("cd")), LIMITS)
    assert [item.state for item in found.conditions] == ["split"]
    assert (found.nodes, found.open) == ((), ("a", "b", "c", "d"))


def test_peers_that_spread_too_far_are_no_measure() -> None:
    chance = random.Random(5)  # noqa: S311
    item = Cluster(host_names(16), {}, jitter=0.25)
    found = judge(measured(pairs(item.hosts), item, chance), LIMITS)
    assert [item.state for item in found.conditions] == ["noisy"]
    assert found.hosts("cleared") == ()


@pytest.mark.parametrize(
    "leaves",
    [
        {"collective": "all_gather"},
        {"size_bytes": [1 << 20]},
        {"data_type": "bfloat16"},
        {"placement": "in_place"},
        {"tool": "nccl-tests"},
        {"algorithm": "ring"},
        {"ranks": 16},
        {"hosts": ["d", "x", "y"]},
    ],
)
def test_other_conditions_are_never_compared(leaves: dict[str, Any]) -> None:
    """Twenty of 46 GB/s, and nobody is blamed for it."""
    fast = [a_run(item, 46) for item in FOUR]
    slow = [{**a_run(item, 20), **leaves} for item in ("dx", "dy")]
    found = judge(runs_of(*fast, *slow), LIMITS)
    assert found.hosts("slow") == found.hosts("suspect") == ()


def test_two_sets_are_too_few() -> None:
    found = judge(runs_of(a_run("ab", 46), a_run("cd", 20), a_run("ef", 46)), LIMITS)
    assert [item.state for item in found.conditions] == ["too_few"]
    assert found.open == tuple("abcdef")


def test_the_collective_over_all_nodes_beside_pairs_leaves_nothing_open() -> None:
    found = judge(runs_of(*pairs_with("d"), a_run("abcd", 20)), LIMITS)
    assert found.hosts("slow") == ("d",)
    assert (found.open, found.undecided) == ((), ())


def test_small_messages_tell_nothing_of_bandwidth() -> None:
    small = [{**item, "size_bytes": [4096]} for item in pairs_with("d")]
    found = judge(runs_of(*small), LIMITS)
    assert [item.state for item in found.conditions] == ["too_few"]


def test_the_largest_size_that_most_measured_is_compared() -> None:
    curves = [
        {
            **item,
            "size_bytes": [1 << 20, 1 << 30],
            "bus_bytes_per_second": [GIGA, *item["bus_bytes_per_second"]],
        }
        for item in pairs_with("d")
    ]
    short = a_run("ab", 1, size_bytes=[1 << 20], round=1)
    found = judge(runs_of(*curves, short), LIMITS)
    assert [item.sets.size_bytes for item in found.conditions] == [1 << 30]
    assert found.hosts("slow") == ("d",)
    assert found.left_out == (("has no message of 1,073,741,824 bytes", 1),)


def test_a_run_that_died_counts_against_its_members() -> None:
    died = {"size_bytes": [], "bus_bytes_per_second": [], "is_complete": False}
    runs = [
        {**item, **died} if "d" in item["hosts"] else item for item in pairs_with("d")
    ]
    found = judge(runs_of(*runs), LIMITS)
    assert found.hosts("slow") == ("d",)
    assert why(found, "d").startswith("did not end with 3 different partners")


@pytest.mark.parametrize(
    "word", ["time budget", "interrupt", "still running when this was written"]
)
def test_a_run_that_was_stopped_says_nothing(word: str) -> None:
    stopped = {
        "size_bytes": [],
        "bus_bytes_per_second": [],
        "is_complete": False,
        "ended_by": word,
    }
    found = judge(runs_of(*pairs_with(""), {**a_run("cx", 0), **stopped}), LIMITS)
    assert found.hosts("slow") == found.hosts("suspect") == ()
    assert found.open == ("x",)


@pytest.mark.parametrize(
    ("word", "slow"), [("end of the log", ()), ("fault: rank 3 died", ("d",))]
)
def test_a_run_that_died_after_the_size_that_is_compared(
    word: str, slow: tuple[str, ...]
) -> None:
    """A log that just stops is no fault of a node; a process that dies is."""
    died = {"is_complete": False, "ended_by": word}
    runs = [
        {**item, **died} if "d" in item["hosts"] else item for item in pairs_with("")
    ]
    assert judge(runs_of(*runs), LIMITS).hosts("slow") == slow


def test_wrong_results_count_against_a_node_at_full_speed() -> None:
    runs = [
        {**item, "wrong_values": [3 if "d" in item["hosts"] else 0]}
        for item in pairs_with("")
    ]
    found = judge(runs_of(*runs), LIMITS)
    assert found.hosts("slow") == ("d",)
    assert why(found, "d").startswith("wrong results with 3 different partners")


def test_a_node_that_is_slow_now_and_then_is_no_cleared_one() -> None:
    hosts = host_names(24)
    chance = random.Random(3)  # noqa: S311
    item = Cluster(hosts, {}, swings=0, jitter=0.005)
    plan = pairs(hosts, 23)
    runs = measured(plan, item, chance)
    data = [dict(run.leaves) for run in runs]
    bad = [run for run in data if hosts[5] in run["hosts"]]  # type: ignore[operator]
    for run in bad[::2]:
        run["bus_bytes_per_second"] = [30e9]
    found = judge(runs_of(*data), LIMITS)
    assert {**verdicts(found)}.pop(hosts[5]) != "cleared"
    assert {*found.hosts("cleared")} == {*hosts} - {hosts[5]}


def test_each_node_alone_needs_no_partners_and_two_runs() -> None:
    rates = {"a": 182, "b": 181, "c": 183, "d": 180, "e": 90}
    once = runs_of(*(a_run(host, rate) for host, rate in rates.items()))
    found = judge(once, LIMITS)
    assert (found.hosts("slow"), found.hosts("suspect")) == ((), ("e",))
    twice = runs_of(*(a_run(h, r) for h, r in rates.items()), name="again.json")
    assert judge([*once, *twice], LIMITS).hosts("slow") == ("e",)


def test_who_is_cleared_elsewhere_is_not_suspected_for_a_slow_member() -> None:
    """A slow group of four, then pairs of its members: one of them explains it."""
    wide = [a_run(item, 46) for item in ("efgh", "ijkl", "mnop", "qrst")]
    found = judge(runs_of(*wide, a_run("abcd", 20)), LIMITS)
    assert {*found.hosts("suspect")} == {*"abcd"}
    found = judge(runs_of(*wide, a_run("abcd", 20), *pairs_with("d")), LIMITS)
    assert (found.hosts("slow"), found.hosts("suspect")) == (("d",), ())


@pytest.mark.parametrize(
    ("leaves", "reason"),
    [
        ({"hosts": []}, "names no hosts"),
        ({"hosts": {"status": "absent"}}, "names no hosts"),
        ({"hosts": ["a", None]}, "does not name all of its hosts"),
        ({"nodes": 3}, "does not name all of its hosts"),
        ({"collective": {"status": "absent"}}, "does not name its collective"),
        ({"bus_bytes_per_second": []}, "has no message of 1,073,741,824 bytes"),
        ({"size_bytes": [1 << 30, 5]}, ""),
        (
            {"bus_bytes_per_second": [float("nan")]},
            "has no message of 1,073,741,824 bytes",
        ),
        ({"bus_bytes_per_second": [-1]}, "has no message of 1,073,741,824 bytes"),
        ({"bus_bytes_per_second": ["fast"]}, "has no message of 1,073,741,824 bytes"),
    ],
)
def test_what_cannot_be_compared_is_told(leaves: dict[str, Any], reason: str) -> None:
    odd = {**a_run("ab", 46, round=1), **leaves}
    found = judge(runs_of(*pairs_with(""), odd), LIMITS)
    assert found.left_out == (((reason, 1),) if reason else ())
    assert {*verdicts(found).values()} == {"cleared"}


# --- numbers -------------------------------------------------------------------------


def test_the_median_absolute_deviation_ignores_a_few() -> None:
    found = peers_of([10, 11, 9, 10, 1000], 3, 0.05)
    assert (found.median, found.deviation) == (10, 1)
    assert (found.least, found.most) == (7, 16)
    assert found.deviations_below(1) == 9
    alike = peers_of([10, 10, 10], 3, 0.05)
    assert (alike.least, alike.most) == (9.5, 11)
    assert alike.deviations_below(9) is None


def test_the_binomial_tail() -> None:
    assert at_least(0, 3, 0.1) == 1
    assert at_least(3, 3, 0.1) == pytest.approx(0.001)
    assert at_least(2, 3, 0.1) == pytest.approx(0.028)
    assert at_least(4, 3, 0.1) == 0
    assert at_least(2, 3, 1.0) == 1
    assert at_least(900, 1000, 0.5) < 1e-100

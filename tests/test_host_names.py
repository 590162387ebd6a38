"""Lists of hosts, as Slurm and pdsh write them: both ways, and what is refused."""

import random

import pytest

from speccheck.validator.node.host_names import (
    MOST_HOSTS,
    HostNamesError,
    fold,
    natural,
    unfold,
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node[0001-0003,7]", "node0001 node0002 node0003 node7"),
        ("node[08-11]", "node08 node09 node10 node11"),
        ("a,b-1.cluster.local", "a b-1.cluster.local"),
        ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
        ("gpu[1-2].rack[3,4]", "gpu1.rack3 gpu1.rack4 gpu2.rack3 gpu2.rack4"),
        (" n1 , n2\n n3 ", "n1 n2 n3"),
        ("10.0.0.1,10.0.0.2", "10.0.0.1 10.0.0.2"),
    ],
)
def test_a_list_is_unfolded(text: str, names: str) -> None:
    assert unfold(text) == tuple(names.split())


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("node0001 node0002 node0003 node7", "node[0001-0003,7]"),
        ("n9 n10 n8", "n[8-10]"),
        ("n08 n09 n10", "n[08-10]"),
        ("n9 n09 n10", "n[9,09-10]"),
        ("login gpu1", "login,gpu1"),
        ("gpu1.a.b gpu2.a.b gpu1.c", "gpu[1-2].a.b,gpu1.c"),
        ("a1 a1 a2", "a[1-2]"),
        ("", ""),
    ],
)
def test_names_are_folded(names: str, text: str) -> None:
    assert fold(names.split()) == text


def test_what_is_folded_unfolds_to_the_same_names() -> None:
    for seed in range(50):
        chance = random.Random(seed)  # noqa: S311
        names = {
            f"{chance.choice('abc')}{chance.randrange(200):0{chance.randrange(1, 5)}d}"
            + chance.choice(("", "", ".dom1", "-ib"))
            for _ in range(chance.randrange(1, 120))
        }
        assert sorted(unfold(fold(names))) == sorted(names), seed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names no host"),
        (" , ,", "names no host"),
        ("node[1-", "cannot read"),
        ("node]1", "cannot read"),
        ("node[[1-2]]", "cannot read"),
        ("node[a-b]", "no list of numbers"),
        ("node[]", "no list of numbers"),
        ("node[5-2]", "the range 5-2 runs backwards"),
        ("node[1-9999999999999999]", f"more than {MOST_HOSTS:,} hosts"),
        ("n[1-999]m[1-999]", f"more than {MOST_HOSTS:,} hosts"),
        ("n" + "[0-1]" * 40, f"more than {MOST_HOSTS:,} hosts"),
        ("n[" + "9" * 5000 + "]", "no list of numbers"),
        ("-w", "no name of a host"),
        ("a;rm", "no name of a host"),
        ("a\x1b[1]", "no name of a host"),
    ],
)
def test_what_is_no_list_is_refused(text: str, problem: str) -> None:
    with pytest.raises(HostNamesError, match=problem):
        unfold(text)


def test_names_sort_by_their_numbers() -> None:
    assert sorted(["n10", "n2", "a", "n2b"], key=natural) == ["a", "n2", "n2b", "n10"]

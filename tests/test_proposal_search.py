"""The search for the smallest change, on levers of bare numbers."""

from speccheck.validator.changes.what_if.levers import Lever, LeverStep
from speccheck.validator.changes.what_if.proposals import (
    FAILS,
    HOLDS,
    LACKS,
    Candidate,
    Search,
)

Found = tuple[tuple[str, object], ...]


def lever(name: str, *values: int) -> Lever:
    return Lever(tuple(LeverStep(name, value) for value in values))


LEVERS = (lever("cheap", 2, 4), lever("middle", 2, 4, 8), lever("dear", 2, 4, 8, 16))


def told(candidate: Candidate) -> Found:
    return tuple((step.leaf, step.value) for step in candidate)


def product(candidate: Candidate) -> int:
    total = 1
    for step in candidate:
        assert isinstance(step.value, int)
        total *= step.value
    return total


def reaching(wanted: int, *, glance: int = HOLDS) -> Search[Found]:
    """Return a search for levers that multiply to a number or more."""
    return Search(
        lambda item: glance if product(item) >= wanted else FAILS,
        told,
        lambda _: True,
    )


def test_one_lever_before_two_and_the_cheap_before_the_dear() -> None:
    assert reaching(4).combined(LEVERS, 3) == [(("cheap", 4),), (("middle", 4),)]
    assert reaching(16).combined(LEVERS, 3) == [(("dear", 16),)]
    assert reaching(32).combined(LEVERS, 3) == [
        (("cheap", 4), ("middle", 8)),
        (("cheap", 4), ("dear", 8)),
    ]


def test_of_several_levers_the_dearest_is_pulled_least() -> None:
    assert reaching(512).combined(LEVERS, 3) == [
        (("cheap", 4), ("middle", 8), ("dear", 16))
    ]
    assert reaching(100).combined(LEVERS, 3)[0] == (("middle", 8), ("dear", 16))
    assert reaching(130).combined(LEVERS, 3) == [
        (("cheap", 4), ("middle", 8), ("dear", 8))
    ]


def test_what_no_lever_mends_costs_one_try() -> None:
    search = reaching(1_000)
    assert search.combined(LEVERS, 3) == []
    assert search.tries == 1
    assert reaching(1).combined((), 3) == []


def test_where_facts_lack_the_smallest_change_without_failure_is_found() -> None:
    assert reaching(16, glance=LACKS).combined(LEVERS, 3) == [(("dear", 16),)]


def test_what_fails_elsewhere_is_passed_over_or_kept_as_second() -> None:
    def verified(candidate: Candidate) -> Found | None:
        return None if product(candidate) in {8, 16} else told(candidate)

    search = Search(
        lambda item: HOLDS if product(item) >= 8 else FAILS,
        verified,
        lambda item: item == (("cheap", 4), ("middle", 8)),
    )
    assert search.combined(LEVERS, 3) == [(("cheap", 4), ("middle", 8))]
    search = Search(lambda _: HOLDS, verified, lambda _: False)
    assert search.combined(LEVERS, 3) == []
    assert search.second == (("cheap", 2),)


def test_the_number_of_tries_is_bounded() -> None:
    levers = [lever(str(index), *range(2, 12)) for index in range(9)]
    glances = []

    def glance(candidate: Candidate) -> int:
        glances.append(candidate)
        return HOLDS

    search: Search[Found] = Search(glance, lambda _: None, lambda _: True)
    assert search.combined(levers, 9) == []
    assert len(glances) == len(set(glances)) < 400


def test_steps_without_an_order_are_tried_one_by_one() -> None:
    levers = (lever("micro", 5, 3, 6), lever("global", 4), lever("steps", 9))
    search = Search(
        lambda item: HOLDS if product(item) % 3 == 0 else FAILS, told, lambda _: True
    )
    assert search.single(levers) == [(("micro", 3),), (("steps", 9),)]

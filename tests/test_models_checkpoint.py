"""The checkpoint interval: closed formulas against the equation that they solve."""

import math

import pytest

from speccheck.validator.models.checkpoint_interval import (
    daly_interval_seconds,
    mean_seconds_between_failures,
    optimal_interval_seconds,
    useful_share,
    young_interval_seconds,
)

# Save time, MTBF and restart time with the intervals of the equation, worked out with
# another root finder, in seconds.
CASES = [
    (10, 11135, 471.91, 465.27, 465.27),
    (60, 11135, 1155.94, 1116.29, 1116.29),
    (300, 11135, 2584.76, 2388.63, 2388.75),
    (120, 6480, 1247.08, 1168.36, 1168.39),
    (600, 6480, 2788.55, 2402.89, 2403.73),
    (30, 828, 222.89, 203.34, 203.36),
    (40, 604800, 6955.86, 6929.22, 6929.22),
    (300, 600, 600.0, 416.67, 418.97),
]


@pytest.mark.parametrize(("save", "mtbf", "young", "daly", "best"), CASES)
def test_intervals(
    save: float, mtbf: float, young: float, daly: float, best: float
) -> None:
    assert young_interval_seconds(save, mtbf) == pytest.approx(young, abs=0.01)
    assert daly_interval_seconds(save, mtbf) == pytest.approx(daly, abs=0.01)
    assert optimal_interval_seconds(save, mtbf) == pytest.approx(best, abs=0.01)


def test_daly_is_the_mtbf_when_saving_takes_longer_than_two_of_them() -> None:
    assert daly_interval_seconds(900, 400) == 400
    assert optimal_interval_seconds(900, 400) == pytest.approx(383.85, abs=0.01)


@pytest.mark.parametrize(
    ("nodes", "rate", "hours"),
    [(2048, 0.0065, 1.8029), (2048, 0.00379, 3.092), (512, 0.004, 11.7188)],
)
def test_mean_time_between_failures(nodes: int, rate: float, hours: float) -> None:
    seconds = mean_seconds_between_failures(nodes, rate)
    assert seconds / 3600 == pytest.approx(hours, abs=0.0005)


@pytest.mark.parametrize(
    ("save", "mtbf", "restart", "share"),
    [
        (10, 11135, 300, 0.93274),
        (60, 11135, 300, 0.87583),
        (5, 11135, 600, 0.91943),
        (30, 828, 300, 0.52511),
    ],
)
def test_useful_share_at_the_optimum(
    save: float, mtbf: float, restart: float, share: float
) -> None:
    best = optimal_interval_seconds(save, mtbf)
    assert useful_share(best, save, mtbf, restart) == pytest.approx(share, abs=1e-5)


def test_no_other_interval_is_better_than_the_optimum() -> None:
    best = optimal_interval_seconds(60, 11135)
    at_best = useful_share(best, 60, 11135)
    for factor in (0.25, 0.5, 0.9, 1.1, 2, 4):
        assert useful_share(factor * best, 60, 11135) < at_best


def test_an_interval_of_many_mtbf_makes_no_progress() -> None:
    assert useful_share(1e9, 60, 1000) == 0.0
    assert useful_share(20_000, 60, 1000) == pytest.approx(0.0, abs=1e-6)


def test_a_save_that_never_ends_leaves_no_room_but_no_overflow() -> None:
    assert math.isfinite(optimal_interval_seconds(1e9, 400))


def test_without_failures_only_saving_costs_time() -> None:
    assert useful_share(990, 10, 1e12) == pytest.approx(0.99, abs=1e-6)

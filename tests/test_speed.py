"""Throughput and bandwidth against published figures, group by group."""

import pytest

from predictions.busbw import predictions as bandwidth_predictions
from predictions.prediction import Prediction
from predictions.throughput import predictions as throughput_predictions

# Rows of each group, and of these how many have a band.
GROUPS = {
    "llm-foundry": (216, 216),
    "nemo-dense": (90, 90),
    "nemo-moe": (102, 102),
    "nemo-lora": (5, 5),
    "hfu-narayanan": (57, 57),
    "hfu-narayanan-old-formula": (25, 25),
    "torchtitan": (4, 4),
    "korthikanti": (4, 4),
    "mfu-from-tflops": (3, 3),
    "palm": (2, 2),
    "training-days": (11, 11),
    "bubble-scaling": (6, 6),
    "zero3-comm-bound": (6, 6),
    "busbw-identity": (82, 82),
    "nccl-time-ring": (23, 21),
    "nccl-time-nvls": (9, 9),
    "nvlink-ring-ceiling": (37, 0),
    "network-ceiling": (38, 0),
}


@pytest.fixture(scope="module")
def predictions() -> dict[str, list[Prediction]]:
    """Return all predictions of speed, by group."""
    found: dict[str, list[Prediction]] = {}
    for item in (*throughput_predictions(), *bandwidth_predictions()):
        found.setdefault(item.group, []).append(item)
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_published_rows_lie_within_their_band(
    predictions: dict[str, list[Prediction]], group: str
) -> None:
    """Each row by itself, none left out."""
    found = predictions[group]
    banded = [finding for finding in found if finding.band_percent is not None]
    assert (len(found), len(banded)) == GROUPS[group]
    off = [
        (item.id, item.error_percent, item.band_percent)
        for item in banded
        if abs(item.error_percent or 0) > (item.band_percent or 0)
    ]
    assert off == []


def test_every_group_is_named(predictions: dict[str, list[Prediction]]) -> None:
    """A new group of rows gets a line above."""
    assert predictions.keys() == GROUPS.keys()


@pytest.mark.parametrize("group", ["nvlink-ring-ceiling", "network-ceiling"])
def test_no_reading_exceeds_the_wires(
    predictions: dict[str, list[Prediction]], group: str
) -> None:
    """A ceiling that a healthy measurement exceeds is none."""
    for item in predictions[group]:
        assert item.published is not None
        assert item.upper is not None
        assert item.published <= item.upper, item.id


def test_a_banded_time_lies_between_its_bounds(
    predictions: dict[str, list[Prediction]],
) -> None:
    """The bounds are those of the band, seen from the prediction."""
    for group in ("nccl-time-ring", "nccl-time-nvls"):
        for item in predictions[group]:
            if item.band_percent is None:
                continue
            assert item.published is not None
            assert item.lower is not None
            assert item.upper is not None
            assert item.lower <= item.published <= item.upper, item.id


def test_palm_rows_are_an_identity(
    predictions: dict[str, list[Prediction]],
) -> None:
    """The printed digits are all that differs."""
    worst = max(abs(item.error_percent or 0) for item in predictions["llm-foundry"])
    assert worst < 0.03

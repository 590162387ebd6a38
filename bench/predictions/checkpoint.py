"""Checkpoint intervals, sizes and overheads: rows of checkpoint.csv."""

from collections.abc import Iterator, Mapping

from predictions.prediction import Prediction, rows
from speccheck.validator.models.checkpointing import (
    Contents,
    checkpoint_bytes,
    daly_interval_seconds,
    optimal_interval_seconds,
    useful_share,
    young_interval_seconds,
)
from speccheck.validator.models.estimate import exactly
from speccheck.validator.models.failures import effective_time_ratio

# Daly's form is held to the optimum only where a save takes little of the MTBF.
LARGEST_SAVE_SHARE = 0.1
DALY_BAND = 0.1
# Rows are given with five significant digits.
ROUNDING_BAND = 0.01
SIZE_BAND = 3.0
CONTENTS: dict[str, Contents] = {
    "14": "mixed_precision_adam",
    "12": "fp32_parameters_adam",
    "2": "weights",
}


def predictions() -> Iterator[Prediction]:
    """Yield all rows of the table."""
    for row in rows("checkpoint"):
        if row["kind"] == "interval":
            yield from _intervals(row)
        elif row["kind"] == "size":
            yield _size(row)
        else:
            yield _overhead(row)


def _intervals(row: Mapping[str, str]) -> Iterator[Prediction]:
    """Yield both closed forms and the equation, with what each interval makes of it."""
    save, mtbf, restart = (
        float(row[text]) for text in ("delta_s", "mttf_s", "restart_s")
    )
    best = float(row["optimum_s"])
    in_range = save <= LARGEST_SAVE_SHARE * mtbf
    daly, young = daly_interval_seconds(save, mtbf), young_interval_seconds(save, mtbf)
    exact = optimal_interval_seconds(save, mtbf)
    yield _interval(row, "daly", best, daly, DALY_BAND if in_range else None)
    yield _interval(row, "young", best, young, None)
    yield _interval(row, "optimum", best, exact, ROUNDING_BAND)
    for name, seconds in (("young", young), ("daly", daly), ("optimum", exact)):
        published = float(row[f"useful_at_{name}"])
        share = useful_share(seconds, save, mtbf, restart)
        id_ = f"{row['id']}/useful-at-{name}"
        band = ROUNDING_BAND if published > LARGEST_SAVE_SHARE else None
        yield Prediction(
            "checkpoint",
            "useful share",
            id_,
            "share",
            published,
            share,
            None,
            None,
            band,
        )


def _interval(
    row: Mapping[str, str], form: str, best: float, seconds: float, band: float | None
) -> Prediction:
    group = f"{form} against the optimum"
    id_ = f"{row['id']}/{form}"
    return Prediction("checkpoint", group, id_, "s", best, seconds, band_percent=band)


def _size(row: Mapping[str, str]) -> Prediction:
    parameters = exactly(float(row["params"]), "")
    size = checkpoint_bytes(parameters, CONTENTS[row["bytes_per_param"]])
    return Prediction(
        table="checkpoint",
        group="size",
        id=row["id"],
        unit="bytes",
        published=float(row["published_bytes"]),
        predicted=size.value,
        lower=size.lower,
        upper=size.upper,
        band_percent=SIZE_BAND,
    )


def _overhead(row: Mapping[str, str]) -> Prediction:
    """Return the overhead of saving alone, without a failure."""
    share = effective_time_ratio(
        0, 0, 0, float(row["optimum_s"]), float(row["delta_s"])
    )
    published = float(row["useful_at_optimum"])
    return Prediction(
        "checkpoint",
        "overhead",
        row["id"],
        "share",
        published,
        share,
        band_percent=ROUNDING_BAND,
    )

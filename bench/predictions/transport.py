"""Retry times of InfiniBand and MRC: rows of recovery_defaults.csv."""

from collections.abc import Iterator

from predictions.prediction import Prediction, rows
from speccheck.validator.models.transport_retry import ib_retry_time, mrc_timeout

# Microseconds, as the clause on retries states them.
IB_UNIT, MRC_UNIT = 4.096, 1.024
NCCL_RETRIES = 7
# Published to a hundredth of a second.
BAND = 0.1


def predictions() -> Iterator[Prediction]:
    """Yield the rows whose id is a transport and the exponent of its timeout."""
    for row in rows("recovery_defaults"):
        transport, _, exponent = row["id"].partition("-")
        if transport not in {"ib", "mrc"}:
            continue
        if transport == "ib":
            seconds = ib_retry_time(int(exponent), NCCL_RETRIES, IB_UNIT).value
        else:
            seconds = mrc_timeout(int(exponent), MRC_UNIT).value
        yield Prediction(
            table="recovery_defaults",
            group="transport retries",
            id=row["id"],
            unit="s",
            published=float(row["value_s"]),
            predicted=seconds,
            band_percent=BAND,
        )

"""What reports say of the logs of a run besides what stands in them."""

from collections.abc import Iterable, Iterator

from speccheck.validator.catalogue.metrics import metric_dictionary, metric_names
from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.record import Record
from speccheck.validator.measurements.telemetry import MeasuredTelemetry
from speccheck.validator.run.run import Run

_CLAUSE, _NUMBER = "OBS-001", "core_metrics"


class CoreMetric(Record):
    """A metric that every run should log.

    is_there: in any of the logs. stood_in: the metrics that are there in its place,
    where the dictionary has such.
    """

    metric: str
    is_there: bool
    stood_in: tuple[str, ...]


def telemetry_of(run: Run) -> Iterator[MeasuredTelemetry]:
    """Of each plan of a run that has logs, what they hold."""
    for plan in run.plans:
        if plan.measured is not None and plan.measured.telemetry is not None:
            yield plan.measured.telemetry


def core_metrics(edition: Edition, telemetry: MeasuredTelemetry) -> list[CoreMetric]:
    """The core metrics of the edition, and which of them the logs hold."""
    clause = edition.clauses.get(_CLAUSE)
    number = clause.numbers.get(_NUMBER) if clause is not None else None
    asked = number.value if number is not None else ()
    dictionary = metric_dictionary()
    return [
        CoreMetric(
            name,
            name in telemetry.ids,
            _stood_in(
                telemetry,
                (dictionary.stand_ins(name), *metric_names().computed.get(name, ())),
            ),
        )
        for name in (asked if isinstance(asked, list | tuple) else ())
        if isinstance(name, str)
    ]


def _stood_in(
    telemetry: MeasuredTelemetry, sets: Iterable[tuple[str, ...]]
) -> tuple[str, ...]:
    """The first set of metrics that is whole."""
    whole = (one for one in sets if one and telemetry.ids.issuperset(one))
    return next(whole, ())

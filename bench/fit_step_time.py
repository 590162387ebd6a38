"""Fit the constants of models/step_time.py on the published steps that may be used.

Coordinate descent on the mean absolute logarithm of predicted over published, families
of rows weighted by the root of their number. Prints the constants and how far off both
parts are; nothing is written.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from predictions.step import is_unused, plan_of, stated_steps
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.step import work_of
from speccheck.validator.models.bus_bandwidth import Architecture
from speccheck.validator.models.step_time import (
    CALIBRATED,
    Constants,
    StepWork,
    step_parts,
)

_ROUNDS = 9
_MOST = 0.6  # a row further off than this is no better guide for it
_SHARES_OF_ONE = (0.2, 0.95)
Place = tuple[Architecture | None, str]
_LIMITS = {
    "launch_seconds": (2e-6, 2e-5),
    "layer_passes": (6.0, 40.0),
    "head_passes": (4.0, 24.0),
    "ultra_narrow": (1.0, 1.3),
    "separate_passes": (1.0, 4.0),
    "score_bytes": (2.0, 30.0),
    "router_seconds": (1e-5, 1e-3),
    "experts": (1.0, 3.0),
    "exchange_seconds": (2e-6, 6e-5),
    "optimizer_bytes": (20.0, 40.0),
    "step_seconds": (0.001, 0.05),
    "head_of_stage": (0.5, 1.0),
    "torch_matrix": (0.6, 1.0),
    "torch_narrow": (0.6, 1.0),
    "gradients_shown": (0.02, 0.6),
    "shards_shown": (0.02, 0.6),
}
_NAMES: tuple[Architecture, ...] = ("ampere", "hopper", "blackwell")


class Row:
    """A published step as the model takes it."""

    def __init__(self, row: Any, work: StepWork, seconds: float) -> None:  # noqa: ANN401
        """Keep the work, its time and what is like it."""
        self.id, self.work, self.seconds = row["id"], work, seconds
        self.family = row.get("family") or row["group"]
        self.kind = f"{self.family} {row['gpu']} {row['precision']}"

    def error(self, constants: Constants) -> float:
        """Return the logarithm of predicted over published."""
        return math.log(step_parts(self.work, constants).total / self.seconds)


def published() -> Iterator[Row]:
    """Yield the rows of which the model speaks."""
    for row, leaves, seconds in stated_steps():
        plan = plan_of(leaves)
        if plan is None:
            continue
        try:
            yield Row(row, work_of(plan), seconds)
        except MissingEvidence:
            continue


def _loss(rows: list[Row]) -> Callable[[Constants], float]:
    counts = Counter(row.kind for row in rows)
    weights = [1 / math.sqrt(counts[row.kind]) for row in rows]
    whole = sum(weights)

    def loss(constants: Constants) -> float:
        errors = (min(abs(row.error(constants)), _MOST) for row in rows)
        return sum(w * e for w, e in zip(weights, errors, strict=True)) / whole

    return loss


def _places() -> list[Place]:
    efficiency = next(iter(CALIBRATED.efficiency.values()))
    of_all: list[Place] = [(None, field) for field in CALIBRATED.shares._fields]
    of_one: list[Place] = [
        (name, field) for name in _NAMES for field in efficiency._fields
    ]
    return of_one + of_all


def _changed(constants: Constants, place: Place, factor: float) -> Constants:
    name, field = place
    low, high = _LIMITS.get(field, _SHARES_OF_ONE)
    if name is not None:
        efficiency = dict(constants.efficiency)
        record = efficiency[name]
        value = min(max(getattr(record, field) * factor, low), high)
        efficiency[name] = record._replace(**{field: value})
        return constants._replace(efficiency=efficiency)
    value = min(max(getattr(constants.shares, field) * factor, low), high)
    return constants._replace(shares=constants.shares._replace(**{field: value}))


def fitted(rows: list[Row], constants: Constants = CALIBRATED) -> Constants:
    """Return the constants of the least error that small steps lead to."""
    loss = _loss(rows)
    best = loss(constants)
    for turn in range(_ROUNDS):
        step = 1 + 0.4 / (turn + 1)
        for place in _places():
            for factor in (step, 1 / step):
                other = _changed(constants, place, factor)
                while (error := loss(other)) < best - 1e-6:
                    constants, best = other, error
                    other = _changed(constants, place, factor)
        sys.stderr.write(f"{turn} {best:.4f}\n")
    return constants


def _report(rows: list[Row], constants: Constants) -> None:
    kinds: dict[str, list[float]] = {}
    for row in rows:
        kinds.setdefault(row.kind, []).append(math.expm1(row.error(constants)))
    for kind, errors in sorted(kinds.items()):
        mean = sum(errors) / len(errors)
        off = sum(map(abs, errors)) / len(errors)
        print(f"{len(errors):4} {mean:+7.1%} {off:6.1%} {kind}")
    errors = [error for each in kinds.values() for error in each]
    print(f"{len(errors):4} MAPE {sum(map(abs, errors)) / len(errors):.1%}")


def main() -> int:
    """Fit, print constants and errors."""
    rows = list(published())
    used = [row for row in rows if not is_unused(row.id)]
    constants = fitted(used)
    for name, record in constants.efficiency.items():
        print(
            name, {field: f"{value:.3g}" for field, value in record._asdict().items()}
        )
    print({field: f"{v:.3g}" for field, v in constants.shares._asdict().items()})
    print("calibrated")
    _report(used, constants)
    print("unused")
    _report([row for row in rows if is_unused(row.id)], constants)
    for is_mixture in (False, True):
        ratios = sorted(
            math.exp(-row.error(constants))
            for row in rows
            if isinstance(row.work.layers.feed_forward, int) != is_mixture
        )
        last = len(ratios) - 1
        shown = [ratios[round(q * last)] for q in (0, 0.015, 0.05, 0.5, 0.95, 0.985, 1)]
        print("mixture" if is_mixture else "dense", [f"{v:.3g}" for v in shown])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

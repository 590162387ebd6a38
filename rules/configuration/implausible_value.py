"""A value that no training run has.

Why it hurts: the framework takes it without a word, and the run is worth nothing: the
loss is not a number after a step, or the model is another one than was meant. It is a
lost exponent, a unit that was mistaken, or a line that slipped.

What passes: a learning rate, weight decay, depth and sequence length within bounds far
above all that was published; widths that are not the number of words.

Where it does not apply: none of these is stated.

Source: bounds of the clause.

Bad::

    optimizer: {learning_rate: 20000}

Good::

    optimizer: {learning_rate: 2.0e-4}
"""

from collections.abc import Iterator
from typing import Any

from speccheck.validator.evidence.plan import Batch, Model, Optimizer
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Bounds(Numbers):
    """The largest values that are believed."""

    learning_rate_max: float
    weight_decay_max: float
    layers_max: int
    sequence_length_max: int


@rule(clause="CONF-012", confidence="advisory")
def implausible_value(
    optimizer: Optimizer, model: Model, batch: Batch, bounds: Bounds
) -> Verdicts:
    """Judge each stated value against what runs have."""
    within: list[Value[Any]] = []
    is_clean = True
    for value, most in (
        (optimizer.learning_rate, bounds.learning_rate_max),
        (optimizer.weight_decay, bounds.weight_decay_max),
        (model.layers, bounds.layers_max),
        (batch.sequence_length, bounds.sequence_length_max),
    ):
        if value.status != "stated":
            continue
        within.append(value)
        if value.need() <= most:
            continue
        is_clean = False
        name = value.places[0].key if value.places else value.name
        yield fail(
            f"{name} {value.need():g} is above {most:g}: no published run is near it",
            at=value,
            measured=value.need(),
            required=most,
            cost="the run computes something else than was meant",
            remedy=f"Look at the exponent and the unit of {name}.",
        )
    for width in _widths_of_the_vocabulary(model):
        is_clean = False
        yield fail(
            f"{width.places[0].key} {width.need():,} is the size of the vocabulary",
            at=[width, model.vocabulary_size],
            measured=width.need(),
            cost="the model is another one than was meant",
            remedy=f"Give {width.places[0].key} the width of the model.",
        )
    if within and is_clean:
        yield passed(at=within)


def _widths_of_the_vocabulary(model: Model) -> Iterator[Value[Any]]:
    """Yield the stated widths that equal the number of words."""
    words = model.vocabulary_size
    for width in (model.hidden_size, model.feed_forward_size):
        is_stated = width.status == "stated" and words.status == "stated"
        if is_stated and width.value == words.value and width.places != words.places:
            yield width

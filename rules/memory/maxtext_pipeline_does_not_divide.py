"""Pipeline stages, repeats and micro-batches of MaxText that do not fit.

Why it hurts: each stage of MaxText's circular pipeline holds the same number of layers
for each repeat, and works on the same number of micro-batches. A remainder fails an
assertion while the file is read.

What passes: stages x repeats x layers of a stage equal to the layers of the pipeline,
and micro-batches that are a multiple of the stages.

Where it does not apply: one stage; other frameworks. Numbers that are -1 are worked out
by MaxText, from the others.

Source: AI-Hypercomputer/maxtext maxtext/configs/types.py
(set_derived_and_validate_values).

Bad::

    base_num_decoder_layers: 30
    ici_pipeline_parallelism: 4

Good::

    base_num_decoder_layers: 32
    ici_pipeline_parallelism: 4
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKey, StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_LAYERS, _REPEATS = "num_layers_per_pipeline_stage", "num_pipeline_repeats"
_WHOLE, _MICRO_BATCHES = "pipeline_parallel_layers", "num_pipeline_microbatches"
_COST = "MaxText fails an assertion while it reads the file, on allocated nodes"


@rule(clause="MEM-005", frameworks=("maxtext",))
def maxtext_pipeline_does_not_divide(
    model: Model, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge the layers of the stages, then the micro-batches."""
    pipeline = parallelism.pipeline_parallel_size
    stages = pipeline.or_else(1)
    if stages <= 1:
        return
    keys = _positive(stated)
    batches = keys.get(_MICRO_BATCHES)
    if batches is not None and _number(batches) % stages:
        yield fail(
            f"{_number(batches)} micro-batches are not a multiple of {stages} stages",
            at=[batches.place, pipeline],
            measured=_number(batches),
            required=stages,
            cost=_COST,
            remedy=f"Set {_MICRO_BATCHES} to a multiple of {stages}.",
        )
    whole = keys.get(_WHOLE)
    layers = _number(whole) if whole is not None else model.layers.need()
    each = _number(keys[_LAYERS]) if _LAYERS in keys else 1
    repeats = _number(keys[_REPEATS]) if _REPEATS in keys else 0
    at: list[Place | Value[int]] = [
        pipeline,
        *(stated_key.place for stated_key in (whole,) if stated_key),
        model.layers,
    ]
    at += [keys[name].place for name in (_LAYERS, _REPEATS) if name in keys]
    unit = stages * each * max(repeats, 1)
    if layers == unit or (not repeats and layers % unit == 0):
        yield passed(at=at, measured=layers, required=unit)
        return
    product = f"{stages} stages x {each} layers" + f" x {repeats} repeats" * (
        repeats > 0
    )
    yield fail(
        f"{layers} layers do not fill {product} = {unit}",
        at=at,
        measured=layers,
        required=unit,
        cost=_COST,
        remedy=f"Choose stages, {_LAYERS} and {_REPEATS} so that their product is "
        f"{layers}.",
    )


def _positive(stated: StatedKeys) -> dict[str, StatedKey]:
    """Return the keys that MaxText does not work out itself."""
    return {
        str(key.path[0]): key
        for file in stated.files
        if file.format == "maxtext"
        for key in file.keys
        if len(key.path) == 1 and type(key.value) is int and key.value > 0
    }


def _number(key: StatedKey) -> int:
    return int(str(key.value))

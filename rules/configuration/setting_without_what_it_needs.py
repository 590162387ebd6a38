"""A setting without the other one that the framework demands beside it.

Why it hurts: the framework stops at start-up, or when the model is built, after the
allocation has been granted. The setting itself looks harmless.

What passes: the setting beside what it needs.

Where it does not apply: nothing with such a demand is set. Where a key may be given
elsewhere, or its value cannot be worked out, the answer is open.

Source: the demands of the key tables, each from the framework's own validator:
NVIDIA/Megatron-LM megatron/training/arguments.py and transformer_config.py, DeepSpeed
runtime/zero and elasticity, axolotl utils/schemas, accelerate parallelism_config.py.

Bad::

    --num-experts 8 --expert-model-parallel-size 8 --tensor-model-parallel-size 2

Good::

    --num-experts 8 --expert-model-parallel-size 8 --tensor-model-parallel-size 2
    --sequence-parallel
"""

from speccheck.rules.configuration._demands import Judged, judged_demands
from speccheck.validator.evidence.framework_keys import KeyTest, dotted
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CONF-006")
def setting_without_what_it_needs(stated: StatedKeys) -> Verdicts:
    """Judge each demand whose condition holds."""
    met = []
    is_clean = True
    for judged_demand in judged_demands(stated.files):
        at = [key.place for key in judged_demand.keys]
        if judged_demand.holds:
            met.extend(at)
            continue
        is_clean = False
        needed = " or ".join(_as_text(test) for test in judged_demand.demand.needs)
        text = f"{_names(judged_demand)} needs {needed}: {judged_demand.demand.note}"
        if judged_demand.holds is None:
            yield unknown(text, missing=judged_demand.missing, at=at)
            continue
        first = judged_demand.demand.when[0].key
        refused = [test.key for test in judged_demand.demand.needs if not test.is_set]
        yield fail(
            text,
            at=at,
            required=needed,
            cost="the framework refuses the configuration, on allocated nodes",
            remedy=f"Remove {refused[0]} or {first}."
            if refused
            else f"Set {needed}, or remove {first}.",
        )
    if met and is_clean:
        yield passed(at=met)


def _names(judged: Judged) -> str:
    """The settings that raise the demand, as a list in a sentence."""
    values = {dotted(key.path): key.value for key in judged.keys}
    names = (test.key for test in judged.demand.when if test.is_set)
    return " with ".join(_stated(name, values.get(name)) for name in names)


def _stated(name: str, value: object) -> str:
    is_shown = isinstance(value, str | int | float) and not isinstance(value, bool)
    return f"{name} {value}" if is_shown else name


def _as_text(test: KeyTest) -> str:
    """What is asked of a key, as people would write it."""
    if test.one_of:
        return f"{test.key} {' or '.join(str(value) for value in test.one_of)}"
    if test.below is not None:
        return f"{test.key} below {test.below:g}"
    if test.at_least is not None and test.at_least != test.at_most:
        return f"{test.key} of {test.at_least:g} or more"
    if test.at_most is not None:
        return f"{test.key} {test.at_most:g}"
    return test.key if test.is_set else f"no {test.key}"

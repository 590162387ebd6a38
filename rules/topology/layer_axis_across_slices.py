"""A mesh axis that communicates in each layer, laid across slices.

Why it hurts: MaxText's `dcn_` axes lie across slices, on the data-centre network. The
tensor and sequence axes communicate several times in each layer; there that takes tens
of times longer than within a slice.

What passes: 1 for these axes across slices.

Where it does not apply: other frameworks; one slice; the data, fsdp, pipeline and
expert axes.

Source: AI-Hypercomputer/maxtext src/MaxText/configs/base.yml, which calls them "never
recommended".

Bad::

    dcn_tensor_parallelism: 2

Good::

    dcn_data_parallelism: 2
    ici_tensor_parallelism: 4
"""

from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_AXES = (
    "dcn_tensor_parallelism",
    "dcn_tensor_transpose_parallelism",
    "dcn_tensor_sequence_parallelism",
    "dcn_sequence_parallelism",
)


@rule(clause="TOPO-032", frameworks=("maxtext",))
def layer_axis_across_slices(stated: StatedKeys) -> Verdicts:
    """Judge each of these axes that a file sets."""
    for file in stated.files:
        axes = [
            key for key in file.keys if key.path[0] in _AXES and type(key.value) is int
        ]
        wide = [key for key in axes if key.value != 1]
        for key in wide:
            yield fail(
                f"{key.path[0]} is {key.value}: an axis that communicates in each "
                "layer lies across slices; it should be 1",
                at=key.place,
                measured=str(key.value),
                required=1,
                cost="each layer waits for the data-centre network",
                remedy="Set it to 1, and use dcn_data_parallelism or "
                "dcn_fsdp_parallelism across slices.",
            )
        if axes and not wide:
            yield passed(at=[key.place for key in axes])

"""The number of GPUs of a container left empty.

Why it hurts: Kubernetes reads a limit without a number as 0. The pod starts on a node
without a GPU, or without access to it, and the training program finds no device.

What passes: a number, or no such key.

Where it does not apply: objects of Kubernetes without the key; templates.

Source: kubernetes apimachinery pkg/api/resource/quantity.go (UnmarshalJSON: null is 0).

Bad::

    limits:
      nvidia.com/gpu:

Good::

    limits:
      nvidia.com/gpu: 8
"""

from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_DEVICES = frozenset(
    {
        "amd.com/gpu",
        "aws.amazon.com/neuron",
        "google.com/tpu",
        "habana.ai/gaudi",
        "nvidia.com/gpu",
    }
)
_FORMATS = "k8s-"


@rule(clause="COMM-017")
def device_limit_left_empty(stated: StatedKeys) -> Verdicts:
    """Judge each request for devices of a pod."""
    for file in stated.files:
        if not file.format.startswith(_FORMATS):
            continue
        stated_keys = [key for key in file.keys if key.path[-1] in _DEVICES]
        empty = [key for key in stated_keys if key.value in (None, "")]
        if stated_keys and not empty:
            yield passed(at=[key.place for key in stated_keys])
        for key in empty:
            yield fail(
                f"{key.path[-1]} has no number, which Kubernetes reads as 0",
                at=key.place,
                measured="empty",
                required="at least 1",
                cost="the pod starts without a GPU and no rank finds a device",
                remedy="State the GPUs of the pod.",
            )

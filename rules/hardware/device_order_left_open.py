"""GPUs numbered by speed on a node where the number matters.

Why it hurts: CUDA numbers the fastest GPU first unless it is told otherwise; the
driver, the topology and bindings of ranks to adapters number by PCIe address. Where
both differ, ranks use the adapter of another GPU.

What passes: CUDA_DEVICE_ORDER=PCI_BUS_ID.

Where it does not apply: GPUs of one model and no order asked for: both orders are the
same.

Source: Azure/azurehpc-health-checks; CUDA programming guide, environment variables.

Bad::

    export CUDA_DEVICE_ORDER=FASTEST_FIRST

Good::

    export CUDA_DEVICE_ORDER=PCI_BUS_ID
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import NodeVariables
from speccheck.validator.rule import Verdicts, fail, passed, rule

_VARIABLE = "CUDA_DEVICE_ORDER"
_BY_ADDRESS = "PCI_BUS_ID"


@rule(clause="HW-037")
def device_order_left_open(
    gpus: Gpus, environment: Environment, variables: NodeVariables
) -> Verdicts:
    """Judge the order where it is asked for, or where models differ."""
    each = gpus.each()
    if len(each) <= 1:
        return
    stated = environment.find(_VARIABLE)
    if stated is None:
        variables.each()
    models = {gpu.name.need() for gpu in each}
    if stated is None and len(models) == 1:
        return
    if stated is not None and stated.value == _BY_ADDRESS:
        yield passed(at=stated.place)
        return
    text = "not set" if stated is None else str(stated.value)
    yield fail(
        f"{_VARIABLE} is {text} on a node with {len(models)} models of GPU; it should "
        f"be {_BY_ADDRESS}",
        at=each[0].name if stated is None else stated.place,
        measured=text,
        required=_BY_ADDRESS,
        action="FIX_CONFIG",
    )

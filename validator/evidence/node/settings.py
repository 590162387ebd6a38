"""Variables of communication libraries on a node, in the layers that set them."""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


class NodeVariable(Part):
    """One variable in one layer."""

    __slots__ = ()
    kind = "variables"

    name: Value[str]
    value: Value[str]  # absent where it is no known communication variable
    layer: Value[str]  # environment, user_file, system_file


class NodeVariables(Parts[NodeVariable]):
    """Variables of the process, of ~/.nccl.conf and of /etc/nccl.conf."""

    __slots__ = ()
    part = NodeVariable

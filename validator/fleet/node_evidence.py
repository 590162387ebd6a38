"""The evidence of one job on one node of many; parts are made when asked for."""

from collections.abc import Mapping
from typing import Any

from speccheck.validator.engine.assemble import add_conditions
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.node.node import ALL, Node


class NodeEvidence(dict[type, Any]):
    """Evidence by type: that of the job, and the parts of the node."""

    __slots__ = ("_node",)

    def __init__(self, of_job: Mapping[type, object], node: Node) -> None:
        """Take the evidence of the job, which is copied, and the node."""
        super().__init__(of_job)
        self._node = node

    def __missing__(self, kind: type) -> object:
        """The parts of that kind; raises KeyError for other evidence."""
        if kind is Conditions:
            add_conditions(self, self._node)
            return super().__getitem__(kind)
        found = self._node.evidence(kind)
        if found is None:
            raise KeyError(kind)
        self[kind] = found
        return found

    def __contains__(self, kind: object) -> bool:
        """Whether there is such evidence."""
        return self.get(kind) is not None

    def get(self, kind: Any, default: Any = None) -> Any:  # noqa: ANN401 - as of dict
        """The evidence of that kind, or the default."""
        found = super().get(kind)
        if found is None and (kind in ALL or kind is Conditions):
            return self[kind]
        return default if found is None else found

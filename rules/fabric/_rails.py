"""Which ports of a node carry the traffic of training."""

from speccheck.validator.evidence.measurement.conditions import (
    EFA,
    ETHERNET,
    INFINIBAND,
    named_ports,
    rails,
    titles,
)

__all__ = ["EFA", "ETHERNET", "INFINIBAND", "named_ports", "rails", "titles"]

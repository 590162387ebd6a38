"""The log of NCCL, of all ranks and communicators in one text, as evidence."""

from speccheck.validator.sources.nccl_log.communicators import (
    add_communicators,
    has_lines,
)

__all__ = ["add_communicators", "has_lines"]

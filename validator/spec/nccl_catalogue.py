"""Loads the catalogue of NCCL variables."""

from functools import cache
from typing import Any

from speccheck.validator.evidence.nccl_variables import NcclVariables, Platform, release
from speccheck.validator.spec.catalogue_files import read_compiled


class _Unread(NcclVariables):
    """The catalogue, read when a rule first looks into it.

    Most plans set no variable, and reading costs as much as judging them.
    """

    __slots__ = ()

    def __init__(self) -> None:
        """Read nothing yet."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - called for an empty slot
        document = read_compiled("nccl")
        super().__init__(
            document["variables"],
            [Platform(*row) for row in document["platforms"]],
            newest=release(document["newest"]),
            assumed=release(document["assumed"]),
        )
        return object.__getattribute__(self, name)


@cache
def nccl_variables() -> NcclVariables:
    """The catalogue, the same one each time."""
    return _Unread()

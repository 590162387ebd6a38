"""Loads the catalogue of NCCL variables."""

from functools import cache
from typing import TYPE_CHECKING, Any

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.nccl_variables import NcclVariables, Platform, release

if TYPE_CHECKING:
    from speccheck.validator.evidence.variable_relations import Relations


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
            left_to_the_job=document["left_to_the_job"],
        )
        return object.__getattribute__(self, name)


@cache
def nccl_relations() -> "Relations":
    """Return the rows of relations.yaml, the same ones each time."""
    from speccheck.validator.evidence.variable_relations import (  # noqa: PLC0415
        Relation,
        Relations,
    )

    return Relations([Relation(**row) for row in read_compiled("nccl_relations")])


@cache
def nccl_variables() -> NcclVariables:
    """Return the catalogue, the same one each time."""
    return _Unread()

"""What is known of one plan or machine, by kind of evidence."""

from collections.abc import Mapping
from typing import Any, TypeVar

Kind = TypeVar("Kind")


class Evidence:
    """Evidence by its type, as rules ask for it.

    Of what a machine has several of, such as GPUs, the type of all of them is the kind.
    """

    __slots__ = ("by_kind",)

    def __init__(self, by_kind: Mapping[type, Any]) -> None:
        """Take what is known."""
        self.by_kind = by_kind

    def __getitem__(self, kind: type[Kind]) -> Kind:
        """Return the evidence of a kind; raises KeyError where there is none."""
        result: Kind = self.by_kind[kind]
        return result

    def get(self, kind: type[Kind]) -> Kind | None:
        """Return the evidence of a kind, if there is any."""
        result: Kind | None = self.by_kind.get(kind)
        return result

    def with_more(self, more: Mapping[type, object]) -> "Evidence":
        """Return the same with other kinds of evidence, or others of the same kinds."""
        return Evidence({**self.by_kind, **more})

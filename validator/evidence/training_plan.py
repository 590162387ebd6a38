"""The plan as one object: what the readers stated, section by section."""

from collections.abc import Iterator
from typing import Any

from speccheck.validator.evidence.plan import SECTIONS
from speccheck.validator.evidence.section import Section
from speccheck.validator.evidence.value import Value


class TrainingPlan:
    """All sections of one plan; frozen."""

    __slots__ = ("_sections",)

    def __init__(self, leaves: dict[str, Value[Any]]) -> None:
        """Make a plan of leaves keyed by `section.field`.

        Raises AttributeError for a name that is no leaf of the plan.
        """
        known: dict[str, dict[str, Value[Any]]] = {name: {} for name in SECTIONS}
        for leaf in leaves.values():
            section, _, field = leaf.name.partition(".")
            known[section][field] = leaf
        self._sections = {
            section: SECTIONS[section](**fields) for section, fields in known.items()
        }

    def section(self, name: str) -> Section:
        """The section of that name."""
        return self._sections[name]

    def sections(self) -> tuple[Section, ...]:
        """All sections, in the order of SECTIONS."""
        return tuple(self._sections.values())

    def told(self) -> Iterator[Value[Any]]:
        """The leaves that some source told of, known or not."""
        for section in self._sections.values():
            yield from vars(section).values()

    def value(self, name: str) -> Value[Any]:
        """The leaf called `section.field`; raises AttributeError for another name."""
        section, _, field = name.partition(".")
        leaf: Value[Any] = getattr(self._sections[section], field)
        return leaf


def leaf_names() -> tuple[str, ...]:
    """The names of all leaves, `section.field`."""
    return tuple(
        f"{section}.{field}"
        for section, kind in SECTIONS.items()
        for field in kind.__annotations__
    )

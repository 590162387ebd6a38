"""Writes the work list of a release: text by heading, or JSON."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from constraints.compare import Difference, Recall
from constraints.conditions import as_text
from constraints.solve import Proposal
from constraints.validators import Constraint

_HEADINGS = {"new": "New keys", "gone": "Gone", "changed": "Changed"}
_KINDS = ("refused", "warned", "overridden", "deprecated")
_WIDEST = 10_000  # of a line of YAML: each value of a row stands on its own line


class Entry(NamedTuple):
    """A constraint with its row, or why there is none; near: relations beside it."""

    constraint: Constraint
    near: Sequence[str]
    proposal: Proposal | None
    reason: str = ""


class WorkList(NamedTuple):
    """What people have to look at."""

    differences: Sequence[Difference]
    entries: Sequence[Entry]
    recalls: Sequence[Recall]
    passed_over: Sequence[str]
    constraints: int

    def as_text(self) -> str:
        """Return the list by heading."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        for kind, heading in _HEADINGS.items():
            items = [item for item in self.differences if item.kind == kind]
            yield from _section(
                heading, (f"{item.key}: {item.text} [{item.source}]" for item in items)
            )
        for kind in _KINDS:
            entries = [
                entry
                for entry in self.entries
                if entry.constraint.kind == kind and entry.proposal
            ]
            yield from _section(kind.capitalize(), map(_entry_text, entries))
        opaque = [entry for entry in self.entries if not entry.proposal]
        yield from _section("Not expressible", map(_opaque_text, opaque))
        yield from _section("Not read", self.passed_over)
        again = [recall for recall in self.recalls if recall.by_line or recall.by_keys]
        in_tree = [recall for recall in self.recalls if recall.in_tree]
        both = sum(recall in again for recall in in_tree)
        ready = [entry.proposal for entry in self.entries if entry.proposal]
        shown = sum(proposal.is_shown for proposal in ready)
        yield (
            f"{self.constraints} constraints, {len(self.entries)} that nothing speaks "
            f"of: {len(ready)} as relations, {shown} of them with an example."
        )
        yield (
            f"{len(again)} of {len(self.recalls)} tabulated relations seen again, "
            f"{both} of the {len(in_tree)} whose file is here."
        )

    def as_json(self) -> str:
        """Return the same for programs."""
        document: dict[str, Any] = {
            "keys": [item._asdict() for item in self.differences],
            "constraints": [_entry_data(entry) for entry in self.entries],
            "relations": [recall._asdict() for recall in self.recalls],
            "not_read": [*self.passed_over],
            "extracted": self.constraints,
        }
        return json.dumps(document, indent=1, ensure_ascii=False, default=str) + "\n"


def _section(heading: str, texts: Iterable[str]) -> Iterator[str]:
    texts = [*texts]
    if texts:
        yield f"{heading} ({len(texts)})"
        yield from (f"  {text}" for text in texts)
        yield ""


def _entry_text(entry: Entry) -> str:
    constraint, proposal = entry.constraint, entry.proposal
    near = f" (near {', '.join(entry.near)})" if entry.near else ""
    line = f"{as_text(constraint.condition)} [{constraint.source}]{near}"
    if proposal is None:
        return line
    mark = "" if proposal.is_shown else f"\n# without example: {proposal.fault}"
    return f"{line}{mark}\n{row_text(proposal.row)}"


def _opaque_text(entry: Entry) -> str:
    constraint = entry.constraint
    said = f"; {constraint.message}" if constraint.message else ""
    return (
        f"{constraint.kind}: {as_text(constraint.condition)}{said} "
        f"[{constraint.source}]: {entry.reason}"
    )


def _entry_data(entry: Entry) -> dict[str, Any]:
    constraint, proposal = entry.constraint, entry.proposal
    return {
        "kind": constraint.kind,
        "condition": as_text(constraint.condition),
        "keys": [*constraint.names],
        "message": constraint.message,
        "source": constraint.source,
        "near": [*entry.near],
        "reason": entry.reason,
        "relation": proposal.row if proposal else None,
        "has_example": bool(proposal and proposal.is_shown),
    }


def row_text(row: dict[str, Any]) -> str:
    """Return a row as a file of relations has it: one field a line."""
    lines: list[str] = []
    for name, value in row.items():
        text = yaml.safe_dump(value, default_flow_style=True, width=_WIDEST)
        text = text.removesuffix("\n").removesuffix("\n...")
        lines.append(f"{'-' if not lines else ' '} {name}: {text}")
    return "\n".join(lines)

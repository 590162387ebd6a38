"""Pictures of the machines of a certificate, those that are joined alike once."""

from collections.abc import Sequence

from speccheck.validator.node.machine_layout import MachineLayout
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.subjects import folded_subjects
from speccheck.validator.report.topology_svg import topology_html

_MOST = 4


def specimen_pictures(layouts: Sequence[MachineLayout | None]) -> list[str]:
    """The pictures, each with the numbers of its machines, which count from 1."""
    alike: dict[MachineLayout, list[int]] = {}
    for number, layout in enumerate(layouts, start=1):
        if layout is not None:
            alike.setdefault(layout, []).append(number)
    shown = list(alike.items())[:_MOST]
    parts = [
        f"<h3>{escaped(_named(numbers))}</h3>\n{topology_html(layout)}"
        for layout, numbers in shown
    ]
    if len(alike) > len(shown):
        more = sum(len(numbers) for _, numbers in list(alike.items())[_MOST:])
        parts.append(f'<p class="note">{more:,} more specimens are not drawn.</p>\n')
    return parts


def _named(numbers: Sequence[int]) -> str:
    word = "Specimen" if len(numbers) == 1 else "Specimens"
    return folded_subjects(f"{word} {number}" for number in numbers)

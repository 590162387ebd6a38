"""The forms of a report, by the name that `--output` takes."""

from collections.abc import Callable, Iterable
from importlib import import_module

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import Style
from speccheck.validator.report.told import Told

_PACKAGE = "speccheck.validator.report"
Write = Callable[[Told, Style], Iterable[str]]


class Form(Record):
    """One form of a report.

    module: has `report(told, style)`, which gives the text in pieces; it is imported
    when the form is asked for. is_for_people: read on a terminal, so that other lines
    may stand beside it on standard output. tells_edits: shows fixes as edits.
    """

    name: str
    module: str
    help: str
    is_for_people: bool = False
    tells_edits: bool = False

    def report(self, told: Told, style: Style) -> Iterable[str]:
        """The text of the report, in pieces."""
        write: Write = import_module(f"{_PACKAGE}.{self.module}").report
        return write(told, style)


FORMS = {
    form.name: form
    for form in (
        Form("text", "text", "findings with frames and remedies", is_for_people=True),
        Form("concise", "concise", "a line a finding", is_for_people=True),
        Form(
            "json", "json_report", "speccheck-report/1, one document", tells_edits=True
        ),
    )
}
NAMES = tuple(FORMS)

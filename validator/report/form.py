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
    may stand beside it on standard output. tells_refusals: it has a text,
    `failure_report(message, code)`, for a run that could not begin.
    """

    name: str
    module: str
    help: str
    is_for_people: bool = False
    tells_refusals: bool = False

    def report(self, told: Told, style: Style) -> Iterable[str]:
        """The text of the report, in pieces."""
        write: Write = import_module(f"{_PACKAGE}.{self.module}").report
        return write(told, style)

    def refusal(self, message: str, code: int) -> str | None:
        """The report of a run that could not begin; None where a form has none."""
        if not self.tells_refusals:
            return None
        module = import_module(f"{_PACKAGE}.{self.module}")
        written: str = module.failure_report(message, code)
        return written


_MACHINE_FORMS = (
    ("json", "json_report", "speccheck-report/1, one document"),
    ("sarif", "forms.sarif", "SARIF 2.1.0, for code scanning"),
    ("junit", "forms.junit", "JUnit XML, a test case a rule"),
    ("github", "forms.github", "annotations of GitHub: workflow commands"),
    ("gitlab", "forms.gitlab", "Code Quality of GitLab"),
    ("azure", "forms.azure", "issues of Azure Pipelines: logging commands"),
    ("rdjson", "forms.rdjson", "diagnostics for reviewdog"),
)
FORMS = {
    form.name: form
    for form in (
        Form("text", "text", "findings with frames and remedies", is_for_people=True),
        Form("concise", "concise", "a line a finding", is_for_people=True),
        *(Form(*names, tells_refusals=True) for names in _MACHINE_FORMS),
    )
}
NAMES = tuple(FORMS)

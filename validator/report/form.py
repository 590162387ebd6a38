"""The forms of a report, by the name that `--output` takes."""

from collections.abc import Callable, Iterable
from importlib import import_module

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.style import Style

_PACKAGE = "speccheck.validator.report"
_ANNOTATIONS = "forms.annotations"
Write = Callable[[ReportContext, Style], Iterable[str]]
Refuse = Callable[[str, int], str]


class Form(Record):
    """One form of a report.

    Attributes:
        name: as `--output` takes it.
        module: has `report(context, style)`, which gives the text in pieces; of a
            module with several forms, `NAME_report`. It is imported when it is needed.
        help: one line on it.
        is_for_people: read on a terminal or in a log.
        has_company: other lines for people may stand beside it on standard output.
        shows_plans: it shows the values of the plans, and what holds.
        tells_refusals: the module has a text for a run that could not begin,
            `failure_report(message, code)` or `NAME_refusal`.
        tells_edits: it shows fixes as edits of files.

    """

    name: str
    module: str
    help: str
    is_for_people: bool = False
    has_company: bool = False
    shows_plans: bool = False
    tells_refusals: bool = False
    tells_edits: bool = False

    def report(self, context: ReportContext, style: Style) -> Iterable[str]:
        """Yield the text of the report, in pieces."""
        module = import_module(f"{_PACKAGE}.{self.module}")
        named = f"{self.name}_report"
        write: Write = getattr(module, named, None) or module.report
        return write(context, style)

    def refusal(self, message: str, code: int) -> str | None:
        """Return the report of a run that could not begin; None if a form has none."""
        if not self.tells_refusals:
            return None
        module = import_module(f"{_PACKAGE}.{self.module}")
        named = f"{self.name}_refusal"
        write: Refuse = getattr(module, named, None) or module.failure_report
        return write(message, code)


def _for_programs(
    name: str, text: str, *, tells_edits: bool = False, module: str = ""
) -> Form:
    """Return a form that has a text for a run that could not begin as well."""
    return Form(
        name,
        module or f"forms.{name}",
        text,
        tells_refusals=True,
        tells_edits=tells_edits,
    )


FORMS = {
    form.name: form
    for form in (
        Form(
            "text",
            "text",
            "findings with frames and remedies",
            is_for_people=True,
            has_company=True,
        ),
        Form("concise", "concise", "a line a finding", is_for_people=True),
        Form("html", "forms.html", "one page for a browser", shows_plans=True),
        Form("markdown", "forms.markdown", "for a comment or the summary of a job"),
        _for_programs(
            "json",
            "speccheck-report/1, one document",
            tells_edits=True,
            module="json_report",
        ),
        _for_programs("jsonl", "a finding a line, then a line of totals"),
        Form("csv", "forms.csv", "a finding a row, for spreadsheets"),
        _for_programs("sarif", "SARIF 2.1.0, for code scanning", tells_edits=True),
        _for_programs("junit", "JUnit XML, a test case a rule"),
        _for_programs(
            "github", "annotations of GitHub: workflow commands", module=_ANNOTATIONS
        ),
        _for_programs("gitlab", "Code Quality of GitLab", module=_ANNOTATIONS),
        _for_programs(
            "azure", "issues of Azure Pipelines: logging commands", module=_ANNOTATIONS
        ),
        _for_programs(
            "rdjson",
            "diagnostics for reviewdog",
            tells_edits=True,
            module=_ANNOTATIONS,
        ),
    )
}
NAMES = tuple(FORMS)

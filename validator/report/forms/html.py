"""`--output html`: one page that holds everything and asks nobody for anything.

No script, no font, no picture from elsewhere. The same run gives the same bytes.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.forms.html_findings import chapters, findings_html
from speccheck.validator.report.forms.html_judged import (
    files_html,
    holding_html,
    unknown_html,
    unsought_html,
)
from speccheck.validator.report.forms.html_measured import measured_html
from speccheck.validator.report.forms.html_page import (
    contents,
    page_end,
    page_head,
)
from speccheck.validator.report.forms.html_plans import plans_html
from speccheck.validator.report.forms.html_summary import (
    coverage_html,
    first_html,
    head_html,
    rules_html,
    title_text,
    waived_html,
)
from speccheck.validator.report.forms.html_text import code, section
from speccheck.validator.report.merge_findings import shown_findings
from speccheck.validator.report.style import Style, counted
from speccheck.validator.report.topology_svg import topology_html
from speccheck.validator.report.waived_text import sorted_waived
from speccheck.validator.run.plan_judge import JudgedPlan

_SHEETS = ("html_topology",)
_MOST_MACHINES = 8


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """The page in pieces: what to do first, what holds last."""
    sections = list(_sections(context))
    yield page_head(title_text(context), sheets=_SHEETS)
    yield '<a class="skip" href="#findings">to the findings</a>\n'
    yield head_html(context)
    yield contents([(anchor, title) for anchor, title, body in sections if body])
    yield "<main>\n"
    for anchor, title, body in sections:
        yield section(anchor, title, body)
    yield "</main>\n"
    yield page_end()


def _sections(context: ReportContext) -> Iterator[tuple[str, str, str]]:
    """Anchor, title and body of each part; empty where there is nothing to say."""
    run = context.run
    plans = run.plans
    many = len(plans) > 1
    shown = shown_findings(plans)
    found = chapters(shown)
    findings = "".join(findings_html(found, many=many, full=context.full))
    waived = sorted_waived(plans)
    words = "Nothing that was judged fails." if plans else "Nothing was judged."
    if waived:
        words = "Nothing that was judged fails but what is waived, which is told below."
    nothing = f'<p class="note">{words}</p>\n'
    measured = [plan.measured for plan in plans if plan.measured is not None]
    total = len(shown)
    yield "coverage", "Coverage", coverage_html(context)
    yield "first", "What to do first", first_html(shown, found, many=many)
    yield "machine", "Machine", _machines(plans)
    yield "rules", "Failures by rule", rules_html(context)
    title = f"Findings ({total:,})" if total else "Findings"
    yield "findings", title, _said(context) + (findings or nothing) + unsought_html(run)
    yield "waived", f"Waived ({len(waived):,})", waived_html(waived)
    yield "unknown", "Not judged", unknown_html(plans)
    yield "holds", "What holds", holding_html(plans)
    title = "Plans" if many else "Plan"
    yield "plan", title, "".join(plans_html(plans))
    yield "measured", "Measured", measured_html(measured)
    yield "files", "Files", files_html(run.files)


def _machines(plans: Sequence[JudgedPlan]) -> str:
    """The pictures of the first machines."""
    layouts = [
        (one.shown.files, one.shown.machine)
        for one in plans
        if one.shown and one.shown.machine
    ]
    parts = []
    for files, layout in layouts[:_MOST_MACHINES]:
        if len(layouts) > 1 and files:
            parts.append(f"<h3>{code(files[0].path)}</h3>\n")
        parts.append(topology_html(layout))
    if len(layouts) > _MOST_MACHINES:
        more = counted(len(layouts) - _MOST_MACHINES, "more machine")
        parts.append(f'<p class="note">and {more}</p>\n')
    return "".join(parts)


def _said(context: ReportContext) -> str:
    """Why there are fewer findings here than failures in the verdict."""
    if len(context.run.plans) < 2 or not any(context.summary.failed.values()):  # noqa: PLR2004
        return ""
    return '<p class="note">What is said of several plans is one finding here.</p>\n'

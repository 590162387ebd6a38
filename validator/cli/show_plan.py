"""`speccheck plan FILE...`: the plan that the files make, and others (`--what-if`)."""

from speccheck.validator.changes.what_if.assignments import assignments
from speccheck.validator.changes.what_if.names import WhatIfError
from speccheck.validator.cli.command_line import CommandLine, with_settings
from speccheck.validator.cli.guarded import USAGE
from speccheck.validator.cli.reports import Output, outputs_of, style_of
from speccheck.validator.cli.request import files_request
from speccheck.validator.report.write import write
from speccheck.validator.run.plan_view import PlanView, plan_view
from speccheck.validator.sources.context import context_facts

REFUSED = (WhatIfError,)
_NOTHING = 3


def show_plan(line: CommandLine) -> int:
    """Show the plans of files; returns the exit code.

    0: there is a plan; 2: usage, or an input that could not be read; 3: no plan.
    """
    outputs = outputs_of(line)
    line = with_settings(line)
    request = files_request(line)
    context_facts(request.context)  # refuses unknown names before any work
    view = plan_view(request, assignments(line.texts("what_if")))
    for output in outputs:
        write(_text(view, output, line), output.path)
    if any(
        file.state == "unreadable"
        or (file.named and file.state not in {"judged", "excluded"})
        for file in view.files
    ):
        return USAGE
    return 0 if view.plans else _NOTHING


def _text(view: PlanView, output: Output, line: CommandLine) -> str:
    if output.format == "json":
        from speccheck.validator.report.plan_json import plan_json  # noqa: PLC0415

        return plan_json(view)
    from speccheck.validator.report.plan_text import plan_text  # noqa: PLC0415

    style = style_of(line, to_file=output.path is not None)
    return plan_text(view, style, full=line.has("full"))

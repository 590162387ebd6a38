"""`speccheck plan FILE...`: the plan that the files make, and others (`--what-if`)."""

from speccheck.validator.changes.what_if.assignments import WhatIfError, assignments
from speccheck.validator.cli.command_line import CommandLine, with_settings
from speccheck.validator.cli.guarded import USAGE
from speccheck.validator.cli.reports import Forms, outputs_of, write_forms
from speccheck.validator.cli.request import files_request
from speccheck.validator.report.plan_json import plan_json
from speccheck.validator.report.plan_text import plan_text
from speccheck.validator.run.plan_view import plan_view
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
    context_facts(request.judging.context)  # refuses unknown names before any work
    view = plan_view(request, assignments(line.texts("what_if")))
    full = line.has("full")
    forms: Forms = {
        "text": lambda style: plan_text(view, style, full=full),
        "json": lambda _: plan_json(view),
    }
    write_forms(line, outputs, forms)
    if any(
        file.state == "unreadable"
        or (file.named and file.state not in {"judged", "excluded"})
        for file in view.files
    ):
        return USAGE
    return 0 if view.plans else _NOTHING

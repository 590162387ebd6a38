"""`speccheck plan FILE...`: the plan that the files make, and others (`--what-if`)."""

import sys

from speccheck.validator.changes.what_if.assignments import WhatIfError, assignments
from speccheck.validator.cli.option_table import OPTIONS
from speccheck.validator.cli.options import Parsed, parse
from speccheck.validator.cli.request import (
    BUG,
    REFUSALS,
    Output,
    bug_message,
    files_request,
    list_of,
    outputs_of,
    passes_on,
    style_of,
)
from speccheck.validator.cli.settled import with_settings
from speccheck.validator.report.write import write
from speccheck.validator.run.plan_view import PlanView, plan_view
from speccheck.validator.sources.context import context_facts

_FORMATS = ("text", "json")
_USAGE = 2
# What settings say of reports is meant for the reports of judgements.
_OF_REPORTS = {"--output", "--fail-on"}
OF_PLANS = tuple(one for one in OPTIONS if one.flag not in _OF_REPORTS)
_NOTHING = 3


def show_plan(words: list[str]) -> int:
    """Show the plans of files; returns the exit code.

    0: there is a plan; 2: usage, or an input that could not be read; 3: no plan.
    """
    try:
        parsed = parse(words)
        outputs = outputs_of(parsed, _FORMATS)
        parsed = with_settings(parsed, OF_PLANS)
        request = files_request(parsed)
        context_facts(request.judging.context)  # refuses unknown names before any work
        view = plan_view(request, assignments(list_of(parsed, "what_if")))
        for output in outputs:
            write(_text(view, output, parsed), output.path)
    except (*REFUSALS, WhatIfError) as error:
        sys.stderr.write(f"speccheck: {error}\n")
        return _USAGE
    except Exception as error:
        if passes_on(error):
            raise
        sys.stderr.write(f"speccheck: {bug_message(error)}\n")
        return BUG
    if any(
        file.state == "unreadable"
        or (file.named and file.state not in {"judged", "excluded"})
        for file in view.files
    ):
        return _USAGE
    return 0 if view.plans else _NOTHING


def _text(view: PlanView, output: Output, parsed: Parsed) -> str:
    if output.format == "json":
        from speccheck.validator.report.plan_json import plan_json  # noqa: PLC0415

        return plan_json(view)
    from speccheck.validator.report.plan_text import plan_text  # noqa: PLC0415

    style = style_of(parsed, to_file=output.path is not None)
    return plan_text(view, style, full="full" in parsed.values)

"""`speccheck bench judge`: which node the results of a tournament speak against."""

from collections.abc import Iterable

from speccheck.validator.cli.bench_plan import about, bench_guarded
from speccheck.validator.cli.bench_results import limits_of, plans_of, results_of
from speccheck.validator.cli.option_table import Kind, Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import list_of, outputs_of, style_of
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.report.style import Style
from speccheck.validator.report.write import write
from speccheck.validator.straggler_search.follow_up import Outcome, outcome_of
from speccheck.validator.straggler_search.judgement import Limits, judge
from speccheck.validator.straggler_search.rounds import plan_text

FORMATS = ("text", "json")


def _option(
    flag: str, text: str, metavar: str = "", *, several: bool = False
) -> Option:
    kind: Kind = "text" if metavar else "switch"
    return Option(flag, text, kind, metavar, repeatable=several, group="Judgement")


OPTIONS: tuple[Option, ...] = (
    _option("--plan", "what was to be measured: who is missing", "FILE", several=True),
    _option("--next", "write the rounds that come next", "FILE"),
    _option("--output", "text or json", "FORMAT[=FILE]", several=True),
    _option("--full", "show every node, also those that are cleared"),
    _option("--color", "auto (default), always or never", "WHEN"),
)
HELP = f"""\
usage: speccheck bench judge RESULT ... [options]

Reads the results of sets of nodes - of `speccheck bench`, of nccl-tests and of any
other tool whose results name their hosts - and says which nodes are slow. A node is
blamed when two sets with different partners were slow, and these partners were fast
elsewhere. Give all results of all rounds together. Sets of different size, collective
or message are never compared with each other.

Exit codes: 0 no node is slow, and each planned one was measured; 1 a node is slow;
2 the command line or a file is wrong; 3 not decided: measure the rounds of --next.
{options_help(OPTIONS)}
"""


def command(name: str, words: list[str]) -> int:
    """Judge results; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    return bench_guarded(name, _judge, words)


def _judge(words: list[str]) -> int:
    parsed = parse(words, OPTIONS)
    if not parsed.files:
        message = "no result given: speccheck bench judge RESULT ..."
        raise UsageError(message)
    outputs = outputs_of(parsed, FORMATS)
    plans = plans_of(list_of(parsed, "plan"))
    limits = limits_of(load_edition())
    found = results_of(parsed.files)
    outcome = outcome_of(judge(found.runs, limits), plans, found.problems)
    written = _write_next(outcome, parsed)
    for output in outputs:
        if output.format == "json":
            text = _json(outcome, limits)
        else:
            style = style_of(parsed, to_file=output.path is not None)
            text = _text(outcome, limits, style, parsed, written)
        write(text, output.path)
    return outcome.exit_code


def _write_next(outcome: Outcome, parsed: Parsed) -> str:
    """Write the next plan where one is wanted and there is one; returns its file."""
    path, plan = parsed.values.get("next"), outcome.following
    if not isinstance(path, str) or plan is None:
        return ""
    write(plan_text(plan, about(plan)), path)
    return path


def _json(outcome: Outcome, limits: Limits) -> Iterable[str]:
    from speccheck.validator.report.bench_judgement_json import (  # noqa: PLC0415
        judgement_json,
    )

    return judgement_json(outcome, limits)


def _text(
    outcome: Outcome, limits: Limits, style: Style, parsed: Parsed, written: str
) -> Iterable[str]:
    from speccheck.validator.report.bench_judgement_text import (  # noqa: PLC0415
        judgement_text,
    )

    full = "full" in parsed.values
    return judgement_text(outcome, limits, style, full=full, written=written)

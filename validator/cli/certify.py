"""`speccheck certify --plan`: what to run for a certificate of a type of machine."""

from speccheck.validator.certification.run_commands import ENGINES
from speccheck.validator.certification.run_plan import RunPlan, run_plan
from speccheck.validator.cli.evidence import asked_in
from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import REFUSALS, one_of
from speccheck.validator.options import Option
from speccheck.validator.report.run_plan_text import run_plan_text
from speccheck.validator.report.write import write

_GROUP = "Certification"
_USAGE = 2
_MOST_NODES = 100_000
OPTIONS: tuple[Option, ...] = (
    Option("--plan", "what to run, and stop", "switch", group=_GROUP),
    Option(
        "--profile",
        "type of machine: instance/azure-nd96isr-h100-v5",
        "text",
        "P",
        repeatable=True,
        group=_GROUP,
    ),
    Option("--level", "L1, L2 or L3 (default)", "text", "LEVEL", group=_GROUP),
    Option("--nodes", "to run on", "integer", "N", group=_GROUP),
    Option(
        "--engine", "slurm (default), mpi or torchrun", "text", "NAME", group=_GROUP
    ),
    Option("--spec", "edition, or a folder with one", "text", "EDITION", group=_GROUP),
)
HELP = f"""\
usage: speccheck certify --plan --profile instance/TYPE [options]

Says what to run for a certificate: step by step, on how many nodes, how long it takes,
with the commands of the engine, and which clauses of which track and level each step
settles.

Exit codes: 0; 2 the command line is wrong; 4 a bug of speccheck.
{options_help(OPTIONS)}
"""


def certify(words: list[str]) -> int:
    """Say what to run; returns the exit code."""
    if not words or words[0] in {"-h", "--help"}:
        write(HELP, None)
        return 0 if words else _USAGE
    return guarded(lambda: _certify(parse(words, OPTIONS)), REFUSALS)


def _certify(parsed: Parsed) -> int:
    if parsed.files:
        message = f"certify takes no file: {parsed.files[0]}"
        raise UsageError(message)
    if "plan" not in parsed.values:
        message = "certify needs --plan"
        raise UsageError(message)
    write(run_plan_text(planned(parsed)), None)
    return 0


def planned(parsed: Parsed) -> RunPlan:
    """What a command line asks to run; raises UsageError."""
    engine = one_of(parsed, "engine", ENGINES)
    nodes = parsed.values.get("nodes")
    number = nodes if isinstance(nodes, int) else None
    if number is not None and number > _MOST_NODES:
        message = f"--nodes {number}: at most {_MOST_NODES:,}"
        raise UsageError(message)
    asked = asked_in(parsed)
    least = asked.terms.least_specimens or 1
    if number is not None and asked.level != "L1" and number < least:
        message = f"--nodes {number}: a type is known by {least} machines at least"
        raise UsageError(message)
    return run_plan(asked, next(one for one in ENGINES if one == engine), number)

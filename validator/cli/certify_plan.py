"""`speccheck certify --plan`: what to run for a certificate of a type of machine."""

from speccheck.validator.certification.run_plan import ENGINES, RunPlan, run_plan
from speccheck.validator.cli.evidence import asked_in
from speccheck.validator.cli.options import Parsed, UsageError
from speccheck.validator.cli.request import one_of

_MOST_NODES = 100_000


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

"""`speccheck bench plan`: who measures with whom, round by round."""

import sys
from collections.abc import Callable

from speccheck.validator.cli.bench_results import limits_of, results_of
from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import Kind, Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import (
    list_of,
    one_of,
)
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.node.host_names import HostNamesError, fold, unfold
from speccheck.validator.report.style import counted, wrap
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.straggler_search.follow_up import next_plan
from speccheck.validator.straggler_search.judgement import judge
from speccheck.validator.straggler_search.rounds import (
    PAIR,
    Plan,
    all_pair_rounds,
    groups,
    pairs,
    plan_lines,
    plan_text,
)

KINDS = ("pairs", "groups")
FORMATS = ("json", "lines")
_REFUSED = (UsageError, WriteError, HostNamesError)
_WIDTH = 80
# Start-up of a collective and its largest messages; engineering default.
_ROUND_SECONDS = 60.0


def _option(flag: str, text: str, metavar: str, kind: Kind = "text") -> Option:
    return Option(flag, text, kind, metavar, flag == "--after", "Plan")


OPTIONS: tuple[Option, ...] = (
    _option("--nodes", "node[001-064], or @FILE, a name a line", "LIST"),
    _option("--kind", "pairs (default) or groups", "KIND"),
    _option("--group-size", "nodes of a group (default up to 32)", "N", "integer"),
    _option("--rounds", "default: each node meets three others", "N", "integer"),
    _option("--after", "results so far: plan what comes next", "RESULT"),
    _option("--round-seconds", "how long one takes (default 60)", "S", "number"),
    _option("--format", "json (default), or lines: round set hosts", "FORMAT"),
    _option("--out", "write the plan to a file", "FILE"),
)
HELP = f"""\
usage: speccheck bench plan --nodes LIST [options]
       speccheck bench plan --after RESULT ... [options]

Writes rounds of disjoint sets of nodes: all sets of a round measure at the same time. A
slow node shows as the one whose sets are all slow. Groups need fewer rounds where there
are many nodes; after them, suspects are measured again with nodes that are cleared.

  speccheck bench plan --nodes "$SLURM_JOB_NODELIST" --out plan.json
  srun speccheck bench all-reduce --plan plan.json --out results.json
  speccheck bench judge results.json --plan plan.json --next next.json
{options_help(OPTIONS)}
"""


def command(name: str, words: list[str]) -> int:
    """Write a plan; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    return bench_guarded(name, _plan, words)


def bench_guarded(name: str, run: Callable[[list[str]], int], words: list[str]) -> int:
    """Run a command of `bench`; every error is one line on standard error."""
    return guarded(lambda: run(words), _REFUSED, f"bench {name}")


def _plan(words: list[str]) -> int:
    parsed = parse(words, OPTIONS)
    form = one_of(parsed, "format", FORMATS)
    results = [*list_of(parsed, "after"), *parsed.files]
    plan = _after(parsed, results) if results else _first(parsed)
    out = parsed.values.get("out")
    pieces = plan_lines(plan) if form == "lines" else plan_text(plan, about(plan))
    write(pieces, out if isinstance(out, str) else None)
    sys.stderr.write(_summary(plan, parsed))
    return 0


def _first(parsed: Parsed) -> Plan:
    hosts = _hosts(parsed)
    if len(hosts) < PAIR:
        message = f"--nodes: {counted(len(hosts), 'node')}; it takes two to compare"
        raise UsageError(message)
    size, rounds = _integer(parsed, "group_size"), _integer(parsed, "rounds")
    if one_of(parsed, "kind", KINDS) == "pairs":
        if size not in {None, PAIR}:
            message = f"--group-size {size} goes with --kind groups"
            raise UsageError(message)
        most = all_pair_rounds(len(hosts))
        if rounds is not None and rounds > most:
            message = f"--rounds {rounds}: all pairs of {len(hosts):,} nodes have met "
            raise UsageError(message + f"after {most:,} rounds")
        return pairs(hosts, rounds)
    if size is not None and size > len(hosts):
        message = f"--group-size {size}: there are only {len(hosts):,} nodes"
        raise UsageError(message)
    return groups(hosts, size, rounds)


def _after(parsed: Parsed, results: list[str]) -> Plan:
    for name in ("nodes", "group_size", "rounds"):
        if name in parsed.values:
            flag = "--" + name.replace("_", "-")
            message = f"{flag} goes without --after: the results say who is left"
            raise UsageError(message)
    found = results_of(results)
    for problem in found.problems:
        sys.stderr.write(f"speccheck: not read: {problem}\n")
    plan = next_plan(judge(found.runs, limits_of(load_edition())))
    return plan if plan is not None else Plan("pairs", ())


def _hosts(parsed: Parsed) -> tuple[str, ...]:
    text = parsed.values.get("nodes")
    if not isinstance(text, str):
        message = "--nodes is missing: --nodes 'node[001-064]', or --after RESULT ..."
        raise UsageError(message)
    names = _listed(text[1:]) if text.startswith("@") else unfold(text)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            message = f"--nodes: {name} is named twice"
            raise UsageError(message)
        seen.add(name)
    return names


def _listed(path: str) -> tuple[str, ...]:
    """The first word of each line, as hostfiles of MPI have them."""
    try:
        lines = read_text(path).splitlines()
    except ReadError as error:
        raise UsageError(str(error)) from error
    words = [line.partition("#")[0].split() for line in lines]
    return tuple(name for one in words if one for name in unfold(one[0]))


def about(plan: Plan) -> dict[str, object]:
    """What else the document says of a plan."""
    hosts = plan.hosts
    waiting = [
        fold(host for host in hosts if host not in taken)
        for sets in plan.rounds
        for taken in ({host for one in sets for host in one},)
    ]
    return {
        "nodes": fold(hosts),
        "set_size": plan.largest_set,
        **({"waiting": waiting} if any(waiting) else {}),
    }


def _summary(plan: Plan, parsed: Parsed) -> str:
    if not plan.rounds:
        return "nobody is suspected: nothing is left to measure\n"
    seconds = parsed.values.get("round_seconds")
    each = float(seconds) if isinstance(seconds, int | float) else _ROUND_SECONDS
    sets = max(map(len, plan.rounds))
    hosts = plan.hosts
    total = len(plan.rounds) * each
    text = (
        f"{counted(len(hosts), 'node')} in {counted(len(plan.rounds), 'round')} of up "
        f"to {counted(sets, 'set')} of {plan.largest_set}: about {_duration(total)} if "
        f"a round takes {each:g} s"
    )
    if all_pair_rounds(len(hosts)) == len(plan.rounds) and plan.kind == "pairs":
        text += "; every pair meets once"
    return wrap(text, _WIDTH, "") + "\n"


def _duration(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes are told in minutes
        return f"{seconds:g} s"
    if seconds < 7200:  # noqa: PLR2004 - two hours in hours
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _integer(parsed: Parsed, name: str) -> int | None:
    value = parsed.values.get(name)
    return value if isinstance(value, int) else None

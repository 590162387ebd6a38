"""`speccheck bench expect`: what a collective should reach, before anybody measured it.

And whether a threshold that somebody wrote down can be reached at all.
"""

from collections.abc import Iterator

from speccheck.probes.collectives.settings import OPERATIONS
from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.cli.bench_options import size_of
from speccheck.validator.cli.bench_plan import bench_guarded
from speccheck.validator.cli.option_table import OF_JUDGING, Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import request_of, style_of
from speccheck.validator.engine.assemble import assemble, unmeasured_run
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
)
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.bandwidth import Prospect, prospect
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.style import Style, counted, wrap
from speccheck.validator.report.write import write
from speccheck.validator.sources.context import Context, context_facts

_SIZES = tuple(2**power for power in range(30, 35))  # 1 to 16 GiB: where floors hold
_USED = {"--nodes", "--gpus-per-node", "--gpu", "--instance", "--fabric", "--color"}
OPTIONS: tuple[Option, ...] = (
    Option("--size", "of the message (default 1GiB to 16GiB)", "text", "SIZE"),
    Option("--threshold", "refuse it where nobody can reach it", "number", "GB/S"),
    *(one for one in OF_JUDGING if one.flag in _USED),
)
_REFUSED, _NOT_KNOWN = 1, 3
HELP = f"""\
usage: speccheck bench expect COLLECTIVE --instance NAME [--nodes N] [options]

Says what bus bandwidth a collective should reach on so many nodes of a type of machine:
the ceiling of the wires, what healthy machines reach, and the floors below which
`speccheck` warns and fails. COLLECTIVE is one of {", ".join(OPERATIONS)}.

Exit codes: 0; 1 nobody can reach the threshold; 2 the command line is wrong; 3 nothing
is known of such machines.
{options_help(OPTIONS)}
"""


def command(name: str, words: list[str]) -> int:
    """Say what is expected; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    return bench_guarded(name, _expect, words)


def _expect(words: list[str]) -> int:
    parsed = parse(words, OPTIONS)
    collective = _collective(parsed)
    context = request_of(parsed).judging.context
    sizes = _SIZES
    if told := size_of(parsed, "size"):
        sizes = (told,)
    try:
        context_facts(context)
        run, about = _question(collective, context, sizes)
        looks = [(size, prospect(run, about, size, None)) for size in sizes]
    except UnknownName as error:
        raise UsageError(str(error)) from error
    except MissingEvidence as missing:
        write(f"not known: needs {missing.name}: {missing.reason}\n", None)
        return _NOT_KNOWN
    style = style_of(parsed, to_file=False)
    lines = [_title(run, context), *_table(looks), *_words(looks, style)]
    refusal = _refusal(parsed, looks)
    write("\n".join([*lines, *filter(None, [refusal])]) + "\n", None)
    if refusal:
        return _REFUSED
    return 0 if any(one.settings for _, one in looks) else _NOT_KNOWN


def _collective(parsed: Parsed) -> str:
    name = parsed.files[0] if len(parsed.files) == 1 else ""
    if name not in OPERATIONS:
        message = f"name one collective: {', '.join(OPERATIONS)}"
        raise UsageError(message)
    return OPERATIONS[name]


def _question(
    collective: str, context: Context, sizes: tuple[int, ...]
) -> tuple[CollectiveRun, Conditions]:
    """A run that nobody made, and what is known of its machines."""
    gpus = assemble((), context).plan.value("cluster.gpus_per_node").value
    if gpus is None:
        message = "how many GPUs has a node: --instance or --gpus-per-node"
        raise UsageError(message)
    return unmeasured_run(collective, context, gpus, sizes)


def _title(run: CollectiveRun, context: Context) -> str:
    ranks, nodes = run.ranks.need(), run.nodes.need()
    where = context.instance or context.gpu or "this machine"
    text = f"{run.collective.need()} over {counted(ranks, 'GPU')} in "
    return f"{text}{counted(nodes, 'node')} of {where}, bus bandwidth in GB/s"


def _table(looks: list[tuple[int, Prospect]]) -> Iterator[str]:
    yield ""
    yield f"  {'size':<10}{'ceiling':>9}{'healthy':>9}{'warning':>9}{'failure':>9}"
    for size, look in looks:
        tops = [one.ceiling for one in look.possible]
        top = max((one for one in tops if one is not None), default=None)
        usual = [one.reference.value for one in look.possible if one.reference]
        warn, fail = look.highest.warn_below, look.lowest.fail_below
        if look.reason:
            warn = fail = None
        cells = (top, max(usual, default=None), warn, fail)
        yield f"  {shown_bytes(size):<10}" + "".join(map(_cell, cells))
    yield ""


def _cell(rate: float | None) -> str:
    return f"{'-' if rate is None else f'{rate / GIGA:.0f}':>9}"


def _words(looks: list[tuple[int, Prospect]], style: Style) -> Iterator[str]:
    """On what it rests, or why there are no floors."""
    for text in dict.fromkeys(one.reason or one.highest.basis for _, one in looks):
        yield wrap(text, style.width, "  ")
    for text in dict.fromkeys(why for _, one in looks for why in one.open):
        yield wrap(f"not known: {text}", style.width, "  ")


def _refusal(parsed: Parsed, looks: list[tuple[int, Prospect]]) -> str:
    told = parsed.values.get("threshold")
    if not isinstance(told, int | float):
        return ""
    for size, look in reversed(looks):
        if why := look.refusal(told * GIGA, size):
            return f"  refused: {why}"
    return ""

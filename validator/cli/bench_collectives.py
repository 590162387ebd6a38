"""`speccheck bench all-reduce` and its like: measure a collective, then judge it.

`speccheck bench expect` says what a collective should reach, before anybody measured
it, and whether a threshold that somebody wrote down can be reached at all.

Started alone it starts one process a GPU. Under torchrun, srun or mpirun each rank runs
it: rank 0 writes and prints, the others stay silent unless they fail.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from speccheck.probes.collectives.rank import Rank, RankEnding
from speccheck.probes.collectives.results import Results
from speccheck.probes.collectives.settings import (
    BACKENDS,
    DATA_TYPES,
    OPERATIONS,
    Settings,
)
from speccheck.probes.collectives.told import (
    UNDER_WAY,
    MeasuredCollective,
    measured_here,
    teller,
)
from speccheck.probes.collectives.world import World, WrongWorld, read_world
from speccheck.probes.parent import end_with_named_parent
from speccheck.probes.torch_library import NEEDED, NoTorch, load
from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.cli.command_line import (
    CommandLine,
    UsageError,
    parse,
    with_settings,
)
from speccheck.validator.cli.command_table import Command
from speccheck.validator.cli.guarded import BUG, REFUSALS, bug_message, passes_on
from speccheck.validator.cli.option_table import FAIL_ON
from speccheck.validator.cli.plain import judge
from speccheck.validator.cli.reports import outputs_of, picture_of, style_of
from speccheck.validator.cli.request import request_of
from speccheck.validator.engine.assemble import assemble, unmeasured_run
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
)
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.bandwidth import Prospect, prospect
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.measured_text import collective_table, table_row
from speccheck.validator.report.style import Style, counted, wrap
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.sources.context import Context, context_facts

_MOST_RANKS = 1024
_MOST_SECONDS = 86_400.0
_MOST_ITERATIONS = 1_000_000
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LARGEST_BYTES = 2**44
_NAME = "this measurement"
_AFTERWARDS_SECONDS, _AFTERWARDS_SHARE = 2.0, 0.2
_SIZES = tuple(2**power for power in range(30, 35))  # 1 to 16 GiB: where floors hold
_REFUSED, _NOT_KNOWN = 1, 3  # of what is expected
_WRONG, _USAGE, _CUT_SHORT, _INTERRUPTED = 1, 2, 3, 130


def settings_of(name: str, line: CommandLine) -> Settings:
    """Return what is to be measured; raises UsageError."""
    line.demand_no_file("see --plan and --out")
    smallest = size_of(line, "min_size") or 2**20
    largest = size_of(line, "max_size") or 0
    if largest and largest < smallest:
        shown = line.text("max_size")
        message = f"--max-size {shown}: must not be below --min-size ({smallest} bytes)"
        raise UsageError(message)
    out = line.text("out")
    if out is not None:
        _verify_folder(out)
    return Settings(
        collective=OPERATIONS[name],
        backend=line.word("backend", BACKENDS) if line.has("backend") else "",
        smallest_bytes=smallest,
        largest_bytes=largest,
        iterations=_iterations(line),
        warmup_iterations=_warm_up(line),
        data_type=line.word("data_type", tuple(DATA_TYPES)),
        compares=not line.has("no_compare"),
        budget_seconds=_seconds(line, "budget") or 0.0,
        deadline_seconds=_seconds(line, "deadline") or 120.0,
        timeout_seconds=_seconds(line, "timeout") or 60.0,
        rounds=_rounds(line.text("plan")),
    )


def ranks_of(line: CommandLine) -> int | None:
    """Return how many processes to start; raises UsageError."""
    ranks = line.integer("ranks")
    if ranks is not None and not 2 <= ranks <= _MOST_RANKS:  # noqa: PLR2004 - one rank has no other
        message = f"--ranks {ranks}: must be from 2 to {_MOST_RANKS}"
        raise UsageError(message)
    return ranks


def _iterations(line: CommandLine) -> int:
    result = line.integer("iterations") or 20
    if result > _MOST_ITERATIONS:
        message = f"--iterations {result}: must be at most {_MOST_ITERATIONS:,}"
        raise UsageError(message)
    return result


def _warm_up(line: CommandLine) -> int:
    text = line.text("warm_up") or "5"
    if not text.isdecimal() or int(text) > _MOST_ITERATIONS:
        message = f"--warm-up {text}: must be a whole number from 0"
        raise UsageError(message)
    return int(text)


def _seconds(line: CommandLine, name: str) -> float | None:
    text = line.text(name)
    if text is None:
        return None
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MOST_SECONDS:
        message = f"--{name} {text}: must be seconds above zero, such as 60s"
        raise UsageError(message)
    return seconds


def size_of(line: CommandLine, name: str) -> int | None:
    """Return bytes: 4MiB and, as nccl-tests has it, 4M are the same; 4MB is less."""
    text = line.text(name)
    if text is None:
        return None
    match = _SIZE.fullmatch(text.strip())
    size = 0
    if match:
        number, unit, binary, byte = match.groups()
        base = 1000 if unit and byte and not binary else 1024
        size = int(float(number) * base ** _POWERS[unit.lower()])
    if not 0 < size <= _LARGEST_BYTES:
        flag = "--" + name.replace("_", "-")
        message = f"{flag} {text}: must be a size above zero, such as 1MiB or 8GiB"
        raise UsageError(message)
    return size


def _verify_folder(path: str) -> None:
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        message = f"--out {path}: {folder} must be a folder to write to"
        raise UsageError(message)
    if os.path.isdir(path):
        message = f"--out {path}: is a folder"
        raise UsageError(message)


def _rounds(path: str | None) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return the rounds of a plan: in each, the sets of hosts that measure together."""
    if path is None:
        return ()
    # Few measurements go by a plan.
    from speccheck.validator.cli.bench_search import plans_of  # noqa: PLC0415

    (plan,) = plans_of([path])
    if not plan.rounds:
        message = f"--plan {path}: it has no rounds"
        raise UsageError(message)
    return plan.rounds


def measure_collective(words: list[str], command: Command) -> int:
    """Measure and judge; returns the exit code."""
    name = command.words[-1]
    began = time.monotonic()
    is_silent = False
    try:
        end_with_named_parent()
        world = read_world(os.environ)
        is_silent = world is not None and world.rank > 0
        line = _parsed(words, command, world)
        settings = settings_of(name, line)
        if find_spec("torch") is None:
            _refuse_without_torch(name)
        if world is None:
            return _alone(name, words, line, settings)
        return _as_rank(world, words, line, settings, _until(began, settings))
    except (*REFUSALS, WrongWorld, NoTorch) as error:
        if not is_silent:
            _say(str(error))
        return _USAGE
    except Exception as error:
        if passes_on(error):
            raise
        _say(bug_message(error))
        return BUG


def _request(line: CommandLine) -> Request:
    return request_of(line, "preflight")


def _until(began: float, settings: Settings) -> float | None:
    """Return when measuring ends, so that reports stay within the budget."""
    budget = settings.budget_seconds
    if not budget:
        return None
    return began + budget - min(_AFTERWARDS_SECONDS, _AFTERWARDS_SHARE * budget)


def _refuse_without_torch(name: str) -> None:
    message = f"bench {name} {NEEDED}"
    raise NoTorch(message)


def _say(message: str) -> None:
    sys.stderr.write(f"speccheck: {message}\n")
    sys.stderr.flush()


def _parsed(words: list[str], command: Command, world: World | None) -> CommandLine:
    """Return the command line, known to be right before anything takes time."""
    line = with_settings(parse(words, command.options, command.name))
    ranks = ranks_of(line)
    if ranks is not None and world is not None and ranks != world.size:
        message = f"--ranks {ranks}: {world.launcher} has started {world.size} ranks"
        raise UsageError(message)
    outputs_of(line)
    picture_of(line)
    line.word("fail_on", FAIL_ON)
    context_facts(_request(line).judging.context)
    return line


def _alone(name: str, words: list[str], line: CommandLine, settings: Settings) -> int:
    """Start the ranks of this machine and hear what rank 0 tells."""
    ranks = ranks_of(line) or _gpus(name, settings)
    keep = _keeper(line.text("out"))
    measured = measured_here(["bench", name, *words], ranks, keep)
    return _judged(words, line, settings, measured)


def _gpus(name: str, settings: Settings) -> int:
    """Return how many GPUs torch sees here.

    Raises UsageError where that makes no world.
    """
    seen = "gloo measures processes"
    if settings.backend != "gloo":
        count: int = load().cuda.device_count()
        if count > 1:
            return count
        seen = f"torch sees {count or 'no'} GPU here"
    message = (
        f"bench {name} needs at least two ranks, and {seen}: --ranks 4 measures "
        "processes of this machine; torchrun, srun or mpirun start it on several"
    )
    raise UsageError(message)


def _as_rank(
    world: World,
    words: list[str],
    line: CommandLine,
    settings: Settings,
    until: float | None,
) -> int:
    """Measure as one rank among others."""
    tell = teller()
    keep_file = _keeper(line.text("out"))
    progress = _progress()

    def keep(results: Results) -> None:
        text = results.text() if results.has_points else ""
        if tell is not None:
            tell(MeasuredCollective(text, UNDER_WAY))
        else:
            keep_file(text)
        progress(results)

    rank = Rank(world, settings, until, keep)
    with _standard_output_aside():
        ending = rank.run()
    results = rank.results
    text = results.text() if results is not None and results.has_points else ""
    if world.rank > 0:
        if ending.message:
            _say(ending.message)
        return _code(ending)
    measured = MeasuredCollective(text, ending)
    if tell is not None:
        tell(measured)
        code = _code(ending)
    else:
        code = _judged(words, line, settings, measured)
    rank.close()
    return code


def _keeper(path: str | None) -> Callable[[str], None]:
    """Return what writes results so far to the file of `--out`.

    The last time counts.
    """

    def keep(text: str) -> None:
        if path is not None and text:
            with suppress(WriteError):
                write(text, path)

    return keep


def _progress() -> Callable[[Results], None]:
    """Return what writes a line for each size to a terminal, when it is measured."""
    shown: dict[tuple[int, int], int] = {}
    if not sys.stderr.isatty():
        return lambda results: None  # noqa: ARG005

    def show(results: Results) -> None:
        for run, place in zip(results.content(), sorted(results.runs), strict=True):
            points = len(run.get("size_bytes", ()))
            for at in range(shown.get(place, 0), points):
                sys.stderr.write(f"{table_row(run, at)}\n")
            shown[place] = points
        sys.stderr.flush()

    return show


@contextmanager
def _standard_output_aside() -> Generator[None, None, None]:
    """Let what libraries print, as NCCL and gloo do, go where errors go."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _code(ending: RankEnding) -> int:
    if ending.kind == "interrupt":
        return _INTERRUPTED
    if ending.kind == "refused":
        return _USAGE
    return 0 if ending.kind == "complete" else _CUT_SHORT


def _judged(
    words: list[str],
    line: CommandLine,
    settings: Settings,
    measured: MeasuredCollective,
) -> int:
    """Keep, show and judge what was measured; returns the exit code."""
    text, ending = measured
    if ending.kind != "complete":
        _say(_ending_message(ending, settings, has_points=bool(text)))
    if not text:
        return _code(ending)
    path = line.text("out")
    try:
        if path is not None:
            write(text, path)
    except WriteError as error:
        _say(f"{error}; the measurement follows on standard output")
        write(text, None)
        return _USAGE
    data: dict[str, Any] = json.loads(text)
    outputs = outputs_of(line)
    if any(output.path is None and output.format == "text" for output in outputs):
        write(collective_table(data), None)

    def prepared(request: Request, _: CommandLine) -> Request:
        return request._replace(node=path or _NAME, snapshot=text)

    code = judge(words, line.options, _request, prepared)
    return _joint(code, _code(ending) or _unasked(data, line), _wrong(data))


def _unasked(data: Mapping[str, Any], line: CommandLine) -> int:
    """Return the code where hosts were measured, since no rank has a GPU; says so.

    On a machine that lost its GPUs it must not look like a measurement of them.
    """
    backends = {run.get("backend") for run in data["collective_runs"]}
    if backends != {"gloo"} or line.text("backend") is not None:
        return 0
    _say(
        "no rank has a GPU that torch can use: hosts were measured, over gloo; if that "
        "is what is meant, say --backend gloo"
    )
    return _CUT_SHORT


def _ending_message(ending: RankEnding, settings: Settings, *, has_points: bool) -> str:
    after = "; what was measured until then follows" if has_points else ""
    if ending.kind == "budget":
        return f"the time budget of {settings.budget_seconds:g} s is used up{after}"
    if ending.kind == "interrupt":
        return f"interrupted{after}"
    return f"{ending.message}{after}"


def _wrong(data: Mapping[str, Any]) -> int:
    """Return how many values came out wrong; says so."""
    runs = data["collective_runs"]
    wrong = sum(item or 0 for run in runs for item in run.get("wrong_values", ()))
    if wrong:
        hosts = dict.fromkeys(name for run in runs for name in run["wrong_hosts"])
        _say(
            f"{wrong} values came out wrong, on {', '.join(hosts)}: what such a job "
            "trains is wrong too; take its GPUs and links out of service until the "
            "cause is found"
        )
    return wrong


def _joint(judged: int, ending: int, wrong: int) -> int:
    """Return the code of all together: a bug or a usage error, then wrong values."""
    if judged in {_USAGE, BUG} or ending == _INTERRUPTED:
        return ending if ending == _INTERRUPTED else judged
    if wrong or judged == _WRONG:
        return _WRONG
    return ending or judged


def bench_expect(line: CommandLine) -> int:
    """Say what is expected; returns the exit code."""
    collective = _collective(line)
    context = request_of(line).judging.context
    sizes = _SIZES
    if number := size_of(line, "size"):
        sizes = (number,)
    try:
        context_facts(context)
        run, about = _question(collective, context, sizes)
        looks = [(size, prospect(run, about, size, None)) for size in sizes]
    except UnknownName as error:
        raise UsageError(str(error)) from error
    except MissingEvidence as missing:
        write(f"not known: needs {missing.name}: {missing.reason}\n", None)
        return _NOT_KNOWN
    style = style_of(line, to_file=False)
    lines = [_title(run, context), *_table(looks), *_words(looks, style)]
    refusal = _refusal(line, looks)
    write("\n".join([*lines, *filter(None, [refusal])]) + "\n", None)
    if refusal:
        return _REFUSED
    return 0 if any(item.settings for _, item in looks) else _NOT_KNOWN


def _collective(line: CommandLine) -> str:
    name = line.files[0] if len(line.files) == 1 else ""
    if name not in OPERATIONS:
        message = f"name one collective: {', '.join(OPERATIONS)}"
        raise UsageError(message)
    return OPERATIONS[name]


def _question(
    collective: str, context: Context, sizes: tuple[int, ...]
) -> tuple[CollectiveRun, Conditions]:
    """Return a run that nobody made, and what is known of its machines."""
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
        tops = [expectation.ceiling for expectation in look.possible]
        top = max((top for top in tops if top is not None), default=None)
        usual = [
            expectation.reference.value
            for expectation in look.possible
            if expectation.reference
        ]
        warn, fail = look.highest.warn_below, look.lowest.fail_below
        if look.reason:
            warn = fail = None
        cells = (top, max(usual, default=None), warn, fail)
        yield f"  {shown_bytes(size):<10}" + "".join(map(_cell, cells))
    yield ""


def _cell(rate: float | None) -> str:
    return f"{'-' if rate is None else f'{rate / GIGA:.0f}':>9}"


def _words(looks: list[tuple[int, Prospect]], style: Style) -> Iterator[str]:
    """Yield what the floors rest on, or why there are none."""
    for text in dict.fromkeys(item.reason or item.highest.basis for _, item in looks):
        yield wrap(text, style.width, "  ")
    for text in dict.fromkeys(why for _, item in looks for why in item.open):
        yield wrap(f"not known: {text}", style.width, "  ")


def _refusal(line: CommandLine, looks: list[tuple[int, Prospect]]) -> str:
    value = line.number("threshold")
    if value is None:
        return ""
    for size, look in reversed(looks):
        if why := look.refusal(value * GIGA, size):
            return f"  refused: {why}"
    return ""

"""`speccheck bench all-reduce` and its like: measure a collective, then judge it.

Started alone it starts one process a GPU. Under torchrun, srun or mpirun each rank runs
it: rank 0 writes and prints, the others stay silent unless they fail.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from speccheck.probes.collectives.rank import Ending, Rank
from speccheck.probes.collectives.results import Results
from speccheck.probes.collectives.settings import OPERATIONS, Settings
from speccheck.probes.collectives.told import (
    UNDER_WAY,
    Measured,
    measured_here,
    teller,
)
from speccheck.probes.collectives.world import World, WrongWorld, read_world
from speccheck.probes.parent import end_as_asked
from speccheck.probes.torch_library import NEEDED, NoTorch, load
from speccheck.validator.cli.bench_options import (
    OPTIONS,
    ranks_of,
    settings_of,
    text_of,
)
from speccheck.validator.cli.option_table import FAIL_ON
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.plain import judge
from speccheck.validator.cli.request import (
    BUG,
    REFUSALS,
    bug_message,
    one_of,
    outputs_of,
    passes_on,
    picture_of,
    request_of,
)
from speccheck.validator.cli.settled import with_settings
from speccheck.validator.engine.request import Request
from speccheck.validator.report.form import NAMES
from speccheck.validator.report.measured_text import collective_table, table_row
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.sources.context import context_facts

_NAME = "this measurement"
_AFTERWARDS_SECONDS, _AFTERWARDS_SHARE = 2.0, 0.2
_WRONG, _USAGE, _CUT_SHORT, _INTERRUPTED = 1, 2, 3, 130
HELP = f"""\
usage: speccheck bench KIND [options]
KIND:  {", ".join(OPERATIONS)}

Measures a collective over torch.distributed, in messages that double in size, and
judges what it measured as `speccheck FILE` does. Alone it starts one process a GPU of
this machine, or --ranks N of them; over several machines start it with torchrun, srun
or mpirun, one process a GPU:

  srun --ntasks-per-node=8 speccheck bench all-reduce --out run.json

Exit codes: 0 to 4 as `speccheck FILE`; 1 also for wrong values in results; 3 also when
the measurement was cut short, by its budget or a fault, and where no rank has a GPU and
nobody asked for --backend gloo; 130 interrupted. What had been
measured is kept and judged, in the profile preflight unless --profile names another.
{options_help(OPTIONS)}
"""


def command(name: str, words: list[str]) -> int:
    """Measure and judge; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    began = time.monotonic()
    is_silent = False
    try:
        end_as_asked()
        world = read_world(os.environ)
        is_silent = world is not None and world.rank > 0
        parsed = _parsed(words, world)
        settings = settings_of(name, parsed)
        if find_spec("torch") is None:
            _refuse_without_torch(name)
        if world is None:
            return _alone(name, words, parsed, settings)
        return _as_rank(world, words, parsed, settings, _until(began, settings))
    except (*REFUSALS, WrongWorld, NoTorch) as error:
        if not is_silent:
            _say(str(error))
        return _USAGE
    except Exception as error:
        if passes_on(error):
            raise
        _say(bug_message(error))
        return BUG


def _request(parsed: Parsed) -> Request:
    return request_of(parsed, "preflight")


def _until(began: float, settings: Settings) -> float | None:
    """When measuring ends, so that what is said and judged is within the budget."""
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


def _parsed(words: list[str], world: World | None) -> Parsed:
    """The command line, known to be right before anything takes time."""
    parsed = with_settings(parse(words, OPTIONS), OPTIONS)
    ranks = ranks_of(parsed)
    if ranks is not None and world is not None and ranks != world.size:
        message = f"--ranks {ranks}: {world.launcher} has started {world.size} ranks"
        raise UsageError(message)
    outputs_of(parsed, NAMES)
    picture_of(parsed)
    one_of(parsed, "fail_on", FAIL_ON)
    context_facts(_request(parsed).context)
    return parsed


def _alone(name: str, words: list[str], parsed: Parsed, settings: Settings) -> int:
    """Start the ranks of this machine and hear what rank 0 tells."""
    ranks = ranks_of(parsed) or _gpus(name, settings)
    keep = _keeper(text_of(parsed, "out"))
    measured = measured_here(["bench", name, *words], ranks, keep)
    return _judged(words, parsed, settings, measured)


def _gpus(name: str, settings: Settings) -> int:
    """How many GPUs torch sees here; raises UsageError where that makes no world."""
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
    parsed: Parsed,
    settings: Settings,
    until: float | None,
) -> int:
    """Measure as one rank among others."""
    tell = teller()
    keep_file = _keeper(text_of(parsed, "out"))
    progress = _progress()

    def keep(results: Results) -> None:
        text = results.text() if results.has_points else ""
        if tell is not None:
            tell(Measured(text, UNDER_WAY))
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
    measured = Measured(text, ending)
    if tell is not None:
        tell(measured)
        code = _code(ending)
    else:
        code = _judged(words, parsed, settings, measured)
    rank.close()
    return code


def _keeper(path: str | None) -> Callable[[str], None]:
    """Writes what there is to the file of `--out`; the last time counts."""

    def keep(text: str) -> None:
        if path is not None and text:
            with suppress(WriteError):
                write(text, path)

    return keep


def _progress() -> Callable[[Results], None]:
    """Writes a line for each size to a terminal, when it is measured."""
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


def _code(ending: Ending) -> int:
    if ending.kind == "interrupt":
        return _INTERRUPTED
    if ending.kind == "refused":
        return _USAGE
    return 0 if ending.kind == "complete" else _CUT_SHORT


def _judged(
    words: list[str], parsed: Parsed, settings: Settings, measured: Measured
) -> int:
    """Keep, show and judge what was measured; returns the exit code."""
    text, ending = measured
    if ending.kind != "complete":
        _say(_told(ending, settings, has_points=bool(text)))
    if not text:
        return _code(ending)
    path = text_of(parsed, "out")
    try:
        if path is not None:
            write(text, path)
    except WriteError as error:
        _say(f"{error}; the measurement follows on standard output")
        write(text, None)
        return _USAGE
    data: dict[str, Any] = json.loads(text)
    outputs = outputs_of(parsed, NAMES)
    if any(one.path is None and one.format == "text" for one in outputs):
        write(collective_table(data), None)

    def prepared(request: Request, _: Parsed) -> Request:
        return request._replace(node=path or _NAME, snapshot=text)

    code = judge(words, OPTIONS, _request, prepared)
    return _joint(code, _code(ending) or _unasked(data, parsed), _wrong(data))


def _unasked(data: Mapping[str, Any], parsed: Parsed) -> int:
    """The code where hosts were measured, since no rank has a GPU; says so.

    On a machine that lost its GPUs it must not look like a measurement of them.
    """
    backends = {run.get("backend") for run in data["collective_runs"]}
    if backends != {"gloo"} or text_of(parsed, "backend") is not None:
        return 0
    _say(
        "no rank has a GPU that torch can use: hosts were measured, over gloo; if that "
        "is what is meant, say --backend gloo"
    )
    return _CUT_SHORT


def _told(ending: Ending, settings: Settings, *, has_points: bool) -> str:
    after = "; what was measured until then follows" if has_points else ""
    if ending.kind == "budget":
        return f"the time budget of {settings.budget_seconds:g} s is used up{after}"
    if ending.kind == "interrupt":
        return f"interrupted{after}"
    return f"{ending.message}{after}"


def _wrong(data: Mapping[str, Any]) -> int:
    """How many values came out wrong; says so."""
    runs = data["collective_runs"]
    wrong = sum(one or 0 for run in runs for one in run.get("wrong_values", ()))
    if wrong:
        hosts = dict.fromkeys(name for run in runs for name in run["wrong_hosts"])
        _say(
            f"{wrong} values came out wrong, on {', '.join(hosts)}: what such a job "
            "trains is wrong too; take its GPUs and links out of service until the "
            "cause is found"
        )
    return wrong


def _joint(judged: int, ending: int, wrong: int) -> int:
    """The code of all together: a bug or a usage error, then wrong values."""
    if judged in {_USAGE, BUG} or ending == _INTERRUPTED:
        return ending if ending == _INTERRUPTED else judged
    if wrong or judged == _WRONG:
        return _WRONG
    return ending or judged

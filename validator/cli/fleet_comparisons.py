"""What a fleet is laid beside: another day, a golden machine, its own past.

`speccheck fleet --diff OLD --golden FILE --baseline OUT --history DB`.
"""

from collections.abc import Callable, Sequence
from time import time

from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.options import Parsed, UsageError
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.days import Since, day_of, since
from speccheck.validator.fleet.golden import Golden, against_golden, golden_findings
from speccheck.validator.fleet.reading import Listing, listing
from speccheck.validator.fleet.run import FleetRun, Work, judge_fleet
from speccheck.validator.fleet.verdict import FleetVerdict, Unfit
from speccheck.validator.report.write import write

_GROUP = "Comparison"


def _option(flag: str, text: str, metavar: str) -> Option:
    return Option(flag, text, "text", metavar, group=_GROUP)


OPTIONS: tuple[Option, ...] = (
    _option("--diff", "what changed since then: its evidence", "OLD"),
    _option("--golden", "as each node should be: a snapshot, a profile", "FILE"),
    _option("--history", "keep this run in a file, for speccheck history", "FILE"),
    _option("--baseline", "write the profile of this fleet: what is usual", "FILE"),
)
# Other commands have options of these names that mean something else.
OWN = frozenset(one.name for one in OPTIONS)


class Asked(Record):
    """What the command line asks for; read before any node is judged."""

    old: str = ""
    old_listing: Listing | None = None
    golden: Golden | None = None
    profile: str = ""
    history: str = ""

    @property
    def counts(self) -> bool:
        """Whether counters are wanted."""
        return bool(self.old or self.history)


def asked_of(parsed: Parsed) -> Asked:
    """What is asked for; raises UsageError, NoFleet and ReadError."""
    old, golden = (_path(parsed, name) for name in ("diff", "golden"))
    return Asked(
        old,
        listing((old,)) if old else None,
        _golden(golden) if golden else None,
        _path(parsed, "baseline"),
        _history(_path(parsed, "history")),
    )


def _path(parsed: Parsed, name: str) -> str:
    found = parsed.values.get(name, "")
    if found == "":
        if name in parsed.values:
            message = f"--{name} needs a file: --{name} FILE"
            raise UsageError(message)
        return ""
    return str(found)


def without_own(parsed: Parsed) -> Parsed:
    """The command line for those who know other options by these names."""
    values = {name: one for name, one in parsed.values.items() if name not in OWN}
    return parsed._replace(values=values)


def _golden(path: str) -> Golden:
    from speccheck.validator.fleet.golden import (  # noqa: PLC0415 - where asked
        golden_file,
    )

    return golden_file(path)


def with_golden(run: FleetRun, golden: Golden | None) -> FleetRun:
    """The run with what differs from the golden machine, as findings on all nodes."""
    if golden is None:
        return run
    fleet = run.fleet
    names = [one.name for one in run.nodes]
    samples = fleet.samples.values() if golden.ranges else ()
    found = against_golden(golden, names, fleet.shared, run.with_variables, samples)
    return run._replace(of_fleet=(*run.of_fleet, *golden_findings(found)))


def _silent(_: int) -> None:
    """Tell nobody."""


def changes(
    asked: Asked,
    run: FleetRun,
    verdict: FleetVerdict,
    work: Work,
    verdict_of: Callable[[FleetRun], FleetVerdict],
    cores: int,
) -> Since | None:
    """What changed since the other day; None where nobody asks."""
    if asked.old_listing is None:
        return None
    quiet = work._replace(progress=_silent)
    before = judge_fleet(quiet, asked.old_listing, Expected(), now=time(), cores=cores)
    before = with_golden(before, asked.golden)
    then = day_of(asked.old, before, verdict_of(before))
    return since(then, day_of("now", run, verdict))


def write_profile(
    path: str, run: FleetRun, verdict: FleetVerdict, evidence: Sequence[str]
) -> None:
    """Write the profile of a fleet; raises UsageError where none can be made of it."""
    from speccheck.validator.fleet.own_profile import (  # noqa: PLC0415 - where asked  # noqa: PLC0415 - pydantic
        NoProfile,
        own_profile,
        profile_text,
    )

    try:
        profile = own_profile(
            [one.name for one in run.nodes],
            {one.name: _why(one) for one in verdict.unfit},
            run.fleet.shared,
            run.fleet.samples.values(),
            knows_variables=bool(run.with_variables),
            synthetic=sum(one.is_synthetic for one in run.nodes),
        )
    except NoProfile as error:
        message = f"--baseline {path}: {error}"
        raise UsageError(message) from error
    write("".join(profile_text(profile, evidence, run.fleet.started or time())), path)


def _history(path: str) -> str:
    """The file of a history; raises UsageError before any work for one that is none."""
    if path:
        from speccheck.validator.fleet.history.database import (  # noqa: PLC0415 - SQLite
            HistoryError,
            demand_history,
        )

        try:
            demand_history(path, may_be_new=True)
        except HistoryError as error:
            raise UsageError(str(error)) from error
    return path


def keep_run(path: str, run: FleetRun, verdict: FleetVerdict) -> None:
    """Add the run to a history; raises UsageError where that is not possible."""
    from speccheck.validator.fleet.history.database import (  # noqa: PLC0415 - SQLite
        HistoryError,
        add_run,
    )
    from speccheck.validator.fleet.history.recording import (  # noqa: PLC0415
        history_run,
    )

    try:
        add_run(path, history_run(run, verdict), time())
    except HistoryError as error:
        raise UsageError(str(error)) from error


def _why(node: Unfit) -> str:
    rules = dict.fromkeys(one.rule or one.message for one in node.reasons)
    return f"{node.state}: {', '.join(rules)}" if rules else node.state

"""What every form of a report is made from: of a run, and of a fleet."""

from typing import TYPE_CHECKING

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.summary import Summary
from speccheck.validator.report.verdict import Exit
from speccheck.validator.run.run import RunResult

if TYPE_CHECKING:
    from speccheck.validator.fleet.days import Since
    from speccheck.validator.fleet.run import FleetRun
    from speccheck.validator.fleet.verdict import FleetVerdict


class ReportContext(Record):
    """A judged run with its verdict, and how much of it a report shows.

    Attributes:
        run: what was judged.
        summary: its counts.
        ending: verdict, reason and exit code.
        full: what holds and what does not apply is shown as well.
        statistics: how often each rule failed is shown as well.
        fail_on: the level from which a failure counts.
        skips_unknown: files of other kinds are no error.
        with_waived: waived failures are shown also by a form that leaves them out
            by itself.
        remarks: further lines of the command, for people.
        quiet: only what is wrong is shown, and nothing where nothing is.

    """

    run: RunResult
    summary: Summary
    ending: Exit
    full: bool = False
    statistics: bool = False
    fail_on: str = "error"
    skips_unknown: bool = False
    with_waived: bool = False
    remarks: tuple[str, ...] = ()
    quiet: bool = False


class FleetContext(Record):
    """A judged fleet with its verdict, and how much of it a report shows.

    Attributes:
        run: what was judged.
        verdict: which nodes are fit, and what that means for the job.
        arguments: the files and folders that the user named.
        full: nothing is folded away.
        since: what changed since an earlier day; None where that was not requested.

    """

    run: "FleetRun"
    verdict: "FleetVerdict"
    arguments: tuple[str, ...]
    full: bool = False
    since: "Since | None" = None

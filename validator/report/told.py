"""What a report tells of: a run, what it comes to, and how it ended."""

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.summary import Exit, Summary
from speccheck.validator.run.run import Run


class Told(Record):
    """All that a report says; every form says it in its own way.

    full: what holds and what does not apply is told as well, where the form may leave
    it out. statistics: how often each rule failed is told as well. fail_on: the level
    from which a failure counts. skips_unknown: files of other kinds are no error.
    with_waived: failures that are silenced are told also where a form leaves them out
    by itself. remarks: what the command says besides, for people.
    """

    run: Run
    summary: Summary
    ending: Exit
    full: bool = False
    statistics: bool = False
    fail_on: str = "error"
    skips_unknown: bool = False
    with_waived: bool = False
    remarks: tuple[str, ...] = ()

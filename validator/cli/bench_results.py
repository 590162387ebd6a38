"""What `bench plan --after` and `bench judge` read: results, plans, the clause."""

from collections.abc import Iterable, Sequence

from speccheck.validator.cli.options import UsageError
from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.sources.files import find_files, read_file
from speccheck.validator.sources.registry import Readers
from speccheck.validator.straggler_search.judgement import Limits
from speccheck.validator.straggler_search.rounds import Plan, PlanFileError, plan_of

CLAUSE = "COMM-090"


class Results(Record):
    """All runs of collectives of some files, and what could not be read."""

    runs: tuple[CollectiveRun, ...]
    files: int
    problems: tuple[str, ...]


def limits_of(edition: Edition) -> Limits:
    """The numbers of the clause, where no profile gives others."""
    numbers = edition.clauses[CLAUSE].numbers
    values = []
    for name in Limits._fields:
        value = numbers[name].value
        if not isinstance(value, int | float):  # the edition's own test demands it
            raise TypeError(name)
        values.append(value)
    return Limits._make(values)


def results_of(paths: Iterable[str]) -> Results:
    """The runs of files and folders; raises UsageError where none holds any."""
    readers = Readers()
    runs: list[CollectiveRun] = []
    problems: list[str] = []
    files = 0
    for path, named in find_files(paths):
        status, read = read_file(path, named=named, readers=readers)
        found = [
            run
            for file in read
            for reading in file.readings
            if reading.node is not None
            for run in reading.node.several(CollectiveRuns).shown
        ]
        files += bool(found)
        runs.extend(found)
        # What else lies in a folder is nobody's mistake.
        if status.state == "unreadable" or (named and not found):
            told = status.message if status.state != "judged" else ""
            problems.append(told or f"{path}: {status.format}, no runs of a collective")
    if not runs:
        told = problems[0] if problems else "no file of results was found"
        message = f"{told}; nothing to judge"
        raise UsageError(message)
    return Results(tuple(runs), files, tuple(problems))


def plans_of(paths: Sequence[str]) -> tuple[Plan, ...]:
    """The plans of some files; raises UsageError."""
    try:
        return tuple(plan_of(read_text(path), path) for path in paths)
    except (PlanFileError, ReadError) as error:
        raise UsageError(str(error)) from error

"""The evidence of a certificate, read from a kit: job, measurements, machines.

Evidence that is too old, or of a day to come, is left out: what only it would have
shown is not known then, and the certificate says so.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from speccheck.validator.certification.evidence_file import EvidenceFile, Kit, Problem
from speccheck.validator.certification.judging import Machine, Subject
from speccheck.validator.certification.kit import OpenedFile, open_kit
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.joining.grouping import group
from speccheck.validator.sources.registry import Readers

# Clocks of machines and of who judges them may differ by that much.
_CLOCKS_APART = timedelta(minutes=10)


class LeftOut(Record):
    """A file that is not judged, and why."""

    path: str
    reason: str


class Evidence(Record):
    """All that a kit gives.

    kit: all that the folder holds. files: those of it that are judged. files_left_out:
    those that could be and are not, left_out: why.
    """

    kit: Kit
    files: tuple[EvidenceFile, ...]
    subject: Subject
    files_left_out: tuple[EvidenceFile, ...]
    left_out: tuple[LeftOut, ...]

    def path_of(self, file: ReadFile) -> str:
        """The path of a file below the folder."""
        return os.path.relpath(file.status.path, self.kit.folder).replace(os.sep, "/")


class SeveralJobs(Exception):  # noqa: N818 - a usage error with its own message
    """A kit with the files of more than one job."""


def read_evidence(
    folder: str,
    now: datetime,
    most_days: int | None,
    expected: int | None = None,
    readers: Readers | None = None,
) -> Evidence:
    """Read a kit.

    Args:
        folder: that holds it.
        now: when it is judged, UTC.
        most_days: how old evidence may be; None for any age.
        expected: how many machines there should be; None where nobody says.
        readers: of the formats.

    Raises KitError, or SeveralJobs.

    """
    passed_over: list[Problem] = []
    opened = [*open_kit(folder, passed_over, readers)]
    left_out = [*_out_of_time(opened, now, most_days)]
    unread = {one.path for one in left_out}
    taken = [one for one in opened if one.found and one.file.path not in unread]
    kit = Kit(
        folder,
        tuple(one.file for one in opened),
        tuple(Problem(one.file.path, one.problem) for one in opened if one.problem),
        tuple(passed_over),
    )
    return Evidence(
        kit,
        tuple(one.file for one in taken),
        _subject(taken, expected),
        tuple(one.file for one in opened if one.file.path in unread),
        tuple(left_out),
    )


def _out_of_time(
    opened: Sequence[OpenedFile], now: datetime, most_days: int | None
) -> Iterator[LeftOut]:
    for one in opened:
        taken = one.file.taken
        # A configuration is no observation: it holds as long as it is not changed.
        if not one.found or not taken or one.file.kind == "config":
            continue
        age = now - datetime.fromisoformat(taken)
        if age < -_CLOCKS_APART:
            yield LeftOut(one.file.path, f"taken {taken}, after now: a clock is wrong")
        elif most_days is not None and age > timedelta(days=most_days):
            reason = f"taken {taken}, {age.days} days ago; at most {most_days} may be"
            yield LeftOut(one.file.path, reason)


def _subject(opened: Sequence[OpenedFile], expected: int | None) -> Subject:
    job = [o for one in opened for o in one.found if one.file.kind == "config"]
    together: list[ReadFile] = []
    machines: dict[str, list[ReadFile]] = {}
    snapshots = {o.file.specimen for o in opened if o.file.kind == "snapshot"}
    for one in opened:
        if one.file.kind == "snapshot":
            name = one.file.specimen or one.file.path
            machines.setdefault(name, [])[:0] = one.found
        elif one.file.kind == "measurement" and one.file.specimen in snapshots:
            machines.setdefault(one.file.specimen, []).extend(one.found)
        elif one.file.kind != "config":
            together.extend(one.found)
    _demand_one_job(job)
    return Subject(
        tuple(job),
        tuple(together),
        tuple(Machine(name, tuple(machines[name])) for name in sorted(machines)),
        expected,
    )


def _demand_one_job(job: Sequence[ReadFile]) -> None:
    plans = group(job) if job else []
    if len(plans) > 1:
        told = " and ".join(
            "+".join(os.path.basename(one.status.path) for one in plan.files)
            for plan in plans[:3]
        )
        message = (
            f"the evidence holds the files of {len(plans)} jobs ({told}); "
            "a certificate is of one: keep the files of one"
        )
        raise SeveralJobs(message)


def utc_now() -> datetime:
    """Now, to the second."""
    return datetime.now(UTC).replace(microsecond=0)

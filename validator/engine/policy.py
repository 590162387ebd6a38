"""What a project's settings say of judging, beside what the command line says too."""

import os

from speccheck.validator.evidence.finding import Level
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place


class WaiverFault(Exception):  # noqa: N818 - a usage error with its own message
    """A file of waivers or a baseline that cannot be used; one line says why."""


class TailoringFault(Exception):  # noqa: N818 - a usage error with its own message
    """A file of own numbers that cannot be used; one line says why, and where."""


class Named(Record):
    """A clause, area or rule that the settings name, and where they do."""

    name: str
    place: Place


class RaisedLevel(Record):
    """A clause, area or rule whose failures weigh at least so much."""

    name: str
    level: Level
    place: Place


class FileIgnore(Record):
    """Clauses, areas and rules whose failures are waived in some files.

    folder: of the settings file; the pattern is relative to it (path_pattern.py).
    """

    pattern: str
    folder: str
    names: tuple[str, ...]
    place: Place


class Policy(Record):
    """What the owners of a project have settled.

    mandatory: judged always, and waived by nothing. waivers, baseline: their files.
    inline_ignores: whether comments beside settings may waive failures.
    """

    mandatory: tuple[Named, ...] = ()
    levels: tuple[RaisedLevel, ...] = ()
    file_ignores: tuple[FileIgnore, ...] = ()
    waivers: str | None = None
    baseline: str | None = None
    inline_ignores: bool = True


def own_files(policy: Policy, *others: str | None) -> frozenset[str]:
    """The files of waivers, as paths are written in a run: they configure nothing."""
    paths = (policy.waivers, policy.baseline, *others)
    return frozenset(os.path.normpath(path) for path in paths if path is not None)

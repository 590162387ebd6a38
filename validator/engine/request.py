"""What a run reads and how it judges: the command line and settings, as values."""

import os
from typing import TYPE_CHECKING, Protocol

from speccheck.validator.editions.edition import DEFAULT_EDITION
from speccheck.validator.evidence.finding import Level
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.context import COMMAND_LINE, Context

if TYPE_CHECKING:
    from speccheck.validator.evidence.declaration import Declaration


class WaiverFault(Exception):  # noqa: N818 - a usage error with its own message
    """A file of waivers or a baseline that cannot be used; one line says why."""


class TailoringFault(Exception):  # noqa: N818 - a usage error with its own message
    """A file of own numbers that cannot be used; one line says why, and where."""


class NamedAt(Record):
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

    folder: of the settings file; the pattern is relative to it (paths.py).
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

    mandatory: tuple[NamedAt, ...] = ()
    levels: tuple[RaisedLevel, ...] = ()
    file_ignores: tuple[FileIgnore, ...] = ()
    waivers: str | None = None
    baseline: str | None = None
    inline_ignores: bool = True


class UnknownSelection(Exception):  # noqa: N818 - a usage error with its own message
    """A clause, area or rule is named that does not exist."""


class Selection(Record):
    """Names of clauses (COMM-001), areas (COMM, communication) and rules.

    Attributes:
        select: the only ones to judge by; empty for all that the profile asks for.
        ignore: not judged.
        extend_select: judged beside what is selected, or what the profile asks for.
        mandatory: judged in any case.
        places: option, name and place of names that settings give.

    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    mandatory: tuple[NamedAt, ...] = ()
    places: tuple[tuple[str, str, Place], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether all is judged that the profile asks for."""
        return not (self.select or self.ignore or self.extend_select or self.mandatory)

    def place_of(self, option: str, name: str) -> Place:
        """Return where a name is given."""
        for by, given, place in self.places:
            if (by, given) == (option, name):
                return place
        return Place(COMMAND_LINE, f"--{option}")


def own_files(policy: Policy, *others: str | None) -> frozenset[str]:
    """Return the files of waivers by their paths in the run: they configure nothing."""
    paths = (policy.waivers, policy.baseline, *others)
    return frozenset(os.path.normpath(path) for path in paths if path is not None)


class Judging(Record):
    """How plans are judged: what settings may say otherwise for each of them.

    Attributes:
        context: what is known of the job beside its files.
        profiles: beside the ones that fit the job.
        selection: clauses and rules.
        policy: waivers, levels and locks.
        settings: the files that say so, the closest first.

    """

    context: Context = Context()
    profiles: tuple[str, ...] = ()
    selection: Selection = Selection()
    policy: Policy = Policy()
    settings: tuple[str, ...] = ()


class ForFiles(Protocol):
    """How settings ask to judge plans, each of some files: the main file first."""

    def __call__(self, paths: tuple[str, ...], /) -> Judging:
        """Return how the plan of these files is judged."""
        ...

    def reason(self, paths: tuple[str, ...], /) -> str:
        """Return which settings were taken, where the files lie under several."""
        ...


class Excluded(Record):
    """A pattern of paths that are not searched.

    Attributes:
        pattern: as `engine/paths.py` reads it.
        folder: that the pattern is relative to.
        place: where the pattern stands.

    """

    pattern: str
    folder: str
    place: str = ""


class Request(Record):
    """What a run reads, and how it judges it.

    Attributes:
        arguments: files and folders.
        judging: of plans for which no settings say otherwise.
        use: ci, preflight or certify.
        spec: the edition to judge by.
        warned: a shadow edition, whose failures are warnings alone.
        tailoring: a file of own numbers.
        format: of all files, instead of what they look like.
        stdin_name: what standard input is called.
        skip_unknown: whether named files of no known format are passed over.
        full: what holds is reported as well, with its places.
        keeps_plans: a report shows the values of plans, not findings alone.
        each: each file is a plan of its own.
        by_folder: the files of a folder are one plan.
        plugins: whether readers and rules of installed packages count.
        edits: fixes are worked out as edits, for a report that shows them.
        node: a snapshot with which each plan is judged.
        snapshot: its text, where it was just taken and is no file.
        excluded: paths that are not searched.
        force_exclude: the same holds for named files.
        is_isolated: no settings file was looked for.
        for_files: what settings say of each plan; None where nothing differs.
        declaration: of a judgement for a certificate.

    """

    arguments: tuple[str, ...]
    judging: Judging = Judging()
    use: str = "ci"
    spec: str = DEFAULT_EDITION
    warned: str | None = None
    tailoring: str | None = None
    format: str | None = None
    stdin_name: str | None = None
    skip_unknown: bool = False
    full: bool = False
    keeps_plans: bool = False
    each: bool = False
    by_folder: bool = False
    plugins: bool = False
    edits: bool = False
    node: str | None = None
    snapshot: str | None = None
    excluded: tuple[Excluded, ...] = ()
    force_exclude: bool = False
    is_isolated: bool = False
    for_files: ForFiles | None = None
    declaration: "Declaration | None" = None

    def judging_by(self, judging: Judging) -> "Request":
        """Return the same for a plan that settings ask to be judged so."""
        return self._replace(judging=judging, for_files=None)

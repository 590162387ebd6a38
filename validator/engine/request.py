"""What a run is asked for."""

from typing import TYPE_CHECKING, Protocol

from speccheck.validator.engine.policy import Policy
from speccheck.validator.engine.selection import Selection
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.context import Context

if TYPE_CHECKING:
    from speccheck.validator.evidence.declaration import Declaration


class Judging(Record):
    """What of a request settings may say otherwise for each plan.

    settings: the files that say so, the closest first.
    """

    context: Context = Context()
    profiles: tuple[str, ...] = ()
    selection: Selection = Selection()
    policy: Policy = Policy()
    settings: tuple[str, ...] = ()


class ForFiles(Protocol):
    """What settings say of plans, each of some files: the one it is about first."""

    def __call__(self, paths: tuple[str, ...], /) -> Judging:
        """How the plan of these files is judged."""
        ...

    def reason(self, paths: tuple[str, ...], /) -> str:
        """Which settings were taken, where these files lie under several."""
        ...


class Excluded(Record):
    """A pattern of paths that are not searched (path_pattern.py).

    folder: that the pattern is relative to. told: where the pattern stands.
    """

    pattern: str
    folder: str
    told: str = ""


class Request(Record):
    """What the user asked for.

    settings: the settings files that give values, the closest first. for_files: what
    those of each plan say; None where nothing differs.
    """

    arguments: tuple[str, ...]
    context: Context = Context()
    use: str = "ci"
    profiles: tuple[str, ...] = ()
    spec: str = "1.0"
    warned: str | None = None  # a second edition, whose failures are warnings alone
    tailoring: str | None = None  # a file of own numbers
    selection: Selection = Selection()
    policy: Policy = Policy()
    settings: tuple[str, ...] = ()
    format: str | None = None
    stdin_name: str | None = None
    skip_unknown: bool = False
    full: bool = False  # what holds is reported as well, with its places
    keeps_plans: bool = False  # a report shows the values of plans, not findings alone
    each: bool = False
    by_folder: bool = False
    plugins: bool = False
    edits: bool = False  # fixes are worked out as edits, for a report that tells them
    node: str | None = None  # a snapshot with which each plan is judged
    snapshot: str | None = None  # its text, where it was just taken and is no file
    excluded: tuple[Excluded, ...] = ()
    force_exclude: bool = False  # named files that are excluded are left out as well
    is_isolated: bool = False  # no settings file was looked for
    for_files: ForFiles | None = None
    declaration: "Declaration | None" = None  # of a judgement for a certificate

    @property
    def judging(self) -> Judging:
        """What of it may differ from plan to plan."""
        return Judging(
            self.context, self.profiles, self.selection, self.policy, self.settings
        )

    def judging_by(self, other: Judging) -> "Request":
        """The same for a plan that settings ask to be judged so."""
        return self._replace(
            context=other.context,
            profiles=other.profiles,
            selection=other.selection,
            policy=other.policy,
            settings=other.settings,
            for_files=None,
        )

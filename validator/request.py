"""What a run is asked for."""

from speccheck.validator.evidence.record import Record
from speccheck.validator.policy import Policy
from speccheck.validator.selection import Selection
from speccheck.validator.sources.context import Context


class Request(Record):
    """What the user asked for."""

    arguments: tuple[str, ...]
    context: Context = Context()
    use: str = "ci"
    profiles: tuple[str, ...] = ()
    spec: str = "1.0"
    selection: Selection = Selection()
    policy: Policy = Policy()
    format: str | None = None
    stdin_name: str | None = None
    skip_unknown: bool = False
    full: bool = False  # what holds is reported as well, with its places
    each: bool = False
    by_folder: bool = False
    plugins: bool = False
    edits: bool = False  # fixes are worked out as edits, for a report that tells them
    node: str | None = None  # a snapshot with which each plan is judged
    snapshot: str | None = None  # its text, where it was just taken and is no file

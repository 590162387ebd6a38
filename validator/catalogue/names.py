"""Names that users write for things of the catalogues."""

from collections.abc import Iterable

SUGGESTIONS = 3
# What `speccheck list` calls the names of a kind.
_LISTS = {"GPU": "gpus", "instance type": "instances", "fabric": "fabrics"}
FEWEST_LETTERS = 3  # of a common beginning that says anything


class UnknownName(ValueError):  # noqa: N818 - says what is wrong with the input
    """A name that stands in no catalogue; never replaced by a silent default.

    Attributes:
        kind: what was named: `GPU`, `instance type`, `fabric`.
        name: as written.
        suggestions: up to three known names that resemble it.
    """

    def __init__(
        self, kind: str, name: str, suggestions: Iterable[str] = (), reason: str = ""
    ) -> None:
        """Say what is unknown, why where there is a reason, and what may be meant."""
        self.kind = kind
        self.name = name
        self.suggestions = tuple(suggestions)
        message = f"unknown {kind} {name!r}"
        if reason:
            message += f": {reason}"
        if self.suggestions:
            message += f" (did you mean {_listed(self.suggestions)}?)"
        elif not reason and kind in _LISTS:
            message += f" (speccheck list {_LISTS[kind]} names them)"
        super().__init__(message)


def _listed(names: tuple[str, ...]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def resembling(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three known names that begin like `name` or differ by few letters.

    Best first; empty for an empty name.
    """
    from speccheck.validator.evidence.spelling import distance  # noqa: PLC0415 - rare

    near: list[tuple[bool, int, str]] = []
    text = name.lower()
    most = max(1, len(text) // 3)
    for other in sorted(set(known)):
        two = other.lower()
        short = min(text, two, key=len)
        begins_alike = (
            len(short) >= FEWEST_LETTERS and text[: len(short)] == two[: len(short)]
        )
        if not begins_alike and abs(len(text) - len(two)) > most:
            continue  # a letter more or less is an edit: spares most of the work
        edits = distance(text, two)
        if edits <= most or begins_alike:
            near.append((not begins_alike, edits, other))
    return tuple(other for *_, other in sorted(near)[:SUGGESTIONS])


def folded(name: str) -> str:
    """Return the name in lower case, with dashes for blanks and underscores."""
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())

"""What settings leave out when folders are searched."""

from collections.abc import Callable, Iterator, Sequence

from speccheck.validator.engine.path_pattern import matches
from speccheck.validator.engine.repository import path_within
from speccheck.validator.engine.request import Excluded

# No file has so long a name: what matches it matches whatever lies in the folder.
_ANY_NAME = "\0" * 300


def exclusion_of(excluded: Sequence[Excluded]) -> Callable[[str], Excluded | None]:
    """Tells by which pattern a file or folder is excluded, if by any.

    A pattern means what it matches and, of a folder, all that lies in it.
    """

    def by(path: str) -> Excluded | None:
        for one in excluded:
            seen = path_within(path, one.folder)
            if seen is None:
                continue
            if any(matches(one.pattern, name) for name in _with_folders(seen)):
                return one
        return None

    return by


def _with_folders(path: str) -> Iterator[str]:
    """A path, the folders that it lies in, and whatever lies in itself."""
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])
    yield f"{path}/{_ANY_NAME}"

"""Files that a configuration or a launch command names, and that are not here.

The framework stops where such a file is missing. That is sure where the repository is
at hand, with the folder in which it would lie and other files of its kind there, and no
file of that path lies anywhere else in it: from whichever folder the job is started,
there is none. A path that is absolute, computed or an address says nothing of this
machine, and a file that was copied out of its repository nothing of that.
"""

import os
from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.references import BrokenReference, References
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.interpolation import Interpolated
from speccheck.validator.sources.reader import Reading
from speccheck.validator.sources.repository import find_named, repository_of

_SUFFIXES = (".yaml", ".yml", ".json", ".hjson", ".toml")
_OPEN_SIGNS = "$?{}<>*~"
_MOST_FILES = 20_000
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", "site-packages"})
_MOST_IN_CIRCLE = 4


def references_of(name: str, readings: Iterable[Reading]) -> References:
    """Return the files that readings of a file name for the start, here or not."""
    followed: list[Place] = []
    broken: dict[str, BrokenReference] = {}
    is_script = name.endswith(SCRIPT_SUFFIXES)
    if not os.path.isfile(name):
        return References()
    for reading in readings:
        for reference in reading.references:
            target = reference.target
            if not reference.is_opened or not _is_path(target):
                continue
            if find_named(name, target) is not None:
                followed.append(reference.place)
            else:
                missing = missing_file(name, target, _ways_up(name), reference.place)
                if missing is not None:
                    if is_script and "/" not in _normal(target):
                        # another script, or the job before, may have written it
                        missing = missing._replace(is_sure=False)
                    broken.setdefault(target, missing)
    return References(tuple(followed), tuple(broken.values()))


def missing_file(
    name: str, target: str, folders: Iterable[str], place: Place
) -> BrokenReference | None:
    """Return the reference to a file that is not where a file names it.

    Args:
        name: of the naming file.
        target: as named.
        folders: where the framework looks, relative to that of the naming file.
        place: of the name.

    Returns:
        None where the file lies elsewhere in the repository: the job may be started
        there.

    """
    if not _is_path(target) or not os.path.isfile(name):
        return None
    home = os.path.dirname(name)
    wanted = "/" + _normal(target)
    repository = repository_of(os.path.abspath(home))
    top = repository or os.path.abspath(home)
    if any(f"/{path}".endswith(wanted) for path in _files_below(top)):
        return None
    places = [
        os.path.normpath(os.path.join(home, folder, target)) for folder in folders
    ]
    is_sure = repository is not None and any(
        _has_others(os.path.dirname(path), name) for path in places
    )
    base = name.rpartition("/")[2]
    where = "in its repository" if repository is not None else "here"
    what = f"{target:.80}, which {base} names, is not {where}"
    is_input = repository is None
    return BrokenReference(what, (place,), target, is_sure, is_input=is_input)


def circle(outcomes: Iterable[tuple[Place, Interpolated]]) -> BrokenReference | None:
    """Return values that refer to each other without an end, if there are some."""
    circular = [(place, item) for place, item in outcomes if item.is_circular]
    if not circular:
        return None
    places = tuple(place for place, _ in circular[:_MOST_IN_CIRCLE])
    what = circular[0][1].note.partition(": ")[2] or circular[0][1].note
    what = f"{places[0].key} {what}"
    return BrokenReference(what, places, places[0].key, is_sure=True)


def _ways_up(name: str) -> list[str]:
    """Return the folders from that of a file up to the top of its repository."""
    here = os.path.abspath(os.path.dirname(name))
    top = repository_of(here)
    ways = ["."]
    while top is not None and here not in {top, os.path.dirname(here)}:
        here = os.path.dirname(here)
        ways.append("/".join([".."] * len(ways)))
    return ways


def _is_path(target: str) -> bool:
    """Return whether it is a relative path of a configuration file, as it stands."""
    return (
        target.endswith(_SUFFIXES)
        and not os.path.isabs(target)
        and "://" not in target
        and not any(sign in target for sign in _OPEN_SIGNS)
    )


def _normal(target: str) -> str:
    steps = os.path.normpath(target).split(os.sep)
    return "/".join(step for step in steps if step != "..")


def _has_others(folder: str, name: str) -> bool:
    """Return whether a folder holds configuration files beside the naming one."""
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return False
    own = os.path.basename(name)
    return any(other.endswith(_SUFFIXES) and other != own for other in names)


def _files_below(top: str) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(top):
        folders[:] = [item for item in folders if item not in _SKIPPED]
        for item in names:
            if item.endswith(_SUFFIXES):
                count += 1
                if count > _MOST_FILES:
                    return
                yield os.path.relpath(os.path.join(folder, item), top)

"""Where reports are to go: refused before any work, so that none is half done."""

import os
from collections.abc import Iterable, Mapping

from speccheck.validator.cli.options import UsageError
from speccheck.validator.report.write import WriteError
from speccheck.validator.sources.files import SEARCHED_SUFFIXES, read_file

_REMEDY = "name another file"
_MOST_BYTES = 16 * 1024 * 1024  # what is longer is no configuration by hand


def verify_destinations(
    named: Mapping[str, str], inputs: Iterable[str], others: Mapping[str, str]
) -> None:
    """Raise UsageError for a file that cannot be written, or must not be.

    Args:
        named: paths of reports by the option that names them, as it was given.
        inputs: the files that are read.
        others: what else is written, by its option.

    """
    taken = {_identity(path): option for option, path in others.items()}
    read = {_identity(path) for path in inputs if os.path.isfile(path)}
    for option, path in named.items():
        _verify_writable(option, path)
        if _is_device(path):
            continue
        identity = _identity(path)
        if identity in read or _is_configuration(path):
            message = f"{option}: this file is judged, and would be lost: {_REMEDY}"
            raise UsageError(message)
        if identity in taken:
            message = f"{option}: the same file as {taken[identity]}: {_REMEDY}"
            raise UsageError(message)
        taken[identity] = option


def verify_not_judged(named: Mapping[str, str], judged: Iterable[str]) -> None:
    """Raise WriteError for a report in place of a file that was judged after all.

    Only a reader of a plugin knows it, or one that the user named.
    """
    existing = {
        _identity(path): option
        for option, path in named.items()
        if os.path.isfile(path)
    }
    if not existing:
        return
    for path in judged:
        option = existing.get(_identity(path))
        if option is not None:
            message = f"{option}: this file is judged, and would be lost: {_REMEDY}"
            raise WriteError(message)


def _is_configuration(path: str) -> bool:
    """Whether a file is there that would be judged, in a folder or named by another.

    The report of the run before is none, and may be written over. The file is opened
    to be written, as it will be: that is no file to watch (watch.py).
    """
    if not path.endswith(SEARCHED_SUFFIXES) or not os.path.isfile(path):
        return False
    try:
        with open(path, "r+b") as file:
            content = file.read(_MOST_BYTES)
    except OSError:
        return False  # nor can it be written over
    text = content.decode("utf-8", "replace")
    status, _ = read_file(path, named=False, text=text)
    return status.state == "judged"


def _verify_writable(option: str, path: str) -> None:
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        message = f"{option}: a folder: name a file in it"
    elif not os.path.isdir(folder):
        message = f"{option}: no such folder: {folder}"
    elif os.path.exists(path) and not os.access(path, os.W_OK):
        message = f"{option}: the file must not be written: {_REMEDY}"
    elif not os.path.exists(path) and not os.access(folder, os.W_OK | os.X_OK):
        message = f"{option}: nothing may be written in {folder}"
    else:
        return
    raise UsageError(message)


def _is_device(path: str) -> bool:
    """Whether it is no file of its own, such as /dev/null or a pipe."""
    return os.path.exists(path) and not os.path.isfile(path)


def _identity(path: str) -> tuple[int, int] | str:
    """The same for all names of one file: other spellings, links of both kinds."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return found.st_dev, found.st_ino

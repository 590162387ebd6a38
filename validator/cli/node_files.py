"""Where a node writes what it says of itself, be it one of ten thousand.

A path that is a folder takes a file of the node's name, so that all nodes of a job can
be given the same options.
"""

import os

from speccheck.validator.cli.options import UsageError


def node_file(flag: str, path: str, name: str, ending: str) -> str:
    """The file to write for the path of an option; raises UsageError.

    Args:
        flag: the option.
        path: what it says: a file, or a folder, which is made where it ends in a slash.
        name: of the node.
        ending: of the file in such a folder.

    """
    if path.endswith("/"):
        try:
            os.makedirs(path, exist_ok=True)  # by many nodes at the same time
        except OSError as error:
            message = f"{flag} {path}: {error.strerror}"
            raise UsageError(message) from error
    if not os.path.isdir(path):
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            message = f"{flag} {path}: no such folder: {folder}"
            raise UsageError(message)
        return path
    if not os.access(path, os.W_OK | os.X_OK):
        message = f"{flag} {path}: nothing may be written in this folder"
        raise UsageError(message)
    return os.path.join(path, name + ending)

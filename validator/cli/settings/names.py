"""What settings files are called, and what is said of one that is wrong."""

import os

OWN_NAME = "speccheck.toml"
SHARED_NAME = "pyproject.toml"
MAXIMUM_BYTES = 1_048_576


class SettingsError(Exception):
    """A settings file is wrong; the message names file, line and remedy."""


def shown(path: str) -> str:
    """A path as reports call it: as seen from here, unless that is longer."""
    return min((os.path.relpath(path), path), key=len)

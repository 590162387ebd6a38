"""The generated JSON Schemas that come with the program: its own, and of frameworks."""

import os

from speccheck.validator.catalogue.files import CATALOGUES

OWN = os.path.join(os.path.dirname(CATALOGUES), "json")
FOLDER = os.path.join(OWN, "frameworks")
SUFFIX = ".schema.json"


def own_names() -> list[str]:
    """Return the names of the schemas of speccheck's own documents."""
    return _names(OWN)


def published_names() -> list[str]:
    """Return the names of the schemas of frameworks' files."""
    return _names(FOLDER)


def own_text(name: str) -> str:
    """Return the text of a schema of ours; raises FileNotFoundError."""
    return _text(OWN, name)


def published_text(name: str) -> str:
    """Return the text of a framework's schema; raises FileNotFoundError."""
    return _text(FOLDER, name)


def _names(folder: str) -> list[str]:
    names = os.listdir(folder)
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def _text(folder: str, name: str) -> str:
    with open(os.path.join(folder, f"{name}{SUFFIX}"), encoding="utf-8") as file:
        return file.read()

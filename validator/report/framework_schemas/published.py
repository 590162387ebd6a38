"""The generated schemas of the frameworks, as they are published with the program."""

import os

from speccheck.validator.spec.catalogue_files import CATALOGUES

FOLDER = os.path.join(os.path.dirname(CATALOGUES), "json", "frameworks")
SUFFIX = ".schema.json"


def published_names() -> list[str]:
    """The names of the schemas."""
    names = os.listdir(FOLDER)
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def published_text(name: str) -> str:
    """The text of a schema; raises FileNotFoundError."""
    with open(os.path.join(FOLDER, f"{name}{SUFFIX}"), encoding="utf-8") as file:
        return file.read()

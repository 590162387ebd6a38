"""Which program judged: a digest of all that it judges by."""

import hashlib
import os
from collections.abc import Iterator
from functools import cache

import speccheck.probes
import speccheck.rules
import speccheck.schemas
import speccheck.validator

_SUFFIXES = (".py", ".json", ".yaml")
_PARTS = (
    ("validator", speccheck.validator),
    ("rules", speccheck.rules),
    ("schemas", speccheck.schemas),
    ("probes", speccheck.probes),
)


@cache
def program_digest() -> str:
    """SHA-256 of all code and tables of speccheck, in the order of their names."""
    digest = hashlib.sha256()
    for name, path in _files():
        with open(path, "rb") as file:
            content = file.read()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files() -> Iterator[tuple[str, str]]:
    for part, package in _PARTS:
        top = os.path.dirname(package.__file__ or "")
        found = [
            os.path.join(where, name)
            for where, _, names in os.walk(top)
            for name in names
            if name.endswith(_SUFFIXES)
        ]
        for path in sorted(found):
            yield f"{part}/{os.path.relpath(path, top).replace(os.sep, '/')}", path

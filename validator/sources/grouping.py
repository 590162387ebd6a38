"""Which files belong to one plan.

Files belong together when one names the other, or when nothing speaks against it: the
roles of all files in a folder differ. Two files of one role are two plans.
"""

import os
from collections.abc import Sequence

from speccheck.validator.sources.files import ReadFile


def group(files: Sequence[ReadFile]) -> list[list[ReadFile]]:
    """Files in groups, each in the order given; groups in order of their first file."""
    owner = list(range(len(files)))
    _join_references(files, owner)
    _join_roles(files, owner)
    groups: dict[int, list[ReadFile]] = {}
    for position, file in enumerate(files):
        groups.setdefault(_root(owner, position), []).append(file)
    return list(groups.values())


def _root(owner: list[int], position: int) -> int:
    while owner[position] != position:
        position = owner[position]
    return position


def _join(owner: list[int], left: int, right: int) -> None:
    first, second = sorted((_root(owner, left), _root(owner, right)))
    owner[second] = first


def _join_references(files: Sequence[ReadFile], owner: list[int]) -> None:
    by_base: dict[str, list[int]] = {}
    for position, file in enumerate(files):
        by_base.setdefault(_base(file.status.path), []).append(position)
    for position, file in enumerate(files):
        for reading in file.readings:
            for reference in reading.references:
                target = by_base.get(_base(reference.target), [])
                if len(target) == 1 and target[0] != position:
                    _join(owner, position, target[0])


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _join_roles(files: Sequence[ReadFile], owner: list[int]) -> None:
    by_folder: dict[str, list[int]] = {}
    for position, file in enumerate(files):
        folder = os.path.dirname(file.status.path)
        by_folder.setdefault(folder, []).append(position)
    for positions in by_folder.values():
        if len(positions) == 1:
            continue
        # A file may already belong to files of another folder, which it names.
        roots = {_root(owner, position) for position in positions}
        roles = [
            file.role
            for position, file in enumerate(files)
            if _root(owner, position) in roots
        ]
        if len(set(roles)) == len(roles):
            for position in positions[1:]:
                _join(owner, positions[0], position)

"""Looks at the files and folders that a job names: nothing is written there.

A mount whose server is gone lets each call on it wait for ever: it is told before what
is asked of which path, and all paths stand on the sheet before the first is asked.
"""

import os
import re

from speccheck.probes.raw_value import Absence, RawValue, Sheet, formed
from speccheck.probes.root import Root, Space
from speccheck.validator.evidence.record import Record

KINDS = ("job_paths",)
_KIND = "job_paths"
_MOUNTS = "/proc/self/mountinfo"
_READ, _WRITE, _SEARCH = os.R_OK, os.W_OK, os.X_OK
# Megatron-LM names an indexed data set by what its two files begin with
# (megatron/core/datasets/indexed_dataset.py).
_ENDS = ("", ".bin", ".idx")
# Whose job it is, where root looks at it: Slurm's prolog, sudo.
_USERS = ("SLURM_JOB_UID", "SUDO_UID")
_OF_NEAREST = (
    "file_system",
    "mount_point",
    "is_read_only",
    "total_bytes",
    "free_bytes",
    "is_writable",
)
_SOURCES = {
    **dict.fromkeys(("exists", "is_folder", "nearest_folder"), "stat"),
    **dict.fromkeys(("file_system", "mount_point"), _MOUNTS),
    **dict.fromkeys(("is_read_only", "total_bytes", "free_bytes"), "statvfs"),
    **dict.fromkeys(("is_writable", "is_readable"), "access"),
    "is_empty": "scandir",
}
_NO_FOLDER = Absence("absent", "scandir", "no folder")
_OCTAL = re.compile(r"\\([0-7]{3})")
_FEWEST_FIELDS = 6


class Mount(Record):
    """A file system as it is mounted."""

    point: str
    kind: str
    is_read_only: bool


def probe(root: Root, sheet: Sheet, *requested: str) -> None:
    """Put down how each path is; told: role and path, one after another."""
    paths = [*zip(requested[::2], requested[1::2], strict=True)]
    for role, path in paths:
        number = sheet.add(_KIND)
        sheet.put_at(_KIND, number, "name", path, "the files of the job")
        sheet.put_at(_KIND, number, "role", role, "the files of the job")
    sheet.listed(_KIND)
    for number, (role, path) in enumerate(paths):
        sheet.doing(f"the look at {path}")
        text = _as_named(root, role, path)
        for leaf, value in _permitted(_looked_at(root, path, text)).items():
            sheet.put_at(_KIND, number, leaf, value, _SOURCES[leaf])


def _as_named(root: Root, role: str, path: str) -> str:
    """Return the path, or that of the first file whose name begins with it."""
    ends = _ENDS if role == "data" else _ENDS[:1]
    there = (end for end in ends if root.is_folder(path + end) in {True, False})
    return path + next(there, "")


def _looked_at(root: Root, path: str, text: str) -> dict[str, RawValue]:
    is_folder, nearest = root.is_folder(text), _nearest_folder(root, path)
    reading = _READ | (_SEARCH if is_folder is True else 0)
    nothing = is_folder if isinstance(is_folder, Absence) else None
    leaves: dict[str, RawValue] = {
        "exists": _exists(root, text),
        "is_folder": is_folder,
        "is_empty": root.is_empty(text) if is_folder is True else _NO_FOLDER,
        "is_readable": nothing or root.grants(text, reading),
        "nearest_folder": nearest,
    }
    if isinstance(nearest, Absence):
        return {**dict.fromkeys(_OF_NEAREST, nearest), **leaves}
    # An automounter mounts what is looked at: the mounts are read after that.
    mounts = mounts_of(root.text(_MOUNTS))
    mount, space = _mount(root, nearest, mounts), root.space(nearest)
    return {
        **leaves,
        "file_system": formed(mount, lambda mount: mount.kind),
        "mount_point": formed(mount, lambda mount: mount.point),
        "is_read_only": _is_read_only(mount, space),
        "total_bytes": formed(space, lambda space: space.total),
        "free_bytes": formed(space, lambda space: space.free),
        "is_writable": root.grants(nearest, _WRITE | _SEARCH),
    }


def _exists(root: Root, path: str) -> bool | Absence:
    """Return whether it exists; a closed folder above hides whether it is there."""
    absence = root.is_folder(path)
    if isinstance(absence, Absence):
        return False if absence.status == "absent" else absence
    return True


def _nearest_folder(root: Root, path: str) -> str | Absence:
    """Return the folder itself, or the next above it that exists.

    A file on the way, or a link that leads nowhere, lets no folder be made.
    """
    above = path
    while (is_folder := root.is_folder(above)) is not True:
        if isinstance(is_folder, Absence) and is_folder.status != "absent":
            return is_folder
        if above == "/":
            return Absence("absent", "stat /")
        if above != path and is_folder is False:
            return Absence("failed", f"stat {path}", f"{above} is a file")
        if isinstance(is_folder, Absence) and root.exists(above):
            message = f"{above} is a link that leads nowhere"
            return Absence("failed", f"stat {path}", message)
        above = os.path.dirname(above)
    return above


def _is_read_only(mount: Mount | Absence, space: Space | Absence) -> RawValue:
    """Return whether it is read-only, as the file system says or as it is mounted."""
    if not isinstance(space, Absence):
        return space.is_read_only
    return formed(mount, lambda mount: mount.is_read_only)


def _permitted(leaves: dict[str, RawValue]) -> dict[str, RawValue]:
    """Return the leaves without what holds for root alone, for another user's job."""
    users = {os.environ.get(name, "0") for name in _USERS} - {"0"}
    if os.geteuid() != 0 or not users:
        return leaves
    message = f"asked as root, and the job is of user {min(users)}"
    absence = Absence("absent", "access", message)
    return {**leaves, "is_writable": absence, "is_readable": absence}


def mounts_of(text: str | Absence) -> list[Mount] | Absence:
    """Return the mounts of proc_pid_mountinfo(5), in their order."""
    if isinstance(text, Absence):
        return text
    mounts: list[Mount] = []
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields, of_system = before.split(), after.split()
        if dash and len(fields) >= _FEWEST_FIELDS and of_system:
            options = {*fields[5].split(","), *of_system[-1].split(",")}
            point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
            mounts.append(Mount(point, of_system[0], "ro" in options))
    return mounts


def _mount(root: Root, folder: str, mounts: list[Mount] | Absence) -> Mount | Absence:
    """Return the mount on which a folder lies: the innermost, and of two the later."""
    path = root.target(folder)
    if isinstance(path, Absence):
        return path
    if isinstance(mounts, Absence):
        return mounts
    inside = (path or "/").rstrip("/") + "/"
    around = [
        mount for mount in mounts if inside.startswith(mount.point.rstrip("/") + "/")
    ]
    if not around:
        return Absence("absent", _MOUNTS, f"no mount holds {folder}")
    return max(
        enumerate(around), key=lambda numbers: (len(numbers[1].point), numbers[0])
    )[1]

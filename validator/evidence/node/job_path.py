"""Files and folders that a job names, as they are on this machine.

The preflight asks for them; a snapshot that was taken without a job has none.
"""

import posixpath

from speccheck.validator.evidence.node.part import NOT_IN_SNAPSHOT, Part, Parts
from speccheck.validator.evidence.value import MissingEvidence, Value

# What shells, configurations and loaders would fill in.
_TEMPLATE = frozenset("${}<>%*?[]`")
_MOST_CHARACTERS = 1024  # of a path of the system, less than its own limit


class JobPath(Part):
    """One path of a job; nothing is written to find out how it is."""

    __slots__ = ()
    kind = "job_paths"

    name: Value[str]  # the path, as `local_path` writes it
    role: Value[str]  # checkpoint, data
    # data may be named by what the names of two files begin with: .bin, .idx
    exists: Value[bool]
    is_folder: Value[bool]  # absent where it does not exist
    is_empty: Value[bool]  # of a folder
    nearest_folder: Value[str]  # that exists: itself or the next above it
    file_system: Value[str]  # of the nearest folder, as what follows: ext4, nfs4
    mount_point: Value[str]
    is_read_only: Value[bool]  # as it is mounted
    total_bytes: Value[int]
    free_bytes: Value[int]  # which users may fill
    is_writable: Value[bool]  # to the user who asks; permissions alone
    is_readable: Value[bool]  # the path itself, to the user who asks


class JobPaths(Parts[JobPath]):
    """All paths that the preflight looked at."""

    __slots__ = ()
    part = JobPath

    @property
    def were_asked_for(self) -> bool:
        """Whether the snapshot was taken for a job that names any."""
        return self.count.is_known or self.count.note != NOT_IN_SNAPSHOT

    def named(self, role: str, path: str) -> JobPath:
        """The path of that role; raises MissingEvidence for one not looked at."""
        for one in self.shown:
            if one.role.value == role and one.name.value == path:
                return one
        reason = self.count.note if not self.count.is_known else ""
        raise MissingEvidence(
            self.part.kind,
            reason or f"{path} was not looked at: speccheck preflight does",
        )


def local_path(text: str | None) -> str | None:
    """The path of a file or a folder of a machine; None for all else.

    URLs, object stores and repositories are none, nor is what a template leaves open,
    and nothing tells below which folder a relative path lies.
    """
    path = (text or "").removeprefix("file://")
    if not path.startswith("/") or len(path) > _MOST_CHARACTERS:
        return None
    if not path.isprintable() or not _TEMPLATE.isdisjoint(path):
        return None
    return "/" + posixpath.normpath(path).lstrip("/")


def seen_by_another(in_container: Value[bool], container: Value[str]) -> bool:
    """Whether the job sees other files under the same paths than were looked at.

    Args:
        in_container: whether the job runs in a container.
        container: in which one the paths were looked at, or `none`.

    """
    return in_container.value is True and container.value in {None, "none"}

"""The files of a machine: its own, or a copy below some folder (`--sysroot`).

Nothing is written and nothing is run. A file that is missing, closed to this user or
refused by its driver is an Absence, never an empty text.
"""

import errno
import os
import stat

from speccheck.probes.raw_value import Absence, Reason
from speccheck.validator.evidence.record import Record

_MOST_BYTES = 4_000_000  # a kernel log; all else is far smaller
_MOST_NAMES = 10_000
_MOST_IN_A_LINE = 200
_CHUNK_BYTES = 65_536
_REASONS: dict[int | None, Reason] = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.ENXIO: "absent",
    errno.ENODEV: "absent",
    errno.EACCES: "not_permitted",
    errno.EPERM: "not_permitted",
    errno.EINVAL: "not_supported",
    errno.EOPNOTSUPP: "not_supported",
    errno.ENODATA: "not_supported",
    errno.ENOTTY: "not_supported",
}


class Space(Record):
    """Bytes of a file system; free: to users, without what is kept for root."""

    total: int
    free: int
    used: int
    is_read_only: bool


class Root:
    """Reads below one folder; paths are those of the machine, with a leading slash."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str = "/") -> None:
        """Take the folder that stands for `/`."""
        self._folder = os.path.realpath(folder)

    @property
    def is_live(self) -> bool:
        """Whether these are the files of this machine."""
        return self._folder == "/"

    def text(self, path: str) -> str | Absence:
        """Return the text of a file, without blanks around it."""
        absence = self.data(path)
        return absence if isinstance(absence, Absence) else _decoded(absence)

    def line(self, path: str) -> str | Absence:
        """Return the first line of a file, short and printable: what may be a leaf."""
        absence = self.data(path, _MOST_IN_A_LINE * 4)
        if isinstance(absence, Absence):
            return absence
        first = _decoded(absence).partition("\n")[0].rstrip("\0")[:_MOST_IN_A_LINE]
        return "".join(text if text.isprintable() else "?" for text in first)

    def tail(self, path: str) -> str | Absence:
        """Return the end of a file that may be long: its last whole lines."""
        absence = self.data(path, from_end=True)
        if isinstance(absence, Absence):
            return absence
        if len(absence) == _MOST_BYTES:
            absence = absence.partition(b"\n")[2]
        return _decoded(absence)

    def data(
        self, path: str, most: int = _MOST_BYTES, *, from_end: bool = False
    ) -> bytes | Absence:
        """Return the bytes of a file, so many at most.

        Never waits for a pipe or a device.
        """
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        try:
            number = os.open(self._opened(path), flags)
        except OSError as error:
            return absence_of(path, error)
        try:
            state = os.fstat(number)
            if not stat.S_ISREG(state.st_mode):
                return Absence("failed", path, "is no regular file")
            if from_end and state.st_size > most:
                os.lseek(number, -most, os.SEEK_END)
            return _read(number, most)
        except OSError as error:
            return absence_of(path, error)
        finally:
            os.close(number)

    def number(self, path: str) -> int | Absence:
        """Return the whole number in a file, decimal or with a leading 0x."""
        text = self.line(path)
        if isinstance(text, Absence):
            return text
        try:
            return int(text, 0)
        except ValueError:
            return Absence("failed", path, f"holds {text[:40]!r}, no whole number")

    def names(self, path: str) -> list[str] | Absence:
        """Return the entries of a folder, sorted."""
        try:
            texts = sorted(os.listdir(self._opened(path)))
        except OSError as error:
            return absence_of(path, error)
        return texts[:_MOST_NAMES]

    def exists(self, path: str) -> bool:
        """Return whether there is such a file or folder."""
        try:
            return os.path.lexists(self._inside(os.path.dirname(path)) + path_end(path))
        except OSError:
            return False

    def target(self, path: str) -> str | Absence:
        """Return where a path leads on the machine when all links are followed."""
        try:
            text = self._inside(path)
        except OSError as error:
            return absence_of(path, error)
        if not os.path.exists(text):
            return Absence("absent", path)
        return text if self.is_live else text.removeprefix(self._folder)

    def is_open_to_this_user(self, path: str) -> bool:
        """Return whether this user may read and write there.

        Nothing is opened for it.
        """
        try:
            return os.access(self._opened(path), os.R_OK | os.W_OK, effective_ids=True)
        except OSError:
            return False

    def is_folder(self, path: str) -> bool | Absence:
        """Return whether it is a folder, not a file; Absence where there is nothing."""
        try:
            return stat.S_ISDIR(os.stat(self._opened(path)).st_mode)
        except OSError as error:
            return absence_of(f"stat {path}", error)

    def is_empty(self, path: str) -> bool | Absence:
        """Return whether nothing lies in a folder, however much there may be."""
        try:
            with os.scandir(self._opened(path)) as entries:
                return next(entries, None) is None
        except OSError as error:
            return absence_of(f"scandir {path}", error)

    def grants(self, path: str, mode: int) -> bool | Absence:
        """Return whether this user may do all that at a path.

        Nothing is opened for it.
        """
        try:
            return os.access(self._opened(path), mode, effective_ids=True)
        except OSError as error:
            return absence_of(f"access {path}", error)

    def space(self, path: str) -> "Space | Absence":
        """Return how full a file system is."""
        if not self.is_live:
            message = "a copy of the files has no file systems"
            return Absence("absent", f"statvfs {path}", message)
        try:
            result = os.statvfs(path)
        except OSError as error:
            return absence_of(f"statvfs {path}", error)
        unit = result.f_frsize
        return Space(
            unit * result.f_blocks,
            unit * result.f_bavail,
            unit * (result.f_blocks - result.f_bfree),
            bool(result.f_flag & os.ST_RDONLY),
        )

    def _opened(self, path: str) -> str:
        """Return the path as `_inside` does.

        The system resolves links of its own files.
        """
        return path if self.is_live else self._inside(path)

    def _inside(self, path: str) -> str:
        """Return the path below the folder.

        Raises FileNotFoundError where it leads out.
        """
        result = os.path.realpath(self._folder + path)
        if self.is_live or result == self._folder:
            return result
        if not result.startswith(self._folder + "/"):
            raise FileNotFoundError(errno.ENOENT, "leads out of the folder", path)
        return result


def _read(number: int, most: int) -> bytes:
    """Return what an open file holds; those of /proc come in pieces."""
    pieces: list[bytes] = []
    left = most
    while left > 0 and (piece := os.read(number, min(left, _CHUNK_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").strip()


def path_end(path: str) -> str:
    """Return the last step of a path, with its slash."""
    return "/" + path.rpartition("/")[2]


def absence_of(source: str, error: OSError) -> Absence:
    """Return why something could not be read."""
    code = errno.errorcode.get(error.errno or 0, "")
    reason = _REASONS.get(error.errno, "failed")
    message = "" if reason == "absent" else (error.strerror or "")
    return Absence(reason, source, message, code)

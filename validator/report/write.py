"""Writes reports: to standard output, or to a file that is never half written."""

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager


class WriteError(Exception):
    """A report could not be written; the message names the file and the reason."""


def write(text: Iterable[str], path: str | None) -> None:
    """Print a text, or its pieces, or write it to a file.

    A file is written under another name and renamed when it is whole.
    """
    pieces = (text,) if isinstance(text, str) else text
    if path is None:
        _print(pieces)
        return
    with (
        _renamed(path) as temporary,
        open(temporary, "w", encoding="utf-8", newline="\n") as file,
    ):
        file.writelines(pieces)


def write_bytes(content: bytes, path: str) -> None:
    """Write a file as `write` does."""
    with _renamed(path) as temporary, open(temporary, "wb") as file:
        file.write(content)


@contextmanager
def _renamed(path: str) -> Generator[str, None, None]:
    """Another name to write under, which takes the place of `path` at the end.

    What is no regular file is written to itself: nothing may take the place of
    /dev/null, and a pipe has a reader.
    """
    folder, base = os.path.split(path)
    temporary = os.path.join(folder, f".{base}.{os.getpid()}.part")
    is_special = os.path.exists(path) and not os.path.isfile(path)
    try:
        yield path if is_special else temporary
        if not is_special:
            os.replace(temporary, path)
    except OSError as error:
        message = f"{path}: report not written: {error.strerror}"
        raise WriteError(message) from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _print(pieces: Iterable[str]) -> None:
    """Print, with characters that the terminal's encoding lacks replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    for piece in pieces:
        try:
            piece.encode(encoding)
        except UnicodeEncodeError:
            shown = piece.encode(encoding, "replace").decode(encoding)
            sys.stdout.write(shown)
        else:
            sys.stdout.write(piece)
    sys.stdout.flush()

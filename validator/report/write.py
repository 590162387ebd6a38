"""Writes reports: to standard output, or to a file that is never half written."""

import os
import re
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from typing import TextIO


class WriteError(Exception):
    """A report could not be written; the message names the file and the reason."""


def write(text: Iterable[str], path: str | None) -> None:
    """Print a text, or its pieces, or write it to a file.

    A file is written under another name and renamed when it is whole.
    """
    write_all([((text,) if isinstance(text, str) else text, path)])


def write_all(reports: Iterable[tuple[Iterable[str], str | None]]) -> None:
    """Write several reports: all of their files, or none of them.

    Each is written under another name before the first takes its own. Standard output
    comes last; that its reader went away is no reason to keep the files back.
    """
    with ExitStack() as whole:
        for pieces, path in sorted(reports, key=_is_final):
            if path is not None:
                temporary = whole.enter_context(_renamed(path))
                with _refusing(path), _opened(temporary) as file:
                    file.writelines(pieces)
                continue
            try:
                with _refusing("standard output"):
                    _print(pieces)
            except BrokenPipeError:
                whole.close()
                raise


def _is_final(report: tuple[Iterable[str], str | None]) -> int:
    """Return the order: what can be taken back comes before what cannot."""
    path = report[1]
    return 2 if path is None else int(_is_special(path))


def _opened(path: str) -> TextIO:
    # A name that is no UTF-8 reaches a report with characters that no file may hold.
    return open(path, "w", encoding="utf-8", errors="replace", newline="\n")


def write_bytes(content: bytes, path: str) -> None:
    """Write a file as `write` does."""
    with _renamed(path) as temporary, _refusing(path), open(temporary, "wb") as file:
        file.write(content)


@contextmanager
def _renamed(path: str) -> Generator[str, None, None]:
    """Yield another name to write under, which replaces `path` at the end.

    What is no regular file is written to itself: nothing may take the place of
    /dev/null, and a pipe has a reader.
    """
    folder, base = os.path.split(path)
    temporary = os.path.join(folder, f".{base}.{os.getpid()}.part")
    is_special = _is_special(path)
    try:
        yield path if is_special else temporary
        if not is_special:
            with _refusing(path):
                os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _is_special(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


@contextmanager
def _refusing(name: str) -> Generator[None, None, None]:
    """Turn what the system says into one line about that file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"{name}: report not written: {error.strerror}"
        raise WriteError(message) from error


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


_INSIDE = re.compile(r"##(?=\w*\[)")
_AT_START = re.compile(r"^(\s*):(?=:)", re.MULTILINE)


def disarmed(text: str) -> str:
    """Return a text in which no runner finds a command."""
    return _AT_START.sub(r"\1: ", _INSIDE.sub("# #", text))


def is_read_by_runner(environment: Mapping[str, str]) -> bool:
    """Return whether a CI of that kind reads the output of this process."""
    return any(
        environment.get(name, "").lower() == "true"
        for name in ("GITHUB_ACTIONS", "TF_BUILD")
    )


def github_data(text: str) -> str:
    """Return the message of a workflow command, escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
    """Return a property of a workflow command, escaped."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def azure_text(text: str) -> str:
    """Return a message or a property of a logging command, escaped."""
    # %25 was given up for this: addresses in messages hold %25 by themselves.
    text = text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(";", "%3B").replace("]", "%5D")

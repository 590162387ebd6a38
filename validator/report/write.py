"""Writes reports: to standard output, or to a file that is never half written."""

import os
import sys


class WriteError(Exception):
    """A report could not be written; the message names the file and the reason."""


def write(text: str, path: str | None) -> None:
    """Print the text, or write it to a temporary file and rename it to `path`."""
    if path is None:
        _print(text)
        return
    folder, base = os.path.split(path)
    temporary = os.path.join(folder, f".{base}.{os.getpid()}.part")
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        message = f"{path}: report not written: {error.strerror}"
        raise WriteError(message) from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _print(text: str) -> None:
    """Print, with characters that the terminal's encoding lacks replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.encode(encoding, "replace").decode(encoding)
    sys.stdout.write(text)
    sys.stdout.flush()

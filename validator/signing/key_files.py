"""Files of keys: read with a limit, and written once, for the owner alone."""

import os
import stat
from contextlib import suppress

from speccheck.validator.signing.faults import KeyFileError
from speccheck.validator.signing.keys import PublicKey, public_key

MOST_KEY_BYTES = 64 * 1024
_PRIVATE_MODE, _PUBLIC_MODE = 0o600, 0o644
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


def read_key_file(path: str) -> bytes:
    """The bytes of a key file; raises KeyFileError."""
    try:
        found = os.stat(path)
        is_descriptor = path.startswith(_DESCRIPTORS)
        if not stat.S_ISREG(found.st_mode) and not is_descriptor:
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
            message = f"is {kind}; a key is a PEM file"
            raise KeyFileError(message, place=path)
        with open(path, "rb") as file:
            content = file.read(MOST_KEY_BYTES + 1)
    except OSError as error:
        message = f"the key cannot be read: {error.strerror}"
        raise KeyFileError(message, place=path) from None
    except ValueError:  # a null character in the name
        message = "no name of a file"
        raise KeyFileError(message, place=path) from None
    if len(content) > MOST_KEY_BYTES:
        message = f"is no key file: longer than {MOST_KEY_BYTES:,} bytes"
        raise KeyFileError(message, place=path)
    return content


def read_public_key(path: str) -> PublicKey:
    """The public key of a file; raises KeyFileError."""
    return public_key(read_key_file(path), path)


def open_to_others(path: str) -> str:
    """A warning about a private key that other users may read; "" where none may."""
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return ""
    if path.startswith(_DESCRIPTORS) or not mode & 0o077:
        return ""
    return f"{path}: other users may read this private key (mode {mode:04o}); chmod 600"


def write_pair(private: tuple[str, bytes], public: tuple[str, bytes]) -> None:
    """Write both files of a key, or neither; nothing that is there is overwritten."""
    if os.path.abspath(private[0]) == os.path.abspath(public[0]):
        message = "is to be both the private and the public key"
        raise KeyFileError(message, place=private[0])
    _write_new(*private, _PRIVATE_MODE)
    try:
        _write_new(*public, _PUBLIC_MODE)
    except BaseException:
        os.unlink(private[0])
        raise


def _write_new(path: str, content: bytes, mode: int) -> None:
    """Write a file that is not there yet, with that mode from its first moment."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, mode)
    except FileExistsError:
        message = "is there already, and a key is never overwritten"
        remedy = "choose another name, or move the old key away"
        raise KeyFileError(message, remedy, path) from None
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or "no name of a file"
        message = f"the key cannot be written: {told}"
        raise KeyFileError(message, place=path) from None
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        message = f"the key cannot be written: {error.strerror}"
        raise KeyFileError(message, place=path) from None

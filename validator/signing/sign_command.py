"""A program that signs: a KMS, an HSM, a vault, or a script before one of them.

It gets the bytes to sign on standard input, or in a file whose name takes the place of
`{file}` among its arguments, and answers with the signature on standard output, as 64
bytes or as their base64. No shell takes the command apart.
"""

import base64
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import IO

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.signing.envelope import SIGNATURE_BYTES
from speccheck.validator.signing.faults import SignerError
from speccheck.validator.signing.keys import PublicKey

DEADLINE_SECONDS = 60.0
_FILE = "{file}"
_MOST_BYTES = 65_536  # of an answer
_SHOWN_CHARACTERS = 200


class SignCommand:
    """Signs by a command; `public` is the key that its signatures must fit."""

    def __init__(
        self, command: str, public: PublicKey, deadline: float = DEADLINE_SECONDS
    ) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            message = f"cmd: cannot be taken apart: {str(error).lower()}"
            raise SignerError(message) from None
        if not self._words:
            message = "cmd: names no program"
            raise SignerError(message, "--key 'cmd:PROGRAM ARGUMENT ...'")
        self.public = public
        self._deadline = deadline

    def sign(self, message: bytes) -> bytes:
        """The signature that the command answers with; raises SignerError."""
        with tempfile.NamedTemporaryFile(prefix="speccheck-sign-") as file:
            file.write(message)
            file.flush()
            file.seek(0)
            words = [word.replace(_FILE, file.name) for word in self._words]
            return self._answer(words, file)

    def _answer(self, words: list[str], message: IO[bytes]) -> bytes:
        name = os.path.basename(words[0])
        try:
            process = subprocess.Popen(  # noqa: S603 - the user names the command
                words,
                stdin=message,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # to end what it started as well
            )
        except (OSError, ValueError) as error:
            told = getattr(error, "strerror", None) or "no name of a program"
            problem = f"{name} cannot be started: {told}"
            raise SignerError(problem) from None
        with process:
            try:
                answer, said = _read(process, time.monotonic() + self._deadline)
            except (TimeoutError, subprocess.TimeoutExpired):
                _end(process)
                problem = f"{name} did not sign within {self._deadline:g} seconds"
                remedy = "it must ask nothing at a terminal"
                raise SignerError(problem, remedy) from None
            except BaseException:
                _end(process)
                raise
        if len(answer) > _MOST_BYTES:
            problem = f"{name} answered with more than {_MOST_BYTES:,} bytes"
            raise SignerError(problem)
        if process.returncode:
            problem = f"{name} ended with {_told(process.returncode)}{_last_line(said)}"
            raise SignerError(problem)
        return _signature(answer, name)


def _read(process: subprocess.Popen[bytes], end: float) -> tuple[bytes, bytes]:
    """What a process answers and says until it ends; raises TimeoutError.

    Of an endless answer the first part is enough, of what it says the last.
    """
    answer, said = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, found in ((process.stdout, answer), (process.stderr, said)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, found)
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                piece = os.read(key.fd, _MOST_BYTES)
                if not piece:
                    selector.unregister(key.fileobj)
                key.data.extend(piece)
            del said[:-_MOST_BYTES]
            if len(answer) > _MOST_BYTES:
                _end(process)
                return bytes(answer), bytes(said)
    process.wait(max(0.0, end - time.monotonic()))
    return bytes(answer), bytes(said)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _signature(answer: bytes, name: str) -> bytes:
    """The signature of an answer: as it is, or as base64."""
    if len(answer) == SIGNATURE_BYTES:
        return answer
    text = b"".join(answer.split())
    with suppress(ValueError):
        made = base64.b64decode(text, validate=True)
        if len(made) == SIGNATURE_BYTES:
            return made
    problem = (
        f"{name} answered with {len(answer)} bytes that are no signature; it must "
        f"print {SIGNATURE_BYTES} bytes, or their base64"
    )
    raise SignerError(problem)


def _told(code: int) -> str:
    return f"code {code}" if code > 0 else f"signal {-code}"


def _last_line(said: bytes) -> str:
    """The last line that it said, without credentials in it."""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    if not lines:
        return ""
    return f": {hidden(lines[-1].strip())[:_SHOWN_CHARACTERS]}"

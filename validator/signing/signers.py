"""Who signs: a key file, a key in an environment variable, or another program.

`--key key.pem`, `--key env:NAME` or `--key cmd:COMMAND`.
"""

import base64
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Protocol

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.signing.envelope import (
    PAYLOAD_TYPE,
    SIGNATURE_BYTES,
    Envelope,
    KeyFileError,
    Signature,
    SignerError,
    envelope_bytes,
    pae,
)
from speccheck.validator.signing.keys import (
    PublicKey,
    private_key,
    read_key_file,
    read_public_key,
)

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
        """Return the signature that the command answers with; raises SignerError."""
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
            result = getattr(error, "strerror", None) or "no name of a program"
            problem = f"{name} cannot be started: {result}"
            raise SignerError(problem) from None
        with process:
            try:
                answer, data = _read(process, time.monotonic() + self._deadline)
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
            problem = (
                f"{name} ended with {_exit_text(process.returncode)}{_last_line(data)}"
            )
            raise SignerError(problem)
        return _signature(answer, name)


def _read(process: subprocess.Popen[bytes], end: float) -> tuple[bytes, bytes]:
    """Return what a process answers and says until it ends; raises TimeoutError.

    Of an endless answer the first part is enough, of what it says the last.
    """
    answer, result = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, item in ((process.stdout, answer), (process.stderr, result)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, item)
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                piece = os.read(key.fd, _MOST_BYTES)
                if not piece:
                    selector.unregister(key.fileobj)
                key.data.extend(piece)
            del result[:-_MOST_BYTES]
            if len(answer) > _MOST_BYTES:
                _end(process)
                return bytes(answer), bytes(result)
    process.wait(max(0.0, end - time.monotonic()))
    return bytes(answer), bytes(result)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _signature(answer: bytes, name: str) -> bytes:
    """Return the signature of an answer: as it is, or as base64."""
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


def _exit_text(code: int) -> str:
    return f"code {code}" if code > 0 else f"signal {-code}"


def _last_line(data: bytes) -> str:
    """Return the last line that it said, without credentials in it."""
    lines = data.decode("utf-8", "replace").strip().splitlines()
    if not lines:
        return ""
    return f": {hidden(lines[-1].strip())[:_SHOWN_CHARACTERS]}"


_VARIABLE, _COMMAND = "env:", "cmd:"


class Signer(Protocol):
    """What makes signatures that fit its public key."""

    @property
    def public(self) -> PublicKey:
        """The key that verifies what it signs."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of a signature; raises SigningError."""
        ...


def signer_of(
    source: str,
    environment: Mapping[str, str],
    public: str = "",
    passphrase_variable: str = "",
) -> Signer:
    """Return what signs by `--key`; raises SigningError.

    Args:
        source: the path of a private key, env:NAME or cmd:COMMAND.
        environment: where variables are looked up.
        public: path of the public key; with cmd: it is needed, and a key must fit it.
        passphrase_variable: the variable with the passphrase of an encrypted key.
    """
    given = read_public_key(public) if public else None
    if source.startswith(_COMMAND):
        if given is None:
            message = f"{_COMMAND} needs the public key of what signs"
            raise KeyFileError(message, "--public pub.pem")
        return SignCommand(source.removeprefix(_COMMAND), given)
    passphrase = passphrase_of(passphrase_variable, environment)
    if source.startswith(_VARIABLE):
        name = source.removeprefix(_VARIABLE)
        content = _of_variable(name, environment)
        key = private_key(content, f"variable {name}", passphrase)
    else:
        key = private_key(read_key_file(source), source, passphrase)
    if given is not None and given.raw != key.public.raw:
        message = (
            f"the public key {given.key_id} is not the other half of the private key, "
            f"which is {key.public.key_id}"
        )
        raise KeyFileError(message, place=given.name)
    return key


def passphrase_of(name: str, environment: Mapping[str, str]) -> bytes | None:
    """Return the passphrase that a variable holds; None where none is named."""
    if not name:
        return None
    passphrase = environment.get(name, "")
    if not passphrase:
        text = "is empty" if name in environment else "is not set"
        message = f"variable {name}, which should hold the passphrase, {text}"
        raise KeyFileError(message)
    return passphrase.encode("utf-8", "surrogateescape")


def signed(payload: bytes, signer: Signer) -> bytes:
    """Return the file of a payload in its envelope, signed.

    What was made is verified before it is given away: a signature that does not fit
    would be found by whoever was to trust it.
    """
    message = pae(PAYLOAD_TYPE, payload)
    made = signer.sign(message)
    if not signer.public.fits(made, message):
        problem = (
            f"the signature does not fit the public key {signer.public.key_id} "
            f"({signer.public.name})"
        )
        raise SignerError(problem, "give the public key of what signs")
    signature = Signature(signer.public.key_id, made)
    return envelope_bytes(Envelope(payload, PAYLOAD_TYPE, signature))


def _of_variable(name: str, environment: Mapping[str, str]) -> bytes:
    r"""Return the PEM text of a variable.

    Stores of secrets often keep one line only: then line ends are written as \n.
    """
    if not name:
        message = f"--key {_VARIABLE} names no variable"
        raise KeyFileError(message, f"--key {_VARIABLE}NAME")
    text = environment.get(name, "")
    if not text.strip():
        result = "is empty" if name in environment else "is not set"
        message = f"variable {name}, which should hold the private key, {result}"
        raise KeyFileError(message)
    if "\n" not in text.strip():
        text = text.replace("\\n", "\n")
    return text.encode("utf-8", "surrogateescape")

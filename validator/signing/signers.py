"""Who signs: a key file, a key in an environment variable, or another program.

`--key key.pem`, `--key env:NAME` or `--key cmd:COMMAND`.
"""

from collections.abc import Mapping
from typing import Protocol

from speccheck.validator.signing.envelope import (
    PAYLOAD_TYPE,
    Envelope,
    Signature,
    envelope_bytes,
    pae,
)
from speccheck.validator.signing.faults import KeyFileError, SignerError
from speccheck.validator.signing.key_files import read_key_file, read_public_key
from speccheck.validator.signing.keys import (
    PublicKey,
    private_key,
)

_VARIABLE, _COMMAND = "env:", "cmd:"


class Signer(Protocol):
    """What makes signatures that fit its public key."""

    @property
    def public(self) -> PublicKey:
        """The key that verifies what it signs."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of a signature; raises SigningError."""
        ...


def signer_of(
    source: str,
    environment: Mapping[str, str],
    public: str = "",
    passphrase_variable: str = "",
) -> Signer:
    """What signs by `--key`; raises SigningError.

    Args:
        source: the path of a private key, env:NAME or cmd:COMMAND.
        environment: where variables are looked up.
        public: path of the public key; with cmd: it is needed, and a key must fit it.
        passphrase_variable: the variable with the passphrase of an encrypted key.
    """
    given = read_public_key(public) if public else None
    if source.startswith(_COMMAND):
        from speccheck.validator.signing.sign_command import (  # noqa: PLC0415 - rare
            SignCommand,
        )

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
    """The passphrase that a variable holds; None where none is named."""
    if not name:
        return None
    passphrase = environment.get(name, "")
    if not passphrase:
        found = "is empty" if name in environment else "is not set"
        message = f"variable {name}, which should hold the passphrase, {found}"
        raise KeyFileError(message)
    return passphrase.encode("utf-8", "surrogateescape")


def signed(payload: bytes, signer: Signer) -> bytes:
    """The file of a payload in its envelope, signed.

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
    r"""The PEM text of a variable.

    Stores of secrets often keep one line only: then line ends are written as \n.
    """
    if not name:
        message = f"--key {_VARIABLE} names no variable"
        raise KeyFileError(message, f"--key {_VARIABLE}NAME")
    text = environment.get(name, "")
    if not text.strip():
        found = "is empty" if name in environment else "is not set"
        message = f"variable {name}, which should hold the private key, {found}"
        raise KeyFileError(message)
    if "\n" not in text.strip():
        text = text.replace("\\n", "\n")
    return text.encode("utf-8", "surrogateescape")

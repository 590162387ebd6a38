"""Ed25519 keys: read from PEM, made, and known by the digest of their public half.

A private key is PKCS8, a public one SubjectPublicKeyInfo, as openssl and most others
write them. Keys of other kinds are refused by their name. The package that does the
arithmetic, cryptography, is an extra, and is imported when a key is used.
"""

import base64
import hashlib
import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from speccheck.validator.evidence.record import Record
from speccheck.validator.signing.envelope import KeyFileError, NoCryptographyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


# The DER of an Ed25519 SubjectPublicKeyInfo is this and the 32 bytes of the key
# (RFC 8410, section 4).
_DER_HEAD: Final = bytes.fromhex("302a300506032b6570032100")
_PUBLIC_BYTES = 32
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----")
_PRIVATE = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
_PUBLIC = "PUBLIC KEY"
_REMEDY = "speccheck keygen makes Ed25519 keys"
_OTHER_BLOCKS = {
    "OPENSSH PRIVATE KEY": "a private key in OpenSSH's own form",
    "RSA PRIVATE KEY": "an RSA key",
    "RSA PUBLIC KEY": "an RSA key",
    "EC PRIVATE KEY": "an elliptic-curve key of another kind (ECDSA)",
    "DSA PRIVATE KEY": "a DSA key",
    "CERTIFICATE": "an X.509 certificate",
    "PGP PRIVATE KEY BLOCK": "an OpenPGP key",
    "PGP PUBLIC KEY BLOCK": "an OpenPGP key",
}
_KINDS = {"EC": "ECDSA", "EllipticCurve": "ECDSA"}


class PublicKey(Record):
    """The half of a key that verifies; name: the file it is from."""

    raw: bytes
    name: str = ""

    @property
    def key_id(self) -> str:
        """SHA-256 of the DER SubjectPublicKeyInfo, in hexadecimal digits."""
        return hashlib.sha256(_DER_HEAD + self.raw).hexdigest()

    def pem(self) -> bytes:
        """Return the text of its file."""
        body = base64.b64encode(_DER_HEAD + self.raw).decode("ascii")
        text = f"-----BEGIN {_PUBLIC}-----\n{body}\n-----END {_PUBLIC}-----\n"
        return text.encode("ascii")

    def fits(self, signature: bytes, message: bytes) -> bool:
        """Return whether the signature is one of this key over that message."""
        require_cryptography()
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
            Ed25519PublicKey,
        )

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except InvalidSignature:
            return False
        return True


class PrivateKey:
    """The half of a key that signs; it shows itself to nobody."""

    __slots__ = ("_key", "public")

    def __init__(self, key: "Ed25519PrivateKey", name: str = "") -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw(), name)

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.key_id})"

    def sign(self, message: bytes) -> bytes:
        """Return the signature's 64 bytes, the same for the same message (RFC 8032)."""
        return self._key.sign(message)

    def pem(self, passphrase: bytes | None = None) -> bytes:
        """Return the text of its file, encrypted where there is a passphrase."""
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

        hides = (
            serialization.BestAvailableEncryption(passphrase)
            if passphrase
            else serialization.NoEncryption()
        )
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hides
        )


def require_cryptography() -> None:
    """Raise NoCryptographyError where the package is missing or broken."""
    try:
        from cryptography.hazmat.primitives.asymmetric import (  # noqa: PLC0415
            ed25519,
        )

        del ed25519
    except ImportError:
        message = "signing and verifying need the package cryptography"
        remedy = "install it: pip install 'speccheck[certify]'"
        raise NoCryptographyError(message, remedy) from None


def new_private_key() -> PrivateKey:
    """Return a key that nobody has seen."""
    require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
        Ed25519PrivateKey,
    )

    return PrivateKey(Ed25519PrivateKey.generate())


def private_key(
    content: bytes, name: str, passphrase: bytes | None = None
) -> PrivateKey:
    """Return the private key of a PEM text.

    Raises KeyFileError, which shows none of it.
    """
    require_cryptography()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
        Ed25519PrivateKey,
    )

    block = _block(content, name)
    if block == _PUBLIC:
        message = "holds a public key; to sign takes the private one"
        raise KeyFileError(message, place=name)
    _refuse_block(block, name)
    is_encrypted = block.startswith("ENCRYPTED")
    if is_encrypted and passphrase is None:
        message = "is encrypted"
        remedy = "--passphrase-env NAME names the variable with its passphrase"
        raise KeyFileError(message, remedy, name)
    if passphrase is not None and not is_encrypted:
        message = "is not encrypted, and a passphrase was given"
        raise KeyFileError(message, "leave --passphrase-env out", name)
    try:
        key = serialization.load_pem_private_key(content, passphrase)
    except Exception:  # noqa: BLE001 - of many kinds, and their texts are not for us
        problem = "the passphrase is wrong, or it" if is_encrypted else "it"
        message = f"holds no private key that can be read: {problem} is damaged"
        raise KeyFileError(message, place=name) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _other_kind(key, name)
    return PrivateKey(key, name)


def public_key(content: bytes, name: str) -> PublicKey:
    """Return the public key of a PEM text; raises KeyFileError."""
    require_cryptography()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
        Ed25519PublicKey,
    )

    block = _block(content, name)
    if block in _PRIVATE:
        message = "holds a private key; to verify takes the public one"
        remedy = "give the file that speccheck keygen --public wrote"
        raise KeyFileError(message, remedy, name)
    _refuse_block(block, name)
    try:
        key = serialization.load_pem_public_key(content)
    except Exception:  # noqa: BLE001 - of many kinds
        message = "holds no public key that can be read: it is damaged"
        raise KeyFileError(message, place=name) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _other_kind(key, name)
    return PublicKey(key.public_bytes_raw(), name)


def _block(content: bytes, name: str) -> str:
    """Return the label of the only PEM block of a text."""
    labels = _BLOCK.findall(content.decode("utf-8", "replace"))
    if not labels:
        text = "is empty" if not content.strip() else "is no PEM file"
        message = f"{text}: no line -----BEGIN ...-----"
        raise KeyFileError(message, _REMEDY, name)
    if len(labels) > 1:
        message = f"holds {len(labels)} PEM blocks; a key file has one"
        raise KeyFileError(message, place=name)
    return str(labels[0])


def _refuse_block(block: str, name: str) -> None:
    if block == _PUBLIC or block in _PRIVATE:
        return
    text = _OTHER_BLOCKS.get(block, f"a PEM block of another kind: {block[:40]}")
    message = f"holds {text}; a key is PEM of an Ed25519 key (PKCS8 or public)"
    raise KeyFileError(message, _REMEDY, name)


def _other_kind(key: object, name: str) -> KeyFileError:
    """Return the refusal of a key of another kind: RSA, ECDSA secp256r1, Ed448, ..."""
    kind = re.sub(r"(Private|Public)Key.*|^_", "", type(key).__name__)
    curve = getattr(getattr(key, "curve", None), "name", "")
    text = f"{_KINDS.get(kind, kind)} {curve}".strip()
    return KeyFileError(f"holds a key of {text}; it must be Ed25519", _REMEDY, name)


MOST_KEY_BYTES = 64 * 1024
_PRIVATE_MODE, _PUBLIC_MODE = 0o600, 0o644
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


def read_key_file(path: str) -> bytes:
    """Return the bytes of a key file; raises KeyFileError."""
    try:
        result = os.stat(path)
        is_descriptor = path.startswith(_DESCRIPTORS)
        if not stat.S_ISREG(result.st_mode) and not is_descriptor:
            kind = "a folder" if stat.S_ISDIR(result.st_mode) else "no regular file"
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
    """Return the public key of a file; raises KeyFileError."""
    return public_key(read_key_file(path), path)


def open_to_others(path: str) -> str:
    """Return a warning about a private key that other users may read.

    "" where none may.
    """
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
        result = getattr(error, "strerror", None) or "no name of a file"
        message = f"the key cannot be written: {result}"
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

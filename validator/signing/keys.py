"""Ed25519 keys: read from PEM, made, and known by the digest of their public half.

A private key is PKCS8, a public one SubjectPublicKeyInfo, as openssl and most others
write them. Keys of other kinds are refused by their name. The package that does the
arithmetic, cryptography, is an extra, and is imported when a key is used.
"""

import base64
import hashlib
import re
from typing import TYPE_CHECKING, Final

from speccheck.validator.evidence.record import Record
from speccheck.validator.signing.faults import KeyFileError, NoCryptographyError

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
        """The text of its file."""
        body = base64.b64encode(_DER_HEAD + self.raw).decode("ascii")
        text = f"-----BEGIN {_PUBLIC}-----\n{body}\n-----END {_PUBLIC}-----\n"
        return text.encode("ascii")

    def fits(self, signature: bytes, message: bytes) -> bool:
        """Whether the signature is one of this key over that message."""
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
        """The 64 bytes of the signature, the same for the same message (RFC 8032)."""
        return self._key.sign(message)

    def pem(self, passphrase: bytes | None = None) -> bytes:
        """The text of its file, encrypted where there is a passphrase."""
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
    """A key that nobody has seen."""
    require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
        Ed25519PrivateKey,
    )

    return PrivateKey(Ed25519PrivateKey.generate())


def private_key(
    content: bytes, name: str, passphrase: bytes | None = None
) -> PrivateKey:
    """The private key of a PEM text; raises KeyFileError, which shows none of it."""
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
    """The public key of a PEM text; raises KeyFileError."""
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
    """The label of the one PEM block of a text."""
    labels = _BLOCK.findall(content.decode("utf-8", "replace"))
    if not labels:
        found = "is empty" if not content.strip() else "is no PEM file"
        message = f"{found}: no line -----BEGIN ...-----"
        raise KeyFileError(message, _REMEDY, name)
    if len(labels) > 1:
        message = f"holds {len(labels)} PEM blocks; a key file has one"
        raise KeyFileError(message, place=name)
    return str(labels[0])


def _refuse_block(block: str, name: str) -> None:
    if block == _PUBLIC or block in _PRIVATE:
        return
    found = _OTHER_BLOCKS.get(block, f"a PEM block of another kind: {block[:40]}")
    message = f"holds {found}; a key is PEM of an Ed25519 key (PKCS8 or public)"
    raise KeyFileError(message, _REMEDY, name)


def _other_kind(key: object, name: str) -> KeyFileError:
    """The refusal of a key of another kind: RSA, ECDSA secp256r1, Ed448, ..."""
    kind = re.sub(r"(Private|Public)Key.*|^_", "", type(key).__name__)
    curve = getattr(getattr(key, "curve", None), "name", "")
    told = f"{_KINDS.get(kind, kind)} {curve}".strip()
    return KeyFileError(f"holds a key of {told}; it must be Ed25519", _REMEDY, name)

"""DSSE v1: a payload with its type and one signature over both.

The format allows more than is taken here: several signatures, fields besides, either
alphabet of base64, any JSON. Of a certificate there is one form, so that whatever
changes in it is seen.
"""

import base64
import re

from speccheck.validator.evidence.record import Record
from speccheck.validator.signing.canonical import MOST_BYTES, canonical, read_canonical
from speccheck.validator.signing.faults import EnvelopeError, NotCanonicalError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
SIGNATURE_BYTES = 64
_FIELDS = ("payload", "payloadType", "signatures")
_SIGNATURE_FIELDS = ("keyid", "sig")
_KEY_ID = re.compile(r"[0-9a-f]{64}")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=]")
_SHOWN_CHARACTERS = 60


class Signature(Record):
    """What a key made; key_id: the SHA-256 of its public half, which is a hint."""

    key_id: str
    value: bytes


class Envelope(Record):
    """A payload as it was signed, with its one signature."""

    payload: bytes
    payload_type: str
    signature: Signature

    @property
    def signed(self) -> bytes:
        """The bytes that the signature is over."""
        return pae(self.payload_type, self.payload)


def pae(payload_type: str, payload: bytes) -> bytes:
    """The pre-authentication encoding of DSSE v1: lengths part type from payload."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def envelope_bytes(envelope: Envelope) -> bytes:
    """The file of an envelope: canonical JSON and a line end."""
    signature = envelope.signature
    fields = {
        "payload": _base64(envelope.payload),
        "payloadType": envelope.payload_type,
        "signatures": [{"keyid": signature.key_id, "sig": _base64(signature.value)}],
    }
    return canonical(fields) + b"\n"


def read_envelope(content: bytes) -> Envelope:
    """The envelope of a file; raises EnvelopeError, which says what is wrong."""
    if not content.strip():
        message = "the file is empty"
        raise EnvelopeError(message)
    if content[-1:] != b"\n":
        message = "the line end is missing: the file was cut or written anew"
        raise EnvelopeError(message)
    try:
        value = read_canonical(content[:-1], MOST_BYTES)
    except NotCanonicalError as error:
        raise EnvelopeError(error.problem, error.remedy, error.place) from None
    fields = _object(value, "the envelope", _FIELDS)
    payload_type = _text(fields["payloadType"], "payloadType")
    if payload_type != PAYLOAD_TYPE:
        message = f"payloadType is {_shown(payload_type)}, and must be {PAYLOAD_TYPE}"
        raise EnvelopeError(message)
    payload = _bytes(fields["payload"], "payload")
    if not payload:
        message = "payload is empty"
        raise EnvelopeError(message)
    return Envelope(payload, payload_type, _signature(fields["signatures"]))


def _signature(value: object) -> Signature:
    if not isinstance(value, list):
        message = "signatures is no array"
        raise EnvelopeError(message)
    if len(value) != 1:
        found = f"{len(value)} signatures" if value else "no signature"
        message = f"{found}; a certificate has exactly one"
        raise EnvelopeError(message)
    fields = _object(value[0], "signatures[0]", _SIGNATURE_FIELDS)
    key_id = _text(fields["keyid"], "signatures[0].keyid")
    if not _KEY_ID.fullmatch(key_id):
        found = _shown(key_id) if key_id else "empty"
        message = (
            f"signatures[0].keyid is {found}, and must be the SHA-256 of the public "
            "key: 64 hexadecimal digits, small letters"
        )
        raise EnvelopeError(message)
    made = _bytes(fields["sig"], "signatures[0].sig")
    if len(made) != SIGNATURE_BYTES:
        message = (
            f"signatures[0].sig holds {len(made)} bytes; a signature of Ed25519 has "
            f"{SIGNATURE_BYTES}"
        )
        raise EnvelopeError(message)
    return Signature(key_id, made)


def _object(value: object, name: str, wanted: tuple[str, ...]) -> dict[str, object]:
    """An object of exactly those fields."""
    if not isinstance(value, dict):
        message = f"{name} is no object"
        raise EnvelopeError(message)
    missing = [one for one in wanted if one not in value]
    if missing:
        message = f"{name} has no field {', '.join(missing)}"
        raise EnvelopeError(message)
    others = [_shown(one) for one in value if one not in wanted]
    if others:
        message = f"{name} has a field that is not known: {', '.join(others[:3])}"
        raise EnvelopeError(message)
    return dict(value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        message = f"{name} is no text"
        raise EnvelopeError(message)
    return value


def _bytes(value: object, name: str) -> bytes:
    """What a text of standard base64 holds; no other text of the same bytes."""
    text = _text(value, name)
    other = _NOT_BASE64.search(text)
    if other is not None:
        kind = "URL-safe base64" if other[0] in "-_" else "no base64"
        message = f"character {other.start() + 1} of {name} is {other[0]!r}: {kind}"
        raise EnvelopeError(message, "standard base64 (RFC 4648, section 4) is read")
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError:  # binascii.Error is one
        message = f"{name} is no base64: {len(text):,} characters, or = amiss"
        raise EnvelopeError(message) from None
    if _base64(content) != text:
        message = f"{name} is not canonical base64: the last character has spare bits"
        raise EnvelopeError(message)
    return content


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _shown(text: str) -> str:
    if len(text) > _SHOWN_CHARACTERS:
        return f"{text[:_SHOWN_CHARACTERS]!r}..."
    return repr(text)

"""DSSE v1: a payload with its type and one signature over both.

The format allows more than is taken here: several signatures, fields besides, either
alphabet of base64, any JSON. Of a certificate there is one form, so that whatever
changes in it is seen.
"""

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import NoReturn

from speccheck.validator.evidence.record import Record


class SigningError(Exception):
    """What was found wrong, and what to do about it.

    place: where in the text, "" where that means nothing.
    """

    def __init__(self, problem: str, remedy: str = "", place: str = "") -> None:
        text = f"{place}: {problem}" if place else problem
        super().__init__(f"{text}; {remedy}" if remedy else text)
        self.problem, self.remedy, self.place = problem, remedy, place

    def within(self, name: str) -> "SigningError":
        """Return the same fault, attributed to a file, variable or part by name."""
        place = f"{name}: {self.place}" if self.place else name
        return type(self)(self.problem, self.remedy, place)


class NoCryptographyError(SigningError):
    """The package that signs and verifies is not installed."""


class NotCanonicalError(SigningError):
    """A text is no JSON, or not in the one form that is signed."""


class EnvelopeError(SigningError):
    """An envelope holds other than one payload and one signature of it."""


class StatementError(SigningError):
    """A payload is no statement of the kind that was asked for."""


class KeyFileError(SigningError):
    """A key cannot be read, is of another kind, or cannot be written."""


class SignerError(SigningError):
    """What was to sign gave no signature that fits."""


class OtherKeyError(SigningError):
    """An envelope was signed with a key that is not among the given ones."""


class SignatureError(SigningError):
    """A signature does not fit what it is said to sign."""


Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

MOST_BYTES = 64 * 1024 * 1024
MOST_DEPTH = 64
_MOST_DIGITS = 4300  # of an integer, as Python reads them
_SHOWN_CHARACTERS = 24  # of what was found, in a message
_LEXEME = re.compile(r'"(?:[^"\\]+|\\.)*+"?|[{}\[\]]|NaN|-?Infinity', re.DOTALL)


def canonical(value: object) -> bytes:
    """Return the one text of a value; raises NotCanonicalError for what has none."""
    _refuse_other(value, "$", MOST_DEPTH)
    try:
        return _text(value).encode("utf-8")
    except UnicodeEncodeError:
        message = "half of a surrogate pair, which UTF-8 cannot hold"
        raise NotCanonicalError(message) from None
    except ValueError:
        message = f"an integer of more than {_MOST_DIGITS:,} digits"
        raise NotCanonicalError(message) from None


def read_canonical(
    content: bytes, most_bytes: int = MOST_BYTES, most_depth: int = MOST_DEPTH
) -> Json:
    """Return the value of a canonical text; raises NotCanonicalError with its place."""
    if len(content) > most_bytes:
        message = f"{len(content):,} bytes; at most {most_bytes:,} are read"
        raise NotCanonicalError(message)
    text = _decoded(content)
    _refuse_structure(text, most_depth)
    try:
        value: Json = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"no JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise NotCanonicalError(message, place=place_of(text, error.pos)) from None
    except ValueError:
        message = f"an integer of more than {_MOST_DIGITS:,} digits"
        raise NotCanonicalError(message) from None
    if text != (written := _text(value)):
        _refuse_difference(text, written)
    return value


def place_of(text: str, offset: int) -> str:
    """Return the line and column of a character, both from 1."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return f"line {line}, column {column}"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        message = f"byte 0x{content[error.start]:02x} is no UTF-8"
        raise NotCanonicalError(message, place=place_of(before, len(before))) from None


def _refuse_other(value: object, path: str, depth: int) -> None:
    """Refuse what JSON would turn into something else, or cannot hold."""
    if depth < 0:
        message = f"{path[: _SHOWN_CHARACTERS * 2]}...: deeper than {MOST_DEPTH} levels"
        raise NotCanonicalError(message)
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                message = f"{path}: a key is {type(key).__name__}, and must be a text"
                raise NotCanonicalError(message)
            _refuse_other(item, f"{path}.{key}", depth - 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_other(item, f"{path}[{index}]", depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        message = f"{path}: {value}, which JSON cannot hold"
        raise NotCanonicalError(message)
    elif value is not None and not isinstance(value, str | int | float | bool):
        message = f"{path}: {type(value).__name__}, which JSON cannot hold"
        raise NotCanonicalError(message)


def _refuse_structure(text: str, most_depth: int) -> None:
    """Refuse depth, keys that stand twice, and NaN, each at its place.

    Whether the text is JSON at all is not asked here: json.loads would take each of
    these without a word, or give up on the stack.
    """
    open_keys: list[set[str]] = []
    for match in _LEXEME.finditer(text):
        lexeme, offset = match[0], match.start()
        if lexeme in "{[":
            open_keys.append(set())
            if len(open_keys) > most_depth:
                message = f"deeper than {most_depth} levels"
                raise NotCanonicalError(message, place=place_of(text, offset))
        elif lexeme in "}]":
            if open_keys:
                open_keys.pop()
        elif lexeme[0] != '"':
            message = f"{lexeme}, which is no number of JSON"
            raise NotCanonicalError(message, place=place_of(text, offset))
        elif text[match.end() : match.end() + 1] == ":" and open_keys:
            if lexeme in open_keys[-1]:
                message = f"the key {_shown(lexeme)} stands twice in one object"
                raise NotCanonicalError(message, place=place_of(text, offset))
            open_keys[-1].add(lexeme)


def _refuse_difference(text: str, written: str) -> NoReturn:
    """Refuse a text that is not as its own value is written."""
    pairs = zip(text, written, strict=False)
    shortest = min(len(text), len(written))
    offset = next((i for i, (a, b) in enumerate(pairs) if a != b), shortest)
    result = _shown(text[offset:]) or "the end"
    wanted = _shown(written[offset:]) or "the end"
    message = f"not canonical: {result} where canonical JSON has {wanted}"
    remedy = "nothing may be changed after signing, not even blanks"
    raise NotCanonicalError(message, remedy, place_of(text, offset))


def _shown(text: str) -> str:
    """Return the beginning of a text, with what is not printed in view."""
    if not text:
        return ""
    begin = text[:_SHOWN_CHARACTERS]
    more = "..." if len(text) > len(begin) else ""
    if begin.isprintable() and begin[0] != " ":
        return f"{begin}{more}"
    return f"{begin!r}{more}"


STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
CERTIFICATE_TYPE = "urn:speccheck:certificate:v1"
_CERTIFICATES = re.compile(r"urn:speccheck:certificate:v(\d+)")
_FIELDS = ("_type", "predicate", "predicateType", "subject")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_STATEMENT_SHOWN_CHARACTERS = 60


class Statement(Record):
    """A predicate with its one subject, known by name and SHA-256."""

    subject_name: str
    subject_sha256: str
    predicate_type: str
    predicate: dict[str, object]


def statement_bytes(statement: Statement) -> bytes:
    """Return the payload of a statement: canonical JSON."""
    if not _SHA256.fullmatch(statement.subject_sha256):
        message = "the digest of the subject is no SHA-256: 64 hexadecimal digits"
        raise StatementError(message)
    return canonical(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                {
                    "name": statement.subject_name,
                    "digest": {"sha256": statement.subject_sha256},
                }
            ],
            "predicateType": statement.predicate_type,
            "predicate": statement.predicate,
        }
    )


def read_statement(payload: bytes, wanted: str = CERTIFICATE_TYPE) -> Statement:
    """Return the statement of a payload, of the wanted kind; raises StatementError.

    Parsers of in-toto pass over fields that they do not know. Of a certificate there
    are none: what is not known could mean that it holds no longer.
    """
    try:
        value = read_canonical(payload)
    except NotCanonicalError as error:
        raise StatementError(error.problem, error.remedy, error.place) from None
    if not isinstance(value, dict):
        message = "the statement is no object"
        raise StatementError(message)
    kind = value.get("_type")
    if kind != STATEMENT_TYPE:
        message = f"_type is {_statement_shown(kind)}, and must be {STATEMENT_TYPE}"
        raise StatementError(message)
    predicate_type = value.get("predicateType")
    if predicate_type != wanted:
        raise _other_predicate(predicate_type, wanted)
    _refuse_fields(value, _FIELDS, "the statement")
    name, sha256 = _subject(value["subject"])
    predicate = value["predicate"]
    if not isinstance(predicate, dict):
        message = "predicate is no object"
        raise StatementError(message)
    return Statement(name, sha256, wanted, dict(predicate))


def _subject(value: object) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 1:
        text = f"{len(value)} subjects" if isinstance(value, list) else "no array"
        message = f"subject: {text}; it must be one, the instance type"
        raise StatementError(message)
    subject = value[0]
    if not isinstance(subject, dict):
        message = "subject[0] is no object"
        raise StatementError(message)
    _refuse_fields(subject, ("digest", "name"), "subject[0]")
    name, digest = subject["name"], subject["digest"]
    if not isinstance(name, str) or not name:
        message = "subject[0].name is no text, or empty"
        raise StatementError(message)
    if not isinstance(digest, dict) or list(digest) != ["sha256"]:
        message = "subject[0].digest must hold sha256, and nothing else"
        raise StatementError(message)
    sha256 = digest["sha256"]
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        message = (
            f"subject[0].digest.sha256 is {_statement_shown(sha256)}, and must be 64 "
            "hexadecimal digits, small letters"
        )
        raise StatementError(message)
    return name, sha256


def _other_predicate(result: object, wanted: str) -> StatementError:
    other = _CERTIFICATES.fullmatch(result) if isinstance(result, str) else None
    if other is not None and wanted == CERTIFICATE_TYPE:
        message = f"a certificate of version {other[1]}; this speccheck reads version 1"
        return StatementError(message, "verify it with the version that it names")
    message = f"predicateType is {_statement_shown(result)}, and must be {wanted}"
    return StatementError(message)


def _refuse_fields(
    value: Mapping[str, object], wanted: tuple[str, ...], name: str
) -> None:
    missing = [text for text in wanted if text not in value]
    if missing:
        message = f"{name} has no field {', '.join(missing)}"
        raise StatementError(message)
    others = [_statement_shown(text) for text in value if text not in wanted]
    if others:
        message = f"{name} has a field that is not known: {', '.join(others[:3])}"
        raise StatementError(message)


def _statement_shown(value: object) -> str:
    if value is None:
        return "missing"
    text = (
        repr(value) if isinstance(value, str) else f"no text ({type(value).__name__})"
    )
    return (
        text
        if len(text) <= _STATEMENT_SHOWN_CHARACTERS
        else f"{text[:_STATEMENT_SHOWN_CHARACTERS]}..."
    )


PAYLOAD_TYPE = "application/vnd.in-toto+json"
SIGNATURE_BYTES = 64
_ENVELOPE_FIELDS = ("payload", "payloadType", "signatures")
_SIGNATURE_FIELDS = ("keyid", "sig")
_KEY_ID = re.compile(r"[0-9a-f]{64}")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=]")
_ENVELOPE_SHOWN_CHARACTERS = 60


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
    """Return DSSE v1's pre-authentication encoding of a type and a payload."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def envelope_bytes(envelope: Envelope) -> bytes:
    """Return the file of an envelope: canonical JSON and a line end."""
    signature = envelope.signature
    fields = {
        "payload": _base64(envelope.payload),
        "payloadType": envelope.payload_type,
        "signatures": [{"keyid": signature.key_id, "sig": _base64(signature.value)}],
    }
    return canonical(fields) + b"\n"


def read_envelope(content: bytes) -> Envelope:
    """Return the envelope of a file; raises EnvelopeError, which says what is wrong."""
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
    fields = _object(value, "the envelope", _ENVELOPE_FIELDS)
    payload_type = _envelope_text(fields["payloadType"], "payloadType")
    if payload_type != PAYLOAD_TYPE:
        shown = _envelope_shown(payload_type)
        message = f"payloadType is {shown}, and must be {PAYLOAD_TYPE}"
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
        text = f"{len(value)} signatures" if value else "no signature"
        message = f"{text}; a certificate has exactly one"
        raise EnvelopeError(message)
    fields = _object(value[0], "signatures[0]", _SIGNATURE_FIELDS)
    key_id = _envelope_text(fields["keyid"], "signatures[0].keyid")
    if not _KEY_ID.fullmatch(key_id):
        text = _envelope_shown(key_id) if key_id else "empty"
        message = (
            f"signatures[0].keyid is {text}, and must be the SHA-256 of the public "
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
    """Return an object of exactly those fields."""
    if not isinstance(value, dict):
        message = f"{name} is no object"
        raise EnvelopeError(message)
    missing = [text for text in wanted if text not in value]
    if missing:
        message = f"{name} has no field {', '.join(missing)}"
        raise EnvelopeError(message)
    others = [_envelope_shown(item) for item in value if item not in wanted]
    if others:
        message = f"{name} has a field that is not known: {', '.join(others[:3])}"
        raise EnvelopeError(message)
    return dict(value)


def _envelope_text(value: object, name: str) -> str:
    if not isinstance(value, str):
        message = f"{name} is no text"
        raise EnvelopeError(message)
    return value


def _bytes(value: object, name: str) -> bytes:
    """Return what a text of standard base64 holds; no other text of the same bytes."""
    text = _envelope_text(value, name)
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


def _envelope_shown(text: str) -> str:
    if len(text) > _ENVELOPE_SHOWN_CHARACTERS:
        return f"{text[:_ENVELOPE_SHOWN_CHARACTERS]!r}..."
    return repr(text)

"""An in-toto Statement (v1): what is claimed, of what, in which vocabulary."""

import re
from collections.abc import Mapping

from speccheck.validator.evidence.record import Record
from speccheck.validator.signing.canonical import canonical, read_canonical
from speccheck.validator.signing.faults import NotCanonicalError, StatementError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
CERTIFICATE_TYPE = "urn:speccheck:certificate:v1"
_CERTIFICATES = re.compile(r"urn:speccheck:certificate:v(\d+)")
_FIELDS = ("_type", "predicate", "predicateType", "subject")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHOWN_CHARACTERS = 60


class Statement(Record):
    """A predicate with its one subject, known by name and SHA-256."""

    subject_name: str
    subject_sha256: str
    predicate_type: str
    predicate: dict[str, object]


def statement_bytes(statement: Statement) -> bytes:
    """The payload of a statement: canonical JSON."""
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
    """The statement of a payload, of the wanted kind; raises StatementError.

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
        message = f"_type is {_shown(kind)}, and must be {STATEMENT_TYPE}"
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
        found = f"{len(value)} subjects" if isinstance(value, list) else "no array"
        message = f"subject: {found}; it must be one, the instance type"
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
            f"subject[0].digest.sha256 is {_shown(sha256)}, and must be 64 hexadecimal "
            "digits, small letters"
        )
        raise StatementError(message)
    return name, sha256


def _other_predicate(found: object, wanted: str) -> StatementError:
    other = _CERTIFICATES.fullmatch(found) if isinstance(found, str) else None
    if other is not None and wanted == CERTIFICATE_TYPE:
        message = f"a certificate of version {other[1]}; this speccheck reads version 1"
        return StatementError(message, "verify it with the version that it names")
    message = f"predicateType is {_shown(found)}, and must be {wanted}"
    return StatementError(message)


def _refuse_fields(
    value: Mapping[str, object], wanted: tuple[str, ...], name: str
) -> None:
    missing = [one for one in wanted if one not in value]
    if missing:
        message = f"{name} has no field {', '.join(missing)}"
        raise StatementError(message)
    others = [_shown(one) for one in value if one not in wanted]
    if others:
        message = f"{name} has a field that is not known: {', '.join(others[:3])}"
        raise StatementError(message)


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    told = (
        repr(value) if isinstance(value, str) else f"no text ({type(value).__name__})"
    )
    return told if len(told) <= _SHOWN_CHARACTERS else f"{told[:_SHOWN_CHARACTERS]}..."

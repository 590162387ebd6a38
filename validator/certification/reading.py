"""The predicate of a certificate, read back strictly."""

from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.certification.predicate import SCHEMA

_FAMILY = SCHEMA.partition("/")[0]
_MOST_TOLD = 3


class CertificateError(Exception):
    """A predicate that is no certificate; the message says what is wrong with it."""


def read_certificate(predicate: dict[str, Any], path: str) -> Certificate:
    """The certificate of a statement; raises CertificateError."""
    schema = str(predicate.get("schema"))
    family, _, version = schema.partition("/")
    if family == _FAMILY and version != SCHEMA.partition("/")[2]:
        message = (
            f"{path}: {schema[:60]}: of another speccheck; verify it with that one"
        )
        raise CertificateError(message)
    try:
        found = Certificate.model_validate(predicate)
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
            for one in error.errors()[:_MOST_TOLD]
        )
        message = f"{path}: is no {SCHEMA}: {told}"
        raise CertificateError(message) from error
    _refuse_times(found, path)
    return found


def _refuse_times(found: Certificate, path: str) -> None:
    validity = found.validity
    for name in ("created", "not_before", "not_after"):
        text = getattr(validity, name)
        try:
            is_utc = datetime.fromisoformat(text).utcoffset() == timedelta()
        except ValueError:
            is_utc = False
        if not is_utc:
            message = f"{path}: validity.{name} is no time in UTC: {text[:40]!r}"
            raise CertificateError(message)

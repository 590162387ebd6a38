"""The predicate of a certificate, read back strictly."""

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
        return Certificate.model_validate(predicate)
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
            for one in error.errors()[:_MOST_TOLD]
        )
        message = f"{path}: is no {SCHEMA}: {told}"
        raise CertificateError(message) from error

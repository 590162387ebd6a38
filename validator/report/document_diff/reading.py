"""Certificates and reports read back to be compared; no signature is verified."""

import json
from collections.abc import Mapping
from typing import Any

from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.certification.reading import CertificateError, read_certificate
from speccheck.validator.report.document_diff.compared import Kind
from speccheck.validator.signing.envelope import read_envelope
from speccheck.validator.signing.faults import SigningError
from speccheck.validator.signing.statement import read_statement
from speccheck.validator.sources.documents.document import ReadError

REPORT = "speccheck-report/1"
_FAMILY = "speccheck-report/"


def kind_of(text: str) -> Kind | None:
    """What a text is by its first fields; None for neither of the two."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if "payloadType" in found:
        return "certificate"
    schema = found.get("schema")
    return "report" if isinstance(schema, str) and schema.startswith(_FAMILY) else None


def certificate_of(text: str, path: str) -> Certificate:
    """The certificate of an envelope, as it is; raises SigningError, CertificateError.

    Whoever changed it could have signed it anew: `speccheck verify` knows the keys.
    """
    try:
        envelope = read_envelope(text.encode("utf-8", "surrogateescape"))
        statement = read_statement(envelope.payload)
    except SigningError as error:
        raise error.within(path) from None
    found = read_certificate(statement.predicate, path)
    named = statement.subject_name, statement.subject_sha256
    if named != (found.instance_type, found.type.sha256):
        message = f"{path}: the statement names another type of machine than it holds"
        raise CertificateError(message)
    return found


def report_of(text: str, path: str) -> Mapping[str, Any]:
    """A report as it is; raises ReadError."""
    from pydantic import ValidationError  # noqa: PLC0415 - of reports alone

    from speccheck.validator.report.report_model import (  # noqa: PLC0415 - the same
        Report,
    )

    try:
        found: dict[str, Any] = json.loads(text)
        Report.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"is no {REPORT}: {where}: {first['msg']}"
        remedy = "give what --output json of this release wrote"
        raise ReadError(path, "syntax", problem, remedy) from None
    except (ValueError, RecursionError) as error:
        problem = f"no JSON: {str(error) or 'nested too deeply'}"
        raise ReadError(path, "syntax", problem, "") from None
    return found

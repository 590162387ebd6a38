"""Certificates and reports read back to be compared; no signature is verified."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.certification.statement import (
    CertificateError,
    read_certificate,
)
from speccheck.validator.report.document_model import model_of
from speccheck.validator.report.json_report import Report
from speccheck.validator.signing.envelope import (
    SigningError,
    read_envelope,
    read_statement,
)
from speccheck.validator.sources.documents.document import ReadError

REPORT = "speccheck-report/1"


def certificate_of(text: str, path: str) -> Certificate:
    """Return the certificate of an envelope as is; raises SigningError or ReadError.

    Whoever changed it could have signed it anew: `speccheck verify` knows the keys.
    """
    try:
        envelope = read_envelope(text.encode("utf-8", "surrogateescape"))
        statement = read_statement(envelope.payload)
    except SigningError as error:
        raise error.within(path) from None
    remedy = "give what speccheck certify wrote"
    try:
        certificate = read_certificate(statement.predicate, path)
    except CertificateError as error:
        problem = str(error).removeprefix(f"{path}: ")
        raise ReadError(path, "syntax", problem, remedy) from None
    named = statement.subject_name, statement.subject_sha256
    if named != (certificate.instance_type, certificate.type.sha256):
        problem = "the statement names another type of machine than it holds"
        raise ReadError(path, "syntax", problem, remedy)
    return certificate


def report_of(text: str, path: str) -> Mapping[str, Any]:
    """Return a report as it is; raises ReadError."""
    try:
        # What a reader of JSON Schema takes for a number is one afterwards.
        report = model_of(Report).model_validate(json.loads(text))
        return report.model_dump(by_alias=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"is no {REPORT}: {where}: {first['msg']}"
        remedy = "give what --output json of this release wrote"
        raise ReadError(path, "syntax", problem, remedy) from None
    except (ValueError, RecursionError) as error:
        problem = f"no JSON: {str(error) or 'nested too deeply'}"
        remedy = "give what --output json wrote"
        raise ReadError(path, "syntax", problem, remedy) from None

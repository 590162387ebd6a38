"""What a text is that is to be compared: a certificate, a report, or neither."""

import json

from speccheck.validator.report.document_diff.compared import Kind

_FAMILY = "speccheck-report/"


def kind_of(text: str) -> Kind | None:
    """Return what a text is by its first fields; None for neither of the two."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict):
        return None
    if "payloadType" in result:
        return "certificate"
    schema = result.get("schema")
    return "report" if isinstance(schema, str) and schema.startswith(_FAMILY) else None

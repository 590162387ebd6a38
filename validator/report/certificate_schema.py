"""The JSON Schema of a certificate: the envelope, and the statement in its payload."""

from typing import Any

from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.signing.envelope import (
    CERTIFICATE_TYPE,
    PAYLOAD_TYPE,
    STATEMENT_TYPE,
)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
# 64 bytes are 86 characters of base64, the last of which has four spare bits, and "==".
_SIGNATURE = {
    "type": "string",
    "contentEncoding": "base64",
    "pattern": "^[A-Za-z0-9+/]{85}[AQgw]==$",
}


def certificate_schema() -> dict[str, Any]:
    """Return the schema of the file, with Statement and its predicate in `$defs`.

    The payload is base64, which validators of JSON Schema do not look into by
    themselves: `contentSchema` says what it holds.
    """
    predicate = Certificate.model_json_schema(by_alias=True)
    definitions = predicate.pop("$defs")
    return {
        "$schema": _DRAFT,
        "title": "speccheck certificate",
        "description": "A DSSE envelope with one signature (Ed25519) over an in-toto "
        "Statement v1; the file is canonical JSON and a line end.",
        **_object(
            {
                "payload": {
                    "type": "string",
                    "description": "base64 of the statement, in canonical JSON",
                    "contentEncoding": "base64",
                    "contentMediaType": PAYLOAD_TYPE,
                    "contentSchema": {"$ref": "#/$defs/Statement"},
                },
                "payloadType": {"const": PAYLOAD_TYPE},
                "signatures": _list_of_one(
                    _object({"keyid": _SHA256, "sig": _SIGNATURE})
                ),
            }
        ),
        "$defs": {
            **definitions,
            "Certificate": predicate,
            "Statement": _statement(),
        },
    }


def _statement() -> dict[str, Any]:
    subject = _object(
        {
            "name": {"type": "string", "minLength": 1, "description": "instance type"},
            "digest": _object({"sha256": _SHA256}),
        }
    )
    return _object(
        {
            "_type": {"const": STATEMENT_TYPE},
            "subject": _list_of_one(subject),
            "predicateType": {"const": CERTIFICATE_TYPE},
            "predicate": {"$ref": "#/$defs/Certificate"},
        }
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _list_of_one(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": 1, "maxItems": 1}

"""Keys, statements and envelopes for tests of signatures."""

import base64
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from speccheck.validator.signing.envelope import (
    CERTIFICATE_TYPE,
    Statement,
    statement_bytes,
)
from speccheck.validator.signing.keys import PrivateKey
from speccheck.validator.signing.signers import signed

INSTANCE_TYPE = "contoso-gx8-h100"
TYPE_SHA256 = "ab" * 32


def key_of(number: int) -> PrivateKey:
    """Return a key that is the same in each run."""
    return PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))


KEY, OTHER = key_of(1), key_of(2)
STATEMENT = Statement(
    INSTANCE_TYPE,
    TYPE_SHA256,
    CERTIFICATE_TYPE,
    {"schema": "speccheck-certificate/1", "note": "Zürich", "share": 0.875, "all": []},
)


def envelope(statement: Statement = STATEMENT, key: PrivateKey = KEY) -> bytes:
    """Return the file of a signed statement."""
    return signed(statement_bytes(statement), key)


def fields_of(content: bytes) -> dict[str, Any]:
    """Return the fields of an envelope."""
    found: dict[str, Any] = json.loads(content)
    return found


def payload_of(content: bytes) -> dict[str, Any]:
    """Return the statement of an envelope."""
    found: dict[str, Any] = json.loads(base64.b64decode(fields_of(content)["payload"]))
    return found

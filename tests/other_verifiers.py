"""Packages of others that read what speccheck signs: securesystemslib and in-toto's.

They are imported by name, since they say nothing of their types.
"""

import json
from importlib import import_module
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from speccheck.validator.signing.keys import PrivateKey

_in_toto = "in_toto_attestation"
_json_format: Any = import_module("google.protobuf.json_format")
_statement_pb2: Any = import_module(f"{_in_toto}.v1.statement_pb2")
_statement: Any = import_module(f"{_in_toto}.v1.statement")
_resource: Any = import_module(f"{_in_toto}.v1.resource_descriptor")
_test_result: Any = import_module(
    f"{_in_toto}.predicates.test_result.v0.test_result_pb2"
)
_dsse: Any = import_module("securesystemslib.dsse")
_signer: Any = import_module("securesystemslib.signer")
VerificationError: type[Exception] = import_module(
    "securesystemslib.exceptions"
).VerificationError


def in_toto_statement(payload: bytes) -> Any:  # noqa: ANN401 - a message of protobuf
    """Return a statement as in-toto-attestation reads and validates it."""
    read = _json_format.Parse(payload, _statement_pb2.Statement())
    _statement.Statement.copy_from_pb(read).validate()
    return read


def in_toto_test_result(payload: bytes) -> Any:  # noqa: ANN401 - a message of protobuf
    """Return the test result of a statement, with its resources validated."""
    predicate = _json_format.MessageToDict(in_toto_statement(payload).predicate)
    result = _json_format.ParseDict(predicate, _test_result.TestResult())
    for item in result.configuration:
        _resource.ResourceDescriptor.copy_from_pb(item).validate()
    return result


def plain(message: Any) -> Any:  # noqa: ANN401 - as JSON has it
    """Return a message of protobuf as plain data."""
    return _json_format.MessageToDict(message)


def their_envelope(content: bytes) -> Any:  # noqa: ANN401 - securesystemslib's
    """Return an envelope as securesystemslib reads it."""
    return _dsse.Envelope.from_dict(json.loads(content))


def their_key(key: PrivateKey) -> Any:  # noqa: ANN401 - securesystemslib's
    """Return the public half of a key as securesystemslib has it, under our name."""
    of = Ed25519PublicKey.from_public_bytes(key.public.raw)
    return _signer.SSlibKey.from_crypto(of, keyid=key.public.key_id)


def their_signed(payload: bytes, key: PrivateKey, secret: bytes) -> dict[str, Any]:
    """Return the envelope that securesystemslib makes and signs; secret: 32 bytes."""
    private = import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    of = private.Ed25519PrivateKey.from_private_bytes(secret)
    envelope = _dsse.Envelope(payload, "application/vnd.in-toto+json", {})
    envelope.sign(_signer.CryptoSigner(of, their_key(key)))
    made: dict[str, Any] = envelope.to_dict()
    return made

"""The signature half of verification: an envelope, or what exactly is wrong with it."""

from collections.abc import Sequence

from speccheck.validator.signing.envelope import (
    CERTIFICATE_TYPE,
    Envelope,
    KeyFileError,
    OtherKeyError,
    SignatureError,
    SigningError,
    Statement,
    StatementError,
    read_envelope,
    read_statement,
)
from speccheck.validator.signing.keys import PublicKey

_PAYLOAD = "payload"
_SHOWN_DIGITS = 16


def verified(
    content: bytes,
    keys: Sequence[PublicKey],
    wanted: str = CERTIFICATE_TYPE,
    name: str = "",
) -> Statement:
    """Return what an envelope states, signed with one of the keys; raises SigningError.

    The payload is not looked into before the signature is known to fit. name: of the
    file, for what is told.
    """
    try:
        return _verified(content, keys, wanted)
    except SigningError as error:
        if not name:
            raise
        raise error.within(name) from None


def _verified(content: bytes, keys: Sequence[PublicKey], wanted: str) -> Statement:
    if not keys:
        message = "no public key was given"
        raise KeyFileError(message, "--key pub.pem")
    envelope = read_envelope(content)
    _refuse_signature(envelope, keys)
    try:
        return read_statement(envelope.payload, wanted)
    except StatementError as error:
        raise error.within(_PAYLOAD) from None


def _refuse_signature(envelope: Envelope, keys: Sequence[PublicKey]) -> None:
    named = envelope.signature.key_id
    made, message = envelope.signature.value, envelope.signed
    by_id = {key.key_id: key for key in keys}
    key = by_id.get(named)
    if key is not None:
        if not key.fits(made, message):
            problem = (
                f"the signature does not fit: payload or signature were changed after "
                f"key {named[:_SHOWN_DIGITS]}... signed, or another key did"
            )
            raise SignatureError(problem)
        return
    # The key id is not signed: what fits all the same was renamed on the way.
    fitting = next((key for key in keys if key.fits(made, message)), None)
    if fitting is not None:
        problem = (
            f"the signature is of key {fitting.key_id}, and the envelope names "
            f"{named}: its keyid was changed"
        )
        raise SignatureError(problem)
    given = ", ".join(_key_text(key) for key in keys)
    problem = f"signed with key {named}; given: {given}"
    remedy = "give the public key of whoever signed, or do not trust this certificate"
    raise OtherKeyError(problem, remedy)


def _key_text(key: PublicKey) -> str:
    return f"{key.key_id} ({key.name})" if key.name else key.key_id

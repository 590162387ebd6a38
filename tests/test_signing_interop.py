"""Others verify what speccheck signs, and speccheck what others sign."""

import pytest

from certificate_sample import certificate
from other_verifiers import (
    VerificationError,
    in_toto_statement,
    plain,
    their_envelope,
    their_key,
    their_signed,
)
from signed_files import KEY, OTHER, STATEMENT, envelope
from speccheck.validator.signing.envelope import (
    SignatureError,
    Statement,
    canonical,
    pae,
    read_envelope,
    statement_bytes,
)
from speccheck.validator.signing.verified import verified

SECRET = bytes([1]) * 32  # of KEY


def test_securesystemslib_verifies_our_envelope() -> None:
    found = their_envelope(envelope(certificate()))
    assert list(found.verify([their_key(KEY)], 1)) == [KEY.public.key_id]
    assert found.pae() == pae(found.payload_type, found.payload)
    with pytest.raises(VerificationError):
        found.verify([their_key(OTHER)], 1)
    found.payload += b" "
    with pytest.raises(VerificationError):
        found.verify([their_key(KEY)], 1)


def test_we_verify_an_envelope_of_securesystemslib() -> None:
    made = their_signed(statement_bytes(STATEMENT), KEY, SECRET)
    content = canonical(made) + b"\n"
    assert content == envelope()
    assert verified(content, [KEY.public]) == STATEMENT
    other = their_signed(statement_bytes(certificate()), KEY, SECRET)
    made["payload"] = other["payload"]
    with pytest.raises(SignatureError):
        verified(canonical(made) + b"\n", [KEY.public])


@pytest.mark.parametrize("of", [STATEMENT, certificate()])
def test_in_toto_reads_our_statement(of: Statement) -> None:
    read = in_toto_statement(read_envelope(envelope(of)).payload)
    assert read.predicate_type == "urn:speccheck:certificate:v1"
    assert [item.name for item in read.subject] == [of.subject_name]
    assert dict(read.subject[0].digest) == {"sha256": of.subject_sha256}
    assert plain(read.predicate) == of.predicate

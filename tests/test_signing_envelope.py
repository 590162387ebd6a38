"""Envelopes of signed statements: known answers, and every change is found."""

import base64
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from signed_files import (
    INSTANCE_TYPE,
    KEY,
    OTHER,
    STATEMENT,
    TYPE_SHA256,
    envelope,
    fields_of,
    payload_of,
)
from speccheck.validator.signing.envelope import (
    EnvelopeError,
    OtherKeyError,
    SignatureError,
    SigningError,
    StatementError,
    canonical,
    pae,
    read_envelope,
    statement_bytes,
)
from speccheck.validator.signing.keys import PublicKey
from speccheck.validator.signing.signers import signed
from speccheck.validator.signing.verified import verified

# secure-systems-lab/dsse: protocol.md, and testvectors/vectors.json with the first two
# keys of RFC 8032, section 7.1.
VECTOR_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
TYPE_ONLY = b'{"_type":"https://in-toto.io/Statement/v1"}'


def test_the_encoding_is_that_of_the_protocol() -> None:
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("application/vnd.in-toto+json", b"").endswith(b"json 0 ")
    # 29 bytes of UTF-8, which are 28 characters.
    assert pae("application/vnd.exämple+json", b"x").startswith(b"DSSEv1 29 ")


@pytest.mark.parametrize(
    ("payload_type", "payload", "signature"),
    [
        (
            "application/vnd.in-toto+json",
            TYPE_ONLY,
            (
                "2WAfaHm5jluo0w+0rk8uVkluELJYWjSmU9x7EUzx+AyteDGJ4/nqyJXfmAUVFIAoQafWm7AxBZNw5"
                "M9ixNHiCA=="
            ),
        ),
        (
            "application/vnd.exämple+json",
            TYPE_ONLY,
            (
                "xmSk/ug66ysT7ayhkCIjhAq42zgZXSsEWuzUaNL7w2eGAdF/NU6/fRXPtmfN+5DNSAs5/i2lUnHjb"
                "bjPsu0tAw=="
            ),
        ),
        (
            "application/vnd.in-toto+json",
            b"",
            (
                "gSggCAaTLTYyRH6FIDBem6meyIynsYy8RTHVzwx9tnTb7Bg/1jMWnuVgI/gffqmbsC2VX5/jHfkkD"
                "qsj7CDbDg=="
            ),
        ),
    ],
)
def test_signatures_of_the_protocol_fit(
    payload_type: str, payload: bytes, signature: str
) -> None:
    key = PublicKey(bytes.fromhex(VECTOR_KEY))
    made = base64.b64decode(signature)
    assert key.fits(made, pae(payload_type, payload))
    assert not key.fits(made, pae("application/vnd.example.other+json", payload))


def test_an_envelope_is_one_line_of_canonical_json() -> None:
    content = envelope()
    fields = fields_of(content)
    assert content == canonical(fields) + b"\n"
    assert fields["payloadType"] == "application/vnd.in-toto+json"
    assert [item["keyid"] for item in fields["signatures"]] == [KEY.public.key_id]
    assert payload_of(content) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": INSTANCE_TYPE, "digest": {"sha256": TYPE_SHA256}}],
        "predicateType": "urn:speccheck:certificate:v1",
        "predicate": STATEMENT.predicate,
    }


def test_the_same_statement_gives_the_same_bytes() -> None:
    assert envelope() == envelope()


def test_what_was_signed_is_stated() -> None:
    assert verified(envelope(), [OTHER.public, KEY.public]) == STATEMENT


def changed_bytes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each position with several values, with a byte less and a byte more."""
    for at, byte in enumerate(content):
        before, after = content[:at], content[at + 1 :]
        others = {byte ^ 1, byte ^ 0x20, byte ^ 0x80, 0, 0x20, 0x41, 0x22} - {byte}
        for other in others:
            yield at, before + bytes([other]) + after
        yield at, before + after
        yield at, before + bytes([byte, byte]) + after
    yield len(content), content + b"\n"
    yield len(content), content + b" "


def test_every_change_of_a_byte_is_found() -> None:
    content = envelope(STATEMENT._replace(predicate={"share": 0.5}))
    taken: list[tuple[int, bytes]] = []
    result: set[str] = set()
    tried = 0
    for at, changed in changed_bytes(content):
        tried += 1
        try:
            verified(changed, [KEY.public])
        except SigningError as error:
            result.add(str(error))
        else:
            taken.append((at, changed))
    assert tried > 8 * len(content)
    assert taken == []
    assert all(item.isprintable() for item in result)


def _set(path: tuple[str | int, ...], value: object) -> Callable[[Any], None]:
    def change(statement: Any) -> None:  # noqa: ANN401
        for part in path[:-1]:
            statement = statement[part]
        statement[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set(("predicate", "share"), 0.876),
        _set(("predicate", "note"), "Zurich"),
        _set(("predicate", "more"), None),
        _set(("predicateType",), "urn:speccheck:certificate:v2"),
        _set(("subject", 0, "name"), "contoso-gx8-h200"),
        _set(("subject", 0, "digest", "sha256"), "cd" * 32),
        _set(("_type",), "https://in-toto.io/Statement/v0.1"),
    ],
)
def test_a_changed_field_does_not_fit_the_signature(
    change: Callable[[Any], None],
) -> None:
    content = envelope()
    fields, statement = fields_of(content), payload_of(content)
    change(statement)
    fields["payload"] = base64.b64encode(canonical(statement)).decode()
    with pytest.raises(SignatureError, match="were changed after key"):
        verified(canonical(fields) + b"\n", [KEY.public])


def test_another_key_is_named_with_the_given_ones() -> None:
    given = OTHER.public._replace(name="lab.pem")
    with pytest.raises(OtherKeyError) as refused:
        verified(envelope(), [given])
    assert str(refused.value) == (
        f"signed with key {KEY.public.key_id}; given: {OTHER.public.key_id} (lab.pem); "
        "give the public key of whoever signed, or do not trust this certificate"
    )


def test_a_name_of_another_key_is_no_way_in() -> None:
    """The keyid is not signed: it neither makes a key fit nor may it be wrong."""
    ours, theirs = fields_of(envelope()), fields_of(envelope(key=OTHER))
    ours["signatures"][0]["keyid"] = OTHER.public.key_id
    content = canonical(ours) + b"\n"
    with pytest.raises(SignatureError, match="its keyid was changed"):
        verified(content, [KEY.public])
    with pytest.raises(SignatureError, match="or another key did"):
        verified(content, [OTHER.public])
    theirs["signatures"][0]["keyid"] = KEY.public.key_id
    with pytest.raises(SignatureError, match="or another key did"):
        verified(canonical(theirs) + b"\n", [KEY.public])


def test_without_a_key_nothing_is_verified() -> None:
    with pytest.raises(SigningError, match="no public key was given"):
        verified(envelope(), [])


def _without(name: str) -> Callable[[Any], None]:
    def change(fields: Any) -> None:  # noqa: ANN401
        del fields[name]

    return change


def _signature(name: str, value: object) -> Callable[[Any], None]:
    return _set(("signatures", 0, name), value)


def _twice(fields: Any) -> None:  # noqa: ANN401
    fields["signatures"] *= 2


def _url_safe(fields: Any) -> None:  # noqa: ANN401
    made = base64.urlsafe_b64encode(b"\xff" * 64).decode()
    fields["signatures"][0]["sig"] = made


def _spare_bits(fields: Any) -> None:  # noqa: ANN401
    made = fields["signatures"][0]["sig"]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = letters[letters.index(made[85]) + 1]
    fields["signatures"][0]["sig"] = f"{made[:85]}{last}=="


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_without("payload"), "the envelope has no field payload"),
        (_without("signatures"), "the envelope has no field signatures"),
        (_set(("extra",), 1), "the envelope has a field that is not known: 'extra'"),
        (_set(("\x1b[31m",), 1), r"not known: '\x1b[31m'"),
        (
            _set(("payloadType",), "application/json"),
            "payloadType is 'application/json', and must be application/vnd.in-toto",
        ),
        (_set(("payloadType",), 3), "payloadType is no text"),
        (_set(("payload",), ""), "payload is empty"),
        (_set(("payload",), "a?"), "character 2 of payload is '?': no base64"),
        (_set(("payload",), "abc"), "payload is no base64: 3 characters"),
        (_set(("payload",), "=abc"), "payload is no base64"),
        (_set(("payload",), None), "payload is no text"),
        (_set(("signatures",), []), "no signature; a certificate has exactly one"),
        (_set(("signatures",), {}), "signatures is no array"),
        (_set(("signatures",), [1]), "signatures[0] is no object"),
        (_twice, "2 signatures; a certificate has exactly one"),
        (_signature("keyid", ""), "signatures[0].keyid is empty, and must be"),
        (_signature("keyid", "AB" * 32), "small letters"),
        (_signature("cert", "x"), "signatures[0] has a field that is not known"),
        (_signature("sig", ""), "signatures[0].sig holds 0 bytes"),
        (_signature("sig", "QUJD"), "holds 3 bytes; a signature of Ed25519 has 64"),
        (_url_safe, "URL-safe base64; standard base64 (RFC 4648, section 4) is read"),
        (_spare_bits, "is not canonical base64: the last character has spare bits"),
    ],
)
def test_an_envelope_of_another_form_is_refused(
    change: Callable[[Any], None], says: str
) -> None:
    fields = fields_of(envelope())
    change(fields)
    with pytest.raises(EnvelopeError) as refused:
        read_envelope(canonical(fields) + b"\n")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"{}", "the line end is missing: the file was cut or written anew"),
        (b"[]\n", "the envelope is no object"),
        (b'{"payload":\n', "line 1, column 12: no JSON: expecting value"),
        (b"-----BEGIN PUBLIC KEY-----\n", "line 1, column 1: no JSON"),
    ],
)
def test_what_is_no_envelope_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(EnvelopeError) as refused:
        read_envelope(content)
    assert says in str(refused.value)


def test_a_pretty_envelope_is_refused_with_its_place() -> None:
    pretty = json.dumps(fields_of(envelope()), indent=2).encode() + b"\n"
    with pytest.raises(EnvelopeError, match=r"line 1, column 2: not canonical: '\\n "):
        verified(pretty, [KEY.public])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set(("_type",), "x"), "payload: _type is 'x', and must be https://in-toto"),
        (_without("_type"), "payload: _type is missing"),
        (
            _set(("predicateType",), "urn:speccheck:certificate:v12"),
            (
                "payload: a certificate of version 12; this speccheck reads version 1; "
                "verify it with the version that it names"
            ),
        ),
        (
            _set(("predicateType",), "https://slsa.dev/provenance/v1"),
            "payload: predicateType is 'https://slsa.dev/provenance/v1', and must",
        ),
        (_set(("more",), 1), "payload: the statement has a field that is not known"),
        (_set(("subject",), []), "payload: subject: 0 subjects; it must be one"),
        (_set(("subject", 0, "digest"), {}), "subject[0].digest must hold sha256"),
        (_set(("subject", 0, "digest", "sha256"), "AB"), "sha256 is 'AB', and must be"),
        (_set(("subject", 0, "digest", "sha1"), "ab"), "must hold sha256, and nothing"),
        (_set(("subject", 0, "name"), ""), "subject[0].name is no text, or empty"),
        (_set(("subject", 0, "uri"), ""), "subject[0] has a field that is not known"),
        (_set(("predicate",), []), "payload: predicate is no object"),
    ],
)
def test_a_signed_payload_of_another_kind_is_refused(
    change: Callable[[Any], None], says: str
) -> None:
    statement = payload_of(envelope())
    change(statement)
    with pytest.raises(StatementError) as refused:
        verified(signed(canonical(statement), KEY), [KEY.public])
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b"[]", "payload: the statement is no object"),
        (b"{", "payload: line 1, column 2: no JSON"),
        (b'{"_type":1, "a":2}', "payload: line 1, column 12: not canonical"),
        (b'{"a":1,"a":1}', 'payload: line 1, column 8: the key "a" stands twice'),
    ],
)
def test_a_signed_payload_that_is_no_statement_is_refused(
    payload: bytes, says: str
) -> None:
    with pytest.raises(StatementError) as refused:
        verified(signed(payload, KEY), [KEY.public])
    assert says in str(refused.value)


def test_what_is_wrong_is_told_of_the_file() -> None:
    with pytest.raises(EnvelopeError) as refused:
        verified(b'{"a": 1}\n', [KEY.public], name="cert.json")
    assert str(refused.value).startswith("cert.json: line 1, column 6: not canonical")
    with pytest.raises(OtherKeyError, match=r"^cert\.json: signed with key "):
        verified(envelope(), [OTHER.public], name="cert.json")


def _odd(random: Random, depth: int = 3) -> object:
    """Return anything that JSON can hold, with an envelope's and statement's names."""
    names = ("payload", "payloadType", "signatures", "keyid", "sig", "_type", "subject")
    more = ("predicateType", "predicate", "name", "digest", "sha256")
    if depth and random.random() < 0.7:
        if random.random() < 0.3:
            return [_odd(random, depth - 1) for _ in range(random.randrange(3))]
        chosen = random.sample((*names, *more), random.randrange(6))
        return {name: _odd(random, depth - 1) for name in chosen}
    return random.choice((None, True, 0, -1.5, "", "AA==", "ab" * 32, "x" * 99, [], {}))


def refusal(content: bytes) -> str:
    """Return why an envelope is refused; empty where it is taken."""
    try:
        found = verified(content, [KEY.public])
    except SigningError as error:
        return str(error)
    assert statement_bytes(found) == read_envelope(content).payload
    return ""


@pytest.mark.parametrize("seed", range(20))
def test_anything_else_is_refused_in_one_line(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - the same in each run
    result = []
    for _ in range(50):
        fields, statement = fields_of(envelope()), payload_of(envelope())
        for part in (fields, statement):
            part[random.choice([*part])] = _odd(random)
        result += [
            refusal(canonical(fields) + b"\n"),
            refusal(canonical(_odd(random)) + b"\n"),
            refusal(signed(canonical(_odd(random)), KEY)),
        ]
        # Another predicate is none of this layer's business.
        statement["predicate"] = [random.random()]
        result.append(refusal(signed(canonical(statement), KEY)))
    assert all(result)
    assert all(item.isprintable() for item in result)

"""Canonical JSON: one text for each value, and no other text is read."""

import json
from random import Random

import pytest

from speccheck.validator.signing.envelope import (
    Json,
    NotCanonicalError,
    canonical,
    read_canonical,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({"z": 1, "é": 2, "Z": 3}, '{"Z":3,"z":1,"é":2}'),
        # By code point, where UTF-16 would put the surrogates of the second first.
        ({"\U0001f600": 1, "\uff5e": 2}, '{"\uff5e":2,"\U0001f600":1}'),
        ([1.0, -0.0, 1e16, 1e-7, 0.1, 2.5], "[1.0,-0.0,1e+16,1e-07,0.1,2.5]"),
        (10**30, "1" + "0" * 30),
        ('"\\/\n\t\r\b\f', r'"\"\\/\n\t\r\b\f"'),
        ("\x00\x1f\x7f\u2028", '"\\u0000\\u001f\x7f\u2028"'),
        ((1, (2,)), "[1,[2]]"),
    ],
)
def test_a_value_has_one_text(value: object, text: str) -> None:
    assert canonical(value) == text.encode()
    assert canonical(read_canonical(text.encode())) == text.encode()


def random_value(random: Random, depth: int = 4) -> Json:
    kind = random.randrange(8 if depth else 6)
    if kind == 7:
        return {text_of(random): random_value(random, depth - 1) for _ in range(3)}
    if kind == 6:
        return [random_value(random, depth - 1) for _ in range(random.randrange(4))]
    simple: tuple[Json, ...] = (
        random.randrange(-(2**70), 2**70),
        random.uniform(-1e3, 1e3) * 10 ** random.randrange(-300, 300),
        random.random() < 0.5,
        None,
        text_of(random),
        random.randrange(100),
    )
    return simple[kind]


def text_of(random: Random) -> str:
    letters = 'ab"\\/\n\x00\x7fé\u2028\U0001f600'
    return "".join(random.choices(letters, k=random.randrange(6)))


def test_what_is_written_is_read_as_the_same() -> None:
    for seed in range(200):
        value = random_value(Random(seed))  # noqa: S311 - the same in each run
        text = canonical(value)
        assert read_canonical(text) == value, seed
        assert json.loads(text) == value, seed


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"a": {"b": float("nan")}}, r"\$\.a\.b: nan, which JSON cannot hold"),
        ([float("-inf")], r"\$\[0\]: -inf"),
        ({1: 2}, r"\$: a key is int, and must be a text"),
        ({"a": b"x"}, r"\$\.a: bytes, which JSON cannot hold"),
        ({"a": {1}}, r"\$\.a: set"),
        (["\ud800"], "surrogate"),
        ([10**5000], "an integer of more than 4,300 digits"),
    ],
)
def test_a_value_that_has_no_text_is_refused(value: object, says: str) -> None:
    with pytest.raises(NotCanonicalError, match=says):
        canonical(value)


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth_is_limited_both_ways() -> None:
    assert read_canonical(canonical(nested(64))) == nested(64)
    with pytest.raises(NotCanonicalError, match="deeper than 64 levels"):
        canonical(nested(70))
    with pytest.raises(NotCanonicalError, match="column 65: deeper than 64 levels"):
        read_canonical(b"[" * 100_000)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "line 1, column 1: no JSON: expecting value"),
        (b'{"a":1', "line 1, column 7: no JSON: expecting ',' delimiter"),
        (b'{"a":1}x', "line 1, column 8: no JSON: extra data"),
        (b'{"a":1,"b":{"a":2,"a":3}}', 'column 19: the key "a" stands twice'),
        (b'{"a":1,"a":1}', 'line 1, column 8: the key "a" stands twice'),
        (b'{"a":1,"\\u0061":1}', "line 1, column 7: not canonical"),
        (b"[\n 1,\n NaN]", "line 3, column 2: NaN, which is no number of JSON"),
        (b"[-Infinity]", "line 1, column 2: -Infinity, which is no number of JSON"),
        (b"[1e400]", "line 1, column 2: not canonical: 1e400] where canonical JSON"),
        (b'{"b":1,"a":2}', "line 1, column 3: not canonical"),
        (b'{"a": 1}', "line 1, column 6: not canonical: ' 1}'"),
        (b'{\n"a":1}', r"line 1, column 2: not canonical: '\n"),
        (b"[1.50]", "line 1, column 5: not canonical: 0] where canonical JSON has ]"),
        (b"[-0]", "line 1, column 2: not canonical"),
        (b"[1E5]", "line 1, column 3: not canonical"),
        (b'["\\u00e9"]', "line 1, column 3: not canonical"),
        (b'["\\/"]', "line 1, column 3: not canonical"),
        (b'["\\ud800"]', "line 1, column 3: not canonical"),
        (b"[1]\n", "line 1, column 4: not canonical: '\\n' where canonical JSON has "),
        (b"\xef\xbb\xbf[1]", "no JSON: "),
        (b'["a\xff"]', "line 1, column 4: byte 0xff is no UTF-8"),
        (b'["\xed\xa0\x80"]', "line 1, column 3: byte 0xed is no UTF-8"),
        (b"9" * 5000, "an integer of more than 4,300 digits"),
        (b"]" * 5, "line 1, column 1: no JSON"),
        (b'"\x00"', "line 1, column 2: no JSON: invalid control character"),
    ],
)
def test_another_text_is_refused_with_its_place(text: bytes, says: str) -> None:
    with pytest.raises(NotCanonicalError) as refused:
        read_canonical(text)
    result = str(refused.value)
    assert says in result
    assert result.isprintable()


def test_a_text_that_is_too_long_is_not_read() -> None:
    with pytest.raises(NotCanonicalError, match="101 bytes; at most 100 are read"):
        read_canonical(b"[" * 101, most_bytes=100)


def test_a_text_that_never_ends_takes_one_look() -> None:
    """Were each of its quotes tried as the first, this would take hours."""
    with pytest.raises(NotCanonicalError, match="no JSON: unterminated string"):
        read_canonical(b'"' + b'\\"' * 2_000_000)


def test_a_long_difference_is_told_in_short() -> None:
    with pytest.raises(NotCanonicalError) as refused:
        read_canonical(b"[" + b" " * 10_000 + b"1]")
    assert len(str(refused.value)) < 200

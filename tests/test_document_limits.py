"""Hostile files: deep, expanding, endless. Each ends in an error, soon."""

import pytest

from loaded_documents import error_of, place
from speccheck.validator.sources.documents.document import (
    MAXIMUM_DEPTH,
)
from speccheck.validator.sources.documents.reading import load_documents

DEPTH = 10_000
INDENTED = [" " * level + "a:" for level in range(1_000)]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.json", "[" * DEPTH, 1),
        ("a.json", '\n{"a":' * DEPTH + "1" + "}" * DEPTH, 102),
        ("a.json", "[" * 500 + "]" * 500, 1),
        ("a.yaml", "a: " + "[" * DEPTH, 1),
        ("a.yaml", "{a: " * DEPTH, 1),
        ("a.yaml", "{" * DEPTH, 1),
        ("a.yaml", "[" * 150 + "]" * 150, 1),
        ("a.yaml", "- " * 30 * DEPTH, 1),
        ("a.yaml", "? " * DEPTH, 1),
        ("a.yaml", "-    " * DEPTH + "x", 1),
        ("a.yaml", "\n".join(INDENTED), 101),
        ("a.yaml", "\r".join(INDENTED), 101),
        ("a.yaml", "\u2028".join(INDENTED), 1),
        (
            "a.yaml",
            "x: &a0 [1]\n"
            + "\n".join(f"x{n}: &a{n} [*a{n - 1}]" for n in range(1, 200)),
            99,
        ),
        ("a.yaml", "\n".join(" " * n + "<<:" for n in range(99)) + " [" * 50, None),
        ("a.toml", "a = " + "[" * DEPTH + "]" * DEPTH, 1),
        ("a.toml", "a = " + "{a = " * DEPTH + "1" + "}" * DEPTH, 1),
        ("a.toml", "b = 1\n" + "a." * DEPTH + "a = 1", 2),
        ("a.toml", "[" + "a . " * DEPTH + "a]", 1),
        ("a.toml", "x = {" + '"a".' * DEPTH + "a = 1}", 1),
    ],
)
def test_deep_nesting(name: str, text: str, line: int | None) -> None:
    error = error_of(text, name)
    if line is None:
        assert error.kind in {"too_deep", "syntax"}
    else:
        assert (error.kind, error.line) == ("too_deep", line)


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.toml"])
def test_the_deepest_nesting_that_is_read(name: str) -> None:
    inner = MAXIMUM_DEPTH - (1 if name == "a.toml" else 0)
    lead = "a = " if name == "a.toml" else ""
    (document,) = load_documents(name, lead + "[" * inner + "]" * inner)
    path = ("a",) * (name == "a.toml") + (0,) * (inner - 1)
    assert document.span(path) is not None
    text = lead + "[" * (inner + 1) + "]" * (inner + 1)
    assert error_of(text, name).kind == "too_deep"


def nested_aliases(item: str, levels: int) -> str:
    lines = [f"a0: &a0 {item}"]
    for level in range(1, levels):
        nine = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(
            f"a{level}: &a{level} "
            + (f"[{nine}]" if item == "[x]" else f"{{<<: [{nine}], k{level}: 1}}")
        )
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        nested_aliases("[x]", 10),
        nested_aliases("{x: 1}", 20),
        "a: &a [" + "1, " * 1_000 + "1]\nb: [" + "*a, " * 1_000 + "]\n",
        "a: &a [*a]\n",
        "&a {b: {c: *a}}\n",
        "a: &a {<<: *a}\n",
    ],
)
def test_alias_bombs(text: str) -> None:
    assert error_of(text).kind == "too_many_aliases"


def test_aliases_in_reason_are_no_bomb() -> None:
    assert len(load_documents("a.yaml", nested_aliases("[x]", 4))[0].text) > 0


def test_integers_too_long_to_convert() -> None:
    digits = "1" * 5_000
    for name, text, line in (
        ("a.yaml", f"a: 1\nb: {digits}", 2),
        ("a.json", f'{{"a": 1,\n"b": {digits}}}', 2),
        ("a.toml", f"a = 1\nb = {digits}", 2),
    ):
        error = error_of(text, name)
        assert (error.kind, error.line) == ("syntax", line)
        assert len(str(error)) < 200


def test_half_a_surrogate_pair_from_standard_input() -> None:
    assert place(error_of("a: \udc80")) == ("encoding", 1, 4)


def test_more_documents_than_anybody_means() -> None:
    assert error_of("--- a\n" * 10_001).kind == "too_large"


def test_a_file_of_duplicates_shows_the_first_thousand() -> None:
    (document,) = load_documents("a.yaml", "a: 1\n" * 5_000)
    assert (document.data, len(document.duplicates)) == ({"a": 1}, 1_000)
    (document,) = load_documents("a.json", "{" + '"a": 1, ' * 5_000 + '"b": 2}')
    assert (document.data, len(document.duplicates)) == ({"a": 1, "b": 2}, 1_000)


def test_mappings_with_duplicates_cost_no_more_than_others() -> None:
    (document,) = load_documents("a.yaml", "- {a: 1, a: 2}\n" * 5_000)
    assert len(document.duplicates) == 1_000
    assert document.duplicates[-1].path == (999, "a")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '"' + '\\"' * 300_000),
        ("a.json", "/*" * 300_000),
        ("a.json", "[" + " ," * 300_000),
        ("a.yaml", '{{ "' + "'\"" * 300_000),
        ("a.yaml", "*" * 300_000),
        ("a.yaml", ": " * 300_000),
        ("a.toml", "a = " + "x" * 300_000 + "." * 200),
        ("a.toml", '"' * 300_000),
    ],
)
def test_long_nonsense_ends_in_an_error(name: str, text: str) -> None:
    assert error_of(text, name).kind in {"syntax", "template"}

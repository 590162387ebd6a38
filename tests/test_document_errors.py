"""Files that are no documents: what is said of them, and that nothing else happens."""

import os
import pickle
import socket
from pathlib import Path

import pytest

from loaded_documents import error_of, place
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import (
    MAXIMUM_BYTES,
    decode,
    load_documents,
    read_text,
)


def file_error(path: Path | str) -> ReadError:
    with pytest.raises(ReadError) as caught:
        read_text(str(path))
    assert str(caught.value).startswith(f"{path}:".replace("\0", "?"))
    return caught.value


def test_an_error_is_one_line_with_place_problem_and_remedy() -> None:
    error = error_of("a: 1\nb: c: d\n", "train.yaml")
    assert str(error) == (
        "train.yaml:2:5: not YAML: mapping values are not allowed in this context; "
        "quote the text that holds ': ', or indent it"
    )
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(again), again.kind, again.line) == (str(error), "syntax", 2)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a\nb\udc80.yaml", "a: @b"),
        ("a.json", '{"a": ' + "word" * 10_000 + "}"),
        ("a.yaml", "a: *" + "x" * 10_000),
        ("a.toml", "a = {{ \x1b[31m\x9b }}"),
    ],
)
def test_no_file_reaches_the_terminal_through_a_message(name: str, text: str) -> None:
    message = str(error_of(text, name))
    assert message.isprintable()
    assert len(message) < 500


def test_a_missing_file_a_directory_and_a_name_that_none_can_have(
    tmp_path: Path,
) -> None:
    assert file_error(tmp_path / "none.yaml").kind == "missing"
    assert file_error(tmp_path).kind == "directory"
    assert file_error("a\0b.yaml").kind == "unreadable"


def test_pipes_sockets_and_devices_are_refused_without_opening_them(
    tmp_path: Path,
) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    assert file_error(pipe).kind == "unreadable"
    assert file_error("/dev/zero").kind == "unreadable"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        assert file_error(tmp_path / "s").kind == "unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1")
    path.chmod(0)
    assert file_error(path).problem == "cannot be read: Permission denied"


def test_a_file_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with path.open("wb") as stream:
        stream.truncate(100_000_000)
    error = file_error(path)
    assert error.kind == "too_large"
    assert "100,000,000 bytes" in error.problem
    with pytest.raises(ReadError, match="more than 20,000,000 bytes"):
        decode("-", b" " * (MAXIMUM_BYTES + 1))


def test_a_file_that_grows_while_it_is_read_is_read_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1")
    length = path.stat().st_size

    earlier = os.stat_result([path.stat().st_mode, *[0] * 5, length - 2, *[0] * 3])

    def status_before(_: int) -> os.stat_result:
        return earlier

    monkeypatch.setattr(os, "fstat", status_before)
    assert read_text(str(path)) == "a: 1"


def test_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_text(str(path)) == "a: 1\n"
    for encoding, name in (("utf-16", "UTF-16"), ("utf-32", "UTF-32")):
        path.write_bytes("a: 1\n".encode(encoding))
        error = file_error(path)
        assert error.kind == "encoding"
        assert name in error.problem


def test_bytes_that_are_no_text() -> None:
    for content, kind, line, problem in (
        (b"a: 1\nb: \xe9t\n", "encoding", 2, "byte 0xe9 at offset 8 is not UTF-8"),
        (b"a: 1\n\0\0", "binary", None, "a NUL byte at offset 5: not a text file"),
        (b"", "empty", None, "nothing in it"),
        (b" \n\t\n", "empty", None, "nothing in it"),
    ):
        with pytest.raises(ReadError) as caught:
            decode("a.yaml", content)
        error = caught.value
        assert (error.kind, error.line, error.problem) == (kind, line, problem)


@pytest.mark.parametrize("name", ["a.yaml", "a.json", "a.toml"])
def test_texts_without_content(name: str) -> None:
    assert error_of(" \n", name).kind == "empty"
    assert error_of("a\0", name).kind == "binary"


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.yaml", "# a\n---\n---\n# b\n"), ("a.toml", "# a\n"), ("a.yaml", "~")],
)
def test_comments_alone_are_nothing(name: str, text: str) -> None:
    assert error_of(text, name).kind == "empty"


@pytest.mark.parametrize(
    ("name", "text", "line", "column", "word"),
    [
        ("a.yaml", "{{- $x := .Values }}\na: 1\n", 1, 1, "{{- $x := .Values }}"),
        ("a.yaml", "a: 1\nb: {{ .Values.b }}\n", 2, 4, "{{ .Values.b }}"),
        ("a.yaml", "a:\n  - {{ x }}\n", 2, 5, "{{ x }}"),
        ("a.yaml", "image: {{ repo }}:{{ tag }}\n", 1, 8, "{{ repo }}"),
        ("a.yaml", "x: y-{{ a }}\n{% if b %}\nc: 1\n", 2, 1, "{% if b %}"),
        ("a.yaml", "{{ key }}: 1\n", 1, 1, "{{ key }}"),
        ("a.yaml", "<<: {{ x }}\n", 1, 5, "{{ x }}"),
        ("a.json", '{\n"a": {{ x }},\n"b": 1}', 2, 6, "{{ x }}"),
        ("a.json", '{"a": 1 {% if x %}, "b": 2{% endif %}}', 1, 9, "{% if x %}"),
        ("a.json", '{\n "stage": ZERO_STAGE,\n "x": 1}', 2, 11, "ZERO_STAGE"),
        ("a.json", '{"stage": CL_1st_MAX}', 1, 11, "CL_1st_MAX"),
        ("a.json", '{"stage": ${STAGE}, "b": 1}', 1, 11, "${STAGE}"),
        ("a.json", '{"stage": $STAGE}', 1, 11, "$STAGE"),
        ("a.json", '{"lr": <LR>}', 1, 8, "<LR>"),
        ("a.json", '{"a": 1, ${MORE}}', 1, 10, "${MORE}"),
        ("a.toml", "a = 1\nb = {{ x }}\n", 2, 5, "{{ x }}"),
        ("a.toml", "a = ${X}\n", 1, 5, "${X}"),
    ],
)
def test_templates(name: str, text: str, line: int, column: int, word: str) -> None:
    error = error_of(text, name)
    assert place(error) == ("template", line, column)
    assert (
        error.problem == f"a template, not a configuration yet: {word} is not filled in"
    )
    assert error.remedy.startswith("render it first (helm template, jinja, ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", 'a: "{{ x }}"\nb: run-{{ x }}\nc: |\n  {% if y %}\n# {{ z }}\n'),
        ("a.json", '{"a": "{{ x }}", "b": "${X}"}'),
        ("a.toml", 'a = "{{ x }}"\n'),
    ],
)
def test_templates_of_the_program_that_reads_the_file_are_values(
    name: str, text: str
) -> None:
    assert load_documents(name, text)[0].data


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('a: "{{ x }}"\nb: [1\nc: 2\n', 3, 2),
        ("a: 1 # {{ x }}\nb: @c\n", 2, 4),
        ("a: run-{{ x }}\nb: 1\nc: 1\nd: @c\n", 4, 4),
    ],
)
def test_a_mistake_beside_a_quoted_template_is_a_mistake(
    text: str, line: int, column: int
) -> None:
    assert place(error_of(text)) == ("syntax", line, column)


@pytest.mark.parametrize(
    ("text", "line", "column", "remedy"),
    [
        ("a:\n\tb: 1\n", 2, 1, "replace the tab by spaces"),
        ("a: 1\n\tb: 1\n", 2, 1, "indent with spaces"),
        ("a: [1, 2\nb: 3\n", 2, 2, "close the bracket, or add the missing comma"),
        ("a: [1, 2\n", 2, 1, "complete the file"),
        ('a: "x\nb: 1\n', 1, 4, "close the quote"),
        ("a: 1\nb\nc: 2\n", 2, 1, "write `key: value`, or indent the text above"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "align this line with the keys above it"),
        ("a: *b\n", 1, 4, "define the anchor (&name) above its alias (*name)"),
        ("a: &x 1\nb: &x 2\n", 2, 4, "give each anchor (&name) a name of its own"),
        ("a: `b`\n", 1, 4, "quote the value"),
        ("<<: 3\n", 1, 5, "give << an alias of a mapping, or a list of such aliases"),
        ("[a]: 1\n", 1, 1, "use a plain text as the key"),
        (
            "a: 1\nb: !!int x\n",
            2,
            4,
            "correct the value, or quote it to keep it as text",
        ),
        ("b: 0b_\n", 1, 4, "correct the value, or quote it to keep it as text"),
        (
            "a: 1\nb: \x01\n",
            2,
            4,
            "remove the character, or write it as an escape in double quotes",
        ),
    ],
)
def test_yaml_mistakes(text: str, line: int, column: int, remedy: str) -> None:
    error = error_of(text)
    assert (*place(error), error.remedy) == ("syntax", line, column, remedy)


@pytest.mark.parametrize(
    ("text", "line", "column", "remedy"),
    [
        ('{"a": 1', 1, 8, "complete the file"),
        ('{"a": [1,\n2', 2, 2, "complete the file"),
        ('{"a": 1\n"b": 2}', 2, 1, "add the missing comma, or close the bracket"),
        ('{"a": True}', 1, 7, "write true"),
        ('{"a": None}', 1, 7, "write null"),
        ('{"a": auto}', 1, 7, "put it in double quotes"),
        ("{a: 1}", 1, 2, "put the key in double quotes"),
        (
            '{"a": 1,, "b": 2}',
            1,
            9,
            "remove this comma, or give what is missing before it",
        ),
        ("{}\n{}", 2, 1, "keep one value in the file, and remove what follows it"),
        (
            '// c\n{"a": "x\n"}',
            2,
            9,
            "write tabs and line ends in texts as \\t and \\n",
        ),
        (
            '{"a": .5}',
            1,
            7,
            "give a number such as 0.5, a text in double quotes, true, false or null",
        ),
    ],
)
def test_json_mistakes(text: str, line: int, column: int, remedy: str) -> None:
    error = error_of(text, "a.json")
    assert (*place(error), error.remedy) == ("syntax", line, column, remedy)


@pytest.mark.parametrize(
    ("text", "line", "column", "remedy"),
    [
        ("a = 1\r\nb = x\r\n", 2, 5, "quote the text, or give a number, true or false"),
        ("a = 1\na = 2\n", 2, 6, "give each key and table once"),
        ("[a]\n[a]\n", 2, 3, "give each table once"),
        ("a 1\n", 1, 3, "write `key = value`"),
        ("a = [1,\n", 2, 1, "complete it"),
        ('a = "x\n', 1, 7, "close the quotes"),
    ],
)
def test_toml_mistakes(text: str, line: int, column: int, remedy: str) -> None:
    error = error_of(text, "a.toml")
    assert (*place(error), error.remedy) == ("syntax", line, column, remedy)

"""Scripts in documents: read as a shell gets them, placed as the file has them."""

from textwrap import dedent

import pytest

from reader_text import document_of
from speccheck.validator.sources.documents.document import Document, SectionDocument
from speccheck.validator.sources.embedded_script import (
    embedded_command,
    embedded_script,
)
from speccheck.validator.sources.formats.torchrun import READER
from speccheck.validator.sources.joining.merge import merge
from speccheck.validator.sources.reader import Source
from speccheck.validator.sources.shell.script import ShellWord


def document(text: str, name: str = "job.yaml") -> Document:
    return document_of(dedent(text).lstrip("\n"), name)


def script_of(text: str, *path: str | int, name: str = "job.yaml") -> Source:
    source = embedded_script(document(text, name), path)
    assert source is not None
    return source


def words(source: Source) -> list[list[str]]:
    return [[word.text for word in command.words] for command in source.script.commands]


def word(source: Source, text: str) -> ShellWord:
    """Return the only word of a script that has that text."""
    found = [
        word
        for command in source.script.commands
        for word in command.words
        if word.text == text
    ]
    assert len(found) == 1, text
    return found[0]


def stands(source: Source, text: str, whole: Document) -> bool:
    """Return whether the place of a word, in the file, holds its text."""
    found = word(source, text)
    line = whole.text.split("\n")[found.line - 1]
    return line[found.column - 1 :].startswith(text)


LITERAL = """
    # a launch
    run:
      - |
        export NCCL_DEBUG=WARN

        torchrun --nnodes=4 \\
          --nproc-per-node=8 train.py
"""


def test_a_literal_scalar_keeps_lines_and_columns() -> None:
    source = script_of(LITERAL, "run", 0)
    assert source.language == "shell"
    assert words(source)[-1] == [
        "torchrun",
        "--nnodes=4",
        "--nproc-per-node=8",
        "train.py",
    ]
    assert word(source, "torchrun")[1:3] == (6, 5)
    assert word(source, "--nnodes=4")[1:3] == (6, 14)
    assert word(source, "--nproc-per-node=8")[1:3] == (7, 7)
    export = source.script.exports["NCCL_DEBUG"]
    assert (export.line, export.column) == (4, 12)
    assert (export.value.line, export.value.column) == (4, 23)


def test_the_text_has_the_lines_of_the_file() -> None:
    source = script_of(LITERAL, "run", 0)
    assert source.text.split("\n")[3] == "export NCCL_DEBUG=WARN"


def test_a_here_document_ends_although_the_file_indents_it() -> None:
    text = """
        run: |
          cat <<EOF > hosts
          node-1 slots=8
          EOF
          deepspeed --num_nodes 2 train.py
    """
    assert words(script_of(text, "run"))[-1][0] == "deepspeed"


def test_readers_of_scripts_state_places_of_the_file() -> None:
    reading = READER.read(script_of(LITERAL, "run", 0))
    leaves = merge(reading.facts.facts)
    nodes = leaves["cluster.nodes"]
    assert nodes.value == 4
    assert nodes.places[0].file == "job.yaml"
    span = nodes.places[0].span
    assert span is not None
    assert (span.line, span.column, span.length) == (6, 23, 1)


@pytest.mark.parametrize(
    "text",
    [
        """
        run: >-
          torchrun --nnodes=2
          --nproc-per-node=8

          train.py
        """,
        """
        run: torchrun --nnodes=2
          --nproc-per-node=8   train.py
        """,
        """
        run: 'torchrun --nnodes=2 ''--name=it''
          --nproc-per-node=8 train.py'
        """,
        r"""
        run: "cd /w && \"torchrun\" --nnodes=2 \
          --nproc-per-node=8\ttrain.py"
        """,
        r"""
        run: "set -e\ntorchrun --nnodes=2 --nproc-per-node=8 train.py\n"
        """,
    ],
    ids=["folded", "plain", "single-quoted", "double-quoted", "escaped-line-ends"],
)
def test_other_scalars_lead_to_the_words_in_the_file(text: str) -> None:
    whole = document(text)
    source = embedded_script(whole, ("run",))
    assert source is not None
    for item in ("--nnodes=2", "--nproc-per-node=8"):
        assert stands(source, item, whole)


def test_json_is_a_double_quoted_scalar() -> None:
    text = '{"run":\n  "export A=\\u0031\\ntorchrun --nnodes=2 train.py"}'
    whole = document(text, "job.json")
    source = embedded_script(whole, ("run",))
    assert source is not None
    assert source.script.exports["A"].value.text == "1"
    assert stands(source, "--nnodes=2", whole)


@pytest.mark.parametrize(
    "text", ["run: 3", "run: [a]", "run:", "run: ''", "run: '  '", "other: 1", "[1]"]
)
def test_what_is_no_text_is_no_script(text: str) -> None:
    assert embedded_script(document(text), ("run",)) is None


def test_a_section_is_placed_in_its_file() -> None:
    whole = document("""
        name: fine-tune
        inner:
          command: |
            composer -n 8 train.py config.yaml
    """)
    part = SectionDocument(whole, ("inner",))
    source = embedded_script(part, ("command",))
    assert source is not None
    assert word(source, "composer")[1:3] == (4, 5)


def test_windows_line_ends() -> None:
    text = "run: |\r\n  set -e\r\n  torchrun --nnodes=2 train.py\r\n"
    source = embedded_script(document_of(text, "job.yaml"), ("run",))
    assert source is not None
    assert word(source, "--nnodes=2")[1:3] == (3, 12)


SHELLS = ["[bash, -c]", "[/bin/bash, -lc]", "[sh, -euxo, pipefail, -c]", "[bash, -ec]"]


@pytest.mark.parametrize("command", SHELLS)
def test_a_shell_is_given_its_script(command: str) -> None:
    whole = document(f"""
        command: {command}
        args:
          - |
            set -e
            torchrun --nnodes=2 train.py
          - ignored
    """)
    source = embedded_command(whole, ("command",), ("args",))
    assert source is not None
    assert words(source)[-1] == ["torchrun", "--nnodes=2", "train.py"]
    assert word(source, "--nnodes=2")[1:3] == (5, 14)


def test_a_list_of_words_is_one_command() -> None:
    whole = document("""
        command:
          - torchrun
          - --nnodes=2
          - "--rdzv-id=a b"
          - --rdzv-conf=$timeout
        args: [train.py, --lr, 3, "it's"]
    """)
    source = embedded_command(whole, ("command",), ("args",))
    assert source is not None
    (command,) = source.script.commands
    assert [word.text for word in command.words] == [
        "torchrun",
        "--nnodes=2",
        "--rdzv-id=a b",
        "--rdzv-conf=${timeout}",
        "train.py",
        "--lr",
        "3",
        "it's",
    ]
    assert [word.resolved for word in command.words].count(False) == 1
    assert [(word.line, word.column) for word in command.words] == [
        (2, 5),
        (3, 5),
        (4, 6),
        (5, 5),
        (6, 8),
        (6, 18),
        (6, 24),
        (6, 28),
    ]


def test_the_value_of_an_option_in_a_list_is_placed() -> None:
    whole = document("""
        command: [torchrun, --nnodes=2, --nproc_per_node=8, train.py]
    """)
    source = embedded_command(whole, ("command",))
    assert source is not None
    leaves = merge(READER.read(source).facts.facts)
    assert leaves["cluster.nodes"].value == 2
    span = leaves["recovery.processes_per_node"].places[0].span
    assert span is not None
    assert whole.text[span.column - 1] == "8"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("[torchrun, '--nnodes=$(NODES)', train.py]", 4),
        ("[bash, -c, 'torchrun --nnodes=$(NODES) train.py']", 4),
        ("[bash, -c, 'torchrun --nnodes=$NODES train.py']", 4),
        ("[torchrun, '--nnodes=$NODES', train.py]", None),
        ("[torchrun, '--nnodes=$(HOSTS)', train.py]", None),
        ("[torchrun, '--nnodes=$(OTHER)', train.py]", None),
    ],
)
def test_variables_of_the_container(command: str, expected: int | None) -> None:
    whole = document(f"command: {command}")
    known = {"NODES": "4", "HOSTS": None}
    source = embedded_command(whole, ("command",), known=known)
    assert source is not None
    leaves = merge(READER.read(source).facts.facts)
    assert leaves["cluster.nodes"].value == expected


@pytest.mark.parametrize("text", ["command: {}", "command: []", "a: 1", "[1]"])
def test_no_words_are_no_command(text: str) -> None:
    assert embedded_command(document(text), ("command",), ("args",)) is None


@pytest.mark.parametrize("command", ["[bash]", "[bash, -c]", "[bash, start.sh, -c]"])
def test_a_shell_without_a_script_is_a_command(command: str) -> None:
    source = embedded_command(document(f"command: {command}"), ("command",))
    assert source is not None
    assert words(source) == [command.strip("[]").split(", ")]


def test_a_text_in_place_of_a_list_is_a_script() -> None:
    whole = document("command: torchrun --nnodes=2 train.py")
    source = embedded_command(whole, ("command",))
    assert source is not None
    assert word(source, "--nnodes=2")[1:3] == (1, 19)

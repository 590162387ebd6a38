"""The JSON Schema of settings: of one mind with the parser, and with the docs."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from settings_files import put, run
from settings_page import PAGE, page
from speccheck.validator.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "schemas" / "json" / "settings.schema.json"

GOOD = (
    "",
    'select = "MEM"',
    'select = ["MEM", "COMM-001"]',
    "ignore = []",
    'profile = ["certify", "size/L"]',
    'fail-on = "never"',
    'color = "always"',
    "full = true\neach = false",
    "[facts]\nnodes = 8\nhours = 2\nstep-seconds = 0.5",
    "[facts]\nnodes = 8.0",
    '[facts]\ngpu = "H100-80GB"\nrole = "conversion"',
    '[facts-for."a/**"]\nnodes = 3\n[facts-for."b"]\nrole = "rl"',
    '[levels]\nMEM = "error"',
    '[per-file-ignores]\n"a" = "MEM"\n"b/**" = ["COMM", "BATCH-001"]',
    '[extend-per-file-ignores]\n"a" = []',
    "inline-ignores = false",
    'exclude = ["a/"]\nforce-exclude = true',
    'output = ["text"]',
    "plugins = false",
)
BAD = (
    "selct = []",
    "select = 4",
    "select = [4]",
    'select = [""]',
    'select = ["  "]',
    'select = " "',
    'fail-on = "errors"',
    "color = true",
    'full = "yes"',
    "full = 1",
    "facts = 4",
    "[facts]\ngpus = 4",
    "[facts]\nnodes = 0",
    "[facts]\nnodes = 1.5",
    "[facts]\nnodes = true",
    '[facts]\nnodes = "8"',
    "[facts]\nhours = -1.5",
    "[facts]\nhours = 1e13",
    "[facts]\ngpu = 100",
    '[facts]\nrole = "train"',
    "[facts-for]\nnodes = 3",
    '[facts-for."a"]\nselect = ["MEM"]',
    '[facts-for.""]\nnodes = 3',
    "levels = []",
    '[levels]\nMEM = "must"',
    "[levels]\nMEM = 2",
    '[per-file-ignores]\n"a" = 4',
    '[per-file-ignores]\n"" = "MEM"',
    "extend = 4",
    'extend = ["a"]',
    'waivers = ""',
    'inline-ignores = "no"',
)


def valid(document: Any) -> bool:  # noqa: ANN401 - as jsonschema takes it
    schema = json.loads(SCHEMA.read_text("utf-8"))
    return jsonschema.Draft202012Validator(schema).is_valid(document)


@pytest.mark.parametrize("text", GOOD)
def test_schema_and_parser_take_what_is_right(
    repository: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    put(repository / "speccheck.toml", text)
    code, _, err = run(capsys, "--show-settings")
    assert (code, err) == (0, "")
    assert valid(tomllib.loads(text))


@pytest.mark.parametrize("text", BAD)
def test_schema_and_parser_refuse_what_is_wrong(
    repository: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    put(repository / "speccheck.toml", text)
    assert run(capsys, "--show-settings")[0] == 2
    assert not valid(tomllib.loads(text))


def _examples() -> list[tuple[str, dict[str, Any]]]:
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"```toml\n# (\S+)\n(.*?)```", text, re.DOTALL)
    return [(name, tomllib.loads(block)) for name, block in blocks]


def test_the_examples_of_the_page_are_right(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = _examples()
    assert {name for name, _ in examples} == {"speccheck.toml", "pyproject.toml"}
    text = PAGE.read_text("utf-8")
    for name, block in re.findall(r"```toml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        path = put(repository / name, block)
        code, out, err = run(capsys, "--show-settings")
        assert (code, err) == (0, "")
        assert out.startswith(f"the run: {name}\n")
        path.unlink()
    for name, document in examples:
        table = document["tool"]["speccheck"] if name == "pyproject.toml" else document
        assert valid(table)


def test_the_table_of_the_page_is_the_generated_one() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text) == text, "run make generate"


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "settings"]) == 0
    assert capsys.readouterr().out == SCHEMA.read_text("utf-8")

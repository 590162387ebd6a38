"""What the pages show is what the program prints, and every option they name exists.

A block of `console`, or of `text` that begins with `$`, is run in a clean copy of the
examples, in the order of its page; a line `...` stands for any lines. A comment
`<!-- not run: why -->` above it is the only way out.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from example_package import FOLDER as _PLUGIN
from example_package import NAME as _PACKAGE
from example_package import entry_points, write_metadata
from markdown_pages import ROOT, Example, examples

# What a user has who cloned the repository, as far as pages speak of it.
_COPIED = ("fixtures/examples", "tests/example_plugin")
_PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
)
_ENTRY = "from speccheck.validator.cli.main import run; run()"
_SECONDS = 120
_FOLDERS = {"configs", "jobs"}  # of a reader's own, as pages call them
_BLOCKS = re.MULTILINE | re.DOTALL
_BASH = shutil.which("bash") or "/bin/bash"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_SPAN = re.compile(r"(?<!`)`(speccheck [^`\n]+)`")
_CALL = re.compile(r"(?:^|[\s\"'($])speccheck +(?P<words>[^\n|;&>#]*)", re.MULTILINE)
_COMMANDS = re.compile(r"^## speccheck ([a-z][a-z -]*)$", re.MULTILINE)


class Step(NamedTuple):
    """A command of an example and what it shows below it."""

    command: str
    shown: list[str]


def _steps(text: str) -> Iterator[Step]:
    step: Step | None = None
    for line in text.splitlines():
        if step is not None and not step.shown and step.command.endswith("\\"):
            step = Step(f"{step.command}\n{line}", [])
        elif line.startswith("$ "):
            if step is not None:
                yield step
            step = Step(line[2:], [])
        elif step is not None:
            step.shown.append(line.rstrip())
    if step is not None:
        yield step


def _is_session(example: Example) -> bool:
    return example.language in {"console", "text"} and example.text.startswith("$ ")


def _sessions(page: Path) -> list[Example]:
    return [example for example in examples(page) if _is_session(example)]


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the examples, and a program called speccheck beside it."""
    folder = tmp_path / "clone"
    for name in _COPIED:
        without = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, folder / name, ignore=without)
    packages = tmp_path / "packages"
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_PLUGIN / _PACKAGE, packages / _PACKAGE, ignore=without)
    write_metadata(packages, entry_points())
    program = tmp_path / "bin" / "speccheck"
    program.parent.mkdir()
    places = os.pathsep.join((str(ROOT / ".imports"), str(packages)))
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{places}" exec "{sys.executable}" '
        f"-c '{_ENTRY}' \"$@\"\n"
    )
    program.chmod(0o755)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [item for item in _PAGES if _sessions(item)], ids=_name
)
def test_the_examples_of_a_page_are_real(page: Path, clone: Path) -> None:
    wrong: list[str] = []
    for example in _sessions(page):
        if example.reason is not None:
            continue
        code = 0
        for step in _steps(example.text):
            printed, code = _run(step.command, code, clone)
            if not _matches(step.shown, printed):
                where = f"{example.page}:{example.line}"
                wrong.append(f"{where} $ {step.command}\nprints\n{printed}")
    assert not wrong, "\n\n".join(wrong)


def _run(command: str, code: int, folder: Path) -> tuple[str, int]:
    """Return what a command prints and its exit code; code: the last one, in $?."""
    ended = subprocess.run(
        [_BASH, "-c", f"(exit {code})\n{command}"],
        cwd=folder,
        env={
            "PATH": f"{folder.parent / 'bin'}{os.pathsep}{os.defpath}",
            "HOME": str(folder.parent),
            "LANG": "C.UTF-8",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
    )
    return ended.stdout, ended.returncode


def _matches(shown: list[str], printed: str) -> bool:
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, lines) is not None


def test_dots_stand_for_any_lines() -> None:
    assert _matches(["a", "...", "c"], "a\nb\nb\nc\n")
    assert _matches(["...", "c"], "c\n")
    assert not _matches(["a", "c"], "a\nb\nc\n")
    assert not _matches(["a", "..."], "b\na\n")


def test_the_first_page_and_the_tour_show_examples() -> None:
    assert len(_sessions(ROOT / "README.md")) >= 2
    assert len(_sessions(ROOT / "docs" / "tour.md")) >= 4


def test_the_package_of_rules_is_what_its_page_shows() -> None:
    page = (ROOT / "docs" / "rule-package.md").read_text("utf-8")
    shown = re.findall(r"^In `([^`]+)`:\n\n```\w+\n(.*?)^```$", page, _BLOCKS)
    assert len(shown) == 2
    for path, text in shown:
        assert (ROOT / path).read_text("utf-8") == text, path


_PARSERS: dict[str, Callable[[str], object]] = {
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "toml": tomllib.loads,
    "json": json.loads,
}


def test_documents_that_a_page_shows_can_be_read() -> None:
    wrong = []
    for example in chain.from_iterable(map(examples, _PAGES)):
        if example.language in _PARSERS and example.reason is None:
            try:
                _PARSERS[example.language](example.text)
            except (ValueError, yaml.YAMLError) as error:
                wrong.append(f"{example.page}:{example.line}: {error}")
    assert not wrong, "\n".join(wrong)


@cache
def _known() -> str:
    return (ROOT / "docs" / "command-line.md").read_text("utf-8")


def test_every_option_and_command_that_a_page_names_exists() -> None:
    wrong = [
        f"{_name(page)}: speccheck {words}: no {name}"
        for page in _PAGES
        for words in _calls(page)
        for name in _unknown_in(words)
    ]
    assert not wrong, "\n".join(wrong)


@cache
def _flags() -> frozenset[str]:
    return frozenset({*_OPTION.findall(_known()), "--help", "--version"})


@cache
def _commands() -> frozenset[str]:
    first_words = {title.split()[0] for title in _COMMANDS.findall(_known())}
    return frozenset({*first_words, "help", *_FOLDERS})


def _unknown_in(words: str) -> Iterator[str]:
    yield from (flag for flag in _OPTION.findall(words) if flag not in _flags())
    first = words.partition(" ")[0]
    if re.fullmatch("[a-z][a-z-]{3,}", first) and first not in _commands():
        yield first


def _calls(page: Path) -> Iterator[str]:
    """Yield what follows the name of the program, wherever a page shows code."""
    blocks = [example.text for example in examples(page) if example.language != "text"]
    for code in (*blocks, *_SPAN.findall(page.read_text("utf-8"))):
        for call in _CALL.finditer(code.replace("\\\n", " ")):
            yield call["words"].strip()


def test_every_target_of_make_that_a_page_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    made = set(re.findall(r"^([a-z-]+):", makefile, _BLOCKS))
    wrong = [
        f"{_name(page)}: make {target}"
        for page in _PAGES
        for target in sorted(_targets_in(page) - made)
    ]
    assert not wrong, "\n".join(wrong)


def _targets_in(page: Path) -> set[str]:
    blocks = [
        example.text for example in examples(page) if example.language in {"sh", "bash"}
    ]
    spans = re.findall(r"`(make [^`\n]+)`", page.read_text("utf-8"))
    calls = re.findall(
        r"^(?:\w+=\S+ )*make ([a-z -]+)", "\n".join((*blocks, *spans)), _BLOCKS
    )
    return {target for call in calls for target in call.split()}

"""Markdown as the tests of the documentation read it: links, anchors, examples."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_NOT_OURS = {".venv", ".venv-peers", ".git", "build", "site", "dist", "node_modules"}
_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+?) -->\n+)?"
    r"^(?P<indent> *)(?P<marks>```+)(?P<language>\w*)[^\n]*\n"
    r"(?P<text>.*?)^ *(?P=marks)$",
    re.MULTILINE | re.DOTALL,
)
_CODE_SPAN = re.compile(r"(`+).+?\1", re.DOTALL)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<to>[^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(?P<title>.+?) *#*$", re.MULTILINE)
_ANCHOR = re.compile(r"<[a-z]+ [^>]*\b(?:id|name)=\"(?P<name>[^\"]+)\"")


class Example(NamedTuple):
    """A fenced block; reason: why it is not run, if the page says so."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None


class Link(NamedTuple):
    """A link of a page to elsewhere."""

    page: Path
    line: int
    to: str


def markdown_files() -> list[Path]:
    """Return every page of the repository."""
    return sorted(
        path
        for path in ROOT.rglob("*.md")
        if not _NOT_OURS.intersection(path.relative_to(ROOT).parts)
        and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    )


def examples(path: Path) -> Iterator[Example]:
    """Yield the fenced blocks of a page."""
    text = path.read_text("utf-8")
    for fence in _FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("marks")) + 1
        indent = len(fence["indent"])
        body = "".join(row[indent:] for row in fence["text"].splitlines(keepends=True))
        name = path.relative_to(ROOT).as_posix()
        yield Example(name, line, fence["language"], body, fence["reason"])


def links(path: Path) -> Iterator[Link]:
    """Yield the links of a page; what code shows is none."""
    text = _without_code(path.read_text("utf-8"))
    for link in _LINK.finditer(text):
        yield Link(path, text.count("\n", 0, link.start()) + 1, link["to"])


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return what a link may name on a page: headings, and anchors that are set."""
    text = path.read_text("utf-8")
    shown = _FENCE.sub("", text)
    titles = (slug(heading["title"]) for heading in _HEADING.finditer(shown))
    named = (anchor["name"] for anchor in _ANCHOR.finditer(shown))
    return frozenset((*titles, *named))


def slug(title: str) -> str:
    """Return the anchor of a heading, as GitHub and the site make it."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", title)
    shown = re.sub(r"\\(.)", r"\1", shown)
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


def _without_code(text: str) -> str:
    """Return the same lines, blank where code stands."""
    for pattern in (_FENCE, _CODE_SPAN):
        text = pattern.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    return text

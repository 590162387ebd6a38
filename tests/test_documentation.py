"""The pages lead where they say, and make a site that asks nothing of a network."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import stage
from markdown_pages import ROOT, Link, anchors, links, markdown_files, slug

_ELSEWHERE = re.compile(r"https?://[\w.-]+(?:/\S*)?$")
_LOADED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "use": "href",
}
_LOADED_BY_STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?:https?:)?//")


@pytest.mark.slow
def test_every_link_of_every_page_leads_somewhere() -> None:
    pages = markdown_files()
    assert len(pages) > 400
    wrong = [link for page in pages for link in links(page) if _is_broken(link)]
    assert not wrong, "\n".join(
        f"{item.page.relative_to(ROOT)}:{item.line} {item.to}" for item in wrong
    )


def _is_broken(link: Link) -> bool:
    if ":" in link.to.partition("/")[0]:
        return _ELSEWHERE.match(link.to) is None
    path, _, anchor = link.to.partition("#")
    target = (link.page.parent / path).resolve() if path else link.page
    if not target.exists() or not target.is_relative_to(ROOT):
        return True
    if not anchor:
        return False
    return target.suffix != ".md" or anchor not in anchors(target)


def test_an_anchor_is_what_its_heading_says() -> None:
    assert slug("`--fail-on`: when a run fails?") == "--fail-on-when-a-run-fails"
    assert slug("A & B, [linked](x.md)") == "a--b-linked"


def test_every_page_is_in_the_navigation() -> None:
    head, _, navigation = stage.settings().partition("\nnav:\n")
    assert "strict: true" in head
    named = list(_names(yaml.safe_load(navigation)))
    pages = {name for name in stage.places().values() if name.endswith(".md")}
    assert len(named) == len(set(named))
    assert sorted(named) == sorted(pages)


def _names(entry: Any) -> Iterator[str]:  # noqa: ANN401 - the navigation, as YAML gives it
    if isinstance(entry, str):
        yield entry
        return
    for item in entry.values() if isinstance(entry, dict) else entry:
        yield from _names(item)


def test_links_between_pages_become_links_of_the_site() -> None:
    text = "[a](docs/ci.md#x) [b](LICENSE) [c](docs/rules) `[d](docs/ci.md)` [e](x.md)"
    pages = {"README.md": "index.md", "docs/ci.md": "ci.md"}
    pages["docs/rules/README.md"] = "rules/README.md"
    shown = stage.with_links_of_the_site(text, "README.md", pages)
    assert shown == "[a](ci.md#x) b [c](rules/README.md) `[d](docs/ci.md)` [e](x.md)"


def test_links_of_a_page_in_a_folder_are_relative_to_it() -> None:
    pages = {"README.md": "index.md", "docs/rules/x.md": "rules/x.md"}
    text = "[start](../../README.md), [out](https://example.org/a)"
    shown = stage.with_links_of_the_site(text, "docs/rules/x.md", pages)
    assert shown == "[start](../index.md), [out](https://example.org/a)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built."""
    if find_spec("material") is None:
        pytest.skip("no MkDocs: the site is not built (pip install -e '.[docs]')")
    folder = tmp_path_factory.mktemp("site")
    stage.stage(folder / "staged")
    words = ("build", "--strict", "--site-dir", str(folder / "built"))
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", *words],
        cwd=folder / "staged",
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder / "built"


@pytest.mark.slow
def test_the_site_has_every_page(site: Path) -> None:
    for name in stage.places().values():
        page = Path(name).with_suffix(".html") if name.endswith(".md") else Path(name)
        built = page.with_name("index.html") if page.name == "README.html" else page
        assert (site / built).is_file(), name


class _Requests(HTMLParser):
    """What a page loads when it is shown; links that wait for a click do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        to = values.get(_LOADED.get(tag, "")) or ""
        if re.match(r"(?:https?:)?//", to):
            self.found.append(to)
        if "mermaid" in (values.get("class") or "").split():
            self.found.append("mermaid, which the theme loads from a network")


@pytest.mark.slow
def test_no_page_asks_anything_of_a_network(site: Path) -> None:
    wrong: list[str] = []
    for page in site.rglob("*.html"):
        requests = _Requests()
        requests.feed(page.read_text("utf-8"))
        wrong.extend(
            f"{page.relative_to(site)}: {finding}" for finding in requests.found
        )
    wrong.extend(
        f"{style.relative_to(site)}: loads from a network"
        for style in site.rglob("*.css")
        if _LOADED_BY_STYLE.search(style.read_text("utf-8"))
    )
    assert not wrong, "\n".join(wrong)

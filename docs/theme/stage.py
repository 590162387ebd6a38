"""Lays the pages of the site out in one folder, for a generator of sites to build.

    python docs/theme/stage.py build/site

The pages are written to be read in the repository, too: some lie at its top, and their
links are relative there. Here they get the links of the site; a link to what is no
page, such as a fixture, becomes its text. Sections that the navigation of mkdocs.yml
names by their folder get its pages. A generator needs no plugin for any of it.
"""

import posixpath
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = "mkdocs.yml"
DOCS = "docs"
# Pages that lie at the top of the repository, by their names on the site.
TOP = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "architecture.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
}
_HEADS = {"index.md": "---\nhide: [navigation]\n---\n\n"}  # it has no siblings
_INDEX = "README.md"
_SHOWN = {".md", ".svg", ".png", ".css", ".js"}
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`(?!\])", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<to>[^()\s]+)\)")
_ENTRY = re.compile(r"^(?:- |\| )\[[^\]]+\]\(([\w.-]+\.md)\)", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#")


def stage(folder: Path) -> None:
    """Write the pages below `docs` of the folder, and its settings beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = places()
    for place, name in pages.items():
        target = folder / DOCS / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".md"):
            text = (ROOT / place).read_text(encoding="utf-8")
            linked = with_links_of_the_site(text, place, pages)
            target.write_text(_HEADS.get(name, "") + linked, encoding="utf-8")
        else:
            shutil.copyfile(ROOT / place, target)
    (folder / SETTINGS).write_text(settings(), encoding="utf-8")


def places() -> dict[str, str]:
    """Return each page's and picture's place in the repository and name on the site."""
    found = {place: name for name, place in TOP.items()}
    for path in sorted((ROOT / DOCS).rglob("*")):
        if path.suffix in _SHOWN:
            name = path.relative_to(ROOT / DOCS).as_posix()
            found[f"{DOCS}/{name}"] = name
    return found


def settings() -> str:
    """Return the settings with the pages of each section."""
    text = (ROOT / SETTINGS).read_text(encoding="utf-8")
    head, mark, navigation = text.partition("\nnav:\n")
    entries = yaml.safe_load(navigation)
    return head + mark + yaml.safe_dump([_expanded(one) for one in entries])


def _expanded(entry: Any) -> Any:  # noqa: ANN401 - the navigation, as YAML gives it
    if not isinstance(entry, dict):
        return entry
    ((title, inner),) = entry.items()
    if isinstance(inner, list):
        return {title: [_expanded(one) for one in inner]}
    if inner.endswith("/"):
        return {title: list(section(inner.rstrip("/")))}
    return entry


def section(folder: str) -> Iterator[str | dict[str, list[str]]]:
    """Yield pages of a folder: its index, then those that it links, by its headings."""
    index = (ROOT / DOCS / folder / _INDEX).read_text(encoding="utf-8")
    yield f"{folder}/{_INDEX}"
    first, *rest = re.split(r"^## ", index, flags=re.MULTILINE)
    yield from _linked(folder, first)
    for part in rest:
        if pages := list(_linked(folder, part)):
            yield {part.partition("\n")[0]: pages}


def _linked(folder: str, text: str) -> Iterator[str]:
    for link in _ENTRY.finditer(text):
        yield f"{folder}/{link[1]}"


def with_links_of_the_site(text: str, place: str, pages: Mapping[str, str]) -> str:
    """Return a page whose links lead to pages of the site, or out of the repository.

    Args:
        text: the page as it is in the repository.
        place: where it lies there.
        pages: names on the site by place in the repository.

    """
    here = posixpath.dirname(place)
    start = posixpath.dirname(pages[place]) or "."

    def link(found: re.Match[str]) -> str:
        if _ELSEWHERE.match(found["to"]):
            return found[0]
        path, sign, anchor = found["to"].partition("#")
        target = posixpath.normpath(posixpath.join(here, path))
        name = pages.get(target) or pages.get(f"{target}/{_INDEX}")
        if name is None:
            is_here = (ROOT / target).exists()  # else the generator says what is wrong
            return found["text"].lstrip("!")[1:-1] if is_here else found[0]
        return f"{found['text']}({posixpath.relpath(name, start)}{sign}{anchor})"

    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        parts.extend((_LINK.sub(link, text[end : code.start()]), code[0]))
        end = code.end()
    return "".join((*parts, _LINK.sub(link, text[end:])))


if __name__ == "__main__":
    stage(Path(sys.argv[1]))

"""The frame of every page: its policy, its style, its one script, its end.

The style sheets and the script are allowed by their hashes, from a file as from a
server, so that even markup that got past the escaping could load and run nothing. The
script filters and changes the colours; without it a page is whole.
"""

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.report.document import (
    Figure,
    Heading,
    Items,
    Link,
    Paragraph,
    Parts,
    ReportSection,
    Terms,
    Word,
)
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.write_html import html

_FOLDER = os.path.dirname(__file__)
_SHEETS = ("html", "html_page")
_CONTROLS = """\
<div id="controls" class="controls" hidden>
<label>Filter <input type="search" maxlength="200" autocomplete="off"></label>
<button type="button" aria-pressed="false">Dark</button>
</div>
<p id="filtered" class="filtered" role="status"></p>
"""


def page(
    title: str,
    top: Parts,
    sections: Iterable[ReportSection],
    *,
    sheets: Sequence[str] = (),
    scripts: Sequence[str] = (),
    foot: Parts = (),
) -> Iterator[str]:
    """Write a page in pieces: the frame, what is above the contents, its sections.

    Args:
        title: of the window.
        top: what stands above the contents.
        sections: the parts of the page; those without a body are left away.
        sheets: names of style sheets beside those of every page.
        scripts: names of scripts beside that of every page.
        foot: what stands below the sections.

    """
    bodies = [(part, text) for part in sections if (text := html(part))]
    links = [(Link(part.title, part.anchor),) for part, _ in bodies]
    style = "".join(_read(f"{name}.css") for name in (*_SHEETS, *sheets))
    yield _head(title, style, _script(scripts))
    yield html(top)
    yield f'<nav aria-label="Contents">\n{html(Items(links))}</nav>\n<main>\n'
    yield from (text for _, text in bodies)
    yield f"</main>\n{html(foot)}<script>{_script(scripts)}</script>\n"
    yield "</body>\n</html>\n"


def _head(title: str, style: str, script: str) -> str:
    """Return what is before the content, with the field of the filter."""
    policy = (
        f"default-src 'none'; style-src {_allowed(style)}; "
        f"script-src {_allowed(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escaped(title)} - speccheck</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n{_CONTROLS}"
    )


def header(
    colour: str,
    tool: str,
    word: str,
    reason: str,
    facts: Iterable[tuple[str, Parts]],
    *,
    above: Parts = (),
    below: Parts = (),
) -> Figure:
    """Return the verdict of a page, its reason, and by what it was judged.

    Args:
        colour: of the verdict.
        tool: what wrote the page.
        word: the verdict, or what it is about.
        reason: the rest of the line.
        facts: names and values, side by side.
        above: what stands between the verdict and the facts.
        below: what stands after the facts.

    """
    return Figure(
        f'<header class="{colour}">\n'
        + html(
            (
                Paragraph(tool, "tool"),
                Heading(1, (Word(word, "word"), " ", reason)),
                above,
                Terms(tuple(facts), "facts"),
                below,
            )
        )
        + "</header>\n"
    )


def synthetic_html(text: str) -> Figure:
    """Return, in letters that nobody overlooks, that no such machine was looked at."""
    return Figure(
        '<div class="synthetic" role="note"><strong>SYNTHETIC</strong> '
        f"<span>{escaped(text)}</span></div>\n"
        '<div class="watermark" aria-hidden="true">SYNTHETIC</div>\n'
    )


def _script(names: Sequence[str]) -> str:
    return "".join(_read(f"{text}.js") for text in ("html_page", *names))


def _allowed(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _read(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()

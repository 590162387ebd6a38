"""The frame of every page: its policy, its style, its one script, its end.

The style sheets and the script are allowed by their hashes, from a file as from a
server, so that even markup that got past the escaping could load and run nothing. The
script filters and changes the colours; without it a page is whole.
"""

import base64
import hashlib
import os
from collections.abc import Sequence

from speccheck.validator.report.forms.html_text import escaped

_FOLDER = os.path.dirname(__file__)
_SHEETS = ("html", "html_page")
_CONTROLS = """\
<div id="controls" class="controls" hidden>
<label>Filter <input type="search" maxlength="200" autocomplete="off"></label>
<button type="button" aria-pressed="false">Dark</button>
</div>
<p id="filtered" class="filtered" role="status"></p>
"""


def page_head(
    title: str, *, sheets: Sequence[str] = (), scripts: Sequence[str] = ()
) -> str:
    """Everything before the content of the body, with the field of the filter.

    Args:
        title: of the window; a text.
        sheets: names of style sheets beside those of every page.
        scripts: names of scripts, as they are given to `page_end`.

    """
    style = "".join(_read(f"{one}.css") for one in (*_SHEETS, *sheets))
    policy = (
        f"default-src 'none'; style-src {_allowed(style)}; "
        f"script-src {_allowed(_script(scripts))}; img-src data:; "
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


def page_end(scripts: Sequence[str] = ()) -> str:
    """Everything after the content of the body."""
    return f"<script>{_script(scripts)}</script>\n</body>\n</html>\n"


def contents(links: Sequence[tuple[str, str]]) -> str:
    """The contents, of anchors and titles."""
    items = "".join(
        f'<li><a href="#{anchor}">{escaped(title)}</a></li>\n'
        for anchor, title in links
    )
    return f'<nav aria-label="Contents">\n<ul>\n{items}</ul>\n</nav>\n'


def synthetic_html(text: str) -> str:
    """That no such machine was looked at, in letters that nobody overlooks."""
    return (
        '<div class="synthetic" role="note"><strong>SYNTHETIC</strong> '
        f"<span>{escaped(text)}</span></div>\n"
        '<div class="watermark" aria-hidden="true">SYNTHETIC</div>\n'
    )


def _script(names: Sequence[str]) -> str:
    return "".join(_read(f"{one}.js") for one in ("html_page", *names))


def _allowed(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _read(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()

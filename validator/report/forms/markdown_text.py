"""Texts of files in Markdown, so that nothing of them becomes markup.

A platform makes more of a text than CommonMark does: links of addresses, mentions of
@names, references like #1, !2 and GH-3, commits, emoji, formulas. None of them is made
in a code span, so a word that could be any of these becomes one.
"""

import re

from speccheck.validator.report.style import printable

# Marks of CommonMark and of platforms, or a colon inside of a word (addresses, emoji).
_SUSPICIOUS = re.compile(
    r"""
    [`*_\\{}\[\]<>\#@~|$^&]     # markup, references, formulas
    | :(?=[^\s])                # https://x, :smile:, file:3
    | [%!](?=\w)                # %milestone, !12
    | ^www\.
    | ^gh-\d
    | \b[0-9a-f]{7,40}\b        # a commit
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AROUND = re.compile(r"^([(\"']*)(.*?)([)\"',.;:?]*)$")


def escaped(text: str) -> str:
    """A text on one line, words that could be markup as code."""
    return " ".join(map(_word, printable(text).split()))


def code(text: str) -> str:
    """A text as a code span, whatever is in it."""
    shown = " ".join(printable(text).split())
    if not shown:
        return ""
    fence = "`"
    while fence in shown:
        fence += "`"
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    # A table ends its cells at a bar even inside of code, unless that is escaped.
    return f"{fence}{space}{shown}{space}{fence}".replace("|", r"\|")


def _word(word: str) -> str:
    if not _SUSPICIOUS.search(word):
        return word
    found = _AROUND.match(word)
    before, inner, after = found.groups() if found else ("", word, "")
    return f"{before}{code(inner)}{after}" if inner else code(word)

"""What a picture of a terminal says, to be laid beside the report that it shows."""

import re
from collections import defaultdict
from html import unescape

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_TEXT = re.compile(r"<text [^>]*#report-line-(\d+)\)[^>]*>(.*?)</text>")


def drawn_lines(picture: str) -> list[str]:
    """Return the lines of a picture without blanks, which are drawn as places."""
    drawn: defaultdict[int, str] = defaultdict(str)
    for line, text in _TEXT.findall(picture):
        drawn[int(line)] += unescape(text)
    lines = ("".join(drawn[number].split()) for number in sorted(drawn))
    return [line for line in lines if line]


def told_lines(report: str) -> list[str]:
    """Return the lines of a report without colours and blanks."""
    lines = (_COLOUR.sub("", "".join(line.split())) for line in report.splitlines())
    return [line for line in lines if line]

"""Pieces of a page. Whatever comes from a file is escaped here, once."""

from collections.abc import Iterable, Sequence

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.style import printable

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
)


def escaped(text: str) -> str:
    """A text without markup, control characters, overrides of direction, secrets."""
    return printable(hidden(text)).translate(_ESCAPES)


def code(text: str, name: str = "") -> str:
    """A text as it stands in a file."""
    of_class = f' class="{name}"' if name else ""
    return f"<code{of_class}>{escaped(text)}</code>" if text else ""


def breakable(name: str) -> str:
    """A name that may go on in the next line after each of its words."""
    return escaped(name).replace("_", "_<wbr>")


def section(anchor: str, title: str, body: str, *, note: str = "") -> str:
    """A part of the page; empty without a body."""
    if not body:
        return ""
    told = f'<p class="note">{note}</p>\n' if note else ""
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
        f'<h2 id="{anchor}-title">{escaped(title)}</h2>\n{told}{body}</section>\n'
    )


def folded(summary: str, body: str, *, is_open: bool = False, name: str = "") -> str:
    """What a click unfolds; the summary is markup already."""
    opened = " open" if is_open else ""
    of_class = f' class="{name}"' if name else ""
    return (
        f"<details{of_class}{opened}>\n<summary>{summary}</summary>\n{body}</details>\n"
    )


def table(
    caption: str, heads: Sequence[str], rows: Iterable[str], *, name: str = ""
) -> str:
    """A table that scrolls by itself where the page is too narrow for it.

    Args:
        caption: what it shows; for those who do not see the heading above it.
        heads: of the columns; one that begins with > is of numbers.
        rows: markup, made by `row`.
        name: its class.

    """
    cells = "".join(
        f'<th scope="col"{_of_numbers(head)}>{escaped(head.lstrip(">"))}</th>'
        for head in heads
    )
    of_class = f' class="{name}"' if name else ""
    return (
        f'<div class="scrolls"><table{of_class}>\n'
        f'<caption class="unseen">{escaped(caption)}</caption>\n'
        f"<thead><tr>{cells}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n"
        "</table></div>\n"
    )


def row(cells: Sequence[str], *, numbers: Iterable[int] = (), name: str = "") -> str:
    """A row of cells that are markup already; the first names the row."""
    right = set(numbers)
    first, *others = cells
    told = "".join(
        f"<td{_NUMBER if at in right else ''}>{cell}</td>"
        for at, cell in enumerate(others, start=1)
    )
    of_class = f' class="{name}"' if name else ""
    return f'<tr{of_class}><th scope="row">{first}</th>{told}</tr>\n'


_NUMBER = ' class="number"'


def _of_numbers(head: str) -> str:
    return _NUMBER if head.startswith(">") else ""


def listed(items: Iterable[str], name: str = "") -> str:
    """A list of markup; empty without items."""
    told = "".join(f"<li>{item}</li>\n" for item in items)
    of_class = f' class="{name}"' if name else ""
    return f"<ul{of_class}>\n{told}</ul>\n" if told else ""


def level_word(level: str, outcome: str = "fail") -> str:
    """The level of a finding in its colour, and in words."""
    word = level if outcome == "fail" else "broken"
    return f'<span class="level {level}">{word}</span>'

"""Parts of a document as HTML. Whatever comes from a file is escaped here, once."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from speccheck.validator.report.document import (
    Badges,
    Break,
    Code,
    Division,
    Figure,
    Fold,
    Frame,
    Group,
    Heading,
    Items,
    Link,
    Name,
    Paragraph,
    Parts,
    ReportSection,
    Small,
    Strong,
    Table,
    Terms,
    Time,
    Verbatim,
    Word,
)
from speccheck.validator.report.forms.html_text import escaped

_GRID, _SIDE_BY_SIDE = "advice", "facts"  # terms, as the style sheet lays them out


def html(parts: Parts) -> str:
    """Return the markup of parts."""
    if isinstance(parts, str):
        return escaped(parts)
    write = _WRITERS.get(type(parts))
    if write is not None:
        return write(parts)
    return "".join(map(html, cast("Iterable[Parts]", parts)))


def attributes(name: str = "", anchor: str = "") -> str:
    """Return the class and the anchor of an element, as far as it has them."""
    of_class = f' class="{name}"' if name else ""
    return f'{of_class} id="{escaped(anchor)}"' if anchor else of_class


def _strong(part: Strong) -> str:
    tag = "b" if part.name else "strong"  # words that only stand out have a class
    return f"<{tag}{attributes(part.name)}>{escaped(part.text)}</{tag}>"


def _code(part: Code) -> str:
    shown = f"<code{attributes(part.name)}>{escaped(part.text)}</code>"
    return shown if part.text else ""


def _link(part: Link) -> str:
    href = f' href="#{escaped(part.anchor)}"'
    return f"<a{attributes(part.name)}{href}>{escaped(part.text)}</a>"


def _word(part: Word) -> str:
    return f"<span{attributes(part.name, part.anchor)}>{html(part.text)}</span>"


def _time(part: Time) -> str:
    anchor = f' id="{part.anchor}"' if part.anchor else ""
    return (
        f'<time{anchor} datetime="{escaped(part.moment)}">{escaped(part.text)}</time>'
    )


def _heading(part: Heading) -> str:
    tag = f"h{part.depth}"
    return f"<{tag}{attributes('', part.anchor)}>{html(part.text)}</{tag}>\n"


def _badges(part: Badges) -> str:
    level = f'<span class="{part.level}">{part.level}</span>'
    rest = "".join(f"<span>{escaped(word)}</span>" for word in part.words)
    return f'<p class="tags">{level}{rest}</p>\n'


def _items(part: Items) -> str:
    items = "".join(f"<li>{html(item)}</li>\n" for item in part.items)
    tag = "ol" if part.is_ordered else "ul"
    return f"<{tag}{attributes(part.name)}>\n{items}</{tag}>\n" if items else ""


def _terms(part: Terms) -> str:
    end = "" if part.name == _SIDE_BY_SIDE else "\n"
    before, after = ("", "") if part.name == _GRID else ("<div>", "</div>")
    rows = "".join(
        f"{before}{f'<dt>{html(name)}</dt>' if name else ''}"
        f"<dd>{html(value)}</dd>{after}{end}"
        for name, value in part.rows
    )
    return f"<dl{attributes(part.name)}>{end}{rows}</dl>\n" if rows else ""


def _table(part: Table) -> str:
    """Return a table that scrolls by itself where the page is too narrow for it."""
    classes = [' class="number"' if head[:1] == ">" else "" for head in part.heads]
    heads = "".join(
        f'<th scope="col"{of_class}>{escaped(head.lstrip(">"))}</th>'
        for head, of_class in zip(part.heads, classes, strict=True)
    )
    rows = []
    for row in part.rows:
        if isinstance(row, Group):
            span = f'scope="colgroup" colspan="{len(part.heads)}"'
            cells = f"<th {span}>{escaped(row.title)}</th>"
            rows.append(f'<tr class="group">{cells}</tr>\n')
            continue
        first, *others = map(html, row)
        cells = "".join(
            f"<td{of_class}>{cell}</td>"
            for cell, of_class in zip(others, classes[1:], strict=True)
        )
        rows.append(f'<tr><th scope="row">{first}</th>{cells}</tr>\n')
    return (
        f'<div class="scrolls"><table{attributes(part.name)}>\n'
        f'<caption class="unseen">{escaped(part.caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n"
        "</table></div>\n"
    )


def _fold(part: Fold) -> str:
    opened = " open" if part.is_open else ""
    summary = html(part.summary).replace("\n", "")
    return (
        f"<details{attributes(part.name, part.anchor)}{opened}>\n"
        f"<summary>{summary}</summary>\n{html(part.body)}</details>\n"
    )


def _frame(part: Frame) -> str:
    rows: list[str] = []
    for line in part.lines:
        end = line.start + line.length
        pieces = (line.text[: line.start], line.text[line.start : end], line.text[end:])
        before, marked, after = map(escaped, pieces)
        number = f'<span class="line">{line.number:>{part.digits}} |</span>'
        rows.append(f"{number} {before}<mark>{marked}</mark>{after}")
        caret = f"{'^' * line.length} {line.label}".rstrip()
        gap = f'<span class="line">{" " * part.digits} |</span>'
        rows.append(f'{gap} {" " * line.start}<span class="caret">{caret}</span>')
    text = "\n".join(rows)
    return (
        f'<figure class="frame"><figcaption>{escaped(part.place)}</figcaption>'
        f"<pre><code>{text}</code></pre></figure>\n"
    )


def _verbatim(part: Verbatim) -> str:
    lines = "\n".join(map(escaped, part.text.splitlines()))
    return f"<pre>{lines}</pre>\n"


def _section(part: ReportSection) -> str:
    body, anchor = html(part.body), part.anchor
    if not body:
        return ""
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
        f'<h2 id="{anchor}-title">{escaped(part.title)}</h2>\n{body}</section>\n'
    )


_WRITERS: dict[type, Callable[[Any], str]] = {
    Strong: _strong,
    Code: _code,
    Name: lambda part: escaped(part.text).replace("_", "_<wbr>"),
    Link: _link,
    Word: _word,
    Small: lambda part: f"<small>{html(part.text)}</small>",
    Time: _time,
    Break: lambda _: "<br>",
    Heading: _heading,
    Paragraph: lambda part: f"<p{attributes(part.name)}>{html(part.parts)}</p>\n",
    Badges: _badges,
    Items: _items,
    Terms: _terms,
    Table: _table,
    Fold: _fold,
    Frame: _frame,
    Verbatim: _verbatim,
    Division: lambda part: f'<div class="{part.name}">\n{html(part.body)}</div>\n',
    Figure: lambda part: part.html,
    ReportSection: _section,
}

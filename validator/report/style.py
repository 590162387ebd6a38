"""Colour and characters of a terminal report; plain text elsewhere."""

from collections.abc import Iterable

from speccheck.validator.evidence.record import Record

_CODES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "unknown": "1;35",
    "good": "1;32",
    "dim": "2",
    "bold": "1",
}


class Style(Record):
    """How to draw: with or without colour, in Unicode or in ASCII, how wide.

    has_links: whether a terminal reads it that may follow links to files (OSC 8).
    """

    colour: bool = False
    unicode: bool = False
    width: int = 80
    has_links: bool = False

    def linked(self, text: str, path: str) -> str:
        """Return the text as a link to a file, where the terminal takes them."""
        if not self.has_links:
            return text
        from pathlib import Path  # noqa: PLC0415 - on terminals alone

        target = Path(path).absolute().as_uri()
        return f"\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\"

    def paint(self, text: str, name: str) -> str:
        """Return the text in the colour of that name."""
        if not self.colour or not text:
            return text
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m"

    @property
    def dot(self) -> str:
        """The separator between facts on one line."""
        return "·" if self.unicode else "-"

    @property
    def times(self) -> str:
        """The multiplication sign."""
        return "\u00d7" if self.unicode else "x"


def wrap(text: str, width: int, indent: str) -> str:
    """Return the text in lines of at most `width`, each after `indent`."""
    lines: list[str] = []
    line = indent
    for word in text.split():
        if line != indent and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = indent
        line += word if line == indent else f" {word}"
    lines.append(line)
    return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """Return a number of things: `1 node`, `2 nodes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def joined(parts: Iterable[str], separator: str, width: int) -> str:
    """Return the parts on as few lines of at most `width` as they need."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(separator) + len(part) <= width:
            lines[-1] += separator + part
        else:
            lines.append(part)
    return "\n".join(lines)


def facts_on_lines(parts: Iterable[str], style: Style, indent: str) -> str:
    """Return facts beside each other, each whole on its line."""
    text = joined(parts, f" {style.dot} ", style.width - len(indent))
    return "\n".join(indent + line for line in text.splitlines())


def printable(text: str) -> str:
    """Return the text without control characters, which a hostile file may hold."""
    if text.isprintable():
        return text
    return "".join(item if item.isprintable() else _escaped(item) for item in text)


def _escaped(character: str) -> str:
    return "  " if character == "\t" else f"\\x{ord(character):02x}"

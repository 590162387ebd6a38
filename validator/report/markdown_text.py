"""Text that generated pages quote, so that Markdown shows it as it stands."""

import re
import textwrap

# What would begin or end emphasis, code, a tag or a reference. Underscores at the
# beginning of words and within them are left alone: names are full of them, and
# without one at an end they mean nothing.
_SIGNS = re.compile(r"[\\*`\[\]]|<(?=[A-Za-z/!?])|_(?=_*(?!\w))")
_EXAMPLE = re.compile(r"^(\w+)::\n\n((?:(?:    .*)?\n)+)", re.MULTILINE)


def plain(text: str) -> str:
    """A paragraph in which no sign means anything to Markdown."""
    return _SIGNS.sub(lambda sign: "\\" + sign.group(), text)


def cell(text: str) -> str:
    """The same for a cell of a table."""
    return plain(text).replace("|", "\\|").replace("\n", " ")


def in_cell(text: str) -> str:
    """Text of a docstring or a help for a cell of a table."""
    return prose(text).replace("|", "\\|").replace("\n", " ")


def with_fences(text: str) -> str:
    """A docstring whose `Bad::` and `Good::` examples are fenced blocks."""
    parts: list[str] = []
    end = 0
    for example in _EXAMPLE.finditer(text + "\n"):
        parts.append(prose(text[end : example.start()]))
        code = textwrap.dedent(example[2]).strip("\n")
        parts.append(f"{example[1]}:\n\n```text\n{code}\n```\n\n")
        end = example.end()
    parts.append(prose(text[end:]))
    return "".join(parts).rstrip("\n")


def prose(text: str) -> str:
    """Text of a docstring: code in backquotes stays code."""
    pieces = re.split("(`[^`]+`)", text)
    return "".join(one if one[:1] == "`" else plain(one) for one in pieces)

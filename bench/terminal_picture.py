"""What a terminal shows, as a picture for the pages."""

import io
import re

from rich.console import Console
from rich.text import Text

WIDTH = 100
# The picture takes nothing from elsewhere: a monospaced font of the reader will do.
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def terminal_picture(shown: str, title: str, width: int = WIDTH) -> str:
    """Return the text with the colours of a terminal as SVG."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown))
    drawn = console.export_svg(title=title, unique_id="report")
    lines = _FONT.sub("", drawn).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"

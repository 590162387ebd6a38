"""The bar of a forecast in the colours of a terminal, by rich."""

from io import StringIO

from rich.console import Console
from rich.text import Text

from speccheck.validator.report.forecast_bar import Bar

_COLOURS = ("cyan", "green", "magenta", "blue", "yellow", "white")


def coloured_bar(drawn: Bar) -> str:
    """Parts side by side, the free rest dim, everything red at the end if it is over.

    The signs stay, so that the rows below can be told apart without colours too.
    """
    text = Text("[")
    for index, part in enumerate(drawn.parts):
        style = f"black on {_COLOURS[index % len(_COLOURS)]}"
        text.append(part.sign * part.columns, style)
    text.append("." * drawn.free, "dim")
    text.append("]", "bold red" if drawn.is_over else "")
    out = StringIO()
    console = Console(
        file=out, force_terminal=True, color_system="standard", width=len(text) + 1
    )
    console.print(text, end="", soft_wrap=True)
    return out.getvalue()

"""The bar of a forecast in the colours of a terminal, by rich."""

from io import StringIO
from itertools import groupby

from rich.console import Console
from rich.text import Text

from speccheck.validator.report.forecast_bar import FREE, LIMIT, PERHAPS, SIGNS

_COLOURS = ("cyan", "green", "magenta", "blue", "yellow", "white")
_OTHERS = {FREE: "dim", PERHAPS: "yellow", LIMIT: "bold white on red"}


def coloured(text: str) -> str:
    """Each sign on its colour; the signs stay, for those who do not see colours."""
    drawn = Text()
    for sign, same in groupby(text):
        drawn.append("".join(same), _style(sign))
    out = StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard")
    console.print(drawn, end="", soft_wrap=True)
    return out.getvalue()


def _style(sign: str) -> str:
    if sign in _OTHERS:
        return _OTHERS[sign]
    if sign in SIGNS:
        return f"black on {_COLOURS[SIGNS.index(sign) % len(_COLOURS)]}"
    return ""

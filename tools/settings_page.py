"""The table of settings in docs/settings.md, made of their table in the program.

Run `python tools/settings_page.py` to write it anew.
"""

from pathlib import Path

from speccheck.validator.cli.settings.keys import KEYS, Key

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
_BEGIN, _END = "<!-- settings: generated -->\n", "<!-- end of settings -->\n"
_KINDS = {
    "switch": "true or false",
    "text": "text",
    "texts": "list of texts",
    "integer": "whole number",
    "number": "number",
    "path": "path",
    "levels": "table: name to level",
    "names_by_pattern": "table: pattern to names",
    "facts_by_pattern": "table: pattern to facts",
}


def table() -> str:
    """All settings, a row each."""
    lines = [
        "| Setting | Value | Default | What it says | Option |",
        "| --- | --- | --- | --- | --- |",
        *(_row(key) for key in KEYS),
    ]
    return "\n".join(lines) + "\n"


def _row(key: Key) -> str:
    kind = " or ".join(f"`{one}`" for one in key.words) or _KINDS[key.kind]
    if key.kind == "levels":
        kind = _KINDS[key.kind]
    default = f"`{key.default}`" if key.default else ""
    flag = key.option or key.undone_by
    option = f"`{flag}`" if flag else ""
    cells = (f"`{key.name}`", kind, default, key.help, option)
    return f"| {' | '.join(one.replace('|', chr(92) + '|') for one in cells)} |"


def page(text: str) -> str:
    """The page with the table as it is now."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return f"{before}{begin}\n{table()}\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")

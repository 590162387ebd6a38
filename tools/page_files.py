"""Writes generated pages of one folder."""

from collections.abc import Mapping
from pathlib import Path


def write_pages(folder: Path, texts: Mapping[str, str]) -> None:
    """Write every page, and remove those of what is gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")

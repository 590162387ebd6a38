"""The configurations that the benchmark judges: published ones or our templates."""

import shutil
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from speccheck.validator.sources.reader import readers

HERE = Path(__file__).resolve().parent
TEMPLATES = HERE / "templates"
# Real configurations beside the checkout, where somebody keeps some.
PUBLISHED = HERE.parents[1] / "shared" / "corpus" / "configs"
FILES_IN_A_FOLDER = 10


def fill(template: Path, number: int) -> str:
    """The text of a template, made different from its siblings by `number`."""
    text = template.read_text(encoding="utf-8")
    return text.replace("@SMALL@", str(1 + number % 8)).replace(
        "@LARGE@", str(100 + number)
    )


def write_from_templates(folder: Path, count: int) -> str:
    """Write `count` configurations below `folder`; says what they are."""
    templates = sorted(TEMPLATES.iterdir())
    for number in range(count):
        template = templates[number % len(templates)]
        target = _target(folder, number, len(templates), template)
        target.write_text(fill(template, number), encoding="utf-8")
    return f"{count:,} configurations from {len(templates)} templates"


def copy_published(folder: Path, count: int) -> str | None:
    """Copy `count` published configurations below `folder`, each as often as needed.

    Returns what they are, or None when there are none to copy.
    """
    published = list(_published())
    if not published:
        return None
    for number, source in enumerate(islice(cycle(published), count)):
        target = folder / source.parent.name / str(number // FILES_IN_A_FOLDER)
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target / f"{number}-{source.name}")
    return f"{count:,} configurations, {len(published)} published ones in turn"


def _published() -> Iterator[Path]:
    """The published files of the formats that are read: others cost next to nothing."""
    for name in sorted(readers()):
        folder = PUBLISHED / name
        if folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if path.is_file())


def _target(folder: Path, number: int, kinds: int, template: Path) -> Path:
    """Some files to a folder, all of one format, as in a real repository."""
    home = folder / template.stem / str(number // (kinds * FILES_IN_A_FOLDER))
    home.mkdir(parents=True, exist_ok=True)
    return home / f"{number}-{template.name}"

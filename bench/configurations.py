"""The configurations that the benchmark judges: our templates, or published ones."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
TEMPLATES = HERE / "templates"
# Real configurations beside the checkout, where somebody keeps some.
PUBLISHED = HERE.parents[1] / "shared" / "corpus" / "configs"
FILES_IN_A_FOLDER = 10


def fill(template: Path, number: int) -> str:
    """Return the text of a template, made different from its siblings by `number`."""
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


def _target(folder: Path, number: int, kinds: int, template: Path) -> Path:
    """Write some files of one format into a folder, as in a real repository."""
    home = folder / template.stem / str(number // (kinds * FILES_IN_A_FOLDER))
    home.mkdir(parents=True, exist_ok=True)
    return home / f"{number}-{template.name}"

"""The example of a package of rules, as an installer would leave it in a folder."""

import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "example_plugin"
NAME = "speccheck_example"


def write_metadata(
    folder: Path, groups: dict[str, dict[str, str]] | None = None
) -> None:
    """Write what an installer writes of a package; groups: other entry points."""
    if groups is None:
        project = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))
        groups = project["project"]["entry-points"]
    information = folder / f"{NAME}-1.0.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: speccheck-example\nVersion: 1.0\n",
        encoding="utf-8",
    )
    lines: list[str] = []
    for group, points in groups.items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {value}" for name, value in points.items()]
    (information / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

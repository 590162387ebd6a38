"""The example of a package of rules, as an installer would leave it in a folder."""

import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "example_plugin"
NAME = "speccheck_example"


def entry_points() -> dict[str, dict[str, str]]:
    """Return those that its pyproject.toml names, by group."""
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))["project"]
    groups: dict[str, dict[str, str]] = project["entry-points"]
    return groups


def write_metadata(folder: Path, groups: dict[str, dict[str, str]]) -> None:
    """Write what an installer writes of a package with these entry points."""
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

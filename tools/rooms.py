"""The rooms of the program, what each imports, and their table in ARCHITECTURE.md.

Run `python tools/rooms.py` to write the table; tests/test_rooms.py holds it equal and
the graph of rooms and that of files free of circles.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("validator", "rules", "schemas", "probes")
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN = "<!-- rooms: written by tools/rooms.py -->"
END = "<!-- end of rooms -->"


class Room(NamedTuple):
    """A folder of the program.

    Attributes:
        name: such as `validator/engine`, or `rules`.
        about: the first line of its docstring.
        modules: how many it holds.
        lines: of all of them.
        imports: the rooms that its modules import, by name.

    """

    name: str
    about: str
    modules: int
    lines: int
    imports: frozenset[str]


def python_files(*folders: str) -> list[Path]:
    """Return the Python files below folders of the repository, in order."""
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "__pycache__" not in path.parts
    )


@cache
def imported(path: Path) -> tuple[tuple[int, str], ...]:
    """Return line and dotted module of each import, those in functions too.

    Raises ValueError for a relative import.
    """
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                message = f"{path}:{node.lineno} imports relatively"
                raise ValueError(message)
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield node.lineno, inner if _is_module(inner) else module


def _is_module(name: str) -> bool:
    path = ROOT / ".imports" / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def room_of(module: str) -> str:
    """Return the room of a dotted module, `speccheck.` in front or not.

    `validator` itself holds the version and the entry point, and is no room.
    """
    parts = module.removeprefix("speccheck.").split(".")
    return "/".join(parts[: 2 if parts[0] == "validator" else 1])


@cache
def rooms() -> list[Room]:
    """Return all rooms, those that import the most of the others first."""
    files: dict[str, list[Path]] = {}
    for path in python_files(*PACKAGES):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] != "validator" or len(parts) > len(("validator", "room")):
            files.setdefault(room_of(".".join(parts)), []).append(path)
    result = {name: _room(name, paths) for name, paths in files.items()}
    return sorted(
        result.values(), key=lambda room: (-_floor(room.name, result, ()), room.name)
    )


def _room(name: str, paths: list[Path]) -> Room:
    texts = [path.read_text(encoding="utf-8") for path in paths]
    top = ast.parse((ROOT / name / "__init__.py").read_text(encoding="utf-8"))
    imports = {
        room_of(module)
        for path in paths
        for _, module in imported(path)
        if module.startswith("speccheck.")
    }
    return Room(
        name,
        (ast.get_docstring(top) or "").partition("\n\n")[0].replace("\n", " "),
        len(paths),
        sum(text.count("\n") for text in texts),
        frozenset(imports - {name, "validator"}),
    )


def _floor(name: str, known: dict[str, Room], above: tuple[str, ...]) -> int:
    """Return how many rooms stand below one; raises ValueError for a cycle."""
    if name in above:
        message = "rooms import each other: " + " -> ".join((*above, name))
        raise ValueError(message)
    below = (_floor(other, known, (*above, name)) for other in known[name].imports)
    return 1 + max(below, default=0)


def circles() -> list[tuple[str, ...]]:
    """Return the circles of imports between files: in each, all reach each other.

    Imports in functions and for types alone count: who reads a file reads those too.
    """
    known = {_dotted(path): path for path in python_files(*PACKAGES)}
    graph = {
        name: {module for _, module in imported(path) if module in known} - {name}
        for name, path in known.items()
    }
    return _circles(graph)


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("speccheck", *parts)).removesuffix(".__init__")


def _circles(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Return the strongly connected parts of a graph that have several members."""
    reached = {name: _reached(name, graph) for name in graph}
    result = {
        tuple(sorted(name for name in others if start in reached[name]))
        for start, others in reached.items()
        if start in others
    }
    return sorted(result)


def _reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    result: set[str] = set()
    pending = [start]
    while pending:
        new = graph[pending.pop()] - result
        result |= new
        pending += new
    return result


def table() -> str:
    """Return the table of the rooms in Markdown."""
    lines = [
        "| room | what stands there | modules | lines | imports |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| `{room.name}` | {room.about} | {room.modules} | {room.lines:,} | "
        f"{' '.join(_short(name) for name in sorted(room.imports))} |"
        for room in rooms()
    ]
    return "\n".join(lines) + "\n"


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def page_with_table() -> str:
    """Return ARCHITECTURE.md with the table as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(), encoding="utf-8")

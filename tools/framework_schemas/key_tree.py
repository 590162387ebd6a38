"""The rows of a key table as a tree: blocks, items of lists, free names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

ITEMS = "[]"
ANY_NAME = "*"
ANYTHING_BELOW = "**"
FREE = ("map", "object", "any", "list")  # without rows below: takes anything there


class Node:
    """One place in a file: a key, the items of a list, or every other name.

    Attributes:
        path: as the table writes it; empty for the whole file.
        row: of the table; None for a block that only holds other keys, and for items.
        below: the keys below it by name.
        items: what a list here holds.
        any_name: what stands below a name that is free.
        free: the row that says that anything may stand below, or None.
    """

    def __init__(self, path: str, row: Row | None = None) -> None:
        """Begin with nothing below."""
        self.path = path
        self.row = row
        self.below: dict[str, Node] = {}
        self.items: Node | None = None
        self.any_name: Node | None = None
        self.free: Row | None = None

    @property
    def has_keys(self) -> bool:
        """Whether the table says anything of what stands below."""
        return bool(self.below or self.any_name or self.free)

    @property
    def is_free(self) -> bool:
        """Whether the table lists nothing below, and lets anything stand there."""
        if self.free or self.row is None or self.below or self.any_name:
            return self.free is not None
        return any(kind in self.row["type"] for kind in FREE)

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all below it."""
        yield self
        others = (node for node in (self.items, self.any_name) if node is not None)
        for node in (*self.below.values(), *others):
            yield from node.walk()

    def find(self, path: str) -> "Node | None":
        """Return the node of a path, or None."""
        node: Node | None = self
        for name, lists in _steps(path):
            if node is None:
                return None
            node = node.any_name if name == ANY_NAME else node.below.get(name)
            for _ in range(lists):
                node = node.items if node is not None else None
        return node


def tree_of(rows: Sequence[Row]) -> Node:
    """Return the tree of a table without sections."""
    root = Node("")
    for row in rows:
        steps = _steps(row["path"])
        if all(name for name, _ in steps):  # nemo1: names of Hydra with an empty part
            _place(root, steps, row)
    return root


def _steps(path: str) -> list[tuple[str, int]]:
    """Return the names of a path, each with the number of lists that it stands for."""
    steps = []
    for part in path.split("."):
        name = part
        while name.endswith(ITEMS):
            name = name.removesuffix(ITEMS)
        steps.append((name, (len(part) - len(name)) // len(ITEMS)))
    return steps


def _place(node: Node, steps: Sequence[tuple[str, int]], row: Row) -> None:
    for name, lists in steps:
        if name == ANYTHING_BELOW:
            node.free = row
            return
        path = f"{node.path}.{name}" if node.path else name
        if name == ANY_NAME:
            node.any_name = node.any_name or Node(path)
            node = node.any_name
        else:
            node = node.below.setdefault(name, Node(path))
        for _ in range(lists):
            node.items = node.items or Node(node.path + ITEMS)
            node = node.items
    node.row = row

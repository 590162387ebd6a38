"""The comments of evidence: beside a leaf or above it, they are its documentation."""

import ast
from pathlib import Path
from types import ModuleType


def leaf_comments(module: ModuleType) -> dict[str, str]:
    """Return by `Class.leaf` the comment beside the leaf, else that above it.

    A comment after an empty line is a heading of several leaves and belongs to none,
    unless it stands above the first leaf of a class that has nothing else before.
    """
    lines = Path(str(module.__file__)).read_text(encoding="utf-8").splitlines()
    comments: dict[str, str] = {}
    for node in ast.parse("\n".join(lines)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        first = node.body[1] if len(node.body) > 1 else None
        for leaf in node.body:
            if isinstance(leaf, ast.AnnAssign) and isinstance(leaf.target, ast.Name):
                beside = lines[(leaf.end_lineno or leaf.lineno) - 1].partition("#")[2]
                text = beside.strip() or _above(
                    lines, leaf.lineno - 1, may_follow_space=leaf is first
                )
                if text:
                    comments[f"{node.name}.{leaf.target.id}"] = text
    return comments


def _above(lines: list[str], leaf: int, *, may_follow_space: bool) -> str:
    """Return the comment that ends on the line above, unless it is a heading."""
    first = leaf
    while lines[first - 1].strip().startswith("#"):
        first -= 1
    if not lines[first - 1].strip() and not may_follow_space:
        return ""
    return " ".join(line.strip().lstrip("# ") for line in lines[first:leaf])

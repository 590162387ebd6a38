"""Modules of the repository that a Python file imports: found, parsed and numbered.

The lines of each module follow those of the modules before it, so that the number of a
line alone says in which module it stands.
"""

import ast
import sys
from collections.abc import Callable
from warnings import catch_warnings, simplefilter

from speccheck.validator.evidence.record import Record

_STRIDE = 4_000_000  # more lines than a file may have characters
_MOST_MODULES = 60
_LONGEST = 300_000  # characters of a module; those of published recipes have 150,000
_MOST_TEXT = 1_500_000  # of all modules


class ModuleText(Record):
    """A module of the repository: its path and its text."""

    path: str
    text: str


FindModule = Callable[[str, str], ModuleText | None]
"""Return the module of a dotted name, as the file of a path imports it."""


class Module(Record):
    """A module, with its lines behind those of the modules before it."""

    path: str
    tree: ast.Module


class Modules:
    """The modules that are followed from a file, each parsed once."""

    def __init__(self, path: str, find: FindModule | None) -> None:
        """Start with the file itself.

        Args:
            path: of the file.
            find: how its modules are found; None where they are not.

        """
        self._find = find
        self._paths = [path]
        self._by_path: dict[str, Module | None] = {}
        self._by_name: dict[tuple[str, str], Module | None] = {}
        self._left = _MOST_TEXT

    def find(self, name: str, path: str) -> Module | None:
        """Return a module by its dotted name; None for one that is not followed.

        Args:
            name: begins with as many dots as the import is relative by.
            path: of the file that imports it.

        """
        top = name.partition(".")[0]
        if self._find is None or top in sys.stdlib_module_names:
            return None
        if (name, path) not in self._by_name:
            text = self._find(name, path)
            module = self._parsed(text) if text is not None else None
            self._by_name[name, path] = module
        return self._by_name[name, path]

    def _parsed(self, module_text: ModuleText) -> Module | None:
        if module_text.path in self._by_path:
            return self._by_path[module_text.path]
        self._left -= len(module_text.text)
        is_long = len(module_text.text) > _LONGEST
        if is_long or self._left < 0 or len(self._paths) > _MOST_MODULES:
            return None
        try:
            tree = parsed(module_text.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self._by_path[module_text.path] = None
            return None
        ast.increment_lineno(tree, _STRIDE * len(self._paths))
        self._paths.append(module_text.path)
        module = self._by_path[module_text.path] = Module(module_text.path, tree)
        return module

    def is_other(self, line: int) -> bool:
        """Tell whether a line stands in another module than the file itself."""
        return line >= _STRIDE

    def shown(self, line: int) -> str:
        """Return a line in words: its number, and the name of another module."""
        index, number = divmod(line, _STRIDE)
        if not index:
            return f"line {number}"
        return f"line {number} of {self._paths[index].rpartition('/')[2]}"


def parsed(text: str) -> ast.Module:
    """Return the syntax of a text; raises what `ast.parse` raises."""
    with catch_warnings():
        simplefilter("ignore")
        return ast.parse(text)

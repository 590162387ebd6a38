"""The words of the house, held: names of the field, one class for one name."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from test_house import PACKAGES, ROOT, python_files

PROGRAM = python_files(*PACKAGES, "tools", "bench")
# As words of a name they hide what it stands for; `one` only where it is the whole.
BANNED_WORDS = frozenset({"told", "found", "asked", "spoken", "whatever"})
BANNED_NAMES = frozenset({"one", "o"})
# What users, other programs or published documents know by that name.
KNOWN_NAMES = {
    "_NOT_FOUND": "NVML_ERROR_LIBRARY_NOT_FOUND",
    "asked_profiles": "a field of certificates",
    "fewer_gpus_present_than_asked": "a rule",
    "found": "a field of reports in JSON",
    "mrc_plugin_not_found": "a rule",
    "one": "a field of units in editions, beside `many`",
    "plugin_not_found": "a rule",
    "told_unit": "a leaf of snapshots",
}
MAY_BE_FOUND = {"validator/fleet/golden.py", "validator/report/json_report.py"}
# A class that a published JSON Schema names by its definition keeps that name.
PUBLISHED_CLASSES = frozenset(
    {
        *("Coverage", "Measured", "MissingEvidence", "PlanFile", "Profile"),
        *("ProposedSetting", "Tool", "Totals", "ValueChange"),
    }
)
BANNED_PHRASES = re.compile(r"\b(came of|left out|who hears)\b", re.IGNORECASE)

# First words of noun phrases and clauses, where a verb is due.
NO_VERB = re.compile(
    r"(A|All|An|As|At|By|Each|Every|For|From|How|In|It|Its|No|Nothing|Of|On|One|That"
    r"|The|This|Those|What|When|Where|Whether|Which|Who|Whose|Why|With|Without)\b"
)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each name that a module gives."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def _is_banned(name: str, path: str) -> bool:
    if name in KNOWN_NAMES:
        return name == "found" and path not in MAY_BE_FOUND
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip("_"))
    words = set(spaced.lower().split("_"))
    return bool(words & BANNED_WORDS) or spaced.lower() in BANNED_NAMES


def test_no_name_hides_what_it_stands_for() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in PROGRAM
        for line, name in _names(path)
        if _is_banned(name, str(path.relative_to(ROOT)))
    ]
    assert not wrong, "\n".join(wrong)


def test_each_known_name_is_in_use() -> None:
    used = {name for path in PROGRAM for _, name in _names(path)}
    assert KNOWN_NAMES.keys() <= used


def test_two_classes_never_share_a_name() -> None:
    """A rule's own numbers, read by that rule alone, are named by what they limit."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in python_files("validator", "probes"):
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    doubled = {name: at for name, at in places.items() if len(at) > 1}
    assert doubled.keys() == PUBLISHED_CLASSES, doubled


def test_docstrings_say_it_in_plain_words() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.body[0].lineno}"
        for path in PROGRAM
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module)
        and BANNED_PHRASES.search(ast.get_docstring(node) or "")
    ]
    assert not wrong, "\n".join(wrong)


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    """A property is read as an attribute, whose docstring is a noun phrase."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.body[0].lineno} {text.splitlines()[0]}"
        for path in PROGRAM
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and NO_VERB.match(text := ast.get_docstring(node) or "")
        and not any("property" in ast.unparse(by) for by in node.decorator_list)
    ]
    assert not wrong, "\n".join(wrong)

"""What every rule must be: one file, one clause, its numbers in the edition, fixtures.

Each test goes through all rules; a failure lists those that lack something, and what.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from speccheck.validator.editions.edition import editions, load_edition
from speccheck.validator.evidence.plan import leaf_names
from speccheck.validator.rule import Rule

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "rules"
FIXTURES = ROOT / "fixtures" / "rules"
MOST_LINES = 125
# None, one, both, "the last": every other number is a requirement and has a source.
_NUMBERS_IN_CODE = (0, 1, 2)
RULE_FILES = sorted(p for p in RULES.glob("*/*.py") if not p.name.startswith("_"))
SHARED_FILES = sorted(RULES.glob("*/_[!_]*.py"))


@cache
def _module(path: Path) -> ModuleType:
    return import_module(f"speccheck.rules.{path.parent.name}.{path.stem}")


def _rule(path: Path) -> Rule:
    found = getattr(_module(path), path.stem, None)
    assert isinstance(found, Rule), f"{path.name} has no rule called {path.stem}"
    return found


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _clause_numbers() -> dict[str, frozenset[str]]:
    """Return the names of the numbers of each clause."""
    return {
        clause.id: frozenset(clause.numbers)
        for name in reversed(editions())
        for clause in load_edition(name).clauses.values()
    }


def _numbers_of(rule: Rule) -> frozenset[str]:
    return frozenset(rule.numbers.__annotations__ if rule.numbers else ())


def test_there_are_rules() -> None:
    assert RULE_FILES


def test_a_module_holds_one_rule_of_its_name() -> None:
    wrong = [
        f"{path.parent.name}/{path.name}: {rules}"
        for path in RULE_FILES
        if (rules := _rules_in(path)) != [(path.stem, path.stem, path.parent.name)]
    ]
    assert not wrong, "\n".join(wrong)


def _rules_in(path: Path) -> list[tuple[str, str, str]]:
    """Return the variable, name and area of each rule of a module."""
    return [
        (variable, value.name, value.area)
        for variable, value in vars(_module(path)).items()
        if isinstance(value, Rule)
    ]


def test_no_two_rules_share_a_name() -> None:
    names = [path.stem for path in RULE_FILES]
    assert len(names) == len(set(names))


def test_a_rule_explains_itself() -> None:
    wrong = [
        f"{path.stem}: {lack}"
        for path in RULE_FILES
        for lack in _lacks_of(ast.get_docstring(_tree(path)) or "")
    ]
    assert not wrong, "\n".join(wrong)


def _lacks_of(document: str) -> Iterator[str]:
    first, _, rest = document.partition("\n\n")
    if not first or "\n" in first or not first.endswith("."):
        yield "the first line of the docstring is a sentence that names the bad pattern"
    if not rest.strip():
        yield "the docstring says why it hurts and what passes"
    for block in ("Bad::", "Good::"):
        if block not in rest:
            yield f"the rule's page shows a {block[:-2].lower()} example"


def test_a_rule_fits_on_three_screens() -> None:
    wrong = [
        f"{path.stem}: {lines} lines"
        for path in RULE_FILES
        if (lines := len(path.read_text("utf-8").splitlines())) > MOST_LINES
    ]
    assert not wrong, "\n".join(wrong)


def test_a_rule_file_makes_no_dataclass() -> None:
    """A hundred of them at start-up cost more than judging (docs/decisions/0003)."""
    wrong = [
        f"{path.stem}: {node.name}"
        for path in RULE_FILES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if "dataclass" in ast.unparse(decorator)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_number_stands_in_a_rule() -> None:
    wrong = [
        f"{path.stem}:{line}: {number}"
        for path in RULE_FILES
        for line, number in _numbers_in(path)
    ]
    assert not wrong, "\n".join(["state it as a number of the clause:", *wrong])


def test_no_number_stands_in_what_rules_share(remarks: list[str]) -> None:
    """A remark: it may be arithmetic of a framework, and then belongs to a model."""
    remarks.extend(
        f"{path.relative_to(ROOT)}:{line}: {number} in code that rules share"
        for path in SHARED_FILES
        for line, number in _numbers_in(path)
    )


def _numbers_in(path: Path) -> Iterator[tuple[int, complex]]:
    for node in _outside_numbers(_tree(path)):
        if not isinstance(node, ast.Constant) or node.value in _NUMBERS_IN_CODE:
            continue
        if isinstance(node.value, int | float | complex):
            yield node.lineno, node.value


def _outside_numbers(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of the class that names the clause's numbers."""
    yield node
    for child in ast.iter_child_nodes(node):
        bases = child.bases if isinstance(child, ast.ClassDef) else []
        if not any(ast.unparse(base) == "Numbers" for base in bases):
            yield from _outside_numbers(child)


def test_a_rule_judges_a_clause_of_the_edition() -> None:
    wrong = [
        f"{path.stem}: {_rule(path).clause}"
        for path in RULE_FILES
        if _rule(path).clause not in _clause_numbers()
    ]
    assert not wrong, "\n".join(wrong)


def test_a_rule_is_about_leaves_and_variables_that_there_are() -> None:
    variable = re.compile(r"\*|[A-Z][A-Z0-9_]*\*?")
    wrong = [
        f"{path.stem}: {name}"
        for path in RULE_FILES
        for name in _rule(path).about
        if not (name in leaf_names() if name.islower() else variable.fullmatch(name))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_numbers_of_a_rule_are_those_of_its_clause() -> None:
    wrong = [
        f"{path.stem}: {rule.clause} has no number {name}"
        for path in RULE_FILES
        for rule in [_rule(path)]
        for name in _numbers_of(rule) - _clause_numbers().get(rule.clause, frozenset())
    ]
    assert not wrong, "\n".join(wrong)


def test_a_rule_has_a_fixture_of_each_outcome() -> None:
    wrong = [
        f"{path.stem}: no {outcome}_*.yaml"
        for path in RULE_FILES
        for outcome in ("pass", "fail")
        if not list((FIXTURES / path.stem).glob(f"{outcome}_*.*"))
    ]
    assert not wrong, "\n".join(wrong)


def test_each_fixture_folder_belongs_to_a_rule() -> None:
    names = {path.stem for path in RULE_FILES}
    orphans = [path.name for path in FIXTURES.iterdir() if path.name not in names]
    assert not orphans


def test_an_area_says_what_it_is_about() -> None:
    wrong = [
        path.parent.name
        for path in sorted(RULES.glob("*/__init__.py"))
        if not ast.get_docstring(_tree(path))
    ]
    assert not wrong, "\n".join(wrong)


def test_rules_use_the_numbers_of_their_clauses(remarks: list[str]) -> None:
    """A number that no rule reads is a remark: it may be there for the text alone."""
    read: dict[str, set[str]] = {}
    for path in RULE_FILES:
        rule = _rule(path)
        read.setdefault(rule.clause, set()).update(_numbers_of(rule))
    for clause, names in sorted(read.items()):
        idle = _clause_numbers().get(clause, frozenset()) - names
        if idle:
            remarks.append(f"{clause}: no rule reads {', '.join(sorted(idle))}")

"""The conditions of `[ ... ]` and `[[ ... ]]`, as far as the text decides them."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from speccheck.validator.sources.scripts.static_shell.pieces import Piece

# Patterns of scripts are short; a long one could take long to match.
_MAX_PATTERN = 200
# More `&&` and `||` than the conditions of real scripts have.
_MAX_JOINTS = 20

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
}
_EQUAL = frozenset({"=", "=="})
_BINARY, _UNARY = 3, 2


def holds(terms: Sequence[Piece], *, patterns: bool) -> bool | None:
    """Whether a condition holds; None when the text alone does not tell.

    patterns: the right side of `==` may be a pattern, as in `[[ ... ]]`.
    """
    texts = [term.text for term in terms]
    if "(" in texts:
        return None
    for operator, decided in (("||", True), ("-o", True), ("&&", False), ("-a", False)):
        if operator in texts:
            at = texts.index(operator)
            left = holds(terms[:at], patterns=patterns) if at else None
            if left is decided:
                return decided
            rest = _rest_holds(terms[at + 1 :], patterns=patterns)
            if rest is decided:
                return decided
            return None if left is None or rest is None else not decided
    return _single(terms, patterns=patterns)


def _rest_holds(terms: Sequence[Piece], *, patterns: bool) -> bool | None:
    joints = sum(1 for term in terms if term.text in {"||", "&&", "-o", "-a"})
    return holds(terms, patterns=patterns) if joints <= _MAX_JOINTS else None


def _single(terms: Sequence[Piece], *, patterns: bool) -> bool | None:
    negations = 0
    while negations + 1 < len(terms) and terms[negations].text == "!":
        negations += 1
    value = _plain(terms[negations:], patterns=patterns)
    return value if value is None or negations % 2 == 0 else not value


def _plain(terms: Sequence[Piece], *, patterns: bool) -> bool | None:
    if not all(term.resolved for term in terms):
        return None
    if not terms:
        return False
    if len(terms) == 1:
        return terms[0].text != ""
    if len(terms) == _UNARY and terms[0].text in {"-z", "-n"}:
        return (terms[1].text == "") == (terms[0].text == "-z")
    if len(terms) == _BINARY:
        left, operator, right = (term.text for term in terms)
        return _compare(left, operator, right, patterns=patterns)
    return None


def _compare(left: str, operator: str, right: str, *, patterns: bool) -> bool | None:
    if operator in _EQUAL:
        return matches(left, right) if patterns else left == right
    if operator == "!=":
        equal = matches(left, right) if patterns else left == right
        return None if equal is None else not equal
    compare = _COMPARISONS.get(operator)
    if compare is None:
        return None
    try:
        return compare(int(left), int(right))
    except ValueError:
        return None


def matches(text: str, pattern: str) -> bool | None:
    """Whether a text fits a pattern of the shell; None for patterns of other kinds."""
    if not any(sign in pattern for sign in "*?["):
        return text == pattern
    if len(pattern) > _MAX_PATTERN or len(text) > _MAX_PATTERN or "(" in pattern:
        return None
    return fnmatchcase(text, pattern.replace("[^", "[!"))

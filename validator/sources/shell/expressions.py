"""Arithmetic of `$(( ... ))` and conditions of `[ ... ]` and `[[ ... ]]`.

As bash(1) does it, on 64-bit integers, and as far as the text alone decides it.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.shell.syntax import TextSpan

_TOKEN = lazy_pattern(
    r"[ \t\n]*(?:(0[xX][0-9a-fA-F]+|[0-9]+)|([A-Za-z_][A-Za-z_0-9]*)"
    r"|(\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&^|!~?:()]))"
)
_LIMIT = 1 << 63
_MAX_CHARACTERS = 1000
_MAX_DEPTH = 40
_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    "<=": 7,
    ">": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
    "**": 11,
}
_UNARY = 12

Lookup = Callable[[str], str | None]


def evaluate(expression: str, lookup: Lookup) -> int | None:
    """Return the value of an expression; None when it has none that the text tells.

    lookup: the text of a variable, or None when that is unknown.
    """
    tokens = _tokens(expression, lookup)
    if not tokens:
        return None
    try:
        value, position = _ternary(tokens, 0, 0)
    except (ArithmeticError, ValueError, IndexError):
        return None
    return value if position == len(tokens) else None


def _tokens(expression: str, lookup: Lookup) -> list[int | str]:
    """Return the numbers and operators; none at all when anything else stands there."""
    tokens: list[int | str] = []
    text = expression.strip()
    position = 0
    if len(text) > _MAX_CHARACTERS:
        return []
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return []
        written, name, operator = match.groups()
        if name:
            written = (lookup(name) or "").strip()
        number = None if operator else _number(written)
        if number is None and not operator:
            return []
        tokens.append(operator if number is None else number)
        position = match.end()
    return tokens


def _number(text: str) -> int | None:
    """Return a decimal, octal (010) or hexadecimal number, as the shell reads it."""
    digits = text.lstrip("+-")
    if not digits.isascii() or len(digits) > len(str(_LIMIT)):
        return None
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdecimal()
    try:
        return int(text, 8 if octal else 0)
    except ValueError:
        return None


def _ternary(tokens: list[int | str], position: int, depth: int) -> tuple[int, int]:
    condition, position = _binary(tokens, position, 1, depth)
    if position >= len(tokens) or tokens[position] != "?":
        return condition, position
    if depth > _MAX_DEPTH:
        raise ValueError
    first, position = _ternary(tokens, position + 1, depth + 1)
    if tokens[position] != ":":
        raise ValueError
    second, position = _ternary(tokens, position + 1, depth + 1)
    return (first if condition else second), position


def _binary(
    tokens: list[int | str], position: int, lowest: int, depth: int
) -> tuple[int, int]:
    if depth > _MAX_DEPTH:
        raise ValueError
    left, position = _unary(tokens, position, depth)
    while position < len(tokens):
        operator = tokens[position]
        precedence = _PRECEDENCE.get(operator, 0) if isinstance(operator, str) else 0
        if not isinstance(operator, str) or precedence < max(lowest, 1):
            break
        next_lowest = precedence if operator == "**" else precedence + 1
        right, position = _binary(tokens, position + 1, next_lowest, depth + 1)
        left = _apply(operator, left, right)
    return left, position


def _unary(tokens: list[int | str], position: int, depth: int) -> tuple[int, int]:
    sign = tokens[position]
    if isinstance(sign, int):
        return sign, position + 1
    if depth > _MAX_DEPTH:
        raise ValueError
    if sign == "(":
        value, position = _ternary(tokens, position + 1, depth + 1)
        if tokens[position] != ")":
            raise ValueError
        return value, position + 1
    if sign not in _PREFIXES:
        raise ValueError
    value, position = _binary(tokens, position + 1, _UNARY, depth + 1)
    return _PREFIXES[sign](value), position


_PREFIXES: dict[str, Callable[[int], int]] = {
    "-": lambda value: -value,
    "+": lambda value: value,
    "!": lambda value: int(not value),
    "~": lambda value: ~value,
}


def _quotient(left: int, right: int) -> int:
    """Return the division toward zero, as in C."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _power(left: int, right: int) -> int:
    # |left| >= 2 leaves 64 bits at the latest with the exponent 64.
    if right < 0 or (right > 64 and abs(left) > 1):  # noqa: PLR2004 - bits of an integer
        raise ValueError
    return int(left**right)


def _shift(left: int, right: int) -> int:
    if not 0 <= right < 64:  # noqa: PLR2004 - bits of an integer
        raise ValueError
    return left << right


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "||": lambda left, right: int(bool(left) or bool(right)),
    "&&": lambda left, right: int(bool(left) and bool(right)),
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "&": lambda left, right: left & right,
    "==": lambda left, right: int(left == right),
    "!=": lambda left, right: int(left != right),
    "<": lambda left, right: int(left < right),
    "<=": lambda left, right: int(left <= right),
    ">": lambda left, right: int(left > right),
    ">=": lambda left, right: int(left >= right),
    "<<": _shift,
    ">>": lambda left, right: left >> min(max(right, 0), 63),
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _quotient,
    "%": lambda left, right: left - _quotient(left, right) * right,
    "**": _power,
}


def _apply(operator: str, left: int, right: int) -> int:
    """Return one operation; what leaves the 64 bits of the shell has no value here."""
    value = _OPERATIONS[operator](left, right)
    if not -_LIMIT <= value < _LIMIT:
        raise ValueError
    return value


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
_BINARY_TERMS, _UNARY_TERMS = 3, 2


def holds(terms: Sequence[TextSpan], *, patterns: bool) -> bool | None:
    """Return whether a condition holds; None when the text alone does not tell.

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


def _rest_holds(terms: Sequence[TextSpan], *, patterns: bool) -> bool | None:
    joints = sum(1 for term in terms if term.text in {"||", "&&", "-o", "-a"})
    return holds(terms, patterns=patterns) if joints <= _MAX_JOINTS else None


def _single(terms: Sequence[TextSpan], *, patterns: bool) -> bool | None:
    negations = 0
    while negations + 1 < len(terms) and terms[negations].text == "!":
        negations += 1
    value = _plain(terms[negations:], patterns=patterns)
    return value if value is None or negations % 2 == 0 else not value


def _plain(terms: Sequence[TextSpan], *, patterns: bool) -> bool | None:
    if not all(term.resolved for term in terms):
        return None
    if not terms:
        return False
    if len(terms) == 1:
        return terms[0].text != ""
    if len(terms) == _UNARY_TERMS and terms[0].text in {"-z", "-n"}:
        return (terms[1].text == "") == (terms[0].text == "-z")
    if len(terms) == _BINARY_TERMS:
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
    """Return whether a text fits a pattern of the shell.

    None for other kinds of pattern.
    """
    if not any(sign in pattern for sign in "*?["):
        return text == pattern
    if len(pattern) > _MAX_PATTERN or len(text) > _MAX_PATTERN or "(" in pattern:
        return None
    return fnmatchcase(text, pattern.replace("[^", "[!"))

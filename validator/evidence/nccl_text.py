"""How NCCL reads texts: numbers, and the names of its own releases."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern

Release = tuple[int, ...]

# strtoll with base 0 takes the number at the start and drops the rest.
C_INTEGER = lazy_pattern(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*))")
_RELEASE = lazy_pattern(r"\d+(?:\.\d+)*")


def release(text: str | int) -> Release:
    """`2.18.3` or `NCCL 2.18.3+cuda12.1` as numbers; empty for a text without one."""
    match = _RELEASE.search(str(text))
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def integer_seen(text: str) -> int | None:
    """The number that NCCL sees in a text, or None where it sees none."""
    match = C_INTEGER.match(text)
    if match is None:
        return None
    digits = match[1]
    is_octal = digits.lstrip("+-").startswith("0") and "x" not in digits.lower()
    return int(digits, 8) if is_octal else int(digits, 0)

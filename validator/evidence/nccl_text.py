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


class NameList:
    """A list of interfaces or adapters, as NCCL reads it: `^=mlx5_0:1,mlx5_3`.

    Operators count at the start alone: ^ takes all but these, = takes whole names;
    without it a name is the beginning of names. A port may follow an adapter
    (NVIDIA/nccl src/misc/utils.cc, parseStringList and matchIfList).
    """

    __slots__ = ("entries", "is_exact", "is_excluding")

    def __init__(self, text: str) -> None:
        """Take the list apart."""
        text = text.strip()
        self.is_excluding = text.startswith("^")
        text = text.removeprefix("^")
        self.is_exact = text.startswith("=")
        parts = (one.partition(":") for one in text.removeprefix("=").split(","))
        self.entries = tuple(
            (name, int(port) if port.isdecimal() else None)
            for name, _, port in parts
            if name
        )

    def matches(self, entry: tuple[str, int | None], name: str, port: int) -> bool:
        """Whether one entry of the list means that port."""
        wanted, number = entry
        is_named = name == wanted if self.is_exact else name.startswith(wanted)
        return is_named and number in {None, port}

    def takes(self, name: str, port: int = -1) -> bool:
        """Whether the list leaves that adapter or interface to NCCL."""
        if not self.entries:
            return True
        is_listed = any(self.matches(one, name, port) for one in self.entries)
        return is_listed != self.is_excluding

"""Versions of training frameworks, as users and tables state them."""

import re
from functools import lru_cache

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place

# Releases named by year (Megatron-LM 23.04, torchtitan 2024-07) came before the
# numbered ones of the same framework; no framework here has a major number this high.
FIRST_CALENDAR_NUMBER = 20

_VERSION = lazy_pattern(
    r"\s*(?P<framework>.*?)(?P<between>[\s_@:=<>~!^-]*)(?:(?<![a-z])[vr])?"
    r"(?P<number>\d+(?:[.-]\d+)*)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NEWEST = ("head", "main", "master", "nightly", "last-toml")
_FAMILIES = {
    "core": "megatron-lm",
    "mcore": "megatron-lm",
    "megatron": "megatron-lm",
    "megatron-core": "megatron-lm",
    "megatron-lm-core": "megatron-lm",
    "hf": "transformers",
    "hf-trainer": "transformers",
    "hf-training-arguments": "transformers",
    "huggingface-transformers": "transformers",
}


class FrameworkVersion(Record):
    """A version as a user or a table states it; no number means the newest state."""

    framework: str | None
    number: tuple[int, ...]
    or_newer: bool = False

    def at_least(self, other: "FrameworkVersion") -> bool:
        """Whether this is surely `other` or a later version."""
        return _order(self.number) >= _order(other.number)

    def surely_before(self, other: "FrameworkVersion") -> bool:
        """Whether this is surely earlier: 4.57 may be 4.57.1, so not before it."""
        if self.or_newer or self.number == other.number[: len(self.number)]:
            return False
        return _order(self.number) < _order(other.number)


class StatedVersion(Record):
    """The release of a package, as a file beside the configuration names it.

    package: in lower case with dashes, as PyPI writes it (`transformers`).
    text: the release, without operators (`4.57.1`).
    """

    package: str
    text: str
    place: Place


def _order(number: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    if not number:
        return 2, number
    return int(number[0] < FIRST_CALENDAR_NUMBER), number


@lru_cache(maxsize=256)  # the same few versions of a table, for key after key
def parse_version(text: str) -> FrameworkVersion:
    """Read `4.57.1`, `transformers 4.57.1`, `core_v0.12.3`, `Megatron-LM core 0.14+`.

    Pre-release and local parts (`rc1`, `+cu121`) are dropped. Raises ValueError when
    the text names neither a number nor the newest state (`HEAD`, `main`, `nightly`).
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        *framework, last = text.lower().split() or [""]
        if last not in _NEWEST:
            message = f"no version number in {text!r}"
            raise ValueError(message)
        return FrameworkVersion(_family(" ".join(framework)), (), or_newer=False)
    rest = match["rest"].strip().lower()
    return FrameworkVersion(
        _family(match["framework"]),
        tuple(int(part) for part in re.split("[.-]", match["number"])),
        ">" in match["between"] or rest == "+" or rest.startswith(("+ ", "or ")),
    )


def _family(text: str) -> str | None:
    name = "-".join(text.lower().split()).strip("-_=<>~!^ ")
    return _FAMILIES.get(name, name) or None


def is_in_range(version: FrameworkVersion | None, text: str) -> bool | None:
    """Whether `version` lies in `<=0.16`, `>=0.2` or `0.1`; None when it may."""
    if version is None:
        return None
    bound = tuple(int(part) for part in text.lstrip("<>=").split("."))
    number = version.number[: len(bound)]
    if version.number and len(number) < len(bound):
        return None
    order, limit = _order(number), _order(bound)
    if text.startswith(">="):
        return True if order >= limit else (None if version.or_newer else False)
    inside = order <= limit if text.startswith("<=") else order == limit
    return (None if order <= limit else False) if version.or_newer else inside

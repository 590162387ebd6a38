"""What a message must not be: of wrong grammar, too long, or in words of the house."""

import re
from collections.abc import Iterator

from speccheck.validator.evidence.finding import Finding

MOST_CHARACTERS = {"message": 400, "cost": 140, "remedy": 220}
_NOUNS = (
    *("node", "GPU", "rank", "file", "step", "hour", "second", "minute", "day"),
    *("port", "link", "core", "adapter", "variable", "token", "sample", "restart"),
    *("task", "pod", "layer", "epoch", "machine", "checkpoint", "time", "byte"),
    *("value", "stage", "expert", "worker", "replica", "partner", "set"),
)
_PLURALS = "|".join(f"{noun}s" for noun in _NOUNS) + "|processes|switches"
_SINGULARS = "|".join(_NOUNS)
_BEFORE = r"(?<![\w.,/:=-])(?<!x )(?<!/ )(?<!stage )(?<!GPU )(?<!rank )(?<!by )"
# Rates and multiples keep their noun: `x 1 steps` is arithmetic, `8 core-hours` a unit.
_ONE_OF_MANY = re.compile(rf"{_BEFORE}1 ((?:equal )?(?:{_PLURALS}))\b(?! (?:off|to)\b)")
_MANY_OF_ONE = re.compile(
    rf"{_BEFORE}(?:[2-9]|[1-9][\d,]*\d) (?:{_SINGULARS})\b(?![-/ ])"
)
_BANNED = re.compile(
    r"\b(is not told|was told|are told|is told|nobody says|spoken of|whatever|"
    r"asked for and|no clause|refuses the two)\b"
)


def wrong_wording(finding: Finding) -> Iterator[str]:
    """Yield what is wrong with the texts of a failure."""
    texts = {
        "message": finding.message,
        "cost": finding.cost or "",
        "remedy": finding.remedy,
    }
    for name, text in texts.items():
        for pattern, fault in (
            (_ONE_OF_MANY, "a plural of one"),
            (_MANY_OF_ONE, "a singular of many"),
            (_BANNED, "a word of the house"),
        ):
            if match := pattern.search(text):
                yield f"{name}: {fault}, {match[0]!r}: {text}"
        if len(text) > MOST_CHARACTERS[name]:
            yield f"{name}: {len(text)} characters: {text}"
        if "  " in text or text != text.strip():
            yield f"{name}: blanks: {text!r}"
    if finding.level == "error" and not finding.remedy:
        yield f"no remedy: {finding.message}"

"""Which known name a misspelt one was most likely meant to be.

`nearest` counts edits alone; `closest` knows how keys of frameworks are made of words.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

from speccheck.validator.evidence.record import Record

_MAXIMUM_EDITS = 3


def nearest(word: str, known: Iterable[str], share: float = 0.34) -> str | None:
    """The known name with the fewest edits, if those are few enough for its length.

    At most three edits, and at most `share` of the longer word's length.
    """
    best: tuple[int, str] | None = None
    for name in known:
        limit = min(_MAXIMUM_EDITS, int(share * max(len(word), len(name))))
        if abs(len(word) - len(name)) > limit:
            continue
        edits = distance(word, name)
        if edits <= limit and (best is None or edits < best[0]):
            best = (edits, name)
    return best[1] if best else None


def distance(left: str, right: str) -> int:
    """Damerau-Levenshtein distance: insert, delete, replace, swap of neighbours."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before = before, row
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            swapped = i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b
            row.append(min(cost, older[j - 2] + 1) if swapped else cost)
    return row[-1]


LETTERS_PER_EDIT = 7  # names longer than two edits' worth may differ by one more
SHORT_NAME = 5  # up to so many letters one edit, above two or more
SHORT_WORD = 5  # shorter words are too near to each other to tell a slip
LETTERS_PER_SLIP = 4  # a word of eight letters may hold two slips, a shorter one one
PREFIX_LETTERS = 3  # a shortened word keeps at least so many letters
# Last words that name a block of settings and say nothing of what is set.
BLOCK_WORDS = ("config", "configuration", "settings", "options", "args", "params")
FIRST_WORD_LETTERS = 4  # so long a first word may link two names by itself


class SpellingMatch(Record):
    """A known name near the written one.

    `spelling`: surely the same name, with a slip of the keyboard or other separators.
    `word`: near, but the writer may have meant something else.
    """

    name: str
    kind: Literal["spelling", "word"]


def closest(
    written: str, known: Iterable[str], vocabulary: Callable[[], Collection[str]]
) -> SpellingMatch | None:
    """Return the known name that `written` most likely stands for, or None.

    Args:
        written: the name that nobody knows.
        known: the names that may stand in its place.
        vocabulary: gives the words that occur in known names; a difference that is
            itself such a word is taken for a choice, not for a slip.
    """
    names = sorted(set(known) - {written})
    near = _nearest(written, names)
    if near is not None:
        return SpellingMatch(
            near, "spelling" if _is_slip(written, near, vocabulary()) else "word"
        )
    ours = words_of(written)
    block = [name for name in names if _is_same_block(ours, words_of(name))]
    if block:
        return SpellingMatch(min(block, key=len), "word")
    start = ours[0][:2]
    others = [name for name in names if name.lstrip("-").lower().startswith(start)]
    shortened = [name for name in others if _is_shortened(ours, words_of(name))]
    if shortened:
        return SpellingMatch(min(shortened, key=len), "word")
    related = [name for name in others if _shares_first_word(ours, words_of(name))]
    return SpellingMatch(related[0], "word") if len(related) == 1 else None


def words_of(name: str) -> list[str]:
    """Return the words of a name: `--lr-warmup_iters` has lr, warmup and iters."""
    return name.lower().replace("-", "_").replace(".", "_").strip("_").split("_")


def _nearest(written: str, names: Iterable[str]) -> str | None:
    plain = _plain(written)
    letters, numbers = set(plain), _digits(plain)
    limit = _allowed_edits(plain)
    near: list[tuple[int, int, str]] = []
    for name in names:
        other = _plain(name)
        if abs(len(other) - len(plain)) > limit or _digits(other) != numbers:
            continue
        # an edit takes away one letter at most, and brings in one at most
        lost = sum(
            max(0, plain.count(letter) - other.count(letter)) for letter in letters
        )
        if lost > limit or lost + len(other) - len(plain) > limit:
            continue
        edits = distance(*_differing_parts(plain, other))
        if edits <= limit:
            near.append((edits, distance(written, name), name))
    return min(near)[2] if near else None


def _differing_parts(left: str, right: str) -> tuple[str, str]:
    """Both without their common beginning and end, which cost no edit."""
    end = min(len(left), len(right))
    start = next((i for i in range(end) if left[i] != right[i]), end)
    left, right = left[start:], right[start:]
    end = min(len(left), len(right))
    tail = next((i for i in range(end) if left[-1 - i] != right[-1 - i]), end)
    return left[: len(left) - tail], right[: len(right) - tail]


def _allowed_edits(name: str) -> int:
    if len(name) <= SHORT_NAME:
        return 1 if len(name) >= PREFIX_LETTERS else 0
    return max(2, len(name) // LETTERS_PER_EDIT)


def _is_slip(written: str, name: str, words: Collection[str]) -> bool:
    """Whether the names differ by separators or case only, or by slips within words."""
    if _plain(written) == _plain(name):
        return True
    ours, theirs = words_of(written), words_of(name)
    if len(ours) != len(theirs):
        return False
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    return all(a not in words and _is_misspelt_word(a, b) for a, b in pairs)


def _is_misspelt_word(written: str, word: str) -> bool:
    """Slips seldom hit the first letter, and a plural is a choice."""
    short, long = sorted((written, word), key=len)
    if len(short) < SHORT_WORD or short[0] != long[0] or long == short + "s":
        return False
    return distance(written, word) <= max(1, len(short) // LETTERS_PER_SLIP)


def _is_same_block(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether one is the other with a word like `config` behind it."""
    short, long = sorted((list(ours), list(theirs)), key=len)
    return long[:-1] == short and long[-1] in BLOCK_WORDS


def _is_shortened(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether each word of one is the word of the other or its beginning."""
    return len(ours) == len(theirs) > 1 and all(
        a == b
        or (
            min(len(a), len(b)) >= PREFIX_LETTERS
            and (a.startswith(b) or b.startswith(a))
        )
        for a, b in zip(ours, theirs, strict=True)
    )


def _shares_first_word(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether the first words are equal, and at least half of all."""
    return (
        len(ours) == len(theirs) > 1
        and ours[0] == theirs[0]
        and len(ours[0]) >= FIRST_WORD_LETTERS
        and 2 * sum(map(str.__eq__, ours, theirs)) >= len(ours)
    )


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(".", "")


def _digits(name: str) -> str:
    return "".join(letter for letter in name if letter.isdigit())

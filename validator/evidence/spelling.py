"""Which known name a misspelt one was most likely meant to be.

`nearest` counts edits alone; `closest` knows how keys of frameworks are made of words.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

from speccheck.validator.evidence.record import Record

_MAXIMUM_EDITS = 3


def nearest(word: str, known: Iterable[str], share: float = 0.34) -> str | None:
    """Return the known name with the fewest edits, if few enough for its length.

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
    """Return the Damerau-Levenshtein distance: insert, delete, replace, swap."""
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


def is_slip(written: str, meant: str) -> bool:
    """Return whether one edit parts two words, which are too long to be two words.

    Another digit is another word: `fp16` is none of `fp32`, `bfloat1` one of
    `bfloat16`.
    """
    is_long = len(meant) >= SHORT_WORD
    has_other_digit = len(written) == len(meant) and _digits(written) != _digits(meant)
    return is_long and not has_other_digit and distance(written, meant) == 1


def _edits_up_to(most: int, left: str, right: str) -> int | None:
    """Return the distance of two texts; None where it is above `most`.

    Only the part of the table near its diagonal is filled: all else costs more.
    """
    if abs(len(left) - len(right)) > most:
        return None
    beyond = most + 1
    width = len(right)
    before: list[int] = []
    row = [min(j, beyond) for j in range(width + 1)]
    for i, a in enumerate(left, 1):
        older, before = before, row
        row = [beyond] * (width + 1)
        row[0] = min(i, beyond)
        for j in range(max(1, i - most), min(width, i + most) + 1):
            b = right[j - 1]
            cost = before[j - 1] + (a != b)
            if before[j] < cost:
                cost = before[j] + 1
            if row[j - 1] < cost:
                cost = row[j - 1] + 1
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row[j] = cost
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None


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


class _Name(Record):
    """A known name, taken apart once for all that are compared with it."""

    name: str
    plain: str
    letters: int  # a bit for each time that one occurs


class NameTable:
    """Names that may stand in one place, sorted so that few are compared with another.

    Attributes:
        names: all of them.
    """

    __slots__ = ("_by_beginning", "_by_shape", "_by_words", "names")

    def __init__(self, known: Iterable[str]) -> None:
        """Sort the names by digits and length, by words, and by their beginning."""
        self.names = sorted({*known})
        self._by_shape: dict[str, dict[int, list[_Name]]] = {}
        self._by_words: dict[tuple[str, ...], list[str]] = {}
        self._by_beginning: dict[tuple[str, int], list[str]] = {}
        for name in self.names:
            plain = _plain(name)
            lengths = self._by_shape.setdefault(_digits(plain), {})
            lengths.setdefault(len(plain), []).append(
                _Name(name, plain, _letters(plain))
            )
            words = words_of(name)
            self._by_words.setdefault((*words,), []).append(name)
            beginning = name.lstrip("-").lower()[:2]
            self._by_beginning.setdefault((beginning, len(words)), []).append(name)

    def nearest(self, written: str) -> str | None:
        """Return the name with the fewest edits, if those are few for its length."""
        plain = _plain(written)
        letters, limit = _letters(plain), _allowed_edits(plain)
        lengths = self._by_shape.get(_digits(plain), {})
        near: list[tuple[int, int, str]] = []
        for length in range(len(plain) - limit, len(plain) + limit + 1):
            for known in lengths.get(length, ()):
                # an edit takes away one letter at most, and brings in one at most
                lost = (letters & ~known.letters).bit_count()
                if lost > limit or (known.letters & ~letters).bit_count() > limit:
                    continue
                if known.name == written:
                    continue
                edits = _edits_up_to(limit, *_differing_parts(plain, known.plain))
                if edits is not None:
                    near.append((edits, distance(written, known.name), known.name))
        return min(near)[2] if near else None

    def with_block_word(self, words: Sequence[str]) -> list[str]:
        """Return the names that have a word like `config` more, or less."""
        ours = (*words,)
        alike = [(*ours, word) for word in BLOCK_WORDS]
        alike += [ours[:-1]] if ours[-1] in BLOCK_WORDS else []
        return [name for other in alike for name in self._by_words.get(other, ())]

    def beginning_as(self, words: Sequence[str]) -> list[str]:
        """Return the names of as many words that begin with the same two letters."""
        return self._by_beginning.get((words[0][:2], len(words)), [])


def closest(
    written: str, known: NameTable, vocabulary: Callable[[], Collection[str]]
) -> SpellingMatch | None:
    """Return the known name that `written` most likely stands for, or None.

    Args:
        written: the name that nobody knows.
        known: the names that may stand in its place.
        vocabulary: gives the words that occur in known names; a difference that is
            itself such a word is taken for a choice, not for a slip.
    """
    near = known.nearest(written)
    if near is not None and not _has_other_word(written, near):
        return SpellingMatch(
            near, "spelling" if _is_slip(written, near, vocabulary()) else "word"
        )
    ours = words_of(written)
    block = [name for name in known.with_block_word(ours) if name != written]
    if block:
        return SpellingMatch(min(block, key=lambda name: (len(name), name)), "word")
    others = [name for name in known.beginning_as(ours) if name != written]
    shortened = [name for name in others if _is_shortened(ours, words_of(name))]
    if shortened:
        return SpellingMatch(min(shortened, key=len), "word")
    related = [name for name in others if _shares_first_word(ours, words_of(name))]
    return SpellingMatch(related[0], "word") if len(related) == 1 else None


def words_of(name: str) -> list[str]:
    """Return the words of a name: `--lr-warmup_iters` has lr, warmup and iters."""
    return name.lower().replace("-", "_").replace(".", "_").strip("_").split("_")


def _letters(plain: str) -> int:
    """Return a bit for the first, second and third time that each letter occurs."""
    once = twice = thrice = 0
    for letter in plain:
        bit = 1 << (ord(letter) & 127)
        thrice |= twice & bit
        twice |= once & bit
        once |= bit
    return once | twice << 128 | thrice << 256


def _differing_parts(left: str, right: str) -> tuple[str, str]:
    """Return both without their common beginning and end, which cost no edit."""
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
    """Return whether names differ by separators, case, or slips within words only."""
    if _plain(written) == _plain(name):
        return True
    ours, theirs = words_of(written), words_of(name)
    if len(ours) != len(theirs):
        return False
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    return all(a not in words and _is_misspelt_word(a, b) for a, b in pairs)


def _has_other_word(written: str, name: str) -> bool:
    """Return whether a word stands where another has no letter in its place."""
    ours, theirs = words_of(written), words_of(name)
    return len(ours) == len(theirs) > 1 and any(
        distance(a, b) >= max(len(a), len(b))
        for a, b in zip(ours, theirs, strict=True)
        if a and b
    )


def _is_misspelt_word(written: str, word: str) -> bool:
    """Return whether a word is a slip of another: first letters agree."""
    short, long = sorted((written, word), key=len)
    if len(short) < SHORT_WORD or short[0] != long[0] or long == short + "s":
        return False
    return distance(written, word) <= max(1, len(short) // LETTERS_PER_SLIP)


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

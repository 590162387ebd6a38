"""What words have to do with: variables of NCCL, rules and clauses that speak of them.

`speccheck explain` searches so for all that is no rule and no clause by name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import log

from speccheck.validator.catalogue.nccl import nccl_variables
from speccheck.validator.editions.edition import Clause, Edition, level_word
from speccheck.validator.evidence.nccl_variables import VariableRow
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.explain import rule_text
from speccheck.validator.report.style import wrap
from speccheck.validator.rule import Rule

_WIDTH = 80
_MOST = 8
_WORD = re.compile(r"[a-z0-9]+(?:[_.\\-][a-z0-9]+)*")
# Of an error's text: what any error says.
_COMMON = frozenset(
    _WORD.findall(
        "a an the of on in at to is was not no and or for with by from it this that "
        "rank error failed failure exception runtimeerror valueerror line file what "
        "does mean why how be are has have been must can cannot could"
    )
)
_IN_NAME, _IN_TITLE, _IN_TEXT = 4.0, 2.0, 1.0
_LEAST_SHARE = 0.34  # of the best hit, below which a hit says nothing


class _Page(Record):
    """A rule with its clause, as it is searched."""

    rule: Rule
    clause: Clause | None
    title: str
    words: Mapping[str, float]


def topics_text(topic: str, edition: Edition, rules: Sequence[Rule]) -> str:
    """Return what has to do with the words, best first; empty for nothing."""
    words = [word for word in _WORD.findall(topic.lower()) if word not in _COMMON]
    variables = [row for word in words if (row := _variable(word)) is not None]
    hits = _hits(words, [_page(rule, edition) for rule in rules])
    if not variables and not hits:
        return ""
    lines = [line for row in variables for line in _variable_lines(row)]
    if hits:
        lines.append(f"Rules that have to do with {topic}:")
    for page in hits[:_MOST]:
        lines.extend(_hit_lines(page))
    rest = len(hits) - _MOST
    if rest > 0:
        lines.append(f"  and {rest} more: name what you look for more closely")
    lines += ["", "speccheck explain RULE tells more of each"] if hits else []
    return "\n".join(lines) + "\n"


def _page(rule: Rule, edition: Edition) -> _Page:
    text = rule_text(rule)
    clause = edition.clauses.get(rule.clause)
    weights: dict[str, float] = {}
    fields = [(rule.name, _IN_NAME), (text.title, _IN_TITLE), (text.body, _IN_TEXT)]
    if clause is not None:
        fields.append((clause.title, _IN_TITLE))
        texts = (clause.requirement, clause.rationale, clause.remedy)
        fields += [(part, _IN_TEXT) for part in texts]
    for part, weight in fields:
        for word in _parts(part):
            weights[word] = max(weight, weights.get(word, 0))
    return _Page(rule, clause, text.title, weights)


def _parts(text: str) -> Iterator[str]:
    """Yield the words of a text, and the parts of each name in it."""
    for word in _WORD.findall(text.lower()):
        yield _stem(word)
        if "_" in word or "-" in word or "." in word:
            yield from map(_stem, re.split(r"[_.\\-]", word))


def _stem(word: str) -> str:
    """Return a word without the ending of a plural."""
    is_plural = len(word) > len("gpus") and word.endswith("s")
    return word[:-1] if is_plural and not word.endswith("ss") else word


def _hits(words: Sequence[str], pages: Sequence[_Page]) -> list[_Page]:
    """Return the pages with the words; a word of few pages weighs more."""
    wanted = dict.fromkeys(map(_stem, words))
    rarity = {
        word: log(1 + len(pages) / (1 + sum(word in page.words for page in pages)))
        for word in wanted
    }
    scored = [
        (sum(page.words.get(word, 0) * rarity[word] for word in wanted), page)
        for page in pages
    ]
    best = max((score for score, _ in scored), default=0)
    fitting = [hit for hit in scored if hit[0] and hit[0] >= _LEAST_SHARE * best]
    fitting.sort(key=lambda hit: (-hit[0], hit[1].rule.name))
    return [page for _, page in fitting]


def _hit_lines(page: _Page) -> Iterator[str]:
    clause = page.clause
    level = f"  {clause.id} {level_word(clause.level)}" if clause else ""
    yield f"  {page.rule.name}{level}"
    yield wrap(page.title, _WIDTH, "      ")


def _variable(word: str) -> VariableRow | None:
    return nccl_variables().lookup(word.upper().partition("=")[0])


def _variable_lines(row: VariableRow) -> Iterator[str]:
    """Yield what the catalogue knows of a variable."""
    yield f"{row.name}: a variable of {row.family.upper()}"
    known = {
        "takes": ", ".join(row.choices)
        or ("" if row.read_as == "text" else row.read_as),
        "default": "" if row.default is None else str(row.default),
        "since": row.added,
        "gone since": "before the oldest release"
        if row.removed == "0"
        else row.removed,
        "deprecated": row.deprecated,
        "use instead": row.replacement,
        "costs": row.cost,
    }
    for name, value in known.items():
        if value:
            yield wrap(f"{name}: {value}", _WIDTH, "    ")
    if row.risk != "safe":
        yield f"    risk: {row.risk.replace('-', ' ')}"
    yield ""

"""What a waiver says, in a comment or an entry: names, reason, last day."""

import os
import re
import time
from collections.abc import Iterable, Mapping

from speccheck.validator.engine.request import WaiverFault
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden

VARIABLE = "SOURCE_DATE_EPOCH"
_LAST = 253_402_300_799  # of the year 9999


def today() -> str:
    """Return the date of now in UTC.

    Raises WaiverFault for a fixed one that is no date.
    """
    text = os.environ.get(VARIABLE)
    seconds = time.time() if not text else -1
    if text and len(text) < len(str(_LAST)) + 1 and text.isdecimal():
        seconds = int(text)
    if not 0 <= seconds <= _LAST:
        message = f"{VARIABLE}={text}"[:60]
        message += ": must be whole seconds since 1970-01-01 UTC"
        raise WaiverFault(message)
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def is_date(text: str) -> bool:
    """Return whether a text of four, two and two digits is a date."""
    from datetime import date  # noqa: PLC0415 - 2 ms, and few waivers have a last day

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def days_left(until: str, now: str) -> int | None:
    """Return the days up to and without the last one; None without last day."""
    if not until:
        return None
    from datetime import date  # noqa: PLC0415 - as above

    return (date.fromisoformat(until) - date.fromisoformat(now)).days


LINE = "ignore"
FILE = "ignore-file"
MOST_NAMES = 50
_LONGEST = 500  # characters of a reason, an owner or a ticket that are kept
_FIELDS = ("until", "owner", "ticket")
# Of other tools, and of those who half remember ours.
_OTHER_WORDS = frozenset(
    {"allow", "disable", "noqa", "off", "silence", "skip", "suppress", "waive"}
)
_WORD = re.compile(r"([A-Za-z][A-Za-z_-]*)[ \t]*(?:\[([^\]]*)(\]?))?(.*)", re.DOTALL)
_FIELD = lazy_pattern(r"[ \t]*([A-Za-z_-]+)[ \t]*=[ \t]*(.*?)[ \t]*")
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d")
_CLAUSE = lazy_pattern(r"[A-Za-z]{2,5}-\d{3}")


class WrittenWaiver(Record):
    """A waiver as it is written.

    names: rules and clauses that there are, in small letters. faults: what cannot be
    understood, each with what to write instead.
    """

    names: tuple[str, ...] = ()
    reason: str = ""
    until: str = ""
    owner: str = ""
    ticket: str = ""
    is_of_file: bool = False
    faults: tuple[str, ...] = ()


class KnownNames(Record):
    """The names that a waiver may use, in small letters, and the areas, which are none.

    rules: the clause of each rule. withdrawn: what became of clauses that are no more.
    """

    rules: Mapping[str, str]
    clauses: frozenset[str]
    areas: frozenset[str]
    withdrawn: Mapping[str, str] = {}

    def fault(self, name: str) -> str:
        """Return what is wrong with a name; empty for a rule or a clause."""
        small = name.lower()
        if small in self.rules or small in self.clauses:
            return ""
        if set(small) <= {"*", "?"} or small == "all":
            return f"{name} would silence everything: name each rule or clause"
        if small in self.areas:
            return f"{name} is an area: name its rules or clauses one by one"
        if small in self.withdrawn:
            return f"{name} is {self.withdrawn[small]}"
        from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

        close = nearest(small, [*self.rules, *self.clauses])
        if close is None:
            return f"no rule or clause {name}: speccheck rules lists them"
        shown = close.upper() if close in self.clauses else close
        return f"no rule or clause {name}: did you mean {shown}?"


def read_comment(text: str, known: KnownNames) -> WrittenWaiver | None:
    """Return what follows `speccheck:` in a comment.

    None for words that are no waiver.
    """
    match = _WORD.fullmatch(text.strip())
    if match is None:
        return None
    word, listed, closing, rest = match.groups()
    if word.lower() not in {LINE, FILE}:
        return _misspelt(word, listed, rest)
    faults: list[str] = []
    if listed is None or not listed.strip():
        faults.append(f"it names nothing: write {word}[COMM-001] and the reason")
    elif not closing:
        faults.append(f"the bracket is not closed: write {word}[COMM-001] and a reason")
        listed = rest = ""
    names, wrong = _names((listed or "").split(","), known)
    fields, reason, unknown = _fields(rest)
    until, undated = _until(fields.get("until", ""))
    return WrittenWaiver(
        names,
        reason,
        until,
        fields.get("owner", ""),
        fields.get("ticket", ""),
        is_of_file=word.lower() == FILE,
        faults=(*faults, *wrong, *unknown, *undated),
    )


def date_fault(text: str) -> str:
    """Return what is wrong with a last day; empty for a date."""
    if _DATE.fullmatch(text) and is_date(text):
        return ""
    shown = hidden(text[:40])
    return f"until={shown} is no date: write the last day as until=2027-01-31 (UTC)"


def kept(text: str) -> str:
    """Return people's text for reports: a line, without secrets, not endless."""
    return hidden(" ".join(text[: 2 * _LONGEST].split()))[:_LONGEST]


def _misspelt(word: str, listed: str | None, rest: str) -> WrittenWaiver | None:
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    meant = nearest(word.lower(), (LINE, FILE), share=0.5)
    if meant is None and word.lower() in _OTHER_WORDS:
        meant = LINE
    if meant is None and (listed is None or not _CLAUSE.search(listed + rest)):
        return None
    meant = meant or LINE
    fault = f"no directive {word[:40]}: did you mean {meant}[...]?"
    return WrittenWaiver(faults=(fault,))


def _names(
    texts: Iterable[str], known: KnownNames
) -> tuple[tuple[str, ...], list[str]]:
    given = [name.strip() for name in texts if name.strip()]
    faults = [fault for name in given[:MOST_NAMES] if (fault := known.fault(name[:80]))]
    if len(given) > MOST_NAMES:
        faults.append(f"{len(given)} names: a waiver may have {MOST_NAMES}")
    names = [name.lower() for name in given[:MOST_NAMES] if not known.fault(name[:80])]
    return tuple(dict.fromkeys(names)), faults[:1]


def _fields(text: str) -> tuple[dict[str, str], str, list[str]]:
    """Return the fields at a comment's end, the reason, and what is no field."""
    parts = text.split(";")
    fields: dict[str, str] = {}
    faults: list[str] = []
    while parts:
        match = _FIELD.fullmatch(parts[-1])
        name = match[1].lower() if match else ""
        close = _field(name) if match else None
        if match is None or close is None or (len(parts) == 1 and close != name):
            break
        if name != close:
            faults.append(f"no field {name}: did you mean {close}=?")
        fields.setdefault(close, kept(match[2]))
        parts.pop()
    reason = kept(";".join(parts).strip(" \t:-;"))
    return fields, reason, faults


def _field(name: str) -> str | None:
    if name in _FIELDS:
        return name
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    return nearest(name[:20], _FIELDS)


def _until(text: str) -> tuple[str, list[str]]:
    if not text:
        return "", []
    fault = date_fault(text)
    return ("", [fault]) if fault else (text, [])

"""Baselines: failures of before speccheck was adopted, without their lines.

An entry is a rule, its clause, the part of a machine, and each place as file, key and
value as written, with how often one plan has it at most: a file that several plans
share says no more than once. Another value is another finding.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from speccheck.validator.engine.locate import LocatedFinding, Location
from speccheck.validator.engine.paths import path_within
from speccheck.validator.engine.request import WaiverFault
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.sources.reader import Source

SCHEMA = "speccheck-baseline/1"
MOST_ENTRIES = 200_000
_LONGEST_VALUE = 200
_SECURITY = "SEC-"
# A stolen baseline must not tell short passwords to whoever tries them all.
_ROUNDS = 20_000
_ANEW = "to begin anew delete it and run speccheck baseline"


class BaselinePlace(Record):
    """A place: the file as seen from the folder of the baseline."""

    file: str
    key: str
    value: str


class BaselineEntry(Record):
    """What makes a finding the same one in the next run."""

    rule: str
    clause: str
    subject: str
    places: tuple[BaselinePlace, ...]


class Baseline:
    """The findings that a file lists, and those that a run meets."""

    def __init__(self, path: str, known: Mapping[BaselineEntry, int]) -> None:
        """Take what the file at `path` lists, each with its number."""
        self.path = path
        self.folder = os.path.dirname(os.path.abspath(path))
        self.known = Counter(known)
        self.met: Counter[BaselineEntry] = Counter()
        self.open: Counter[BaselineEntry] = (
            Counter()
        )  # those met that nothing else waives
        self.new: dict[BaselineEntry, list[LocatedFinding]] = {}
        self.locked: dict[BaselineEntry, LocatedFinding] = {}

    def takes(
        self, known: BaselineEntry, in_plan: Counter[BaselineEntry], *, is_waived: bool
    ) -> bool:
        """Note a finding of a plan; whether the file lists it, so often.

        in_plan: how often the plan has it so far. is_waived: by something else.
        """
        in_plan[known] += 1
        self.met[known] = max(self.met[known], in_plan[known])
        if not is_waived:
            self.open[known] = max(self.open[known], in_plan[known])
        return in_plan[known] <= self.known[known]

    def gone(self) -> Iterator[tuple[BaselineEntry, int]]:
        """Yield what the file lists and the run has not met, with how often."""
        for known, number in self.known.items():
            if number > self.met[known] and known not in self.locked:
                yield known, number - self.met[known]

    def has_file(self, place: BaselinePlace) -> bool:
        """Return whether the file of a place is still there.

        An option of a run has none.
        """
        return not place.file or os.path.exists(os.path.join(self.folder, place.file))

    def _file(self, place: Place, sources: Mapping[str, Source]) -> str:
        """Return the file of a place; empty for the command line."""
        if place.file not in sources and not os.path.exists(place.file):
            return ""
        return seen_from(place.file, self.folder)

    def of(
        self, located_finding: LocatedFinding, sources: Mapping[str, Source], first: str
    ) -> BaselineEntry:
        """Return what a finding is known by; `first`: the file if it has no place."""
        finding = located_finding.finding
        is_secret = finding.clause.startswith(_SECURITY)
        pairs = zip(finding.places, located_finding.locations, strict=True)
        places = [
            BaselinePlace(
                self._file(place, sources),
                hidden(place.key),
                _stored(_written(place, at, sources), place.key, secret=is_secret),
            )
            for place, at in pairs
        ]
        if not any(place.file for place in places):
            places.insert(0, BaselinePlace(seen_from(first, self.folder), "", ""))
        unique = tuple(dict.fromkeys(places))
        return BaselineEntry(
            finding.rule, finding.clause, hidden(finding.subject), unique
        )


def load_baseline(path: str) -> Baseline:
    """Read a baseline; raises WaiverFault."""
    try:
        data = json.loads(read_text(path))
    except ReadError as error:
        remedy = f"; {_MAKE}" if error.kind == "missing" else ""
        message = f"{error}{remedy}"
        raise WaiverFault(message) from error
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        message = f"{place}: the baseline is no JSON: {error.msg}; {_ANEW}"
        raise WaiverFault(message) from error
    except (RecursionError, ValueError) as error:
        message = f"{path}: the baseline is no JSON that can be read; {_ANEW}"
        raise WaiverFault(message) from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        message = f"{path}: no baseline: its schema must be {SCHEMA}; {_ANEW}"
        raise WaiverFault(message)
    rows = data.get("findings")
    if not isinstance(rows, list) or len(rows) > MOST_ENTRIES:
        message = (
            f"{path}: findings must be a list of at most {MOST_ENTRIES:,}; {_ANEW}"
        )
        raise WaiverFault(message)
    known: Counter[BaselineEntry] = Counter()
    for index, row in enumerate(rows):
        entry = _entry(row)
        if entry is None:
            message = f"{path}: findings[{index}] is no entry of a baseline; {_ANEW}"
            raise WaiverFault(message)
        known[entry[0]] += entry[1]
    return Baseline(path, known)


_MAKE = "speccheck baseline makes one"


def _entry(row: object) -> tuple[BaselineEntry, int] | None:
    if not isinstance(row, dict):
        return None
    texts = [row.get(name, "") for name in ("rule", "clause", "subject")]
    places, count = row.get("places"), row.get("count", 1)
    if not all(isinstance(text, str) for text in texts) or not isinstance(places, list):
        return None
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return None
    ats: list[BaselinePlace] = []
    for place in places:
        if not isinstance(place, dict):
            return None
        values = [place.get(name, "") for name in BaselinePlace._fields]
        if not all(isinstance(value, str) for value in values):
            return None
        ats.append(BaselinePlace(*values))
    rule, clause, subject = texts
    return BaselineEntry(str(rule), str(clause), str(subject), tuple(ats)), count


def baseline_text(known: Mapping[BaselineEntry, int]) -> Iterator[str]:
    """Yield the file, a finding a line, in an order that stays."""
    yield f'{{\n  "schema": "{SCHEMA}",\n  "findings": ['
    before = "\n    "
    for item in sorted(known, key=_order):
        yield before + json.dumps(_row(item, known[item]), ensure_ascii=False)
        before = ",\n    "
    yield "]\n}\n" if before == "\n    " else "\n  ]\n}\n"


def seen_from(path: str, folder: str) -> str:
    """Return a file as seen from a folder; as it is called if it lies elsewhere."""
    return path_within(path, folder) or path.replace(os.sep, "/")


def _order(known: BaselineEntry) -> tuple[object, ...]:
    return (known.places, known.clause, known.rule, known.subject)


def _row(known: BaselineEntry, count: int) -> dict[str, object]:
    row: dict[str, object] = {"rule": known.rule, "clause": known.clause}
    if known.subject:
        row["subject"] = known.subject
    row["places"] = [
        {name: text for name, text in place._asdict().items() if text}
        for place in known.places
    ]
    return row if count == 1 else {**row, "count": count}


def _written(place: Place, at: Location, sources: Mapping[str, Source]) -> str:
    """Return the value as a file writes it, secrets and all; empty if it has none."""
    source = sources.get(place.file)
    if source is None or not at.line:
        return ""
    if place.span is None:
        for document in source.documents:
            if document.index == place.document:
                raw = document.raw(place.path)
                return "" if raw is None else raw.text
    lines = source.text.split("\n", at.line)
    text = lines[at.line - 1] if len(lines) >= at.line else ""
    return text[at.column - 1 : at.column - 1 + at.length]


def _stored(value: str, key: str, *, secret: bool) -> str:
    """Return a value as the file may hold it."""
    if value and (secret or hidden(value) != value):
        return _hashed(value, hidden(key))
    if len(value) > _LONGEST_VALUE:
        from hashlib import sha256  # noqa: PLC0415 - loads OpenSSL, 10 ms

        digest = sha256(value.encode("utf-8", "surrogateescape"))
        return f"sha256:{digest.hexdigest()[:32]}"
    return value


@lru_cache(maxsize=4096)
def _hashed(value: str, key: str) -> str:
    from hashlib import pbkdf2_hmac  # noqa: PLC0415 - loads OpenSSL, 10 ms

    content = value.encode("utf-8", "surrogateescape")
    salt = key.encode("utf-8", "surrogateescape")
    digest = pbkdf2_hmac("sha256", content, salt, _ROUNDS)
    return f"hidden:{digest.hex()[:32]}"

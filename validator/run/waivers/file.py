"""The waivers file: for what no comment can stand beside, JSON and machines."""

import os
import re
from collections.abc import Iterator, Mapping

from speccheck.validator.engine.request import WaiverFault
from speccheck.validator.engine.waiver_text import (
    MOST_NAMES,
    KnownNames,
    date_fault,
    kept,
)
from speccheck.validator.evidence.finding import Waiver
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.evidence.value import KeyPath, Place, Span, dotted
from speccheck.validator.node.host_names import MOST_HOSTS, HostNamesError, unfold
from speccheck.validator.run.waivers.entries import Entry, InFiles
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents, read_text

SCHEMA = "speccheck-waivers/1"
MOST_CHARACTERS = 1_000_000
MOST_ENTRIES = 5_000
_MOST_PATTERNS = 200
_LONGEST_PATTERN = 500
FIELDS = (
    *("clause", "rule", "files", "nodes", "subject"),
    *("reason", "owner", "until", "permanent", "ticket"),
)
_TOP = ("schema", "waivers")
# What is shorter says nothing to who reads it later.
_SHORTEST = {
    "reason": (10, "say in 10 characters or more why it may fail"),
    "owner": (2, "say who answers for it, in 2 characters or more"),
}
_WILD = re.compile(r"[*?]")


def load_waivers(path: str, known: KnownNames) -> Iterator[Entry]:
    """Yield the entries of a waivers file.

    Raises WaiverFault for anything wrong in it.
    """
    try:
        text = read_text(path)
        if len(text) > MOST_CHARACTERS:
            message = (
                f"{path}: {len(text):,} characters; a waivers file may have "
                f"{MOST_CHARACTERS:,}: split what it covers, or mend some of it"
            )
            raise WaiverFault(message)
        is_json = path.lower().endswith(".json")
        documents = load_documents(path, text, "json" if is_json else "yaml")
    except ReadError as error:
        raise WaiverFault(str(error)) from error
    yield from _File(path, documents[0], known).entries()


class _File:
    """One waivers file that is being read."""

    def __init__(self, path: str, document: Document, known: KnownNames) -> None:
        self._path = path
        self._folder = os.path.dirname(os.path.abspath(path))
        self._document = document
        self._known = known
        self._hosts_left = MOST_HOSTS

    def entries(self) -> Iterator[Entry]:
        data = self._document.data
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise self._fault((), f"no waivers file: write schema: {SCHEMA} at its top")
        self._demand_known(data, (), _TOP)
        rows = data.get("waivers")
        if not isinstance(rows, list) or len(rows) > MOST_ENTRIES:
            message = f"waivers must be a list of at most {MOST_ENTRIES:,} entries"
            raise self._fault(("waivers",), message)
        for index, row in enumerate(rows):
            yield self._entry(row, ("waivers", index))

    def _entry(self, row: object, at: KeyPath) -> Entry:
        if not isinstance(row, dict):
            raise self._fault(at, "an entry must be a mapping with clause, reason, ...")
        self._demand_known(row, at, FIELDS)
        names = self._names(row, at)
        scope = self._scope(row, at)
        until = self._until(row, at)
        waiver = Waiver(
            "waiver",
            Place(self._path, dotted(at), at, span=self._span(at)),
            self._text(row, at, "reason"),
            until,
            self._text(row, at, "owner"),
            kept(str(row.get("ticket") or "")),
        )
        return Entry(waiver, f"{dotted(at)} of {self._path}", names, scope)

    def _names(self, row: Mapping[object, object], at: KeyPath) -> tuple[str, ...]:
        names: list[str] = []
        for field in ("clause", "rule"):
            for name in self._list(row, at, field):
                fault = self._known.fault(name)
                if fault:
                    raise self._fault((*at, field), fault)
                names.append(name.lower())
        if not names:
            raise self._fault(at, "it names neither clause nor rule")
        if len(names) > MOST_NAMES:
            message = f"{len(names)} names: an entry may have {MOST_NAMES}"
            raise self._fault(at, message)
        return tuple(dict.fromkeys(names))

    def _scope(self, row: Mapping[object, object], at: KeyPath) -> InFiles:
        files = self._list(row, at, "files")
        subjects = self._list(row, at, "subject")
        nodes = self._list(row, at, "nodes")
        if not files and not nodes and not subjects:
            message = "it would cover everything: say which files, nodes or subject"
            raise self._fault(at, message)
        given = {"files": files, "nodes": nodes, "subject": subjects}
        for field, patterns in given.items():
            for pattern in patterns:
                if set(pattern) <= set("*?/. "):
                    message = f"{field}: {pattern} covers everything: be more exact"
                    raise self._fault((*at, field), message)
        wild = tuple(node.lower() for node in nodes if _WILD.search(node))
        hosts: set[str] = set()
        for node in nodes:
            if not _WILD.search(node):
                hosts.update(self._hosts(node, at))
        return InFiles(
            self._folder,
            tuple(files),
            frozenset(hosts) if nodes else None,
            wild,
            tuple(subject.lower() for subject in subjects),
        )

    def _hosts(self, text: str, at: KeyPath) -> list[str]:
        try:
            texts = unfold(text)
        except HostNamesError as error:
            raise self._fault((*at, "nodes"), str(error)) from error
        self._hosts_left -= len(texts)
        if self._hosts_left < 0:
            message = f"more than {MOST_HOSTS:,} nodes in one file: write node*"
            raise self._fault((*at, "nodes"), message)
        return [name.lower() for name in texts]

    def _until(self, row: Mapping[object, object], at: KeyPath) -> str:
        until, permanent = row.get("until"), row.get("permanent", False)
        if not isinstance(permanent, bool):
            raise self._fault((*at, "permanent"), "permanent must be true or false")
        if until is None and not permanent:
            message = "until is missing: the last day (UTC), or permanent: true"
            raise self._fault(at, message)
        if until is None:
            return ""
        if permanent:
            raise self._fault(at, "until and permanent exclude each other")
        fault = date_fault(str(until))
        if fault:
            message = f"until: {str(until)[:40]} is no date such as 2027-01-31"
            raise self._fault((*at, "until"), message)
        return str(until)

    def _text(self, row: Mapping[object, object], at: KeyPath, field: str) -> str:
        value = row.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self._fault(at, f"{field} is missing: a text that says it")
        least, remedy = _SHORTEST[field]
        if len(value.strip()) < least:
            message = f"{field} = {value.strip()}: {remedy}"
            raise self._fault((*at, field), message)
        return kept(value)

    def _list(self, row: Mapping[object, object], at: KeyPath, field: str) -> list[str]:
        value = row.get(field)
        result = value if isinstance(value, list) else [value]
        if value is None:
            return []
        if len(result) > _MOST_PATTERNS:
            message = f"{field} has {len(result)} items: at most {_MOST_PATTERNS}"
            raise self._fault((*at, field), message)
        texts: list[str] = []
        for text in result:
            if not isinstance(text, str) or not text.strip():
                raise self._fault((*at, field), f"{field} must be a text or a list")
            if len(text) > _LONGEST_PATTERN:
                message = f"{field}: a text has at most {_LONGEST_PATTERN} characters"
                raise self._fault((*at, field), message)
            texts.append(text.strip())
        return texts

    def _demand_known(
        self, row: Mapping[object, object], at: KeyPath, fields: tuple[str, ...]
    ) -> None:
        for name in row:
            if name not in fields:
                close = nearest(str(name)[:80], fields)
                known = f"there are {', '.join(fields)}"
                hint = f"did you mean {close}?" if close else known
                message = f"no field {str(name)[:80]}: {hint}"
                raise self._fault((*at, str(name)), message)

    def _span(self, at: KeyPath) -> Span | None:
        return self._document.span(at, part="key")

    def _fault(self, at: KeyPath, message: str) -> WaiverFault:
        span = self._span(at) or (self._span(at[:-1]) if at else None)
        place = f"{self._path}:{span.line}" if span else self._path
        called = dotted(at)
        text = f"{place}: {called}: {message}" if called else f"{place}: {message}"
        return WaiverFault(
            "".join(item if item.isprintable() else "?" for item in text)
        )

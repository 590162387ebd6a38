"""What is to be known of a kit before anybody certifies by it."""

import os
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from speccheck.validator.certification.evidence_file import EvidenceFile, Kind, Kit
from speccheck.validator.certification.manifest import Missing
from speccheck.validator.certification.needs import (
    Asked,
    missing_of,
    specimens_missing,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import secret_kind
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_file_text

# What is no text of a job is seen by its own machine alone.
_SEARCHED: tuple[Kind, ...] = ("config", "log", "drill", "measurement", "other")
_DATED: tuple[Kind, ...] = ("snapshot", "measurement", "log", "drill")
_BETWEEN = re.compile(r"[\s\"'`,;<>()\[\]{}]+")
_KEYED = re.compile(r"([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*[\"']?([^\s\"',;]+)")
_MOST_SECRETS = 100


class FoundSecret(Record):
    """Where a credential stands; what it is, and never the credential itself."""

    path: str
    line: int
    kind: str


class Review(Record):
    """What is missing for a level, and what speaks against the rest.

    What only shoulds want is missing too, and there is a level without it.

    stale: older than evidence may be. undated: what does not tell when it was taken.
    types: of machines, where they are of several. foreign: snapshots that say that they
    are of another type than is asked for.
    """

    missing: tuple[Missing, ...]
    stale: tuple[EvidenceFile, ...] = ()
    undated: tuple[EvidenceFile, ...] = ()
    types: tuple[str, ...] = ()
    foreign: tuple[EvidenceFile, ...] = ()
    secrets: tuple[FoundSecret, ...] = ()
    age_days: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing and nothing speaks against it."""
        return not (
            *(one for one in self.missing if one.denies),
            *self.stale,
            *self.types,
            *self.foreign,
            *self.secrets,
        )


def review_of(
    kit: Kit, asked: Asked, now: datetime, expected: int | None = None
) -> Review:
    """What a kit lacks for what is asked.

    Args:
        kit: the files.
        asked: the clauses of a level.
        now: the time, with its zone.
        expected: how many machines should have been looked at.

    """
    days = asked.terms.evidence_age_days
    dated = [one for one in kit.files if one.kind in _DATED]
    types = kit.instance_types
    return Review(
        missing=(*specimens_missing(kit, asked, expected), *missing_of(kit, asked)),
        stale=tuple(one for one in dated if is_stale(one, now, days)),
        undated=tuple(one for one in dated if not one.taken),
        types=types if len(types) > 1 else (),
        foreign=tuple(
            one
            for one in kit.of_kind("snapshot")
            if asked.instance_type
            and one.instance_type
            and not _is_of_type(one.instance_type, asked.instance_type)
        ),
        secrets=tuple(secrets_in(kit)),
        age_days=days,
    )


def is_stale(file: EvidenceFile, now: datetime, days: int | None) -> bool:
    """Whether a file is older than evidence may be."""
    if days is None or not file.taken:
        return False
    return datetime.fromisoformat(file.taken) < now - timedelta(days=days)


def _is_of_type(told: str, asked: str) -> bool:
    """Whether a machine is of the type that it should be, by any name of it."""
    from speccheck.validator.catalogue.hardware import (  # noqa: PLC0415 - where types are told
        resolve_instance,
    )
    from speccheck.validator.catalogue.names import UnknownName  # noqa: PLC0415

    try:
        return resolve_instance(told).id == asked
    except UnknownName:
        return False


def secrets_in(kit: Kit) -> Iterator[FoundSecret]:
    """Where credentials stand in the files of a kit, by file and line."""
    count = 0
    for file in kit.of_kind(*_SEARCHED):
        try:
            text = read_file_text(os.path.join(kit.folder, *file.path.split("/")))
        except ReadError:
            continue  # no text: no credential that one could read
        for number, line in enumerate(text.splitlines(), 1):
            kind = _secret(line)
            if kind:
                yield FoundSecret(file.path, number, kind)
                count += 1
                if count >= _MOST_SECRETS:
                    return


def _secret(line: str) -> str | None:
    """What kind of credential stands on a line."""
    for word in _BETWEEN.split(line):
        kind = secret_kind("", word)
        if kind:
            return kind
    for match in _KEYED.finditer(line):
        kind = secret_kind(match[1], match[2])
        if kind:
            return kind
    return None

"""A dry run: what published figures of a type of machine would settle of its clauses.

Nobody can verify them: they certify nothing. They show what a certificate would have to
reach, what is in doubt already, and what is missing besides.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from speccheck.validator.catalogue.published_runs import PublishedRun, published_runs
from speccheck.validator.certification.certifying import INSTANCE, Order, request_of
from speccheck.validator.certification.judging import (
    ClauseResult,
    Subject,
    clause_results,
    judge_subject,
)
from speccheck.validator.certification.needs import (
    LEVELS,
    WORDS,
    Asked,
    asked_of,
    wanted_by,
)
from speccheck.validator.editions.compose import JudgedClause
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.evidence.record import Record
from speccheck.validator.rule import Scope
from speccheck.validator.sources.files import ReadFile, read_file

_ASSUMED_BYTES = 16 * 2**30  # what a figure means that names no size
_NVLS_CHANNELS = 16  # any number above zero says that NVLS was in use


Verdict = Literal["pass", "fail", "unknown"]


_VERDICTS: Mapping[str, Verdict] = {
    "pass": "pass",
    "fail": "fail",
    "unknown": "unknown",
}


class Figure(Record):
    """One judgement on a published run."""

    outcome: Verdict
    message: str
    measured: str | float | None
    required: str | float | None


class Settled(Record):
    """A clause that figures speak of. level: must or should, for a certificate.

    outcome: unknown where they leave it open after all, for one of them at least.
    """

    clause: str
    title: str
    level: str
    certification_level: str
    outcome: Verdict
    figures: tuple[Figure, ...]


class Open(Record):
    """What a track still wants at a level. kinds: in words, those most wanted first."""

    level: str
    musts: int
    shoulds: int
    kinds: tuple[str, ...]


class DryTrack(Record):
    """One track. By figures alone it has no level: none shows files or machines.

    at_most: the highest that no figure speaks against; None where one speaks against
    all.
    """

    track: str
    at_most: str | None
    highest: str
    settled: tuple[Settled, ...]
    open: tuple[Open, ...]


class DryRun(Record):
    """All that published figures come to."""

    instance: str
    provider: str
    edition: str
    runs: tuple[PublishedRun, ...]
    settled: tuple[Settled, ...]
    tracks: tuple[DryTrack, ...]


def dry_run(instance: str, spec: str = "1.0") -> DryRun:
    """What is published of a type of machine, judged as for a certificate.

    Raises UnknownProfile, UnknownName or UnknownEdition.
    """
    asked = asked_of(load_edition(spec), instance, LEVELS[-1])
    runs = published_runs(asked.instance_type)
    found = [*_settled(asked, runs, spec)] if runs else []
    return DryRun(
        asked.instance_type,
        asked.provider,
        asked.composed.edition.id,
        runs,
        tuple(found),
        tuple(_track(asked, track, found) for track in sorted(asked.tracks)),
    )


def _settled(
    asked: Asked, runs: Sequence[PublishedRun], spec: str
) -> Iterator[Settled]:
    order = Order(f"{INSTANCE}{asked.instance_type}", spec, is_pinned=True)
    subject = Subject((), tuple(_files(runs)), ())
    judgements = judge_subject(request_of(order, subject), subject, 0.0)
    results = clause_results(judgements.edition, judgements.judged, judgements.scopes)
    wanted = {one.clause.id for one in asked.clauses}
    for one in results:
        figures = tuple(_figures(one, judgements.scopes))
        told = [o for o in figures if o.outcome != "unknown"]
        if told and one.clause.id in wanted:
            outcome = _VERDICTS.get(one.outcome, "unknown")
            about = one.clause
            level = about.certification_level
            yield Settled(about.id, about.title, one.level, level, outcome, figures)


def _figures(result: ClauseResult, scopes: Mapping[str, Scope]) -> Iterator[Figure]:
    """What is said of figures; what files and machines would show is passed over."""
    for one in result.judged:
        finding = one.finding
        verdict = _VERDICTS.get(finding.outcome)
        if verdict is None or scopes.get(finding.rule) != "measurement":
            continue
        if verdict == "unknown" or finding.measured is not None:
            message = finding.message or finding.title
            yield Figure(verdict, message, finding.measured, finding.required)


def _files(runs: Iterable[PublishedRun]) -> Iterator[ReadFile]:
    """Each run as the file of measurements that it would be."""
    for one in runs:
        text = json.dumps(snapshot_of(one))
        yield from read_file(f"{one.id}.json", text=text)[1]


def snapshot_of(run: PublishedRun) -> dict[str, Any]:
    """A published run in the form of a snapshot, with what it says of NVLink."""
    found: dict[str, Any] = {
        "schema": "speccheck-snapshot/1",
        "collective_runs": [
            {
                "tool": "nccl-tests",
                "backend": "nccl",
                "collective": run.collective,
                "is_complete": True,
                "ranks": run.ranks,
                "nodes": run.nodes,
                "size_bytes": [size or _ASSUMED_BYTES for size, _ in run.points],
                "bus_bytes_per_second": [rate for _, rate in run.points],
            }
        ],
    }
    told: dict[str, Any] = {}
    if run.nvls is not None:
        told["nvls_channels"] = _NVLS_CHANNELS if run.nvls else 0
    if run.nvlink_domains:
        told |= {"is_mnnvl": True, "nvlink_cliques": run.nvlink_domains}
    if told:
        found["communicators"] = [{"ranks": run.ranks, **told}]
    return found


def _track(asked: Asked, track: str, found: Sequence[Settled]) -> DryTrack:
    clauses = [one for one in asked.clauses if track in one.clause.tracks]
    ids = {one.clause.id for one in clauses}
    settled = tuple(one for one in found if one.clause in ids)
    against = [
        one.certification_level
        for one in settled
        if one.outcome == "fail" and one.level == "must"
    ]
    levels = sorted({one.clause.certification_level for one in clauses})
    left = [one for one in levels if not against or one < min(against)]
    names = {one.clause for one in settled if one.outcome != "unknown"}
    still = [one for one in clauses if one.clause.id not in names]
    return DryTrack(
        track,
        left[-1] if left else None,
        levels[-1],
        settled,
        tuple(_open(level, still) for level in levels),
    )


def _open(level: str, still: Sequence[JudgedClause]) -> Open:
    there = [one for one in still if one.clause.certification_level == level]
    times: dict[str, int] = {}
    for one in there:
        for kind in wanted_by(one):
            times[kind] = times.get(kind, 0) + 1
    kinds = sorted(times, key=lambda kind: -times[kind])
    return Open(
        level,
        sum(one.level == "must" for one in there),
        sum(one.level != "must" for one in there),
        tuple(WORDS.get(kind, kind) for kind in kinds),
    )

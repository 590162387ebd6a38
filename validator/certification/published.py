"""A dry run: what published figures of a type of machine would settle of its clauses.

Nobody can verify them: they certify nothing. They show what a certificate would have to
reach, what is in doubt already, and what is missing besides.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from speccheck.validator.catalogue.published_runs import PublishedRun, published_runs
from speccheck.validator.certification.certifying import (
    INSTANCE,
    CertificateOrder,
    request_of,
)
from speccheck.validator.certification.judging import (
    JudgedClauseResult,
    Subject,
    clause_results,
    judge_subject,
)
from speccheck.validator.certification.needs import (
    LEVELS,
    WORDS,
    LevelRequest,
    level_request,
    wanted_by,
)
from speccheck.validator.editions.compose import JudgedClause
from speccheck.validator.editions.edition import DEFAULT_EDITION, load_edition
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


class PublishedFigure(Record):
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
    figures: tuple[PublishedFigure, ...]


class Open(Record):
    """What a track still wants at a level. kinds: in words, those most wanted first."""

    level: str
    musts: int
    shoulds: int
    kinds: tuple[str, ...]


class DryTrack(Record):
    """How far published figures alone support a track; they never grant a level.

    at_most: the highest level that no figure contradicts; None where the lowest is
        contradicted.
    """

    track: str
    at_most: str | None
    highest: str
    settled: tuple[Settled, ...]
    open: tuple[Open, ...]


class DryRun(Record):
    """What published figures say of all tracks for one type of machine."""

    instance: str
    provider: str
    edition: str
    runs: tuple[PublishedRun, ...]
    settled: tuple[Settled, ...]
    tracks: tuple[DryTrack, ...]


def dry_run(instance: str, spec: str = DEFAULT_EDITION) -> DryRun:
    """Return what is published of a type of machine, judged as for a certificate.

    Raises UnknownProfile, UnknownName or UnknownEdition.
    """
    result = level_request(load_edition(spec), instance, LEVELS[-1])
    runs = published_runs(result.instance_type)
    settleds = [*_settled(result, runs, spec)] if runs else []
    return DryRun(
        result.instance_type,
        result.provider,
        result.composed.edition.id,
        runs,
        tuple(settleds),
        tuple(_track(result, track, settleds) for track in sorted(result.tracks)),
    )


def _settled(
    result: LevelRequest, runs: Sequence[PublishedRun], spec: str
) -> Iterator[Settled]:
    order = CertificateOrder(f"{INSTANCE}{result.instance_type}", spec, is_pinned=True)
    subject = Subject((), tuple(_files(runs)), ())
    judgements = judge_subject(request_of(order, subject), subject, 0.0)
    results = clause_results(judgements.edition, judgements.judged, judgements.scopes)
    wanted = {clause.clause.id for clause in result.clauses}
    for clause_result in results:
        figures = tuple(_figures(clause_result, judgements.scopes))
        entry = [figure for figure in figures if figure.outcome != "unknown"]
        if entry and clause_result.clause.id in wanted:
            outcome = _VERDICTS.get(clause_result.outcome, "unknown")
            about = clause_result.clause
            level = about.certification_level
            yield Settled(
                about.id, about.title, clause_result.level, level, outcome, figures
            )


def _figures(
    result: JudgedClauseResult, scopes: Mapping[str, Scope]
) -> Iterator[PublishedFigure]:
    """Yield what is said of figures.

    What files and machines would show is passed over.
    """
    for judged in result.judged:
        finding = judged.finding
        verdict = _VERDICTS.get(finding.outcome)
        if verdict is None or scopes.get(finding.rule) != "measurement":
            continue
        if verdict == "unknown" or finding.measured is not None:
            message = finding.message or finding.title
            yield PublishedFigure(verdict, message, finding.measured, finding.required)


def _files(runs: Iterable[PublishedRun]) -> Iterator[ReadFile]:
    """Yield each run as the file of measurements that it would be."""
    for run in runs:
        text = json.dumps(snapshot_of(run))
        yield from read_file(f"{run.id}.json", text=text)[1]


def snapshot_of(run: PublishedRun) -> dict[str, Any]:
    """Return a published run in the form of a snapshot, with what it says of NVLink."""
    result: dict[str, Any] = {
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
    outcome: dict[str, Any] = {}
    if run.nvls is not None:
        outcome["nvls_channels"] = _NVLS_CHANNELS if run.nvls else 0
    if run.nvlink_domains:
        outcome |= {"is_mnnvl": True, "nvlink_cliques": run.nvlink_domains}
    if outcome:
        result["communicators"] = [{"ranks": run.ranks, **outcome}]
    return result


def _track(result: LevelRequest, track: str, settleds: Sequence[Settled]) -> DryTrack:
    clauses = [clause for clause in result.clauses if track in clause.clause.tracks]
    ids = {clause.clause.id for clause in clauses}
    settled = tuple(settled for settled in settleds if settled.clause in ids)
    against = [
        item.certification_level
        for item in settled
        if item.outcome == "fail" and item.level == "must"
    ]
    levels = sorted({clause.clause.certification_level for clause in clauses})
    left = [level for level in levels if not against or level < min(against)]
    names = {item.clause for item in settled if item.outcome != "unknown"}
    still = [clause for clause in clauses if clause.clause.id not in names]
    return DryTrack(
        track,
        left[-1] if left else None,
        levels[-1],
        settled,
        tuple(_open(level, still) for level in levels),
    )


def _open(level: str, still: Sequence[JudgedClause]) -> Open:
    there = [
        judged_clause
        for judged_clause in still
        if judged_clause.clause.certification_level == level
    ]
    times: dict[str, int] = {}
    for judged_clause in there:
        for kind in wanted_by(judged_clause):
            times[kind] = times.get(kind, 0) + 1
    kinds = sorted(times, key=lambda kind: -times[kind])
    return Open(
        level,
        sum(judged_clause.level == "must" for judged_clause in there),
        sum(judged_clause.level != "must" for judged_clause in there),
        tuple(WORDS.get(kind, kind) for kind in kinds),
    )

"""From the evidence of a kit to what a certificate says, and which levels it grants."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from speccheck.validator import VERSION
from speccheck.validator.certification.granting import (
    Content,
    Differing,
    Grant,
    Obstacle,
    common,
    grants,
    specimen_fields,
    type_fields,
)
from speccheck.validator.certification.judging import (
    Distribution,
    JudgedClauseResult,
    Judgements,
    KitEvidence,
    Subject,
    clause_results,
    distributions,
    judge_subject,
)
from speccheck.validator.certification.kit import KitFile
from speccheck.validator.editions.edition import (
    DEFAULT_EDITION,
    Edition,
    UseTerms,
    load_edition,
)
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.evidence.declaration import Declaration, EvidenceDigest
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.context import Context

_FILES, _MACHINES, _MEASURED = "L1", "L2", "L3"


def obstacles(
    evidence: KitEvidence,
    edition: Edition,
    terms: UseTerms,
    differing: Sequence[Differing],
) -> Iterator[Obstacle]:
    """Yield obstacles: too few machines, several types, omitted or made-up evidence.

    Args:
        evidence: that was judged.
        edition: that says which evidence which track wants.
        terms: of the use.
        differing: in what the machines are not of one type.

    """
    if not evidence.subject.job:
        # Rules would find nothing wrong with files that are not there.
        text = "the evidence holds no configuration and no launch script of a job"
        yield Obstacle(_FILES, text)
    observed = [file for file in evidence.files if file.kind != "config"]
    made_up = [evidence_file for evidence_file in observed if evidence_file.synthetic]
    if made_up and len(made_up) < len(observed):
        text = f"{len(made_up)} of {len(observed)} observations are synthetic"
        yield Obstacle(_FILES, f"{text}; what is made up proves nothing of the rest")
    machines = len(evidence.subject.machines)
    least = terms.least_specimens or 1
    if machines < least:
        text = f"machines looked at: {machines}; at least {least} must be"
        yield Obstacle(_MACHINES, text)
    expected = evidence.subject.expected
    if expected is not None and machines < expected:
        text = f"{machines} of {expected} machines reported; all must"
        yield Obstacle(_MACHINES, text)
    for field in differing:
        yield Obstacle(_MACHINES, f"the machines are not of one type: {field.words}")
    files = {
        evidence_file.path: evidence_file for evidence_file in evidence.files_left_out
    }
    for left_out in evidence.left_out:
        file = files[left_out.path]
        level = _MACHINES if file.kind == "snapshot" else _MEASURED
        reason = f"left out: {left_out.path}: {left_out.reason}"
        yield Obstacle(level, reason, _wanting(edition, file, level))


def _wanting(edition: Edition, file: KitFile, level: str) -> tuple[str, ...]:
    """Return the tracks of which a clause of that level wants what a file gives."""
    return tuple(
        sorted(
            {
                track
                for clause in edition.clauses.values()
                if clause.certification_level >= level
                and not set(file.gives).isdisjoint(clause.evidence)
                for track in clause.tracks
            }
        )
    )


USE = "certify"
INSTANCE = "instance/"


class CertificateOrder(Record):
    """What is asked for.

    instance: the type of machine. profiles: others, by name. is_pinned: the user named
    the edition. tailoring: a file of own numbers; empty for none.
    """

    instance: str
    spec: str = DEFAULT_EDITION
    is_pinned: bool = False
    profiles: tuple[str, ...] = ()
    plugins: bool = False
    tailoring: str = ""


class JudgedSpecimen(Record):
    """A machine, with the digests of what names it, and its files."""

    name: str
    taken: str
    fields: tuple[tuple[str, str], ...]
    files: tuple[str, ...]


class Certification(Record):
    """The result of certifying: everything that a certificate is made of."""

    order: CertificateOrder
    judgements: Judgements
    terms: UseTerms
    evidence: KitEvidence
    results: tuple[JudgedClauseResult, ...]
    type_fields: tuple[tuple[str, str], ...]
    specimens: tuple[JudgedSpecimen, ...]
    grants: tuple[Grant, ...]
    measured: tuple[Distribution, ...]


def request_of(order: CertificateOrder, subject: Subject) -> Request:
    """Return how evidence is judged for a certificate.

    A job that does not say on how many nodes it runs is one of as many as were seen.
    """
    context = Context(instance=order.instance.removeprefix(INSTANCE))
    if not assemble(subject.job, context).plan.value("cluster.nodes").is_known:
        context = context._replace(nodes=len(subject.machines) or None)
    return Request(
        (),
        judging=Judging(context=context, profiles=order.profiles),
        use=USE,
        spec=order.spec,
        plugins=order.plugins,
        tailoring=order.tailoring or None,
        full=True,
    )


def terms_of(spec: str) -> UseTerms:
    """Return what the edition asks of a certificate; raises UnknownEdition."""
    use_terms = load_edition(spec).profiles[f"use/{USE}"].terms
    if use_terms is None:  # no compiled edition is without
        message = f"edition {spec} has no terms of certification"
        raise ValueError(message)
    return use_terms


def certify(order: CertificateOrder, evidence: KitEvidence) -> Certification:
    """Judge evidence and grant levels; raises what `RunState` raises."""
    now = evidence.as_of
    terms = terms_of(order.spec)
    request = request_of(order, evidence.subject)._replace(
        declaration=_declaration(order, evidence, now)
    )
    judgements = judge_subject(request, evidence.subject, now.timestamp())
    results = clause_results(judgements.edition, judgements.judged, judgements.scopes)
    contents = [
        (machine.name, _content(machine.files[0].source.text), machine)
        for machine in evidence.subject.machines
    ]
    shared, differing = common(
        [(name, type_fields(item)) for name, item, _ in contents]
    )
    by_name = {file.specimen or file.path: file for file in evidence.files}
    return Certification(
        order,
        judgements,
        terms,
        evidence,
        tuple(results),
        tuple(shared.items()),
        tuple(
            JudgedSpecimen(
                name,
                by_name[name].taken,
                tuple(specimen_fields(content, by_name[name].sha256).items()),
                tuple(evidence.path_of(file) for file in machine.files),
            )
            for name, content, machine in contents
        ),
        tuple(
            grants(
                judgements.edition,
                results,
                terms.coverage_floor or 0.0,
                [*obstacles(evidence, judgements.edition, terms, differing)],
            )
        ),
        tuple(distributions(judgements.samples)),
    )


def _declaration(
    order: CertificateOrder, evidence: KitEvidence, now: datetime
) -> Declaration:
    edition = load_edition(order.spec)
    return Declaration(
        edition=edition.id,
        edition_named=order.spec if order.is_pinned else "",
        edition_stage=edition.stage,
        edition_sha256=edition.sha256,
        profiles_named=(order.instance, *order.profiles),
        tool_version=VERSION,
        evidence=tuple(
            EvidenceDigest(file.path, file.sha256) for file in evidence.files
        ),
        judged_seconds=now.timestamp(),
    )


def _content(text: str) -> Content:
    result = json.loads(text)
    return result if isinstance(result, dict) else {}


def denied_of(
    result: Sequence[Grant], level: str, tracks: Sequence[str]
) -> list[Grant]:
    """Return the requested tracks that do not have the level that was requested.

    All of them, where none has any.
    """
    outcome = [grant for grant in result if not tracks or grant.track in tracks]
    if not any(grant.level for grant in outcome):
        return outcome
    return [grant for grant in outcome if not grant.reaches(level)]

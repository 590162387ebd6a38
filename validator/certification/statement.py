"""A certificate in the words of others: in-toto test-result v0.1 and SVR v0.2.

Both are thinner than a certificate, and their consumers ask them one thing: is this
name there? So what must not count as a pass has another name or another list: what was
waived, what nobody saw, and synthetic evidence. A field beside could be passed over,
which the parsing rules of in-toto even demand.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

import speccheck.probes
import speccheck.rules
import speccheck.schemas
import speccheck.validator
from speccheck.validator import VERSION
from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.certification.certifying import Certification
from speccheck.validator.certification.granting import (
    INVALIDATORS,
    Grant,
    coverage,
    type_digest,
)
from speccheck.validator.certification.judging import (
    LEVELS,
    JudgedClauseResult,
    JudgedKit,
)
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.engine.tailoring import tailored
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.signing.envelope import Statement

_SUFFIXES = (".py", ".json", ".yaml")
_PARTS = (
    ("validator", speccheck.validator),
    ("rules", speccheck.rules),
    ("schemas", speccheck.schemas),
    ("probes", speccheck.probes),
)


@cache
def program_digest() -> str:
    """Return the SHA-256 of all code and tables of speccheck, by their names."""
    digest = hashlib.sha256()
    for name, path in _files():
        with open(path, "rb") as file:
            content = file.read()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files() -> Iterator[tuple[str, str]]:
    for part, package in _PARTS:
        top = os.path.dirname(package.__file__ or "")
        texts = [
            os.path.join(where, name)
            for where, _, names in os.walk(top)
            for name in names
            if name.endswith(_SUFFIXES)
        ]
        for path in sorted(texts):
            yield f"{part}/{os.path.relpath(path, top).replace(os.sep, '/')}", path


SCHEMA = "speccheck-certificate/1"
_PROVIDERS = ("azure", "aws", "gcp", "oci", "coreweave")
_DEFAULT_DAYS = 90
_NOTE = "no such machine was looked at."


class Issue(Record):
    """Who issues a certificate, when, and under which number.

    verifier: who judged. key_id: that signs; empty where nobody does. third_party: the
    key is not of who runs the machines.
    """

    verifier: str
    key_id: str
    created: datetime
    run_id: str
    third_party: bool = False
    revocation: str = ""


def predicate(certification: Certification, issue: Issue) -> dict[str, Any]:
    """Return what the certificate says."""
    edition = certification.judgements.edition
    instance = certification.order.instance.removeprefix("instance/")
    fields = dict(certification.type_fields)
    return {
        "schema": SCHEMA,
        "run_id": issue.run_id,
        "instance_type": instance,
        "provider": next(
            (text for text in _PROVIDERS if instance.startswith(text)), ""
        ),
        "profiles": [*certification.judgements.profiles],
        "asked_profiles": [*certification.order.profiles],
        "expected_machines": certification.evidence.subject.expected,
        "verifier": _verifier(issue, plugins=certification.order.plugins),
        "edition": {
            "id": edition.id,
            "stage": edition.stage,
            "is_pinned": certification.order.is_pinned,
            "sha256": edition.sha256,
            "tailoring": tailored(edition),
            "tailoring_file": _below(certification, certification.order.tailoring),
        },
        "validity": _validity(certification, issue, fields),
        "type": {"fields": fields, "sha256": type_digest(fields)},
        **judged_part(certification),
        "limits": [*_limits(certification, issue)],
        "synthetic": _synthetic(certification),
    }


def judged_part(certification: Certification) -> dict[str, Any]:
    """Return all of it that comes out again when the same evidence is judged again."""
    return {
        "specimens": [*_specimens(certification)],
        "tracks": [_track(grant) for grant in certification.grants],
        "coverage": _coverage(certification.results),
        "clauses": [_clause(result, certification) for result in certification.results],
        "measurements": [
            {
                "name": distribution.name,
                "unit": distribution.unit,
                "conditions": dict(distribution.conditions),
                "count": distribution.readings,
                **{
                    name: getattr(distribution, name)
                    for name in (
                        *("specimens", "median", "p5", "least", "most"),
                        *("spread", "floor", "ceiling"),
                    )
                },
            }
            for distribution in certification.measured
        ],
        "evidence": [
            {
                "path": file.path,
                "kind": file.kind,
                "sha256": file.sha256,
                "size_bytes": file.size_bytes,
                "specimen": file.specimen,
            }
            for file in certification.evidence.files
        ],
        "waivers": [*_waivers(certification.results)],
    }


def _below(certification: Certification, path: str) -> str:
    """Return a file of the kit as seen from its folder; empty for none."""
    folder = certification.evidence.kit.folder
    return os.path.relpath(path, folder).replace(os.sep, "/") if path else ""


def _verifier(issue: Issue, *, plugins: bool) -> dict[str, Any]:
    entries = rule_entries()
    return {
        "id": issue.verifier,
        "key_id": issue.key_id,
        "self_attested": not issue.third_party,
        "tool": {
            "name": "speccheck",
            "version": VERSION,
            "rules": len(entries),
            "rules_sha256": program_digest(),
            "plugins": [*_plugins()] if plugins else [],
        },
    }


def _plugins() -> Iterator[str]:
    from speccheck.validator.engine.rule_index import plugin_rules  # noqa: PLC0415 - seldom

    yield from sorted({plugin_rule.name for plugin_rule in plugin_rules()})


def _validity(
    certification: Certification, issue: Issue, fields: Mapping[str, str]
) -> dict[str, Any]:
    """Return the validity from now on.

    What was seen first ages too and ends it no later.
    """
    until = issue.created + timedelta(
        days=certification.terms.validity_days or _DEFAULT_DAYS
    )
    return {
        "created": _utc(issue.created),
        "not_before": _utc(issue.created),
        "not_after": _utc(until),
        "invalidators": [
            {"name": name, "value": fields[name]}
            for name in INVALIDATORS
            if name in fields
        ],
        "revocation": issue.revocation,
    }


def _utc(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _specimens(certification: Certification) -> Iterator[dict[str, Any]]:
    digests = {file.path: file.sha256 for file in certification.evidence.files}
    for specimen in certification.specimens:
        yield {
            "name": specimen.name,
            "taken": specimen.taken,
            "identity": dict(specimen.fields),
            "evidence": [digests[path] for path in specimen.files],
        }


def _track(grant: Grant) -> dict[str, Any]:
    return {
        "track": grant.track,
        "level": grant.level,
        "highest": grant.highest,
        "required": grant.required,
        "passed": grant.passed,
        "not_applicable": grant.not_applicable,
        "coverage": grant.coverage,
        "denied": [
            {
                "level": denial.level,
                "clause": denial.clause,
                "outcome": denial.outcome,
                "reason": _text(denial.reason),
            }
            for denial in grant.denied
        ],
    }


def _coverage(results: Sequence[JudgedClauseResult]) -> dict[str, Any]:
    weighed = [result for result in results if result.level != "may"]
    times = {
        name: sum(clause_result.outcome == outcome for clause_result in weighed)
        for name, outcome in (
            ("passed", "pass"),
            ("failed", "fail"),
            ("not_applicable", "not_applicable"),
            ("waived", "waived"),
        )
    }
    unknown = sum(
        clause_result.outcome in {"unknown", "error"} for clause_result in weighed
    )
    share = coverage(weighed)
    return {"required": len(weighed), **times, "unknown": unknown, "share": share}


def _clause(
    clause_result: JudgedClauseResult, certification: Certification
) -> dict[str, Any]:
    judged = [
        judged
        for judged in clause_result.judged
        if judged.finding.outcome != "not_applicable"
    ]
    return {
        "clause": clause_result.clause.id,
        "title": clause_result.clause.title,
        "level": clause_result.level,
        "certification_level": clause_result.clause.certification_level,
        "tracks": [*clause_result.clause.tracks],
        "outcome": clause_result.outcome,
        "judgements": [_judgement(item, certification) for item in judged],
    }


def _judgement(judged: JudgedKit, certification: Certification) -> dict[str, Any]:
    finding = judged.finding
    folder = certification.evidence.kit.folder.rstrip("/") + "/"
    return {
        "rule": finding.rule,
        "outcome": finding.outcome,
        "level": finding.level,
        "waived": finding.waiver is not None,
        "subject": _text(finding.subject),
        "specimen": judged.specimen,
        "message": _text(finding.message.replace(folder, "")),
        "measured": _value(finding.measured),
        "required": _value(finding.required),
    }


def _text(text: str) -> str:
    return hidden(text)


def _value(text: str | float | None) -> str | float | None:
    return _text(text) if isinstance(text, str) else text


def _waivers(results: Sequence[JudgedClauseResult]) -> Iterator[dict[str, Any]]:
    for judged in chain.from_iterable(result.judged for result in results):
        waiver = judged.finding.waiver
        if waiver is not None:
            yield {
                "clause": judged.finding.clause,
                "subject": _text(judged.finding.subject),
                "reason": _text(waiver.reason),
                "owner": _text(waiver.owner),
                "expires": waiver.until,
            }


def _limits(certification: Certification, issue: Issue) -> Iterator[str]:
    if not issue.third_party:
        yield "self-attested: nobody but the holder of the key answers for it"
    count = len(certification.specimens)
    yield f"machines looked at: {count}; others of the type were not seen"
    yield "no hardware attests what software says of it (TPM, GPU attestation)"
    undated = [file.path for file in certification.evidence.files if not file.taken]
    observed = [text for text in undated if _is_observed(certification, text)]
    if observed:
        yield f"these files tell no time: {', '.join(observed)}"
    for left_out in certification.evidence.left_out:
        yield f"left out: {left_out.path}: {left_out.reason}"


def _is_observed(certification: Certification, path: str) -> bool:
    return any(
        file.path == path and file.kind != "config"
        for file in certification.evidence.files
    )


def _synthetic(certification: Certification) -> dict[str, Any] | None:
    made_up = [file for file in certification.evidence.files if file.synthetic]
    if not made_up:
        return None
    by = ", ".join(
        sorted({_text(evidence_file.synthetic) for evidence_file in made_up})
    )
    return {"by": by, "files": len(made_up), "note": _NOTE}


_FAMILY = SCHEMA.partition("/")[0]
_MOST_SHOWN = 3


class CertificateError(Exception):
    """A predicate that is no certificate; the message says what is wrong with it."""


def read_certificate(predicate: dict[str, Any], path: str) -> Certificate:
    """Return the certificate of a statement; raises CertificateError."""
    schema = str(predicate.get("schema"))
    family, _, version = schema.partition("/")
    if family == _FAMILY and version != SCHEMA.partition("/")[2]:
        message = (
            f"{path}: {schema[:60]}: of another speccheck; verify it with that one"
        )
        raise CertificateError(message)
    try:
        certificate = Certificate.model_validate(predicate)
    except ValidationError as error:
        text = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors()[:_MOST_SHOWN]
        )
        message = f"{path}: is no {SCHEMA}: {text}"
        raise CertificateError(message) from error
    _refuse_times(certificate, path)
    return certificate


def _refuse_times(certificate: Certificate, path: str) -> None:
    validity = certificate.validity
    for name in ("created", "not_before", "not_after"):
        text = getattr(validity, name)
        try:
            is_utc = datetime.fromisoformat(text).utcoffset() == timedelta()
        except ValueError:
            is_utc = False
        if not is_utc:
            message = f"{path}: validity.{name} is no time in UTC: {text[:40]!r}"
            raise CertificateError(message)


TEST_RESULT_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
SVR_TYPE = "https://in-toto.io/attestation/svr/v0.2"
_MEDIA_TYPE = "application/x.dsse+json"
_SYNTHETIC = "SYNTHETIC_EVIDENCE"


def derived(kind: str, certificate: Statement, certificate_sha256: str) -> Statement:
    """Return that kind of statement of the same subject.

    `certificate_sha256` is the digest of its file.

    Raises KeyError for a kind that is none of KINDS.
    """
    predicate_type, write = KINDS[kind]
    # The shape is that of certificate_model.py, whose pydantic nothing here needs.
    predicate: Any = certificate.predicate
    made = write(predicate, certificate_sha256)
    return certificate._replace(predicate_type=predicate_type, predicate=made)


def _test_result(certificate: Any, sha256: str) -> dict[str, object]:  # noqa: ANN401
    """Return one test a clause that applies; PASSED only where nothing is left to say.

    A waived must is a failed test: the format has no word for a waiver. What is unknown
    was not run, and stands in no list.
    """
    clauses = certificate["clauses"]
    passed = [clause["clause"] for clause in clauses if clause["outcome"] == "pass"]
    bad = [
        clause for clause in clauses if clause["outcome"] in {"fail", "waived", "error"}
    ]
    failed = [item["clause"] for item in bad if item["level"] == "must"]
    warned = [item["clause"] for item in bad if item["level"] != "must"]
    if certificate["synthetic"] is not None:
        warned.append(_SYNTHETIC)
    is_whole = not any(
        clause["outcome"] == "unknown" and clause["level"] == "must"
        for clause in clauses
    ) and all(item["level"] == item["highest"] for item in certificate["tracks"])
    good = "PASSED" if is_whole and not warned else "WARNED"
    return {
        "result": "FAILED" if failed else good,
        "configuration": [
            *_policies(certificate),
            {
                "name": "rules of speccheck",
                "digest": {"sha256": certificate["verifier"]["tool"]["rules_sha256"]},
                "annotations": {"version": certificate["verifier"]["tool"]["version"]},
            },
            _certificate(certificate, sha256),
        ],
        "passedTests": passed,
        "warnedTests": warned,
        "failedTests": failed,
    }


def _svr(certificate: Any, sha256: str) -> dict[str, object]:  # noqa: ANN401
    """Return a property for each level that a track has, and for each below it."""
    return {
        "verifier": {
            "id": _derived_verifier(certificate["verifier"]),
            "policies": _policies(certificate),
        },
        "timeCreated": certificate["validity"]["created"],
        "properties": list(_properties(certificate)),
        "speccheckCertificate": _certificate(certificate, sha256),
    }


def _properties(certificate: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield properties such as SPECCHECK_FABRIC_L2."""
    begin = "SPECCHECK"
    if certificate["synthetic"] is not None:
        begin += f"_{_SYNTHETIC}"
    waived = [item for item in certificate["clauses"] if item["outcome"] == "waived"]
    for track in certificate["tracks"]:
        for level in LEVELS:
            if track["level"] is None or level > track["level"]:
                continue
            is_waived = any(
                track["track"] in item["tracks"]
                and item["certification_level"] <= level
                for item in waived
            )
            name = track["track"].replace("-", "_").upper()
            yield f"{begin}_{name}_{level}{'_WITH_WAIVERS' if is_waived else ''}"


def _policies(certificate: Any) -> list[dict[str, object]]:  # noqa: ANN401
    """Return what it was judged against: edition, profiles and own numbers."""
    edition = certificate["edition"]
    annotations: dict[str, object] = {
        "profiles": certificate["profiles"],
        "stage": edition["stage"],
    }
    if edition["tailoring"]:
        annotations["tailored"] = [
            f"{item['clause']}.{item['number']}" for item in edition["tailoring"]
        ]
    return [
        {
            "name": f"speccheck edition {edition['id']}",
            "uri": f"urn:speccheck:edition:{quote(edition['id'])}",
            "digest": {"sha256": edition["sha256"]},
            "annotations": annotations,
        }
    ]


def _certificate(certificate: Any, sha256: str) -> dict[str, object]:  # noqa: ANN401
    """Return the certificate that says more, and how long it is valid."""
    validity = certificate["validity"]
    return {
        "name": f"certificate {certificate['run_id']}",
        "digest": {"sha256": sha256},
        "mediaType": _MEDIA_TYPE,
        "annotations": {
            "notAfter": validity["not_after"],
            "notBefore": validity["not_before"],
        },
    }


def _derived_verifier(verifier: Any) -> str:  # noqa: ANN401
    """Return a URI, as SVR wants: the verifier's own, or one of its name and key."""
    name, key_id = verifier["id"], verifier["key_id"]
    if ":" in name and not any(item.isspace() for item in name):
        return str(name)
    return f"urn:speccheck:verifier:{quote(name, safe='')}:{key_id}"


KINDS: dict[str, tuple[str, Callable[[Any, str], dict[str, object]]]] = {
    "test-result": (TEST_RESULT_TYPE, _test_result),
    "svr": (SVR_TYPE, _svr),
}

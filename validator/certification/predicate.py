"""The predicate of a certificate, as plain data (certificate_model.py)."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from speccheck.validator import VERSION
from speccheck.validator.certification.certifying import Certification
from speccheck.validator.certification.grants import Grant, coverage
from speccheck.validator.certification.identity import INVALIDATORS, type_digest
from speccheck.validator.certification.results import ClauseResult, Judged
from speccheck.validator.certification.tool import program_digest
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.engine.tailoring import tailored
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden

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


def predicate(found: Certification, issue: Issue) -> dict[str, Any]:
    """What the certificate says."""
    edition = found.judgements.edition
    instance = found.order.instance.removeprefix("instance/")
    fields = dict(found.type_fields)
    return {
        "schema": SCHEMA,
        "run_id": issue.run_id,
        "instance_type": instance,
        "provider": next((o for o in _PROVIDERS if instance.startswith(o)), ""),
        "profiles": [*found.judgements.profiles],
        "asked_profiles": [*found.order.profiles],
        "expected_machines": found.evidence.subject.expected,
        "verifier": _verifier(issue, plugins=found.order.plugins),
        "edition": {
            "id": edition.id,
            "stage": edition.stage,
            "is_pinned": found.order.is_pinned,
            "sha256": edition.sha256,
            "tailoring": tailored(edition),
            "tailoring_file": _below(found, found.order.tailoring),
        },
        "validity": _validity(found, issue, fields),
        "type": {"fields": fields, "sha256": type_digest(fields)},
        **judged_part(found),
        "limits": [*_limits(found, issue)],
        "synthetic": _synthetic(found),
    }


def judged_part(found: Certification) -> dict[str, Any]:
    """All of it that comes out again when the same evidence is judged again."""
    return {
        "specimens": [*_specimens(found)],
        "tracks": [_track(one) for one in found.grants],
        "coverage": _coverage(found.results),
        "clauses": [_clause(one, found) for one in found.results],
        "measurements": [
            {
                "name": one.name,
                "unit": one.unit,
                "conditions": dict(one.conditions),
                "count": one.readings,
                **{
                    name: getattr(one, name)
                    for name in (
                        *("specimens", "median", "p5", "least", "most"),
                        *("spread", "floor", "ceiling"),
                    )
                },
            }
            for one in found.measured
        ],
        "evidence": [
            {
                "path": one.path,
                "kind": one.kind,
                "sha256": one.sha256,
                "size_bytes": one.size_bytes,
                "specimen": one.specimen,
            }
            for one in found.evidence.files
        ],
        "waivers": [*_waivers(found.results)],
    }


def _below(found: Certification, path: str) -> str:
    """A file of the kit as seen from its folder; empty for none."""
    folder = found.evidence.kit.folder
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

    yield from sorted({one.name for one in plugin_rules()})


def _validity(
    found: Certification, issue: Issue, fields: Mapping[str, str]
) -> dict[str, Any]:
    """From now on; what was seen first ages as well, and ends it no later."""
    until = issue.created + timedelta(days=found.terms.validity_days or _DEFAULT_DAYS)
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


def _specimens(found: Certification) -> Iterator[dict[str, Any]]:
    digests = {one.path: one.sha256 for one in found.evidence.files}
    for one in found.specimens:
        yield {
            "name": one.name,
            "taken": one.taken,
            "identity": dict(one.fields),
            "evidence": [digests[path] for path in one.files],
        }


def _track(one: Grant) -> dict[str, Any]:
    return {
        "track": one.track,
        "level": one.level,
        "highest": one.highest,
        "required": one.required,
        "passed": one.passed,
        "not_applicable": one.not_applicable,
        "coverage": one.coverage,
        "denied": [
            {
                "level": denial.level,
                "clause": denial.clause,
                "outcome": denial.outcome,
                "reason": _text(denial.reason),
            }
            for denial in one.denied
        ],
    }


def _coverage(results: Sequence[ClauseResult]) -> dict[str, Any]:
    weighed = [one for one in results if one.level != "may"]
    times = {
        name: sum(one.outcome == outcome for one in weighed)
        for name, outcome in (
            ("passed", "pass"),
            ("failed", "fail"),
            ("not_applicable", "not_applicable"),
            ("waived", "waived"),
        )
    }
    unknown = sum(one.outcome in {"unknown", "error"} for one in weighed)
    share = coverage(weighed)
    return {"required": len(weighed), **times, "unknown": unknown, "share": share}


def _clause(one: ClauseResult, found: Certification) -> dict[str, Any]:
    judged = [o for o in one.judged if o.finding.outcome != "not_applicable"]
    return {
        "clause": one.clause.id,
        "title": one.clause.title,
        "level": one.level,
        "certification_level": one.clause.certification_level,
        "tracks": [*one.clause.tracks],
        "outcome": one.outcome,
        "judgements": [_judgement(o, found) for o in judged],
    }


def _judgement(one: Judged, found: Certification) -> dict[str, Any]:
    finding = one.finding
    folder = found.evidence.kit.folder.rstrip("/") + "/"
    return {
        "rule": finding.rule,
        "outcome": finding.outcome,
        "level": finding.level,
        "waived": finding.waiver is not None,
        "subject": _text(finding.subject),
        "specimen": one.specimen,
        "message": _text(finding.message.replace(folder, "")),
        "measured": _value(finding.measured),
        "required": _value(finding.required),
    }


def _text(text: str) -> str:
    return hidden(text)


def _value(found: str | float | None) -> str | float | None:
    return _text(found) if isinstance(found, str) else found


def _waivers(results: Sequence[ClauseResult]) -> Iterator[dict[str, Any]]:
    for judged in chain.from_iterable(one.judged for one in results):
        waiver = judged.finding.waiver
        if waiver is not None:
            yield {
                "clause": judged.finding.clause,
                "subject": _text(judged.finding.subject),
                "reason": _text(waiver.reason),
                "owner": _text(waiver.owner),
                "expires": waiver.until,
            }


def _limits(found: Certification, issue: Issue) -> Iterator[str]:
    if not issue.third_party:
        yield "self-attested: nobody but the holder of the key answers for it"
    count = len(found.specimens)
    yield f"machines looked at: {count}; others of the type were not seen"
    yield "no hardware attests what software says of it (TPM, GPU attestation)"
    undated = [one.path for one in found.evidence.files if not one.taken]
    observed = [one for one in undated if _is_observed(found, one)]
    if observed:
        yield f"these files tell no time: {', '.join(observed)}"
    for one in found.evidence.left_out:
        yield f"left out: {one.path}: {one.reason}"


def _is_observed(found: Certification, path: str) -> bool:
    return any(o.path == path and o.kind != "config" for o in found.evidence.files)


def _synthetic(found: Certification) -> dict[str, Any] | None:
    made_up = [one for one in found.evidence.files if one.synthetic]
    if not made_up:
        return None
    by = ", ".join(sorted({_text(one.synthetic) for one in made_up}))
    return {"by": by, "files": len(made_up), "note": _NOTE}

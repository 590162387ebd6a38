"""The report on a fleet as JSON: `speccheck-fleet/1`."""

import json
from collections.abc import Iterator
from typing import Any

from speccheck.validator import VERSION
from speccheck.validator.evidence.fleet import Attendance
from speccheck.validator.fleet.verdict import FleetVerdict
from speccheck.validator.report.edition_names import tailoring_of
from speccheck.validator.report.fleet_days_text import since_data
from speccheck.validator.report.fleet_groups import (
    FleetGroup,
    fleet_groups,
    loosened_groups,
)
from speccheck.validator.report.fleet_told import FleetTold

SCHEMA = "speccheck-fleet/1"


def fleet_json(told: FleetTold) -> Iterator[str]:
    """The text of the document."""
    yield json.dumps(fleet_data(told), indent=2) + "\n"


def fleet_data(told: FleetTold) -> dict[str, Any]:
    """The document: names of nodes are listed one by one, not folded."""
    run, verdict = told.run, told.verdict
    return {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "edition": {
            "id": run.edition.id,
            "sha256": run.edition.sha256,
            "tailoring": tailoring_of(run.edition),
        },
        "profile": {"use": run.use, "size": run.size},
        "verdict": verdict.word,
        "exit_code": verdict.code,
        "reason": verdict.reason,
        "nodes": {
            "reported": len({one.name for one in run.nodes}),
            "fit": verdict.fit,
            "needed": verdict.needed,
            "synthetic": len({one.name for one in run.nodes if one.is_synthetic}),
            "files_not_read": run.listing.ignored,
            **_attendance(run.fleet.attendance),
        },
        "unfit": [
            {
                "node": one.name,
                "state": one.state,
                "reasons": [reason._asdict() for reason in one.reasons],
            }
            for one in verdict.unfit
        ],
        "spares": _spares(verdict),
        "findings": [_group(one) for one in fleet_groups(run, "error", "fail")],
        "unknown": [_group(one) for one in fleet_groups(run, "unknown")],
        "loosened": [_group(one) for one in loosened_groups(run)],
        "since": None if told.since is None else since_data(told.since),
    }


def _attendance(found: Attendance) -> dict[str, Any]:
    return {
        "expected": found.expected.value,
        "missing": found.missing,
        "unexpected": found.unexpected,
        "unread": [one._asdict() for one in found.unread],
        "repeated": [one._asdict() for one in found.repeated],
    }


def _spares(verdict: FleetVerdict) -> dict[str, Any] | None:
    if verdict.spares is None:
        return None
    wanted = verdict.spares.wanted
    return {
        "at_hand": verdict.spares.at_hand,
        "wanted": wanted.value,
        "wanted_lower": wanted.lower,
        "wanted_upper": wanted.upper,
        "source": wanted.source,
    }


def _group(group: FleetGroup) -> dict[str, Any]:
    finding = group.finding
    return {
        "clause": group.clause,
        "rule": group.rule,
        "title": group.title,
        "level": group.level,
        "clause_level": finding.clause_level,
        "outcome": group.outcome,
        "remedy": finding.remedy,
        "action": finding.action,
        "of_job": group.is_of_job,
        "nodes": group.hosts,
        "other_messages": group.others,
        "values": [
            {
                "subject": one.subject,
                "message": one.message,
                "measured": one.finding.measured,
                "required": one.finding.required,
                "missing": one.finding.missing,
                "places": [place.key for place in one.finding.places],
                "nodes": one.hosts,
            }
            for one in group.values
        ],
    }

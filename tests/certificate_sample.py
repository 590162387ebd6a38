"""A certificate's predicate, small and whole: two clauses on two tracks."""

from copy import deepcopy
from typing import Any

from signed_files import INSTANCE_TYPE, KEY, TYPE_SHA256
from speccheck.validator.signing.envelope import CERTIFICATE_TYPE, Statement

_SHA256 = "0f" * 32


def clause(
    name: str,
    *tracks: str,
    outcome: str = "pass",
    level: str = "must",
    certification_level: str = "L1",
) -> dict[str, Any]:
    """Return one clause of a certificate, without judgements."""
    return {
        "clause": name,
        "title": f"what {name} asks",
        "level": level,
        "certification_level": certification_level,
        "tracks": list(tracks),
        "outcome": outcome,
        "judgements": [],
    }


def track(name: str, level: str | None, highest: str = "L2") -> dict[str, Any]:
    """Return one track of a certificate."""
    return {
        "track": name,
        "level": level,
        "highest": highest,
        "required": 2,
        "passed": 2,
        "not_applicable": 0,
        "coverage": 1.0,
        "denied": [],
    }


_PREDICATE: dict[str, Any] = {
    "schema": "speccheck-certificate/1",
    "run_id": "20261122T101500Z-contoso",
    "instance_type": INSTANCE_TYPE,
    "provider": "contoso",
    "profiles": ["base", "instance/contoso-gx8-h100", "use/certify"],
    "asked_profiles": [],
    "expected_machines": None,
    "verifier": {
        "id": "Contoso platform team",
        "key_id": KEY.public.key_id,
        "self_attested": True,
        "tool": {
            "name": "speccheck",
            "version": "0.1.0",
            "rules": 2,
            "rules_sha256": "1a" * 32,
            "plugins": [],
        },
    },
    "edition": {
        "id": "1.0",
        "stage": "released",
        "sha256": "2b" * 32,
        "is_pinned": True,
        "tailoring": [],
        "tailoring_file": "",
    },
    "validity": {
        "created": "2026-11-22T10:15:00Z",
        "not_before": "2026-11-22T10:15:00Z",
        "not_after": "2027-02-20T10:15:00Z",
        "invalidators": [{"name": "driver", "value": "580.95.05"}],
        "revocation": "",
    },
    "type": {"fields": {"gpu.model": "H100", "gpu.count": 8}, "sha256": TYPE_SHA256},
    "specimens": [],
    "tracks": [track("fabric", "L2"), track("comm-topology", "L1", "L1")],
    "coverage": {
        "required": 2,
        "passed": 2,
        "failed": 0,
        "unknown": 0,
        "not_applicable": 0,
        "waived": 0,
        "share": 1.0,
    },
    "clauses": [
        clause("COMM-001", "comm-topology"),
        clause("FAB-001", "fabric", certification_level="L2"),
    ],
    "measurements": [
        {
            "name": "all_reduce bus bandwidth",
            "unit": "GB/s",
            "conditions": {"message_bytes": 2**30, "nodes": 2},
            "count": 20,
            "specimens": 2,
            "median": 371.5,
            "p5": 368.0,
            "least": 366.25,
            "most": 374.0,
            "spread": 0.01,
            "floor": 360.0,
            "ceiling": None,
        }
    ],
    "evidence": [
        {
            "path": "node-a.json",
            "kind": "snapshot",
            "sha256": _SHA256,
            "size_bytes": 48213,
            "specimen": "a",
        }
    ],
    "waivers": [],
    "limits": [],
    "synthetic": None,
}


def predicate(**changes: object) -> dict[str, Any]:
    """Return the predicate with other values of some fields."""
    return {**deepcopy(_PREDICATE), **changes}


def certificate(**changes: object) -> Statement:
    """Return the statement of it."""
    fields = predicate(**changes)
    return Statement(INSTANCE_TYPE, TYPE_SHA256, CERTIFICATE_TYPE, fields)

"""The JSON Schemas that speccheck publishes: what it reads, and what it writes.

Run `python tools/json_schemas.py` to write them to schemas/json.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from settings_page import settings_schema
from speccheck.validator.certification.evidence_model import EvidenceDocument
from speccheck.validator.evidence import plan
from speccheck.validator.evidence.plan import SECTIONS
from speccheck.validator.fleet.own_profile_model import FleetProfile
from speccheck.validator.report.bench_model import BenchJudgement, BenchPlan
from speccheck.validator.report.certificate_schema import certificate_schema
from speccheck.validator.report.certificate_table.model import CertificateTable
from speccheck.validator.report.coverage_model import CoverageDocument
from speccheck.validator.report.diff_model import DiffDocument
from speccheck.validator.report.document_diff.model import DocumentDiff
from speccheck.validator.report.edition_diff_model import EditionDiff
from speccheck.validator.report.fleet_model import FleetDocument
from speccheck.validator.report.history_model import HistoryDocument
from speccheck.validator.report.leaf_comments import leaf_comments
from speccheck.validator.report.node_result_model import NodeResultDocument
from speccheck.validator.report.plan_model import PlanDocument
from speccheck.validator.report.report_model import Report, ReportLine
from speccheck.validator.report.snapshot_schema import snapshot_schema
from speccheck.validator.report.tailoring_model import Tailoring
from speccheck.validator.report.telemetry_model import TelemetryDocument
from speccheck.validator.report.waivers_model import Baseline, Waivers
from speccheck.validator.simulation.faults import FAULTS
from speccheck.validator.simulation.planting import FaultPlan
from speccheck.validator.sources.formats.native import ENVIRONMENT, MARKER, leaf_type

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: dict[object, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    tuple[int, int]: {"type": ["string", "number"], "examples": ["9.0"]},
    tuple[str, ...]: {"type": "array", "items": {"type": "string"}},
}


def native_schema() -> dict[str, Any]:
    """The schema of `config.yaml`, made of the plan's sections."""
    comments = leaf_comments(plan)
    properties: dict[str, Any] = {
        MARKER: {"const": 1, "description": "version of this format"},
        ENVIRONMENT: {
            "type": "object",
            "description": "environment variables of the job, such as NCCL_ALGO",
            "additionalProperties": {"type": ["string", "number", "boolean"]},
        },
    }
    for name, section in SECTIONS.items():
        fields: dict[str, Any] = {}
        for field in section.__annotations__:
            fields[field] = dict(_TYPES[leaf_type(name, field)])
            if comment := comments.get(f"{section.__name__}.{field}"):
                fields[field]["description"] = comment
        properties[name] = {
            "type": "object",
            "description": (section.__doc__ or "").strip(),
            "properties": fields,
            "additionalProperties": False,
        }
    return {
        "$schema": _DRAFT,
        "title": "speccheck config.yaml",
        "description": "A training job as speccheck's plan states it; every key may "
        "be left out, and what is left out is not judged.",
        "type": "object",
        "properties": properties,
        "required": [MARKER],
        "additionalProperties": False,
    }


def report_schema() -> dict[str, Any]:
    """The schema of `speccheck-report/1`."""
    return {"$schema": _DRAFT, **Report.model_json_schema(by_alias=True)}


def report_lines_schema() -> dict[str, Any]:
    """The schema of a line of `speccheck-report-lines/1`."""
    return {"$schema": _DRAFT, **ReportLine.model_json_schema(by_alias=True)}


def plan_schema() -> dict[str, Any]:
    """The schema of `speccheck-plan/1`."""
    return {"$schema": _DRAFT, **PlanDocument.model_json_schema(by_alias=True)}


def certificate_table_schema() -> dict[str, Any]:
    """The schema of `speccheck-certificate-table/1`."""
    return {"$schema": _DRAFT, **CertificateTable.model_json_schema(by_alias=True)}


def coverage_schema() -> dict[str, Any]:
    """The schema of `speccheck-coverage/1`."""
    return {"$schema": _DRAFT, **CoverageDocument.model_json_schema(by_alias=True)}


def bench_plan_schema() -> dict[str, Any]:
    """The schema of `speccheck-bench-plan/1`."""
    return {"$schema": _DRAFT, **BenchPlan.model_json_schema(by_alias=True)}


def bench_judgement_schema() -> dict[str, Any]:
    """The schema of `speccheck-bench-judgement/1`."""
    return {"$schema": _DRAFT, **BenchJudgement.model_json_schema(by_alias=True)}


def node_result_schema() -> dict[str, Any]:
    """The schema of `speccheck-node-result/1`."""
    return {"$schema": _DRAFT, **NodeResultDocument.model_json_schema(by_alias=True)}


def diff_schema() -> dict[str, Any]:
    """The schema of `speccheck-diff/1`."""
    return {"$schema": _DRAFT, **DiffDocument.model_json_schema(by_alias=True)}


def document_diff_schema() -> dict[str, Any]:
    """The schema of `speccheck-document-diff/1`."""
    return {"$schema": _DRAFT, **DocumentDiff.model_json_schema(by_alias=True)}


def evidence_schema() -> dict[str, Any]:
    """The schema of `speccheck-evidence/1`."""
    return {"$schema": _DRAFT, **EvidenceDocument.model_json_schema(by_alias=True)}


def edition_diff_schema() -> dict[str, Any]:
    """The schema of `speccheck-edition-diff/1`."""
    return {"$schema": _DRAFT, **EditionDiff.model_json_schema(by_alias=True)}


def fleet_schema() -> dict[str, Any]:
    """The schema of `speccheck-fleet/1`."""
    return {"$schema": _DRAFT, **FleetDocument.model_json_schema(by_alias=True)}


def fleet_profile_schema() -> dict[str, Any]:
    """The schema of `speccheck-fleet-profile/1`."""
    return {"$schema": _DRAFT, **FleetProfile.model_json_schema(by_alias=True)}


def history_schema() -> dict[str, Any]:
    """The schema of `speccheck-history/1`."""
    return {"$schema": _DRAFT, **HistoryDocument.model_json_schema(by_alias=True)}


def telemetry_schema() -> dict[str, Any]:
    """The schema of `speccheck-telemetry/1`."""
    return {"$schema": _DRAFT, **TelemetryDocument.model_json_schema(by_alias=True)}


def waivers_schema() -> dict[str, Any]:
    """The schema of `speccheck-waivers/1`."""
    schema: dict[str, Any] = {
        "$schema": _DRAFT,
        **Waivers.model_json_schema(by_alias=True),
    }
    entry = schema["$defs"]["WaiverEntry"]
    entry["allOf"] = [
        {"anyOf": [{"required": [name]} for name in names]}
        for names in (
            ("clause", "rule"),
            ("files", "nodes", "subject"),
            ("until", "permanent"),
        )
    ]
    return schema


def tailoring_schema() -> dict[str, Any]:
    """The schema of `speccheck-tailoring/1`."""
    return {"$schema": _DRAFT, **Tailoring.model_json_schema(by_alias=True)}


def baseline_schema() -> dict[str, Any]:
    """The schema of `speccheck-baseline/1`."""
    return {"$schema": _DRAFT, **Baseline.model_json_schema(by_alias=True)}


def faults_schema() -> dict[str, Any]:
    """The schema of `speccheck-faults/1`."""
    schema: dict[str, Any] = {
        "$schema": _DRAFT,
        **FaultPlan.model_json_schema(by_alias=True),
    }
    entry = schema["$defs"]["Planted"]
    entry["properties"]["fault"]["enum"] = [*FAULTS]
    entry["oneOf"] = [{"required": [way]} for way in ("nodes", "share", "count")]
    return schema


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "baseline": baseline_schema,
    "bench-judgement": bench_judgement_schema,
    "bench-plan": bench_plan_schema,
    "certificate": certificate_schema,
    "certificate-table": certificate_table_schema,
    "coverage": coverage_schema,
    "diff": diff_schema,
    "document-diff": document_diff_schema,
    "edition-diff": edition_diff_schema,
    "evidence": evidence_schema,
    "faults": faults_schema,
    "fleet": fleet_schema,
    "fleet-profile": fleet_profile_schema,
    "history": history_schema,
    "native": native_schema,
    "node-result": node_result_schema,
    "plan": plan_schema,
    "report": report_schema,
    "report-lines": report_lines_schema,
    "settings": settings_schema,
    "snapshot": snapshot_schema,
    "tailoring": tailoring_schema,
    "telemetry": telemetry_schema,
    "waivers": waivers_schema,
}


def schema_text(name: str) -> str:
    """A schema as the text of its file."""
    return json.dumps(SCHEMAS[name](), indent=2) + "\n"


def write_all(folder: Path) -> None:
    """Write every schema to its file."""
    for name in SCHEMAS:
        (folder / f"{name}.schema.json").write_text(schema_text(name), "utf-8")


if __name__ == "__main__":
    write_all(Path(__file__).resolve().parents[1] / "schemas" / "json")

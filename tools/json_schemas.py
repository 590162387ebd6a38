"""The JSON Schemas that speccheck publishes: what it reads, and what it writes.

Run `python tools/json_schemas.py` to write them to schemas/json.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, Union

from pydantic import BaseModel, RootModel, create_model

from hand_read_shapes import Baseline, NodeResultDocument, Tailoring, Waivers
from settings_page import settings_schema
from speccheck.validator.certification.evidence_model import EvidenceDocument
from speccheck.validator.evidence import plan
from speccheck.validator.evidence.plan import SECTIONS
from speccheck.validator.fleet.own_profile_model import FleetProfile
from speccheck.validator.report.bench_judgement_json import BenchJudgement, BenchPlan
from speccheck.validator.report.certificate_schema import certificate_schema
from speccheck.validator.report.certificate_table.table import CertificateTable
from speccheck.validator.report.coverage_json import CoverageDocument
from speccheck.validator.report.diff_json import DiffDocument
from speccheck.validator.report.document_diff.json_form import DocumentDiff
from speccheck.validator.report.document_model import model_of
from speccheck.validator.report.edition_diff import EditionDiff
from speccheck.validator.report.fleet_json import FleetDocument
from speccheck.validator.report.forms.jsonl import TotalsLine
from speccheck.validator.report.history_json import HistoryDocument
from speccheck.validator.report.json_report import Report, ReportFinding
from speccheck.validator.report.leaf_comments import leaf_comments
from speccheck.validator.report.listing import ListDocument
from speccheck.validator.report.plan_json import PlanDocument
from speccheck.validator.report.snapshot_schema import snapshot_schema
from speccheck.validator.report.telemetry_json import TelemetryDocument
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
    """Return the schema of `config.yaml`, made of the plan's sections."""
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


# As a name: a literal is no expression of a type to every checker.
_FINDING: Any = Literal["finding"]


def schema_of(shape: type[Any]) -> dict[str, Any]:
    """Return a document's schema: of a Record, or of the model that validates it."""
    kind: Any = shape  # of a cached function, which asks for what can be hashed
    model = shape if issubclass(shape, BaseModel) else model_of(kind)
    return {"$schema": _DRAFT, **model.model_json_schema(by_alias=True)}


def report_lines_schema() -> dict[str, Any]:
    """Return the schema of a line of `speccheck-report-lines/1`."""
    finding = create_model(
        "FindingLine",
        __base__=model_of(ReportFinding),
        __doc__="A finding as a line of its own, with the files of its plan.",
        type=(_FINDING, ...),
        files=(list[str], ...),
    )
    # A model that is made at run time is no type to a checker.
    either: Any = Union[finding, model_of(TotalsLine)]  # noqa: UP007
    line = create_model(
        "ReportLine",
        __base__=RootModel[either],
        __doc__="One line of `--output jsonl`.",
    )
    return schema_of(line)


def bench_schema(shape: type[Any]) -> dict[str, Any]:
    """Return the schema of a plan, or with a plan in it, that may have more fields."""
    schema = schema_of(shape)
    plan = schema["$defs"]["BenchPlan"] if "$defs" in schema else schema
    plan["additionalProperties"] = True
    return schema


def waivers_schema() -> dict[str, Any]:
    """Return the schema of `speccheck-waivers/1`."""
    schema = schema_of(Waivers)
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


def faults_schema() -> dict[str, Any]:
    """Return the schema of `speccheck-faults/1`."""
    schema = schema_of(FaultPlan)
    entry = schema["$defs"]["Planted"]
    entry["properties"]["fault"]["enum"] = [*FAULTS]
    entry["oneOf"] = [{"required": [way]} for way in ("nodes", "share", "count")]
    return schema


_DOCUMENTS: dict[str, type[Any]] = {
    "baseline": Baseline,
    "certificate-table": CertificateTable,
    "coverage": CoverageDocument,
    "diff": DiffDocument,
    "document-diff": DocumentDiff,
    "edition-diff": EditionDiff,
    "evidence": EvidenceDocument,
    "fleet": FleetDocument,
    "fleet-profile": FleetProfile,
    "history": HistoryDocument,
    "list": ListDocument,
    "node-result": NodeResultDocument,
    "plan": PlanDocument,
    "report": Report,
    "tailoring": Tailoring,
    "telemetry": TelemetryDocument,
}
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "bench-judgement": partial(bench_schema, BenchJudgement),
    "bench-plan": partial(bench_schema, BenchPlan),
    "certificate": certificate_schema,
    "faults": faults_schema,
    "native": native_schema,
    "report-lines": report_lines_schema,
    "settings": settings_schema,
    "snapshot": snapshot_schema,
    "waivers": waivers_schema,
    **{name: partial(schema_of, shape) for name, shape in _DOCUMENTS.items()},
}


def schema_text(name: str) -> str:
    """Return a schema as the text of its file."""
    return json.dumps(SCHEMAS[name](), indent=2) + "\n"


def write_all(folder: Path) -> None:
    """Write every schema to its file."""
    for name in SCHEMAS:
        (folder / f"{name}.schema.json").write_text(schema_text(name), "utf-8")


if __name__ == "__main__":
    write_all(Path(__file__).resolve().parents[1] / "schemas" / "json")

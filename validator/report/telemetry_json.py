"""What the logs of a run hold and what is judged of it, `speccheck-telemetry/1`.

Fields are only ever added.
"""

import json
from collections.abc import Iterator

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.measurements.telemetry import MeasuredTelemetry
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.json_report import (
    finding_data,
    is_told,
    verdict_data,
)
from speccheck.validator.report.telemetry_text import core_metrics, telemetry_of

SCHEMA = "speccheck-telemetry/1"


def telemetry_json(context: ReportContext) -> str:
    """The whole document; `full` adds findings that hold or do not apply."""
    run = context.run
    document = {
        "schema": SCHEMA,
        **verdict_data(context),
        "files": [
            {
                "path": file.path,
                "format": file.format or None,
                "status": file.state,
                "message": file.message or None,
            }
            for file in run.files
        ],
        "telemetry": [
            {
                **_rows(one),
                "core_metrics": [
                    {**core._asdict(), "stood_in": list(core.stood_in)}
                    for core in core_metrics(run.edition, one)
                ],
            }
            for one in telemetry_of(run)
        ],
        "findings": [
            {**finding_data(located, run.edition.id), "plan": index}
            for index, plan in enumerate(run.plans)
            for located in plan.findings
            if context.full or is_told(located.finding)
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rows(telemetry: MeasuredTelemetry) -> dict[str, object]:
    return {
        "logs": [dict(_plain(one._asdict())) for one in telemetry.logs],
        "metrics": [dict(_plain(one._asdict())) for one in telemetry.metrics],
        "other_names": [dict(_plain(one._asdict())) for one in telemetry.others],
        "events": [dict(_plain(one._asdict())) for one in telemetry.events],
        "drills": [dict(_plain(one._asdict())) for one in telemetry.drills],
    }


def _plain(row: dict[str, object]) -> Iterator[tuple[str, object]]:
    """The fields without secrets; lists as JSON has them."""
    for name, value in row.items():
        if isinstance(value, str):
            yield name, hidden(value)
        elif isinstance(value, tuple):
            yield name, [hidden(str(one)) for one in value]
        else:
            yield name, value

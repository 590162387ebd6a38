"""Schemas of reports that others read, from the fields that they publish."""

from typing import Any

_TEXT = {"type": "string", "minLength": 1}
_LINE = {"type": "integer", "minimum": 1}


def _object(required: str, **properties: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


# docs.gitlab.com, Code Quality report format; a path has no ./ in front.
GITLAB: dict[str, Any] = {
    "type": "array",
    "items": _object(
        "description check_name fingerprint severity location",
        description=_TEXT,
        check_name=_TEXT,
        fingerprint={"type": "string", "pattern": "^[0-9a-f]{32}$"},
        severity={"enum": ["info", "minor", "major", "critical", "blocker"]},
        location=_object(
            "path lines",
            path={"type": "string", "pattern": r"^(?!\./)."},
            lines=_object("begin", begin=_LINE),
        ),
    ),
}
# reviewdog/proto/rdf/reviewdog.proto: DiagnosticResult.
_POSITION = _object("line", line=_LINE, column=_LINE)
_SEVERITY = {"enum": ["ERROR", "WARNING", "INFO"]}
RDJSON = _object(
    "diagnostics",
    source=_object("name", name=_TEXT, url=_TEXT),
    severity=_SEVERITY,
    diagnostics={
        "type": "array",
        "items": _object(
            "message location severity code",
            message=_TEXT,
            location=_object(
                "path",
                path=_TEXT,
                range=_object("start", start=_POSITION, end=_POSITION),
            ),
            severity=_SEVERITY,
            code=_object("value", value=_TEXT, url=_TEXT),
            suggestions={
                "type": "array",
                "minItems": 1,
                "items": _object(
                    "range text",
                    range=_object("start end", start=_POSITION, end=_POSITION),
                    text={"type": "string"},
                ),
            },
        ),
    },
)

"""SARIF logs, held to the schema of OASIS and to what GitHub takes in."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from corpus import SHARED

_NAME = "sarif-schema-2.1.0.json"
_CACHE = Path(__file__).resolve().parents[1] / ".schemas" / _NAME


@cache
def schema() -> jsonschema.Draft4Validator | None:
    """Return the schema of OASIS, from beside the checkout or from the cache."""
    beside = SHARED / "corpus" / "schemas" / _NAME if SHARED else _CACHE
    path = next((item for item in (_CACHE, beside) if item.is_file()), None)
    if path is None:
        return None
    return jsonschema.Draft4Validator(json.loads(path.read_text("utf-8")))


def run_of(log: Any) -> Any:  # noqa: ANN401 - a document
    """Return the only run of a log that holds to the schema, if that is at hand."""
    validator = schema()
    if validator is not None:
        found = validator.iter_errors(log)
        wrong = [f"{finding.json_path}: {finding.message}" for finding in found]
        assert not wrong
    (only,) = log["runs"]
    limits(only)
    return only


def limits(run: Any) -> None:  # noqa: ANN401
    """Assert what GitHub asks for beyond the schema."""
    rules = run["tool"]["driver"]["rules"]
    names = [rule["id"] for rule in rules]
    assert len(set(names)) == len(names)
    for rule in rules:
        assert rule["help"]["text"]
        assert rule["help"]["markdown"].startswith(f"# {rule['id']}")
        assert len(rule["fullDescription"]["text"]) <= 1024
        assert len(rule["properties"]["tags"]) <= 10
        assert "helpUri" not in rule  # there is no address to give
    fingerprints = []
    for row in run["results"]:
        assert names[row["ruleIndex"]] == row["ruleId"]
        assert len(row.get("relatedLocations", ())) < 100
        for place in (*row["locations"], *row.get("relatedLocations", ())):
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert uri
            assert " " not in uri
        fingerprints += [
            item["speccheckFinding/v1"]
            for item in [row.get("partialFingerprints")]
            if item
        ]
    assert len(set(fingerprints)) == len(fingerprints)

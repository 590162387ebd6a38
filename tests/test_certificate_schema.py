"""`speccheck schema certificate`: the envelope, and the statement in its payload."""

import json
from typing import Any

import jsonschema
import pytest

from certificate_sample import certificate, predicate
from signed_files import envelope, fields_of, payload_of
from speccheck.validator.cli.main import main


@pytest.fixture
def schema(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["schema", "certificate"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def errors(schema: dict[str, Any], value: Any) -> list[str]:  # noqa: ANN401
    validator = jsonschema.Draft202012Validator(schema)
    return [
        f"{item.json_path}: {item.message}" for item in validator.iter_errors(value)
    ]


def statement_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that the payload names, with the definitions that it needs."""
    named = schema["properties"]["payload"]["contentSchema"]
    return {**named, "$defs": schema["$defs"]}


def test_a_certificate_is_valid_with_its_payload(schema: dict[str, Any]) -> None:
    content = envelope(certificate())
    assert errors(schema, fields_of(content)) == []
    assert errors(statement_of(schema), payload_of(content)) == []


def test_other_envelopes_are_not(schema: dict[str, Any]) -> None:
    fields = fields_of(envelope())
    for other in (
        {**fields, "more": 1},
        {**fields, "payloadType": "application/json"},
        {**fields, "signatures": []},
        {**fields, "signatures": fields["signatures"] * 2},
        {**fields, "signatures": [{**fields["signatures"][0], "keyid": ""}]},
        {**fields, "signatures": [{**fields["signatures"][0], "sig": "QUJD"}]},
    ):
        assert errors(schema, other)


def test_other_statements_are_not(schema: dict[str, Any]) -> None:
    statement = payload_of(envelope(certificate()))
    of = statement_of(schema)
    subject = statement["subject"][0]
    for other in (
        {**statement, "_type": "https://in-toto.io/Statement/v0.1"},
        {**statement, "predicateType": "urn:speccheck:certificate:v2"},
        {**statement, "subject": []},
        {**statement, "subject": [{**subject, "digest": {"sha256": "ab"}}]},
        {**statement, "predicate": predicate(run_id=None)},
        {**statement, "predicate": predicate(more=1)},
    ):
        assert errors(of, other)

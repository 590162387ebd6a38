"""The published JSON Schemas: generated, valid, and of one mind with the reader."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from json_schemas import SCHEMAS, schema_text, write_all
from reader_text import read_text
from speccheck.validator.evidence.plan import leaf_names
from speccheck.validator.sources.formats.native import READER

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "schemas" / "json"
EXAMPLES = ROOT / "fixtures" / "examples" / "native"


def native_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((PUBLISHED / "native.schema.json").read_text())
    return schema


def errors(text: str) -> list[str]:
    """Return the keys that the schema refuses, as dotted paths."""
    validator = jsonschema.Draft202012Validator(native_schema())
    found = validator.iter_errors(yaml.safe_load(text))
    return sorted(
        ".".join(str(part) for part in finding.absolute_path) for finding in found
    )


def test_the_published_schemas_are_the_generated_ones(tmp_path: Path) -> None:
    write_all(tmp_path)
    written = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    published = {
        path.name: path.read_text("utf-8") for path in PUBLISHED.glob("*.json")
    }
    assert written == published


@pytest.mark.slow
def test_a_schema_is_valid_itself() -> None:
    draft = jsonschema.Draft202012Validator
    form = draft(draft.META_SCHEMA)
    wrong = [
        f"{name}: {error.message}"
        for name in SCHEMAS
        for error in form.iter_errors(json.loads(schema_text(name)))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_schema_has_every_leaf_of_the_plan() -> None:
    sections = native_schema()["properties"]
    named = {
        f"{section}.{leaf}"
        for section, block in sections.items()
        for leaf in block.get("properties", {})
    }
    assert named == set(leaf_names())


def test_examples_validate() -> None:
    refused = {
        path.stem: errors(path.read_text(encoding="utf-8"))
        for path in EXAMPLES.iterdir()
    }
    # One of them misspells a key on purpose.
    assert refused.pop("size-m-fails") == ["communication"]
    assert refused == {name: [] for name in refused}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("cluster: {nodes: 4}\n", ""),
        ("speccheck: 2\n", "speccheck"),
        ("speccheck: 1\ncluster: {nodes: four}\n", "cluster.nodes"),
        ("speccheck: 1\ncluster: {nodes: '4'}\n", "cluster.nodes"),
        ("speccheck: 1\ncluster: {nodes: 2.5}\n", "cluster.nodes"),
        ("speccheck: 1\ncluster: {node: 4}\n", "cluster"),
        ("speccheck: 1\nclusters: {}\n", ""),
        ("speccheck: 1\nbatch: 4\n", "batch"),
        ("speccheck: 1\nprecision: {bf16: 1}\n", "precision.bf16"),
        ("speccheck: 1\nprecision: {bf16: 'yes'}\n", "precision.bf16"),
        ("speccheck: 1\ntelemetry: {sinks: wandb}\n", "telemetry.sinks"),
        ("speccheck: 1\ntelemetry: {sinks: [1]}\n", "telemetry.sinks.0"),
        ("speccheck: 1\ncheckpoint: {directory: [a]}\n", "checkpoint.directory"),
        ("speccheck: 1\nenvironment: [A=1]\n", "environment"),
        ("speccheck: 1\nenvironment: {A: [1]}\n", "environment.A"),
    ],
)
def test_a_wrong_file_does_not_validate(text: str, at: str) -> None:
    assert errors(text) == [at]


@pytest.mark.parametrize(
    "text",
    [
        "speccheck: 1\n",
        "speccheck: 1\ncluster: {nodes: 4, compute_capability: 9.0}\n",
        "speccheck: 1\ncluster: {compute_capability: '9.0'}\n",
        "speccheck: 1\nmodel: {parameters: 7000000000}\nrun: {hours: 5}\n",
        "speccheck: 1\nenvironment: {A: 1, B: x, C: true, D: 0.5}\n",
        "speccheck: 1\nparallelism: {shard_size: -1}\n",
    ],
)
def test_what_the_schema_takes_the_reader_takes(text: str) -> None:
    assert errors(text) == []
    keyed = read_text(READER, text, "config.yaml").reading.keyed
    assert keyed is not None
    assert keyed.loaded_as == ()

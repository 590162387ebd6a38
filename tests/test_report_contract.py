"""`speccheck-report/1` is a promise: fields are added, none goes or becomes another.

tests/data/report-1-fields.json holds the fields that were promised. It only grows: run
`python tests/test_report_contract.py` after a field was added.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import schema_text
from speccheck.validator.cli.main import main
from told_runs import COMMENT, text_of, told

PROMISED = Path(__file__).parent / "data" / "report-1-fields.json"
SCHEMA: dict[str, Any] = json.loads(schema_text("report"))
WHOLE = jsonschema.Draft202012Validator(SCHEMA)
BROKEN_BATCH = """{
  "train_batch_size": 500,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8
}
"""


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield each field by its path, with the types and words that it may have."""
    schema = resolved(schema)
    kinds: set[str] = set()
    for item in map(resolved, schema.get("anyOf", [schema])):
        if "enum" in item or "const" in item:
            words = item.get("enum", [item.get("const")])
            kinds.update(json.dumps(word) for word in words)
        else:
            kinds.add(item.get("type", "any"))
        for name, field in item.get("properties", {}).items():
            yield from fields(field, f"{path}.{name}".lstrip("."))
        if "items" in item:
            yield from fields(item["items"], f"{path}[]")
        if isinstance(item.get("additionalProperties"), dict):
            yield from fields(item["additionalProperties"], f"{path}.*")
    if path:
        yield path, sorted(kinds)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    found: dict[str, Any] = SCHEMA["$defs"][name] if name else schema
    return found


def promised() -> dict[str, list[str]]:
    found: dict[str, str] = json.loads(PROMISED.read_text("utf-8"))
    return {path: kinds.split(" | ") for path, kinds in found.items()}


def test_no_promised_field_goes_or_changes_its_type() -> None:
    now = dict(fields(SCHEMA))
    for path, kinds in promised().items():
        assert path in now, f"{path} is promised and is gone"
        words = [kind for kind in kinds if kind.startswith('"')]
        types = [kind for kind in kinds if not kind.startswith('"')]
        assert types == [kind for kind in now[path] if not kind.startswith('"')], path
        assert set(words) <= set(now[path]), f"{path} lost a word"


def test_every_field_is_promised() -> None:
    missing = dict(fields(SCHEMA)).keys() - promised().keys()
    assert not missing, "run python tests/test_report_contract.py"


def test_every_field_of_the_schema_is_required() -> None:
    objects = [SCHEMA, *SCHEMA["$defs"].values()]
    for item in objects:
        if "properties" in item:
            assert sorted(item["required"]) == sorted(item["properties"])
            assert item["additionalProperties"] is False


def document(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    code = main([*words, "--output", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == code
    return found


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, ["ds.json", "--select", "CONF-001"]),
        (1, ["ds.json"]),
        (1, ["."]),
        (2, ["broken.json"]),
        (2, ["absent.json"]),
        (2, ["ds.json", "broken.json"]),
        (2, ["ds.json", "--gpu", "Voodoo2"]),
        (2, ["ds.json", "--no-such-option"]),
        (3, ["empty"]),
        (3, ["ds.json", "--select", "MEM-001"]),
    ],
)
def test_every_ending_has_every_field(
    code: int,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    if "." not in words:
        Path("broken.json").write_text('{"train_batch_size": ')
    Path("empty").mkdir()
    found = document(words, capsys)
    assert found["exit_code"] == code
    WHOLE.validate(found)
    assert list(found) == list(SCHEMA["properties"])


def test_a_bug_of_ours_has_every_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)

    def broken(_: object) -> None:
        message = "a bug that a test made"
        raise ZeroDivisionError(message)

    monkeypatch.setattr("speccheck.validator.cli.plain.run", broken)
    found = document(["ds.json"], capsys)
    assert found["exit_code"] == 4
    WHOLE.validate(found)


def test_waived_and_broken_findings_have_every_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    item = told("ds.json", waive={"BATCH-001": COMMENT})
    found = json.loads(text_of("json", item))
    WHOLE.validate(found)
    (waived,) = (row for row in found["findings"] if row["waived"])
    assert waived["outcome"] == "fail"
    assert waived["waiver"] == {
        "kind": "comment",
        "file": "ds.json",
        "key": "",
        "line": 3,
        "reason": "the sweep sets it",
        "until": "2027-01-31",
        "owner": "ada",
        "ticket": "TRAIN-7",
    }
    assert found["summary"]["waived"] == 1


@pytest.mark.parametrize("example", ["faulty-node", "slow-all-reduce/all_reduce.log"])
def test_machines_and_measurements_have_every_field(
    example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(__file__).resolve().parents[1] / "fixtures" / "examples"
    found = document([os.fspath(folder / example), "--full"], capsys)
    WHOLE.validate(found)


def write() -> None:
    """Promise the fields that there are now, beside those that were promised."""
    known = promised() if PROMISED.exists() else {}
    for path, kinds in fields(SCHEMA):
        known[path] = sorted({*known.get(path, ()), *kinds})
    lines = {path: " | ".join(kinds) for path, kinds in sorted(known.items())}
    text = json.dumps(lines, indent=1)
    PROMISED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()

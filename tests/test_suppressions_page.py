"""docs/suppressions.md: its examples are run, its waivers file is the schema's."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from speccheck.validator.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "suppressions.md"
CONFIG = """{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "scheduler": {"type": "WarmupDecayLR", "params": {
    "warmup_num_steps": 20000, "total_num_steps": 15000}},
  "zero_optimization": {"stage": 2}
}
"""


def blocks(language: str) -> list[str]:
    """Return the examples of a language, in order."""
    text = PAGE.read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main([*words, "--output", "json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.fixture(autouse=True)
def _in_november(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795348800")


def test_the_comments_of_the_page_waive_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("config.yaml").write_text(blocks("yaml")[0])
    options = ("--nodes", "4", "--gpus-per-node", "8", "--hours", "48")
    document = report(capsys, "config.yaml", *options)
    waived = {
        finding["clause"]: finding["waiver"]
        for finding in document["findings"]
        if finding["waived"]
    }
    assert {"CONF-011"} <= set(waived)
    assert waived["CONF-011"]["reason"] == "resumed with 5,000 more steps"
    of_waivers = [
        finding["message"]
        for finding in document["findings"]
        if finding["outcome"] == "fail" and finding["clause"] >= "CONF-080"
        if finding["clause"].startswith("CONF-08")
    ]
    assert of_waivers == []


def test_the_waivers_file_of_the_page_is_valid_and_waives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = blocks("yaml")[1]
    schema = json.loads((ROOT / "schemas/json/waivers.schema.json").read_text("utf-8"))
    document = json.loads(json.dumps(yaml.safe_load(text), default=str))
    jsonschema.validate(document, schema)
    Path("configs").mkdir()
    Path("configs/ds.json").write_text(CONFIG)
    Path("waivers.yaml").write_text(text)
    document = report(capsys, ".", "--waivers", "waivers.yaml")
    (item,) = [
        finding for finding in document["findings"] if finding["outcome"] == "fail"
    ]
    assert (item["clause"], item["waived"]) == ("CONF-011", True)
    assert item["waiver"]["ticket"] == "TRAIN-7"
    assert document["summary"]["waived"] == 1
    assert document["reason"].endswith("required checks; 1 waived")


def test_the_commands_of_the_page_adopt_a_project(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("configs").mkdir()
    Path("configs/ds.json").write_text(CONFIG)
    codes = [
        main(line.split()[1:])
        for line in blocks("bash")[0].splitlines()
        if line.startswith("speccheck ")
    ]
    assert codes == [0, 0]
    assert "1 waived" in capsys.readouterr().out

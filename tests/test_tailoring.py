"""Own numbers: they count, are told everywhere, and hide nothing."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from reported_fleets import healthy_fleet, kept
from speccheck.validator.certification.certificate_model import Tailored
from speccheck.validator.cli.main import main
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.judges import edition_of
from speccheck.validator.engine.request import Request
from speccheck.validator.engine.tailoring import tailored

OWN = """schema: speccheck-tailoring/1
tailoring:
  - clause: CKPT-001
    number: max_unsaved
    value: {value}
    unit: h
    reason: the night queue is cheap
    owner: training@example.com
    expires: {expires}
"""
SFT = """model_name_or_path: mistralai/Mistral-7B-v0.3
output_dir: /ckpt/mistral
per_device_train_batch_size: 4
learning_rate: 2.0e-5
num_train_epochs: 3
bf16: true
logging_steps: 10
save_strategy: "no"
"""
JOB = ("sft.yaml", "--nodes", "1", "--gpus-per-node", "8")
LOOSENED = (
    "tailored, max_unsaved 12 h instead of 1 h; loosened: by the edition's own number "
    "it fails: nothing is saved in a run of 6 h; runs longer than 1 h need periodic "
    "checkpoints"
)
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a run that saves nothing, and own numbers on the 22nd of November 2026."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795348800")
    (tmp_path / "sft.yaml").write_text(SFT)

    def written(value: object = 12, expires: str = "2027-01-31") -> None:
        text = OWN.format(value=value, expires=expires)
        (tmp_path / "own.yaml").write_text(text)

    written()
    return written


def judged(
    capsys: pytest.CaptureFixture[str], *words: str, form: str = "json"
) -> tuple[int, str]:
    code = main([*JOB, *words, "--output", form])
    return code, capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(judged(capsys, *words)[1])
    return found


def saving(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in found["findings"] if finding["clause"] == "CKPT-001"]


@pytest.mark.usefixtures("write")
def test_what_the_edition_fails_and_an_own_number_does_not_is_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (failed,) = saving(document(capsys, "--hours", "6"))
    assert (failed["outcome"], failed["loosened"]) == ("fail", False)
    found = document(capsys, "--hours", "6", "--tailor", "own.yaml")
    (item,) = saving(found)
    assert (item["outcome"], item["loosened"]) == ("not_applicable", True)
    assert item["note"] == LOOSENED
    assert found["summary"]["loosened"] == 1
    assert found["reason"] == (
        "nothing wrong found in 9 of 12 required checks; 1 loosened by tailoring"
    )
    assert found["edition"]["sha256"] == load_edition().sha256
    assert found["edition"]["tailoring"] == [
        {
            "clause": "CKPT-001",
            "number": "max_unsaved",
            "edition_value": 1,
            "own_value": 12,
            "unit": "h",
            "reason": "the night queue is cheap",
            "owner": "training@example.com",
            "expires": "2027-01-31",
        }
    ]


@pytest.mark.usefixtures("write")
def test_what_fails_by_both_numbers_is_no_more_than_a_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, "--hours", "20", "--tailor", "own.yaml")
    (item,) = saving(found)
    assert (item["outcome"], item["loosened"]) == ("fail", False)
    assert "runs longer than 12 h" in item["message"]
    assert found["summary"]["loosened"] == 0


def test_what_fails_by_an_own_number_alone_says_so(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    write(0.25)
    (item,) = saving(document(capsys, "--hours", "0.5", "--tailor", "own.yaml"))
    assert item["outcome"] == "fail"
    assert item["note"].endswith(
        "tailored, max_unsaved 0.25 h instead of 1 h; by the edition's own number it "
        "does not fail"
    )


def test_an_expired_number_has_no_effect_and_is_told(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    write(12, "2026-11-21")
    found = document(capsys, "--hours", "6", "--tailor", "own.yaml")
    (warning,) = found["warnings"]
    assert warning == (
        "own.yaml:3:5: CKPT-001 max_unsaved: expired on 2026-11-21 (UTC) and has no "
        "effect: the edition's own number counts; renew or delete the entry"
    )
    assert found["edition"]["tailoring"] == []
    assert [item["outcome"] for item in saving(found)] == ["fail"]


def test_it_counts_on_its_last_day(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    write(12, "2026-11-22")
    found = document(capsys, "--hours", "6", "--tailor", "own.yaml")
    assert (found["summary"]["loosened"], found["warnings"]) == (1, [])


def test_settings_name_the_file_beside_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, write: Write
) -> None:
    write()
    (tmp_path / "conf").mkdir()
    (tmp_path / "own.yaml").rename(tmp_path / "conf" / "own.yaml")
    (tmp_path / "speccheck.toml").write_text('tailoring = "conf/own.yaml"\n')
    found = document(capsys, "--hours", "6")
    assert found["summary"]["loosened"] == 1
    without = document(capsys, "--hours", "6", "--isolated")
    assert without["summary"]["loosened"] == 0


@pytest.mark.usefixtures("write")
def test_the_file_is_no_training_configuration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main([".", "--hours", "6", "--tailor", "own.yaml", "--output", "json"])
    found = json.loads(capsys.readouterr().out)
    assert [file["path"] for file in found["files"]] == ["sft.yaml"]


@pytest.mark.usefixtures("write")
@pytest.mark.parametrize(
    "form", ["text", "json", "jsonl", "markdown", "html", "sarif", "junit"]
)
def test_every_form_tells_the_number_its_reason_and_what_it_loosens(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    _, text = judged(capsys, "--hours", "6", "--tailor", "own.yaml", form=form)
    flat = " ".join(text.replace("\\\\", "").replace("`", "").split())
    assert "max_unsaved" in flat
    assert "the night queue is cheap" in flat
    assert "training@example.com" in flat
    assert "2027-01-31" in flat
    assert "it fails: nothing is saved in a run of 6 h" in flat.replace("&#x27;", "'")
    if form in {"text", "markdown", "html", "junit"}:
        assert "1 number is tailored" in flat
    _, plain = judged(capsys, "--hours", "6", form=form)
    assert "1 number is tailored" not in plain


@pytest.mark.usefixtures("write")
def test_a_table_counts_the_numbers_and_marks_the_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, text = judged(capsys, "--hours", "6", "--tailor", "own.yaml", form="csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["tailored_numbers"] for row in rows} == {"1"}
    marked = [row["clause"] for row in rows if row["loosened"] == "yes"]
    assert marked == ["CKPT-001"]


@pytest.mark.usefixtures("write")
def test_what_is_loosened_is_no_passed_test_case(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, text = judged(capsys, "--hours", "6", "--tailor", "own.yaml", form="junit")
    cases = ET.fromstring(text).iter("testcase")  # noqa: S314 - our own report
    (case,) = (item for item in cases if item.get("name") == "CKPT-001 checkpoints_off")
    (skipped,) = case
    assert (skipped.tag, skipped.get("message")) == ("skipped", f"loosened: {LOOSENED}")


@pytest.mark.usefixtures("write")
def test_sarif_lists_own_numbers_with_the_edition(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, text = judged(capsys, "--hours", "6", "--tailor", "own.yaml", form="sarif")
    (run,) = json.loads(text)["runs"]
    (own,) = run["properties"]["edition"]["tailoring"]
    assert (own["clause"], own["own_value"]) == ("CKPT-001", 12)


@pytest.mark.usefixtures("write")
def test_a_certificate_gets_what_its_shape_asks_for() -> None:
    (row,) = tailored(edition_of(Request((), tailoring="own.yaml")))
    assert Tailored.model_validate(row).own_value == 12
    assert tailored(edition_of(Request(()))) == []


def test_a_table_over_nodes_and_a_name_can_be_tailored(
    capsys: pytest.CaptureFixture[str], write: Write, tmp_path: Path
) -> None:
    write()
    common = {"reason": "measured here", "owner": "net", "expires": "2027-01-31"}
    rows: list[dict[str, object]] = [
        {"clause": "COMM-001", "number": "crossover", "value": 2**20, "unit": "B"},
        {"clause": "COMM-014", "number": "max_level", "value": "INFO", "unit": "name"},
        {"clause": "HW-128", "number": "services", "value": ["pbsd"], "unit": "list"},
    ]
    entries = [{**row, **common} for row in rows]
    text = yaml.safe_dump({"schema": "speccheck-tailoring/1", "tailoring": entries})
    (tmp_path / "own.yaml").write_text(text)
    found = document(capsys, "--tailor", "own.yaml")
    result = [
        (o["edition_value"], o["own_value"]) for o in found["edition"]["tailoring"]
    ]
    assert result == [
        (None, 1048576),
        ("WARN", "INFO"),
        ("slurmd, kubelet", "pbsd"),
    ]


def own_limit(tmp_path: Path) -> str:
    path = tmp_path / "limits.yaml"
    path.write_text(
        "schema: speccheck-tailoring/1\ntailoring:\n"
        "  - {clause: HW-070, number: limit_min, value: 2048, unit: count,\n"
        "     reason: one process a GPU, owner: ops, expires: 2027-01-31}\n"
    )
    return str(path)


@pytest.mark.usefixtures("write")
def test_machines_are_judged_by_own_numbers_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fleet = healthy_fleet(3)
    for node in fleet.values():
        node["host"]["open_files"] = 4096
    folder = kept(str(tmp_path / "fleet"), fleet)
    words = ["fleet", folder, "--expect", "3", "--tailor", own_limit(tmp_path)]
    main([*words, "--output", "json"])
    found = json.loads(capsys.readouterr().out)
    assert [item["clause"] for item in found["edition"]["tailoring"]] == ["HW-070"]
    (loosened,) = found["loosened"]
    assert (loosened["clause"], len(loosened["nodes"])) == ("HW-070", 3)
    assert "HW-070" not in {finding["clause"] for finding in found["findings"]}
    main(words)
    text = " ".join(capsys.readouterr().out.split())
    assert "1 number is tailored" in text
    assert "one process a GPU (ops, until 2027-01-31)" in text
    assert "loosened HW-070" in text


@pytest.mark.usefixtures("write")
def test_the_snapshot_of_a_machine_is_judged_by_them_alone_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (node,) = healthy_fleet(1).values()
    node["host"]["open_files"] = 4096
    (tmp_path / "node.json").write_text(json.dumps(node))
    words = ["node.json", "--profile", "preflight", "--tailor", own_limit(tmp_path)]
    main([*words, "--output", "json"])
    found = json.loads(capsys.readouterr().out)
    (item,) = (finding for finding in found["findings"] if finding["loosened"])
    assert (item["rule"], item["outcome"]) == ("process_limits_low", "pass")
    assert (item["measured"], item["required"]) == (4096, 2048)
    assert "4,096 open files are allowed" in item["note"]


EXAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "examples"


@pytest.mark.usefixtures("write")
@pytest.mark.parametrize("example", ["faulty-node", "several-files"])
def test_an_own_number_that_is_the_editions_changes_no_finding(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, example: str
) -> None:
    common = {"reason": "the same", "owner": "o", "expires": "2027-01-31"}
    rows = []
    for clause in load_edition().clauses.values():
        for name, number in clause.numbers.items():
            if number.value is None or number.by_profile:
                continue
            same = number.value
            value = [*same] if isinstance(same, tuple) else same
            row = {"clause": clause.id, "number": name, "value": value}
            rows.append({**row, "unit": number.unit.name, **common})
    content = {"schema": "speccheck-tailoring/1", "tailoring": rows}
    (tmp_path / "same.json").write_text(json.dumps(content))
    words = [str(EXAMPLES / example), "--full", "--output", "json"]
    main(words)
    plain = json.loads(capsys.readouterr().out)
    main([*words, "--tailor", "same.json"])
    own = json.loads(capsys.readouterr().out)
    assert len(own["edition"]["tailoring"]) == len(rows)
    assert own["findings"] == plain["findings"]
    assert own["summary"] == plain["summary"]

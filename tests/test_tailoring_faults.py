"""What is wrong in a file of own numbers: one line with file, line and remedy."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from json_schemas import SCHEMAS
from speccheck.validator.cli.main import main
from speccheck.validator.editions.edition import load_edition

ENTRY = """schema: speccheck-tailoring/1
tailoring:
  - clause: CKPT-001
    number: max_unsaved
    value: 12
    unit: h
    reason: the night queue is cheap
    owner: training@example.com
    expires: 2027-01-31
"""
CASES = {
    "value: 12|value: 30": (
        "own.yaml:5:12: tailoring[0].value: 30 h is outside what is plausible for "
        "max_unsaved: 0.25 h to 24 h"
    ),
    "value: 12|value: .nan": (
        "own.yaml:5:12: tailoring[0].value: nan h is outside what is plausible for "
        "max_unsaved: 0.25 h to 24 h"
    ),
    "value: 12|value: -.inf": (
        "own.yaml:5:12: tailoring[0].value: -inf h is outside what is plausible for "
        "max_unsaved: 0.25 h to 24 h"
    ),
    "value: 12|value: twelve": (
        "own.yaml:5:12: tailoring[0].value: 'twelve' is no number; a power of ten "
        "needs a point: 1.0e+9"
    ),
    "value: 12|value: true": (
        "own.yaml:5:12: tailoring[0].value: True is no number; a power of ten needs a "
        "point: 1.0e+9"
    ),
    "    value: 12\n|": (
        "own.yaml:3:5: tailoring[0]: value is missing: the own number"
    ),
    "unit: h|unit: s": (
        "own.yaml:6:11: tailoring[0].unit: max_unsaved is in h, not in s: write the "
        "value in that unit, and unit: h"
    ),
    "CKPT-001|CKPT-01": (
        "own.yaml:3:13: tailoring[0].clause: edition 1.1 has no clause CKPT-01: did "
        "you mean CKPT-001?"
    ),
    "max_unsaved|max_usaved": (
        "own.yaml:4:13: tailoring[0].number: CKPT-001 has no number max_usaved: did "
        "you mean max_unsaved?"
    ),
    "CKPT-001|CKPT-004": (
        "own.yaml:4:13: tailoring[0].number: CKPT-004 has no number max_unsaved: it "
        "has none"
    ),
    "2027-01-31|next year": (
        "own.yaml:9:14: tailoring[0].expires: next year is no date such as 2027-01-31"
    ),
    "    expires: 2027-01-31\n|": (
        "own.yaml:3:5: tailoring[0]: expires is missing: the last day (UTC), such as "
        "2027-01-31"
    ),
    "the night queue is cheap|' '": (
        "own.yaml:7:13: tailoring[0].reason: must be a text that says it"
    ),
    "reason|reson": (
        "own.yaml:7:5: tailoring[0].reson: no field reson: did you mean reason?"
    ),
    "tailoring/1|tailoring/2": (
        "own.yaml:1:1: no file of own numbers: write schema: speccheck-tailoring/1 at "
        "its top"
    ),
    "speccheck-tailoring/1\ntailoring:|speccheck-tailoring/1\ntailoring: 3\nx:": (
        "own.yaml:3:1: x: no field x: there are schema, tailoring"
    ),
    "training@example.com|3": (
        "own.yaml:8:12: tailoring[0].owner: must be a text that says it"
    ),
}


@pytest.fixture(autouse=True)
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795348800")
    Path("env.sh").write_text("export NCCL_ALGO=Ring\n")


def refused(capsys: pytest.CaptureFixture[str], text: str) -> str:
    Path("own.yaml").write_text(text)
    code = main(["env.sh", "--tailor", "own.yaml"])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    return err.removeprefix("speccheck: ").removesuffix("\n")


@pytest.mark.parametrize("change", CASES)
def test_a_fault_is_one_line_with_its_place(
    capsys: pytest.CaptureFixture[str], change: str
) -> None:
    old, new = change.split("|")
    assert old in ENTRY
    assert refused(capsys, ENTRY.replace(old, new)) == CASES[change]


def test_a_number_stands_once(capsys: pytest.CaptureFixture[str]) -> None:
    twice = ENTRY + ENTRY.partition("tailoring:\n")[2]
    assert refused(capsys, twice) == (
        "own.yaml:11:13: tailoring[1].number: CKPT-001 max_unsaved stands twice, also "
        "in [0]"
    )


@pytest.mark.parametrize(
    ("clause", "number", "value", "unit", "says"),
    [
        ("HW-070", "limit_min", 2048.5, "count", "2048.5 must be a whole number of"),
        ("FAB-034", "looking_release", "new", "version", "new is no release such as"),
        ("FAB-034", "looking_release", 2.2, "version", "must be a text in quotes"),
        ("FAB-008", "pfc_mask", "8", "priority mask", "8 is no mask of eight digits"),
        ("HW-128", "services", [], "list", "must be a list of 1 to 200 texts"),
        ("HW-128", "services", "slurmd", "list", "must be a list of 1 to 200 texts"),
    ],
)
def test_a_value_is_held_to_its_unit(
    capsys: pytest.CaptureFixture[str],
    clause: str,
    number: str,
    value: object,
    unit: str,
    says: str,
) -> None:
    row: dict[str, Any] = {"clause": clause, "number": number, "value": value}
    row |= {"unit": unit, "reason": "r", "owner": "o", "expires": "2027-01-31"}
    text = yaml.safe_dump({"schema": "speccheck-tailoring/1", "tailoring": [row]})
    assert f"value: {says}" in refused(capsys, text)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1, 2]", "\x00", "a: &a [*a, *a]\n", "- " * 5000, "tailoring: []\n"],
)
def test_what_is_no_such_file_is_refused(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert refused(capsys, text).startswith("own.yaml")


def test_a_missing_file_and_a_folder_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("none.yaml", "."):
        assert main(["env.sh", "--tailor", name]) == 2
        assert name in capsys.readouterr().err


def test_terminal_escapes_of_a_reason_reach_no_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = ENTRY.replace("the night queue is cheap", '"a\\e[31mred\\u202E"')
    Path("own.yaml").write_text(text)
    main(["env.sh", "--tailor", "own.yaml"])
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err


def test_settings_name_the_line_of_a_missing_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("speccheck.toml").write_text('tailoring = "none.yaml"\n')
    assert main(["env.sh"]) == 2
    assert "none.yaml: no such file" in capsys.readouterr().err


def test_the_schema_takes_what_is_read_and_refuses_what_is_not() -> None:
    schema = SCHEMAS["tailoring"]()
    good = yaml.safe_load(ENTRY.replace("2027-01-31", "'2027-01-31'"))
    jsonschema.validate(good, schema)
    for field in good["tailoring"][0]:
        row = {
            name: item for name, item in good["tailoring"][0].items() if name != field
        }
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**good, "tailoring": [row]}, schema)


def test_every_number_of_the_edition_may_be_tailored_to_its_own_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows: list[dict[str, Any]] = []
    common = {"reason": "r", "owner": "o", "expires": "2027-01-31"}
    for clause in load_edition().clauses.values():
        for name, number in clause.numbers.items():
            value = number.value or next(iter(number.by_profile.values()), 0)
            own = [*value] if isinstance(value, tuple) else value
            row = {"clause": clause.id, "number": name, "value": own}
            rows.append({**row, "unit": number.unit.name, **common})
    text = yaml.safe_dump({"schema": "speccheck-tailoring/1", "tailoring": rows})
    Path("own.yaml").write_text(text)
    assert main(["env.sh", "--tailor", "own.yaml"]) == 0
    assert f"{len(rows)} numbers are tailored" in capsys.readouterr().out

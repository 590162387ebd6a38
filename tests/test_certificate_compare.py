"""`speccheck certify --compare`: certificates in one table."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from certification_trials import Capture, Trial
from speccheck.validator.cli.main import main

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def monkey() -> Iterator[pytest.MonkeyPatch]:
    """Yield the patches of all tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def trial(
    tmp_path_factory: pytest.TempPathFactory, monkey: pytest.MonkeyPatch
) -> Trial:
    """Return a certificate; whoever changes it writes another file."""
    trial = Trial(tmp_path_factory.mktemp("whole"), monkey)
    assert trial.certify() == 0
    return trial


def _written(trial: Trial, name: str, change: Change) -> str:
    predicate = trial.predicate
    change(predicate)
    first = trial.certificate
    trial.certificate = first.with_name(name)
    trial.sign(predicate)
    path, trial.certificate = str(trial.certificate), first
    return path


def _row(predicate: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        measurement
        for measurement in predicate["measurements"]
        if measurement["name"] == name
    )
    return found


def _is_real(predicate: dict[str, Any]) -> None:
    predicate["synthetic"] = None


def _is_slower(predicate: dict[str, Any]) -> None:
    _is_real(predicate)
    predicate["instance_type"] = "contoso-gx8-h100"
    _row(predicate, "copies host to GPU, by copy engine")["median"] *= 0.9
    _row(predicate, "copies GPU to GPU, by copy engine")["median"] *= 0.995
    predicate["tracks"][0]["level"] = "L1"
    predicate["validity"]["not_after"] = "2025-01-01T00:00:00Z"


def _on_four_nodes(predicate: dict[str, Any]) -> None:
    _is_real(predicate)
    gather = _row(predicate, "all_gather bus bandwidth")
    gather["conditions"] |= {"nodes": 4, "ranks": 32}
    predicate["measurements"] = [
        measurement
        for measurement in predicate["measurements"]
        if "products" not in measurement["name"]
    ]


def _table(capsys: Capture, *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["certify", "--compare", *words, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def _measured(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [item for item in found["measured"] if item["name"] == name]


@pytest.mark.slow
def test_levels_and_numbers_stand_side_by_side(trial: Trial, capsys: Capture) -> None:
    real = _written(trial, "real.json", _is_real)
    slow = _written(trial, "slow.json", _is_slower)
    found = _table(capsys, real, slow)
    assert found["signatures_verified"] is False
    assert [item["instance_type"] for item in found["certificates"]] == [
        "azure-nd96isr-h100-v5",
        "contoso-gx8-h100",
    ]
    first = found["levels"][0]
    assert (first["levels"], first["best"]) == (["L3", "L1"], [0])
    assert found["levels"][1]["best"] == []  # both have L3
    (copies,) = _measured(found, "copies host to GPU, by copy engine")
    assert copies["best"] == [0]
    assert round(copies["values"][1] / copies["values"][0], 6) == 0.9
    (alike,) = _measured(found, "copies GPU to GPU, by copy engine")
    assert alike["best"] == []  # less than one percent apart


def test_what_was_made_up_is_never_best(trial: Trial, capsys: Capture) -> None:
    slow = _written(trial, "slow.json", _is_slower)
    found = _table(capsys, str(trial.certificate), slow)
    (copies,) = _measured(found, "copies host to GPU, by copy engine")
    assert copies["best"] == []
    assert found["notes"][0].startswith("A is SYNTHETIC: made by speccheck simulate")


def test_other_conditions_are_not_compared(trial: Trial, capsys: Capture) -> None:
    real = _written(trial, "real.json", _is_real)
    four = _written(trial, "four.json", _on_four_nodes)
    found = _table(capsys, real, four)
    gathers = _measured(found, "all_gather bus bandwidth")
    assert [item["conditions"]["nodes"] for item in gathers] == [4, 2]
    assert [item["best"] for item in gathers] == [[], []]
    assert [[v is None for v in item["values"]] for item in gathers] == [
        [True, False],
        [False, True],
    ]
    assert found["notes"][-2:] == [
        "products of bfloat16, 8192 x 8192 x 8192: not measured by B",
        (
            "all_gather bus bandwidth: B at 16 GiB, 4 nodes, 32 ranks; A at 16 GiB, "
            "2 nodes, 16 ranks: other conditions, not comparable"
        ),
    ]


def test_the_text_marks_without_colour(trial: Trial, capsys: Capture) -> None:
    real = _written(trial, "real.json", _is_real)
    slow = _written(trial, "slow.json", _is_slower)
    capsys.readouterr()
    assert main(["certify", "--compare", real, slow]) == 0
    out = capsys.readouterr().out
    assert "checkpoint-recovery                    L3 *           L1" in out
    assert "engine, GB/s                        54.21 *        48.79" in out
    assert "EXPIRED" in out
    assert "B expired on 2025-01-01" in out
    assert "signatures are not verified here" in out
    assert max(map(len, out.splitlines())) <= 80


def test_eight_certificates_fit_the_terminal(trial: Trial, capsys: Capture) -> None:
    paths = [_written(trial, f"{number}.json", _is_real) for number in range(8)]
    capsys.readouterr()
    assert main(["certify", "--compare", *paths]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    heads = [line.split() for line in out.splitlines() if line.startswith(" " * 34)]
    assert [item for line in heads for item in line if len(item) == 1] == [*"ABCDEFGH"]
    assert main(["certify", "--compare", *paths, paths[0] + "x"]) == 2
    assert "2 to 8 certificates, not 9" in capsys.readouterr().err


def test_markdown_is_one_table(trial: Trial) -> None:
    real = _written(trial, "real.json", _is_real)
    slow = _written(trial, "slow.json", _is_slower)
    out = trial.folder / "table.md"
    words = ["--output", f"markdown={out}"]
    assert main(["certify", "--compare", real, slow, *words]) == 0
    lines = out.read_text("utf-8").splitlines()
    assert lines[0] == "| | A azure-nd96isr-h100-v5 | B contoso-gx8-h100 |"
    assert "| checkpoint-recovery | **L3** \\* | L1 |" in lines
    assert (
        "| copies host to GPU, by copy engine, GB/s | **54.21** \\* | 48.79 |" in lines
    )
    assert "- B expired on 2025-01-01" in lines


def test_the_json_fits_its_schema(trial: Trial, capsys: Capture) -> None:
    assert main(["schema", "certificate-table"]) == 0
    schema = json.loads(capsys.readouterr().out)
    four = _written(trial, "four.json", _on_four_nodes)
    jsonschema.validate(_table(capsys, str(trial.certificate), four), schema)


def test_a_wrong_command_line_is_told(
    trial: Trial, tmp_path: Path, capsys: Capture
) -> None:
    item = str(trial.certificate)
    no_certificate = tmp_path / "none.json"
    no_certificate.write_text("{}\n", "utf-8")
    for words, result in (
        ([item], "2 to 8 certificates, not 1"),
        ([item, item], "is given twice"),
        ([item, str(no_certificate)], "none.json: "),
        ([item, str(tmp_path / "gone.json")], "gone.json: no such file"),
        ([item, item + "x", "--key", "key.pem"], "--compare takes no --key"),
        ([item, item + "x", "--output", "csv"], "must be one of text, json, markdown"),
    ):
        capsys.readouterr()
        assert main(["certify", "--compare", *words]) == 2
        found = capsys.readouterr().err
        assert result in found
        assert found.count("\n") == 1


@pytest.mark.parametrize("text", ["soon", "2027-02-20", "2027-02-20T06:00:00+09:00"])
def test_a_time_that_is_none_is_refused(
    text: str, trial: Trial, capsys: Capture
) -> None:
    def change(predicate: dict[str, Any]) -> None:
        predicate["validity"]["not_after"] = text

    wrong = _written(trial, "wrong.json", change)
    capsys.readouterr()
    assert main(["certify", "--compare", str(trial.certificate), wrong]) == 2
    assert "validity.not_after is no time in UTC" in capsys.readouterr().err

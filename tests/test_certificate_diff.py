"""`speccheck diff` of two certificates, and of two reports."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from certification_trials import KIT, Capture, Trial
from slow_cases import few
from speccheck.validator.cli.main import main


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


def _other(trial: Trial, predicate: dict[str, Any]) -> str:
    """Return another certificate beside the first, of what it says."""
    first = trial.certificate
    trial.certificate = first.with_name("other.json")
    trial.sign(predicate)
    path, trial.certificate = str(trial.certificate), first
    return path


def _compared(capsys: Capture, a: str, b: str, *more: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["diff", a, b, "--output", "json", *more]) in {0, 1}
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def _said(found: dict[str, Any], group: str) -> list[tuple[Any, ...]]:
    return [
        (item["subject"], item["change"], item["a"], item["b"])
        for item in found["differences"]
        if item["group"] == group
    ]


def test_a_certificate_is_the_same_as_its_copy(trial: Trial, capsys: Capture) -> None:
    copy = _other(trial, trial.predicate)
    found = _compared(capsys, str(trial.certificate), copy, "--exit-code")
    assert (found["kind"], found["verdict"], found["exit_code"]) == (
        "certificate",
        "same",
        0,
    )
    assert found["signatures_verified"] is False
    assert found["compared"] > 300
    assert found["differences"] == []


def test_levels_and_clauses_that_flipped_are_told(
    trial: Trial, capsys: Capture
) -> None:
    changed = trial.predicate
    clause = next(item for item in changed["clauses"] if item["clause"] == "TOPO-003")
    clause["outcome"] = "fail"
    clause["judgements"][0] |= {"outcome": "fail", "message": "17 NVLinks are up"}
    track = next(item for item in changed["tracks"] if item["track"] == "comm-topology")
    denied = {"level": "L2", "clause": "TOPO-003", "outcome": "fail"}
    track |= {"level": "L1", "denied": [{**denied, "reason": "17 NVLinks are up"}]}
    changed["clauses"][0]["level"] = "may"
    found = _compared(capsys, str(trial.certificate), _other(trial, changed))
    assert _said(found, "levels") == [("comm-topology", "fell", "L3", "L1")]
    notes = {item["subject"]: item["note"] for item in found["differences"]}
    assert notes["comm-topology"] == "TOPO-003: 17 NVLinks are up"
    assert notes["TOPO-003"] == "17 NVLinks are up"
    first = changed["clauses"][0]["clause"]
    assert _said(found, "clauses") == [
        ("TOPO-003", "changed", "pass", "fail"),
        (f"{first} level", "changed", "should", "may"),
    ]
    back = _compared(capsys, str(trial.folder / "other.json"), str(trial.certificate))
    assert _said(back, "levels") == [("comm-topology", "rose", "L1", "L3")]
    assert back["differences"][0]["note"].startswith("was denied: TOPO-003")


def test_identity_tells_first_what_ends_the_validity(
    trial: Trial, capsys: Capture
) -> None:
    changed = trial.predicate
    fields = changed["type"]["fields"]
    fields |= {"host.cores": "128", "driver.version": "580.65.06"}
    found = _compared(capsys, str(trial.certificate), _other(trial, changed))
    assert _said(found, "identity") == [
        ("driver.version", "changed", "570.133.20", "580.65.06"),
        ("host.cores", "changed", "96", "128"),
    ]
    identity = [item for item in found["differences"] if item["group"] == "identity"]
    assert [item["matters"] for item in identity] == [True, False]
    assert main(["diff", str(trial.certificate), str(trial.folder / "other.json")]) == 0
    out = capsys.readouterr().out
    assert "driver.version  570.133.20 -> 580.65.06  ends the validity" in out
    assert "signatures are not verified here" in out
    assert "SYNTHETIC" in out


@pytest.mark.parametrize(
    ("factor", "group"), [(0.8, "numbers"), (1.2, "numbers"), (0.9995, "varying")]
)
def test_numbers_count_where_they_left_their_spread(
    factor: float, group: str, trial: Trial, capsys: Capture
) -> None:
    changed = trial.predicate
    copies = changed["measurements"][0]
    assert copies["name"] == "copies host to GPU, by copy engine"
    for name in ("median", "p5", "least", "most"):
        copies[name] *= factor
    found = _compared(capsys, str(trial.certificate), _other(trial, changed))
    rows = "differences" if group == "numbers" else "varying"
    moved = next(
        finding for finding in found[rows] if finding["subject"] == copies["name"]
    )
    assert moved["group"] == group
    assert round(moved["by"], 6) == round(factor - 1, 6)
    assert moved["change"] == ("rose" if factor > 1 else "fell")


def test_one_reading_tells_no_range(trial: Trial, capsys: Capture) -> None:
    """Of a single reading four percent are nothing, and six are something."""
    for factor, count in ((0.96, 0), (0.94, 1)):
        changed = trial.predicate
        joint = next(
            measurement
            for measurement in changed["measurements"]
            if measurement["name"] == "all_gather bus bandwidth"
        )
        assert joint["count"] == 1
        for name in ("median", "p5", "least", "most"):
            joint[name] *= factor
        found = _compared(capsys, str(trial.certificate), _other(trial, changed))
        assert len(_said(found, "numbers")) == count


def test_what_it_rests_on_is_compared(trial: Trial, capsys: Capture) -> None:
    changed = trial.predicate
    gone = changed["evidence"].pop()
    changed["specimens"].pop()
    changed["edition"]["tailoring"] = [
        {
            "clause": "FT-009",
            "number": "max_seconds",
            "edition_value": 90,
            "own_value": 120,
            "reason": "larger\x1b[31m model",
            "owner": "training",
            "expires": "2027-01-31",
        }
    ]
    changed["verifier"]["tool"]["version"] = "9.9.9"
    changed["waivers"] = [
        {
            "clause": "HW-002",
            "subject": "node0002",
            "reason": "RMA is under way",
            "owner": "hardware",
            "expires": "2026-12-31",
        }
    ]
    found = _compared(capsys, str(trial.certificate), _other(trial, changed))
    assert _said(found, "evidence") == [
        (gone["path"], "went", gone["sha256"][:16], None)
    ]
    assert [item[:2] for item in _said(found, "specimens")] == [("node0002", "went")]
    assert [item[0] for item in _said(found, "judged_by")] == [
        "speccheck",
        "tailored FT-009 max_seconds",
    ]
    assert _said(found, "waivers") == [
        (
            "HW-002 node0002",
            "came",
            None,
            "RMA is under way; hardware, until 2026-12-31",
        )
    ]
    assert main(["diff", str(trial.certificate), str(trial.folder / "other.json")]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_digests_without_one_in_common_say_nothing_of_machines(
    trial: Trial, capsys: Capture
) -> None:
    changed = trial.predicate
    identity = changed["specimens"][0]["identity"]
    changed["specimens"][0]["identity"] = dict.fromkeys(identity, "hashed:00")
    # Another name of one and the same machine: its GPUs are those it had.
    changed["specimens"][1]["identity"]["host.name"] = "hashed:00"
    found = _compared(capsys, str(trial.certificate), _other(trial, changed))
    assert _said(found, "specimens") == []
    assert found["not_compared"][0].startswith("whether node0001 are the same")
    assert "node0002" not in found["not_compared"][0]


def test_the_json_fits_its_schema(trial: Trial, capsys: Capture) -> None:
    assert main(["schema", "document-diff"]) == 0
    schema = json.loads(capsys.readouterr().out)
    changed = trial.predicate
    changed["type"]["fields"]["host.cores"] = "128"
    found = _compared(capsys, str(trial.certificate), _other(trial, changed))
    jsonschema.validate(found, schema)


@pytest.fixture
def reports(tmp_path: Path, capsys: Capture) -> tuple[str, str]:
    """Return two reports on one configuration."""
    config = tmp_path / "config.yaml"
    config.write_text((KIT / "job" / "config.yaml").read_text("utf-8"), "utf-8")
    paths = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    for path in paths:
        main([str(config), "--output", f"json={path}", "--output", "text"])
    capsys.readouterr()
    return paths


def test_reports_are_compared_by_their_clauses(
    reports: tuple[str, str], capsys: Capture
) -> None:
    document = json.loads(Path(reports[1]).read_text("utf-8"))
    row = next(item for item in document["statistics"] if item["counts"]["pass"])
    row["counts"] |= {"pass": 0, "error": 1}
    document |= {"verdict": "fail", "exit_code": 1}
    Path(reports[1]).write_text(json.dumps(document), "utf-8")
    found = _compared(capsys, *reports, "--exit-code")
    assert (found["kind"], found["verdict"], found["exit_code"]) == (
        "report",
        "differs",
        1,
    )
    assert _said(found, "levels") == [
        ("exit code", "changed", 0, 1),
        ("verdict", "changed", "pass", "fail"),
    ]
    assert (row["clause"], "changed", "pass", "fail") in _said(found, "clauses")
    assert main(["diff", *reports]) == 0
    out = capsys.readouterr().out
    assert "verdict\n  exit code  0 -> 1" in out
    assert "signatures" not in out


def test_a_mixed_pair_is_refused(
    trial: Trial, reports: tuple[str, str], capsys: Capture
) -> None:
    node = str(trial.kit / "nodes" / "node0001.json")
    for pair, result in (
        ((str(trial.certificate), reports[0]), "is a certificate and "),
        ((str(trial.certificate), node), "node0001.json is none"),
        ((reports[0], node), "is a report and "),
    ):
        capsys.readouterr()
        assert main(["diff", *pair]) == 2
        found = capsys.readouterr().err
        assert result in found
        assert "two snapshots, two certificates or two reports" in found


@pytest.mark.parametrize("cut", [10, 400, 4000])
def test_a_damaged_certificate_is_refused(
    cut: int, trial: Trial, capsys: Capture
) -> None:
    broken = trial.folder / "broken.json"
    broken.write_bytes(trial.certificate.read_bytes()[:-cut])
    capsys.readouterr()
    assert main(["diff", str(trial.certificate), str(broken)]) == 2
    found = capsys.readouterr().err
    assert "broken.json" in found
    assert found.count("\n") == 1


def test_a_report_of_another_release_is_refused(
    reports: tuple[str, str], capsys: Capture
) -> None:
    document = json.loads(Path(reports[1]).read_text("utf-8"))
    document["schema"] = "speccheck-report/2"
    Path(reports[1]).write_text(json.dumps(document), "utf-8")
    assert main(["diff", *reports]) == 2
    assert "is no speccheck-report/1: schema" in capsys.readouterr().err


def _changed_at_random(found: Any, chance: random.Random) -> None:  # noqa: ANN401
    """Replace, double or delete one leaf, or a whole part, of a document."""
    while True:
        keys = [*found] if isinstance(found, dict) else [*range(len(found))]
        key = chance.choice(keys)
        inner = found[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.9:
            found = inner
            continue
        if chance.random() < 0.2:
            del found[key]
        elif isinstance(inner, int | float):
            found[key] = chance.choice([0, -1, inner * 2, 10**18])
        else:
            found[key] = chance.choice(["", "x\x1b[2J\n", "z" * 5000, None, [], {}])
        return


@pytest.mark.parametrize("seed", few(range(40), range(6).__contains__))
def test_whatever_a_certificate_says_is_compared_or_refused(
    seed: int, trial: Trial, capsys: Capture
) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same in each run
    changed = trial.predicate
    kept = {name: changed.pop(name) for name in ("instance_type", "type")}
    _changed_at_random(changed, chance)
    changed |= kept  # the statement around it names these
    other = _other(trial, changed)
    capsys.readouterr()
    for words in (["diff"], ["certify", "--compare"]):
        code = main([*words, str(trial.certificate), other])
        said = capsys.readouterr()
        assert code in {0, 2}, said.err
        assert "\x1b" not in said.out + said.err
        assert said.err.count("\n") == (1 if code else 0)

"""`speccheck certify`: which tracks get which level, and what denies them."""

import json
from pathlib import Path

import pytest

from certification_trials import KIT, PROFILE, TRACKS, Capture, Trial
from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.node.node import MEASURED


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    """Return a copy of the shipped kit, with keys."""
    return Trial(tmp_path, monkeypatch)


def test_the_shipped_kit_has_every_level(trial: Trial) -> None:
    assert trial.certify() == 0
    assert trial.levels() == dict.fromkeys(TRACKS, "L3")
    found = Certificate.model_validate(trial.predicate)
    assert found.instance_type == "azure-nd96isr-h100-v5"
    assert found.provider == "azure"
    assert found.synthetic is not None
    assert found.synthetic.by == "speccheck simulate"
    assert [item.name for item in found.specimens] == ["node0001", "node0002"]
    assert found.coverage.failed == 0
    assert {item.kind for item in found.evidence} == {
        *("config", "snapshot", "measurement", "log", "drill")
    }
    assert found.validity.not_after == "2027-02-20T06:00:00Z"
    assert {item.name for item in found.validity.invalidators} >= {
        *("driver.version", "driver.nccl_version", "rdma_devices.firmware_version")
    }


def test_what_was_measured_over_all_machines_stands_in_it(trial: Trial) -> None:
    assert trial.certify() == 0
    measured = {
        (measurement["name"], measurement["conditions"].get("nodes")): measurement
        for measurement in trial.predicate["measurements"]
    }
    copies = measured["copies host to GPU, by copy engine", None]
    assert (copies["count"], copies["specimens"]) == (16, 2)
    assert copies["least"] <= copies["p5"] <= copies["median"] <= copies["most"]
    assert copies["spread"] is not None
    joint = measured["all_reduce bus bandwidth", 2]
    assert joint["floor"] < joint["median"] < joint["ceiling"]


def test_floors_in_it_are_those_that_the_clauses_ask_for(trial: Trial) -> None:
    """A number above the floor of the certificate is one that its clause passes."""
    assert trial.certify() == 0
    floors = {
        (measurement["name"], measurement["conditions"]["nodes"]): round(
            measurement["floor"] / 1e9, 2
        )
        for measurement in trial.predicate["measurements"]
        if measurement["floor"] is not None
    }
    required = {
        judged["required"]
        for clause in trial.predicate["clauses"]
        for judged in clause["judgements"]
        if clause["clause"] in {"COMM-010", "COMM-074", "COMM-076"}
    }
    assert floors["all_reduce bus bandwidth", 2] == 360  # 0.9 of 400 for a certificate
    assert set(floors.values()) <= required


def test_files_alone_give_the_first_level(trial: Trial, capsys: Capture) -> None:
    for folder in ("nodes", "measured", "logs"):
        for file in (trial.kit / folder).iterdir():
            file.unlink()
    assert trial.certify() == 1  # none of the 2 machines of the job reported
    assert not trial.certificate.exists()
    assert "denied  6 tracks below L3" in capsys.readouterr().out
    assert trial.certify("--level", "L1") == 0
    # Of the fabric nothing applies that files could show.
    assert trial.levels() == {**dict.fromkeys(TRACKS, "L1"), "fabric": None}


def test_without_a_job_nothing_is_certified(trial: Trial, capsys: Capture) -> None:
    for file in (trial.kit / "job").iterdir():
        file.unlink()
    assert trial.certify("--level", "L1", "--track", "security-energy") == 3
    result = _joined(capsys)
    assert "no L1: the evidence holds no configuration and no launch script" in result
    assert not trial.certificate.exists()


def test_healthy_snapshots_give_the_second_level(trial: Trial) -> None:
    for folder in ("measured", "logs"):
        for file in (trial.kit / folder).iterdir():
            file.unlink()
    for path in (trial.kit / "nodes").iterdir():
        node = json.loads(path.read_text("utf-8"))
        kept = {kind: item for kind, item in node.items() if kind not in MEASURED}
        path.write_text(json.dumps(kept), "utf-8")
    tracks = ("comm-topology", "fabric", "checkpoint-recovery", "security-energy")
    assert trial.certify("--level", "L2", *_tracks(*tracks)) == 0
    levels = trial.levels()
    assert {item: levels[item] for item in tracks} == dict.fromkeys(tracks, "L2")


def _tracks(*names: str) -> list[str]:
    return [word for name in names for word in ("--track", name)]


def test_a_level_that_nobody_asked_for_is_denied_by_itself(trial: Trial) -> None:
    """A track without evidence denies itself, and no other one."""
    (trial.kit / "logs" / "drill.jsonl").unlink()
    assert trial.certify() == 3
    assert trial.certify(*_tracks("comm-topology", "fabric", "observability")) == 0
    assert trial.levels() == {
        **dict.fromkeys(TRACKS, "L3"),
        "checkpoint-recovery": "L2",
    }


def test_one_fault_denies_with_its_reason(trial: Trial, capsys: Capture) -> None:
    trial.rewrite(
        "nodes/node0002.json",
        lambda text: text.replace(
            '"nvlink_is_active":[true', '"nvlink_is_active":[false', 1
        ),
    )
    assert trial.certify() == 1
    result = _joined(capsys)
    assert "no L2: TOPO-003: node0002: GPU 0: 17 NVLinks are up" in result
    assert "the machines are not of one type: gpus.nvlinks_up" in result
    assert not trial.certificate.exists()


def test_one_missing_node_denies_with_its_reason(trial: Trial, capsys: Capture) -> None:
    assert trial.certify("--expect", "3") == 1
    assert "no L2: 2 of 3 machines reported; all must" in _joined(capsys)
    (trial.kit / "nodes" / "node0002.json").unlink()
    assert trial.certify() in {1, 3}
    assert "machines looked at: 1; at least 2 must be" in _joined(capsys)


def test_one_unknown_must_denies_with_its_reason(trial: Trial, capsys: Capture) -> None:
    path = trial.kit / "nodes" / "node0001.json"
    node = json.loads(path.read_text("utf-8"))
    for gpu in node["gpus"]:
        gpu["remap_is_pending"] = {"status": "not_permitted"}
    path.write_text(json.dumps(node), "utf-8")
    assert trial.certify() == 3
    result = _joined(capsys)
    assert "no L2: HW-002: node0001: " in result
    assert "denied 1 track below L3" in result


def test_one_stale_measurement_denies_with_its_reason(
    trial: Trial, capsys: Capture
) -> None:
    path = trial.kit / "measured" / "all-reduce.json"
    measured = json.loads(path.read_text("utf-8"))
    measured["taken"] = "2026-10-01T00:00:00Z"
    path.write_text(json.dumps(measured), "utf-8")
    assert trial.certify() == 3
    result = _joined(capsys)
    assert "no L3: left out: measured/all-reduce.json: taken 2026-10-01" in result
    assert "51 days ago; at most 30 may be" in result
    assert "denied 1 track below L3: comm-topology" in result
    assert trial.certify("--level", "L2") == 0
    limits = trial.predicate["limits"]
    assert any("left out: measured/all-reduce.json" in item for item in limits)


def test_evidence_of_a_day_to_come_is_left_out(trial: Trial, capsys: Capture) -> None:
    trial.rewrite(
        "nodes/node0001.json", lambda text: text.replace("2026-11-21T", "2026-12-21T")
    )
    assert trial.certify() in {1, 3}
    assert "after now: a clock is wrong" in _joined(capsys)


def test_machines_of_two_types_are_not_one(trial: Trial, capsys: Capture) -> None:
    trial.rewrite(
        "nodes/node0002.json", lambda text: text.replace("28.43.1014", "28.39.1002")
    )
    assert trial.certify() in {1, 3}
    assert (
        "the machines are not of one type: rdma_devices.firmware_version: 28.43.1014 "
        "on node0001; 28.39.1002 on node0002"
    ) in _joined(capsys)


def test_synthetic_evidence_certifies_only_where_that_is_asked_for(
    trial: Trial, capsys: Capture
) -> None:
    words = ["certify", "--profile", PROFILE, "--spec", "1.0"]
    words += ["--evidence", str(KIT), "--key", str(trial.folder / "key.pem")]
    assert main([*words, "--out", str(trial.certificate)]) == 3
    assert "machines that do not exist certify nothing" in _joined(capsys)
    assert not trial.certificate.exists()


def test_what_is_made_up_proves_nothing_of_what_is_not(
    trial: Trial, capsys: Capture
) -> None:
    path = trial.kit / "nodes" / "node0001.json"
    node = json.loads(path.read_text("utf-8"))
    del node["synthetic"]
    path.write_text(json.dumps(node), "utf-8")
    assert trial.certify() in {1, 3}
    assert "observations are synthetic; what is made up" in _joined(capsys)


def test_an_edition_that_nobody_named_is_no_base(trial: Trial, capsys: Capture) -> None:
    words = ["certify", "--profile", PROFILE, "--synthetic"]
    words += ["--evidence", str(trial.kit)]
    assert main(words) == 1
    assert "no L1: META-001: " in _joined(capsys)


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["--evidence", "none"], "none: no such folder"),
        (["--level", "L4"], "--level L4: must be one of L3, L1, L2"),
        (["--track", "speed"], "--track speed: must be one of checkpoint-recovery"),
        (["--profile", "instance/nobody"], "instance/nobody"),
        (["--profile", "size/L", "--profile", "instance/aws-p5"], "not 2"),
        (["--key", "none.pem"], "none.pem: the key cannot be read"),
        (["--derive", "slsa=x.json"], "--derive slsa=x.json: must be test-result or"),
        (["more"], "certify takes no file: more"),
        (["--tailor", "/etc/hostname"], "must lie in the folder of the evidence"),
    ],
    ids=lambda found: " ".join(found) if isinstance(found, list) else "",
)
def test_a_wrong_command_line_is_told(
    words: list[str], result: str, trial: Trial, capsys: Capture
) -> None:
    assert trial.certify(*words) == 2
    assert result in _joined(capsys)
    assert not trial.certificate.exists()


def test_nothing_is_written_without_a_key(trial: Trial, capsys: Capture) -> None:
    words = ["certify", "--profile", PROFILE, "--evidence", str(trial.kit)]
    assert main([*words, "--out", str(trial.certificate)]) == 2
    assert "--out needs --key" in _joined(capsys)
    assert main([*words, "--spec", "1.0", "--synthetic"]) == 0
    assert "certified not signed: no --key" in _joined(capsys)


def test_damaged_evidence_is_refused(trial: Trial, capsys: Capture) -> None:
    path = trial.kit / "nodes" / "node0002.json"
    path.write_bytes(path.read_bytes()[:4000])
    assert trial.certify() == 2
    assert "nodes/node0002.json: " in _joined(capsys)
    assert not trial.certificate.exists()


def test_what_was_packed_is_what_is_judged(trial: Trial, capsys: Capture) -> None:
    assert main(["evidence", "pack", str(trial.kit), "--profile", PROFILE]) in {0, 3}
    assert trial.certify() == 0
    trial.rewrite("job/config.yaml", lambda text: f"{text}\n# changed\n")
    capsys.readouterr()
    assert trial.certify() == 2
    assert "job/config.yaml is not what was packed" in _joined(capsys)


def test_the_files_of_two_jobs_are_refused(trial: Trial, capsys: Capture) -> None:
    other = (trial.kit / "job" / "config.yaml").read_text("utf-8")
    (trial.kit / "other.yaml").write_text(other.replace("seed", "sead"), "utf-8")
    assert trial.certify() == 2
    assert "the evidence holds the files of 2 jobs" in _joined(capsys)


def _joined(capsys: Capture) -> str:
    found = capsys.readouterr()
    return " ".join((found.out + found.err).split())

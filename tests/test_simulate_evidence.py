"""Synthetic evidence kits: healthy ones, and what may be wrong with one."""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from example_kit import FLEET, FOLDER
from simulation_page import PAGE_OF_KITS, page_of_kits
from slow_cases import few, first_of
from speccheck.validator.certification.certifying import (
    CertificateOrder,
    Certification,
    certify,
)
from speccheck.validator.certification.judging import read_evidence
from speccheck.validator.certification.kit import read_kit
from speccheck.validator.cli.command_line import UsageError
from speccheck.validator.cli.main import main
from speccheck.validator.cli.simulated_kit import KitOrder, write_kit
from speccheck.validator.report.style import printable
from speccheck.validator.simulation.fleet import SimulatedFleet
from speccheck.validator.simulation.kit.builder import (
    Ordered,
    SimulatedKitError,
    kit_files,
    texts,
)
from speccheck.validator.simulation.kit.corruption import SPOILS
from speccheck.validator.simulation.planting import Planting
from speccheck.validator.simulation.shape import instances

Output = pytest.CaptureFixture[str]
NOW = datetime(2026, 11, 22, tzinfo=UTC)
TYPE = FLEET.profile
MOST_BYTES = 400_000
# Types of whose machines the catalogue and the published readings tell enough.
KNOWN = (
    *("aws-p4d", "aws-p4de", "aws-p5", "aws-p5e", "aws-p5en", "aws-p6-b200"),
    *("azure-nd128isr-gb200-v6", "azure-nd96amsr-a100-v4", "azure-nd96asr-v4"),
    *("azure-nd96isr-h100-v5", "azure-nd96isr-h200-v5", "coreweave-gb200-nvl72"),
    *("coreweave-hgx-h100", "dgx-a100", "dgx-b200", "dgx-gb200", "dgx-h100"),
    *("dgx-h200", "gb300-8x400-roce", "gcp-a3-mega", "gcp-a3-ultra", "gcp-a4"),
    *("gcp-a4x", "gcp-a4x-max", "oci-b200-8", "oci-gb200-4", "oci-gb200-v3-4"),
    *("oci-gb300-4", "oci-gpu-a100-v2-8", "oci-gpu-b4-8", "oci-gpu4-8"),
    *("oci-h100-8", "oci-h200-8"),
)
ALONE = [name for name, item in SPOILS.items() if item.track and not item.denies_others]

EVERYDAY = first_of(SPOILS, lambda name: SPOILS[name].track)


@cache
def certified(name: str, *spoils: str) -> Certification:
    with TemporaryDirectory() as folder:
        fleet = SimulatedFleet(2, name, 1, "certify")
        write_kit(KitOrder(fleet, Planting(), folder, spoils))
        evidence = read_evidence(folder, NOW, 30)
        assert not evidence.kit.problems
        return certify(CertificateOrder(f"instance/{name}", is_pinned=True), evidence)


def levels(found: Certification) -> dict[str, str | None]:
    return {item.track: item.level for item in found.grants}


def failures(found: Certification) -> list[str]:
    return [
        f"{item.finding.clause} {item.finding.level}: {item.finding.message}"
        for item in found.judgements.judged
        if item.finding.outcome in {"fail", "error"} and item.finding.level != "info"
    ]


def test_the_known_types_are_those_of_which_a_kit_can_be_made() -> None:
    for name in instances():
        if name in KNOWN:
            assert kit_files(Ordered(SimulatedFleet(2, name, 1)))
        else:
            with pytest.raises(
                SimulatedKitError, match=f"--profile {name}: no kit of it: "
            ):
                kit_files(Ordered(SimulatedFleet(2, name, 1)))


@pytest.mark.parametrize("name", few(KNOWN, {TYPE, "dgx-gb200"}.__contains__))
def test_healthy_evidence_fails_nothing(name: str) -> None:
    assert failures(certified(name)) == []


def test_healthy_evidence_has_all_levels() -> None:
    assert {*levels(certified(TYPE)).values()} == {"L3"}


@pytest.mark.parametrize("name", few(SPOILS, EVERYDAY.__contains__))
def test_what_is_wrong_denies_its_track(name: str) -> None:
    spoil = SPOILS[name]
    tracks = {item.track: item for item in certified(TYPE, name).grants}
    asked = [spoil.track] if spoil.track else [*tracks]
    for track in asked:
        grant = tracks[track]
        assert grant.level is None or grant.level < spoil.level, grant
        if levels(certified(TYPE))[track] and spoil.clause:
            assert spoil.clause in {item.clause for item in grant.denied}


@pytest.mark.parametrize("name", few(ALONE, EVERYDAY.__contains__))
def test_what_is_wrong_denies_no_other_track(name: str) -> None:
    healthy, found = levels(certified(TYPE)), levels(certified(TYPE, name))
    others = {track for track in healthy if track != SPOILS[name].track}
    assert {item: found[item] for item in others} == {
        item: healthy[item] for item in others
    }


def test_the_example_is_what_the_command_writes() -> None:
    written = texts(kit_files(Ordered(FLEET)))
    there = {
        path.relative_to(FOLDER).as_posix(): path.read_text("utf-8")
        for path in FOLDER.rglob("*")
        if path.is_file() and path.name not in {"simulation.json", "evidence.json"}
    }
    assert there == written


def test_the_example_is_small_and_says_what_it_is() -> None:
    kit = read_kit(str(FOLDER))
    assert sum(file.size_bytes for file in kit.files) < MOST_BYTES
    assert [file.path for file in kit.files if not file.synthetic] == []


def test_the_same_command_writes_the_same() -> None:
    ordered = Ordered(SimulatedFleet(3, "dgx-h100", 7))
    assert texts(kit_files(ordered)) == texts(kit_files(ordered))
    other = Ordered(SimulatedFleet(3, "dgx-h100", 8))
    assert texts(kit_files(ordered)) != texts(kit_files(other))


def simulate(out: Path, *words: str) -> int:
    command = ("--evidence", "--profile", TYPE, "--nodes", "2", "--out", str(out))
    return main(["simulate", *command, *words])


def test_a_plan_of_faults_is_planted(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "schema: speccheck-faults/1\nfaults:\n- {fault: gpu_missing, nodes: [2]}\n"
    )
    out = tmp_path / "kit"
    assert simulate(out, "--faults", str(plan), "--quiet") == 0
    gpus = [
        len(json.loads((out / "nodes" / f"node000{n}.json").read_text())["gpus"])
        for n in (1, 2)
    ]
    assert gpus == [8, 7]
    (row,) = json.loads((out / "simulation.json").read_text())["planted"]
    assert (row["fault"], row["nodes"]) == ("gpu_missing", ["node0002"])


def test_a_kit_is_written_again_in_its_own_folder_alone(
    tmp_path: Path, capsys: Output
) -> None:
    out = tmp_path / "kit"
    assert simulate(out, "--spoil", "no_drill") == 0
    assert "there was no drill of recovery" in capsys.readouterr().out
    assert not (out / "logs" / "drill.jsonl").exists()
    assert simulate(out, "--quiet") == 0
    assert (out / "logs" / "drill.jsonl").exists()
    (out / "mine.txt").write_text("keep me\n")
    assert simulate(out) == 2
    error = capsys.readouterr().err
    assert "has files that simulate did not write, such as mine.txt" in error
    assert (out / "mine.txt").exists()
    assert (out / "logs" / "drill.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--spoil", "no_dril"], "--spoil no_dril: no such spoil: did you mean no_d"),
        (["--nodes", "1"], "--nodes 1: a kit is of 2 to 32 nodes"),
        (["--profile", "hgx-h100"], "--profile hgx-h100: no kit of it: its network"),
        (["--results"], "--evidence and --results: give one of them"),
    ],
)
def test_a_kit_that_cannot_be_is_refused(
    tmp_path: Path, capsys: Output, words: list[str], says: str
) -> None:
    assert simulate(tmp_path / "kit", *words) == 2
    assert capsys.readouterr().err.startswith(f"speccheck: {says}")
    assert not (tmp_path / "kit").exists()


def test_a_spoil_is_of_a_kit(tmp_path: Path, capsys: Output) -> None:
    words = ("--nodes", "2", "--out", str(tmp_path / "x"), "--spoil", "no_drill")
    assert main(["simulate", *words]) == 2
    assert "--spoil is of a kit: add --evidence" in capsys.readouterr().err


def test_the_spoils_are_listed(capsys: Output) -> None:
    assert main(["simulate", "--list-faults"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name}\n" in text for name in SPOILS)
    assert printable(text.replace("\n", " ")) == text.replace("\n", " ")


def test_two_spoils_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    order = KitOrder(FLEET, Planting(), str(tmp_path / "x"), ("no_drill", "slow_drill"))
    with pytest.raises(UsageError, match="such a kit cannot have it"):
        write_kit(order)


def test_the_page_has_the_table_of_spoils() -> None:
    text = PAGE_OF_KITS.read_text("utf-8")
    assert page_of_kits(text) == text


def test_the_folder_is_judged_without_an_error(capsys: Output) -> None:
    words = ("--profile", "certify", "--output", "json")
    assert main([str(FOLDER), *words]) == 3  # synthetic machines certify nothing
    report = json.loads(capsys.readouterr().out)
    assert report["summary"]["failed"] == {"error": 0, "warning": 0, "info": 0}

"""What is made up is told to be so, in every form, and certifies nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.report.form import FORMS
from speccheck.validator.simulation.fleet import Maker, SimulatedFleet

Output = pytest.CaptureFixture[str]


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a synthetic snapshot, which the test's folder has as node.json."""
    monkeypatch.chdir(tmp_path)
    found = Maker(SimulatedFleet(1, "dgx-h100", 1)).healthy(0)
    write(found)
    return found


def write(content: dict[str, Any], name: str = "node.json") -> None:
    Path(name).write_text(json.dumps(content), "utf-8")


def judged(capsys: Output, *words: str) -> tuple[int, dict[str, Any]]:
    code = main([*words, "--output", "json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, document


@pytest.mark.usefixtures("node")
def test_the_text_says_so_twice(capsys: Output) -> None:
    assert main(["node.json", "--profile", "preflight"]) == 0
    said = capsys.readouterr().out
    assert "  synthetic: node.json shows a machine that does not exist\n" in said
    first = " ".join(said.splitlines()[0].split())
    words = "go: 37 of 37 required checks passed · synthetic exit 0"
    assert first == words


@pytest.mark.usefixtures("node")
def test_of_many_the_text_says_how_many(capsys: Output) -> None:
    Path("other.json").write_bytes(Path("node.json").read_bytes())
    main(["node.json", "other.json", "--each", "--profile", "preflight"])
    said = capsys.readouterr().out
    assert "  synthetic: 2 snapshots show machines that do not exist\n" in said


@pytest.mark.usefixtures("node")
def test_json_names_the_files(capsys: Output) -> None:
    _, found = judged(capsys, "node.json")
    assert [plan["synthetic"] for plan in found["plans"]] == [["node.json"]]
    assert found["reason"].endswith("; synthetic")


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("form", [*FORMS])
def test_no_form_hides_it(form: str, capsys: Output) -> None:
    """But those that hold nothing else than findings."""
    if form in {"csv", "gitlab", "junit", "rdjson"}:
        return
    main(["node.json", "--profile", "preflight", "--output", form])
    assert "synthetic" in capsys.readouterr().out


def test_a_real_machine_is_not_said_to_be_made_up(
    node: dict[str, Any], capsys: Output
) -> None:
    del node["synthetic"]
    write(node)
    code, found = judged(capsys, "node.json", "--profile", "preflight")
    assert (code, found["plans"][0]["synthetic"]) == (0, [])
    assert "synthetic" not in found["reason"]


@pytest.mark.parametrize(
    ("result", "is_synthetic"),
    [
        (None, False),
        (False, False),
        (True, True),
        ({}, True),
        ("yes", True),
        ({"by": 7}, True),
        ({"by": "\x1b[31m"}, True),
    ],
)
def test_whatever_it_says_of_being_made_up_counts(
    result: object, node: dict[str, Any], capsys: Output, *, is_synthetic: bool
) -> None:
    write({**node, "synthetic": result})
    _, found = judged(capsys, "node.json")
    assert (found["plans"][0]["synthetic"] == ["node.json"]) is is_synthetic


@pytest.mark.usefixtures("node")
def test_it_certifies_nothing(capsys: Output) -> None:
    code, found = judged(capsys, "node.json", "--profile", "certify")
    assert (code, found["verdict"]) == (3, "inconclusive")
    assert found["reason"].startswith("synthetic machines certify nothing; ")


@pytest.mark.usefixtures("node")
def test_it_certifies_nothing_beside_files_of_a_job(capsys: Output) -> None:
    write({"train_batch_size": 16, "train_micro_batch_size_per_gpu": 2}, "ds.json")
    words = ("ds.json", "--node", "node.json", "--profile", "certify")
    code, found = judged(capsys, *words, "--select", "HW-001")
    assert code == 3
    assert found["reason"].startswith("synthetic machines certify nothing; ")


def test_a_fault_still_fails(node: dict[str, Any], capsys: Output) -> None:
    node["gpus"][0]["ecc_is_on"] = False
    write(node)
    code, found = judged(capsys, "node.json", "--profile", "certify")
    assert (code, found["verdict"]) == (1, "fail")
    assert found["reason"].endswith("; synthetic")


def test_measurements_alone_are_made_up_as_well(
    node: dict[str, Any], capsys: Output
) -> None:
    maker = Maker(SimulatedFleet(1, "dgx-h100", 1))
    maker.measure(node, 0)
    kinds = ("schema", "synthetic", "copy_tests")
    write({kind: node[kind] for kind in kinds})
    _, found = judged(capsys, "node.json")
    assert found["plans"][0]["synthetic"] == ["node.json"]
    write({kind: node[kind] for kind in ("schema", "copy_tests")}, "copies.json")
    del node["synthetic"], node["copy_tests"]
    write(node)
    _, found = judged(capsys, "node.json", "copies.json")
    assert found["plans"][0]["synthetic"] == []

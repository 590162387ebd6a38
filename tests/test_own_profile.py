"""The profile of one's own fleet: made, written, read, and what is held to it."""

import json
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from json_schemas import SCHEMAS
from reported_fleets import Fleet, Run, healthy_fleet, kept, the_day_after
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.fleet import Samples
from speccheck.validator.fleet.own_profile import UsualNumber, own_profile

NODES = 9


@pytest.fixture
def fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run `speccheck fleet` in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["fleet", *words])
        found = capsys.readouterr()
        assert "Traceback" not in found.out + found.err
        return code, found.out, found.err

    return command


def profile_of(run: Run, nodes: Fleet, folder: str = "then") -> dict[str, Any]:
    """Return the file that is made of a fleet, held to its schema."""
    run(kept(folder, nodes), "--baseline", "own.yaml")
    data: dict[str, Any] = yaml.safe_load(Path("own.yaml").read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMAS["fleet-profile"]()).validate(data)
    return data


def deviations(run: Run, nodes: Fleet) -> list[tuple[str, Any, list[str]]]:
    """Return what of a fleet is not as the profile says."""
    _, out, err = run(kept("now", nodes), "--golden", "own.yaml", "--output", "json")
    assert err == ""
    return [
        (group["rule"].removeprefix("golden "), value["measured"], value["nodes"])
        for group in json.loads(out)["findings"]
        if group["rule"].startswith("golden")
        for value in group["values"]
    ]


def test_the_usual_value_is_that_of_more_than_half(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    for name in ("n01", "n02", "n03", "n04"):
        nodes[name]["driver"]["ofed_version"] = "MLNX_OFED-24"
    found = profile_of(fleet, nodes)
    usual = nodes["n09"]["driver"]["ofed_version"]
    assert found["values"]["driver.ofed_version"] == {
        "value": usual,
        "nodes": 5,
        "of": 9,
    }
    assert (found["nodes"], found["synthetic"], found["evidence"]) == (9, 0, ["then"])
    result = {name: nodes[name] for name in ("n04", "n05")}
    assert deviations(fleet, result) == [
        ("driver.ofed_version", "MLNX_OFED-24", ["n04"])
    ]


def test_a_fleet_is_as_its_own_profile_a_day_later(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    profile_of(fleet, nodes)
    assert deviations(fleet, the_day_after(nodes)) == []


def test_numbers_out_of_what_is_normal_are_told(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    for number, node in enumerate(nodes.values()):
        for gpu in node["gpus"]:
            gpu["temperature_celsius"] = 40 + number % 3
    found = profile_of(fleet, nodes)["numbers"]["gpus.temperature_celsius"]
    assert (found["median"], found["least"]) == (41.0, None)
    assert found["most"] == pytest.approx(41 + 6 * 1.4826)
    later = the_day_after(nodes)
    later["n03"]["gpus"][2]["temperature_celsius"] = 58
    later["n04"]["gpus"][2]["temperature_celsius"] = 20  # the better side
    assert deviations(fleet, later) == [("gpus.temperature_celsius", 58.0, ["n03"])]


def test_nodes_that_are_not_fit_make_no_part_of_it(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    nodes["n02"]["gpus"][0]["is_lost"] = True
    found = profile_of(fleet, nodes)
    assert found["nodes"] == NODES - 1
    (item,) = found["nodes_left_out"]
    assert item["what"] == "n02"
    assert item["why"].startswith("no-go: ")


@pytest.mark.slow
def test_a_variable_without_a_majority_is_left_free(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    for number, node in enumerate(nodes.values()):
        node["variables"].append(
            {"name": "NCCL_DEBUG_FILE", "value": f"/{number}", "layer": "environment"}
        )
    found = profile_of(fleet, nodes)
    assert "variables.NCCL_DEBUG_FILE" not in found["values"]
    excluded = {item["what"]: item["why"] for item in found["leaves_left_out"]}
    assert excluded["variables.NCCL_DEBUG_FILE"].startswith("9 values, and none on")
    assert deviations(fleet, nodes) == []


def test_a_variable_that_nobody_sets_is_not_to_be_set(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    profile_of(fleet, nodes)
    nodes["n07"]["variables"].append(
        {"name": "NCCL_DEBUG_SUBSYS", "value": "ALL", "layer": "environment"}
    )
    assert deviations(fleet, nodes) == [("variables.NCCL_DEBUG_SUBSYS", "ALL", ["n07"])]


def test_too_few_nodes_make_no_profile(fleet: Run) -> None:
    code, out, err = fleet(kept("then", healthy_fleet(7)), "--baseline", "own.yaml")
    assert code == 2
    assert "all 7 nodes are fit" in out  # the judgement is told all the same
    assert err == (
        "speccheck: --baseline own.yaml: no profile made: 7 of 7 nodes are fit, and "
        "one takes 8\n"
    )
    assert not Path("own.yaml").exists()


def test_a_fleet_without_a_majority_makes_no_profile_and_says_which_leaf(
    fleet: Run,
) -> None:
    nodes = healthy_fleet(8)
    for name in ("n01", "n02", "n03", "n04"):
        nodes[name]["driver"]["ofed_version"] = "MLNX_OFED-24"
    usual = nodes["n08"]["driver"]["ofed_version"]
    code, _, err = fleet(kept("then", nodes), "--baseline", "own.yaml")
    assert code == 2
    assert f"driver.ofed_version is {usual} on 4 and MLNX_OFED-24 on 4" in err
    assert not Path("own.yaml").exists()


def rates(*values: float, leaf: str = "matrix_products.bfloat16") -> UsualNumber:
    """Return the range of a rate that each node has once."""
    count = len(values)
    names = [f"n{number}" for number in range(count)]
    samples = Samples(leaf, array("I", range(count)), array("I"), array("d", values))
    samples = samples._replace(parts=array("I", [0] * count))
    (item,) = own_profile(names, {}, {}, [samples]).numbers
    return item


def test_outliers_are_left_out_again_and_again() -> None:
    # Beside 300 and 500, 85 looks like one of the others.
    usual = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1]
    found = rates(*usual, 300.0, 85.0, 500.0)
    assert found.outliers == ("n10", "n8", "n9")
    assert (found.nodes, found.values) == (8, 8)
    assert found.median == pytest.approx(100.05)
    assert found.normal.least == pytest.approx(95.0475)  # 5 % below the median
    assert found.normal.most is None


def test_the_range_is_as_wide_as_the_fleet_swings() -> None:
    found = rates(*(90.0 + number for number in range(21)))
    assert found.outliers == ()
    assert found.normal.least == pytest.approx(100 - 6 * 1.4826 * 5)


def test_counters_are_no_state() -> None:
    samples = Samples(
        "gpus.pcie_replays",
        array("I", range(8)),
        array("I", [0] * 8),
        array("d", [0] * 8),
    )
    names = [f"n{number}" for number in range(8)]
    assert own_profile(names, {}, {}, [samples]).numbers == ()


Edit = Callable[[str], str]
BROKEN: dict[str, tuple[Edit, str]] = {
    "a number that is none": (
        lambda text: text.replace("nodes: 9, of: 9", "nodes: many, of: 9", 1),
        "own.yaml:11:",
    ),
    "an unknown key": (lambda text: text + "more: 1\n", "more"),
    "a key twice": (lambda text: text + "nodes: 9\n", "nodes stands there twice"),
    "a newer version": (
        lambda text: text.replace("profile/1", "profile/2"),
        "own.yaml:3:9: schema",
    ),
    "too few nodes": (lambda text: text.replace("\nnodes: 9\n", "\nnodes: 2\n"), "8"),
    "no number": (lambda text: text.replace("most: ", "most: .nan #", 1), "finite"),
    "cut": (lambda text: text[:200], "own.yaml"),
    "no YAML": (lambda text: text + "[\n", "own.yaml"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_profile_is_one_line_with_its_place(fleet: Run, kind: str) -> None:
    edit, says = BROKEN[kind]
    profile_of(fleet, healthy_fleet(NODES))
    text = Path("own.yaml").read_text("utf-8")
    edited = edit(text)
    assert edited != text
    Path("own.yaml").write_text(edited, "utf-8")
    code, out, err = fleet("then", "--golden", "own.yaml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_hostile_names_and_values_are_quoted(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    for node in nodes.values():
        node["host"]["product"] = "a: b\n# \x1b[31m: {"
        node["driver"]["ofed_version"] = "2e-5"
    found = profile_of(fleet, nodes)["values"]
    assert found["host.product"]["value"] == "a: b\n# \x1b[31m: {"
    assert found["driver.ofed_version"]["value"] == "2e-5"
    assert "\x1b" not in Path("own.yaml").read_text("utf-8")
    assert deviations(fleet, nodes) == []


def test_a_profile_that_cannot_be_written_is_one_line(fleet: Run) -> None:
    nodes = kept("then", healthy_fleet(NODES))
    code, _, err = fleet(nodes, "--baseline", "none/own.yaml")
    assert (code, err.count("\n")) == (2, 1)
    assert "none/own.yaml" in err

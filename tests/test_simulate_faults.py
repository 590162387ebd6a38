"""Planted faults are found by their rules and by no other; plans are read with care."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from json_schemas import SCHEMAS
from judged_nodes import failing, findings
from simulation_page import PAGE, page
from slow_cases import few
from speccheck.validator.cli.main import main
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.simulation.fault import Fault
from speccheck.validator.simulation.faults import AREAS, FAULTS
from speccheck.validator.simulation.fleet import SimulatedFleet
from speccheck.validator.simulation.fleet_files import nodes
from speccheck.validator.simulation.planting import (
    SCHEMA,
    PlanError,
    Planting,
    load_plan,
    plant,
)
from speccheck.validator.simulation.shape import shape_of

ROOT = Path(__file__).resolve().parents[1]
Output = pytest.CaptureFixture[str]
RULES = {entry.name for entry in rule_entries()}
SHOWN = {
    name: fault for name, fault in FAULTS.items() if name not in AREAS["the collection"]
}


def planted(text: str, folder: Path, fleet: SimulatedFleet | None = None) -> Planting:
    path = folder / "plan.yaml"
    path.write_text(text, "utf-8")
    return plant(load_plan(str(path)), fleet or SimulatedFleet(60, "dgx-h100", 1))


def rows(*faults: str, more: str = "") -> str:
    listed = "".join(f"  - {{{fault}}}\n" for fault in faults)
    return f"schema: {SCHEMA}\n{more}faults:\n{listed}"


def where(planting: Planting) -> dict[str, list[int]]:
    """Return the nodes of each fault, by their numbers from 1."""
    return {item.name: [node + 1 for node in item.nodes] for item in planting.plants}


@pytest.mark.parametrize("name", few(SHOWN, {*[*SHOWN][::6]}.__contains__))
def test_a_fault_is_found_by_its_rules_on_a_node_of_a_fleet(
    name: str, tmp_path: Path
) -> None:
    """Of a fleet in which nodes differ, as a plan plants it: old and new ones."""
    fault = SHOWN[name]
    more = f"measurements: {'true' if fault.is_measured else 'false'}\n"
    fleet = SimulatedFleet(5, fault.instance, 11)
    text = rows(f"fault: {name}, nodes: [1, 3-4]", more=more)
    planting = planted(text, tmp_path, fleet)
    for number, files in enumerate(nodes(fleet, planting), 1):
        (item,) = files
        if number in {1, 3, 4}:
            assert failing(json.loads(item.text)) == set(fault.rules), number


def test_each_fault_says_who_finds_it() -> None:
    for name, fault in FAULTS.items():
        assert set(fault.rules) <= RULES, name
        assert not (fault.is_fleet and fault.rules), name
        assert fault.text, name
        assert not (fault.delivery and not fault.is_fleet), name


def test_what_nothing_above_information_tells_is_named_here() -> None:
    """Neither a rule nor the other nodes: plans may have such things as well."""
    silent = {
        name for name, item in FAULTS.items() if not item.rules and not item.is_fleet
    }
    assert silent == {
        "auto_boost_off",
        "gpu_unknown",
        "nvls_off",
        "pcie_atomics_missing",
        "port_lost_its_link",
        "stray_process",
    }


@pytest.mark.parametrize(
    "gpus", [(0, 7), pytest.param((1, 2, 3, 4, 5, 6), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize(
    "name", [name for name, fault in SHOWN.items() if "gpu" in fault.values]
)
def test_a_fault_of_a_gpu_is_found_on_each(name: str, gpus: tuple[int, ...]) -> None:
    fault: Fault = SHOWN[name]
    for gpu in gpus:
        if gpu < shape_of(fault.instance).gpus:
            node = fault.well()
            fault.change({"gpu": gpu})(node)
            assert failing(node) == set(fault.rules), gpu


def test_nodes_are_named_in_each_way(tmp_path: Path) -> None:
    found = planted(
        rows(
            "fault: gpu_missing, nodes: [17, 40-45]",
            "fault: ecc_off, nodes: ['node[0001-0003,0050]', 7]",
            "fault: missing, count: 3",
            "fault: nvlink_down, share: 0.1",
        ),
        tmp_path,
    )
    found_on = where(found)
    assert found_on["gpu_missing"] == [17, 40, 41, 42, 43, 44, 45]
    assert found_on["ecc_off"] == [1, 2, 3, 7, 50]
    assert len(found_on["missing"]) == 3
    assert len(found_on["nvlink_down"]) == 6
    drawn = [*found_on["missing"], *found_on["nvlink_down"]]
    assert len(set(drawn)) == 9
    assert set(drawn).isdisjoint([*found_on["gpu_missing"], *found_on["ecc_off"]])


def test_all_nodes_may_have_a_fault(tmp_path: Path) -> None:
    found = planted(rows("fault: governor, share: 1"), tmp_path)
    assert where(found) == {"governor": [*range(1, 61)]}


def test_a_node_may_have_several_faults(tmp_path: Path) -> None:
    text = rows("fault: ecc_off, nodes: [2]", "fault: disk_full, nodes: [2]")
    fleet = SimulatedFleet(2, "dgx-h100", 1)
    _, ((item,)) = nodes(fleet, planted(text, tmp_path, fleet))
    assert failing(json.loads(item.text)) == {"error_correction_off", "root_disk_full"}


@pytest.mark.parametrize(
    ("row", "rules"),
    [
        ("fault: xid, code: 48, gpu: 0", {"fatal_xid"}),
        ("fault: xid, code: 31", set()),
        ("fault: thermal, celsius: 40", set()),
        ("fault: clock_offset, milliseconds: -300", {"clock_off"}),
        ("fault: clock_offset, milliseconds: 50", set()),
        ("fault: power_cap, watts: 650", {"power_limited"}),
        ("fault: mtu, port: 7, bytes: 2048", {"mtu_too_small"}),
        ("fault: port_rate, port: 0, gbit_per_second: 200", {"rail_missing"}),
        (
            "fault: variable, name: NCCL_IB_HCA, value: mlx5_bond_0",
            {"adapter_list_misses_ports"},
        ),
        ("fault: variable, name: NCCL_DEBUG, value: WARN", set()),
    ],
)
def test_values_of_a_plan_count(row: str, rules: set[str], tmp_path: Path) -> None:
    fleet = SimulatedFleet(1, "dgx-h100", 1)
    planting = planted(rows(f"{row}, nodes: [1]"), tmp_path, fleet)
    (((item,)),) = nodes(fleet, planting)
    assert failing(json.loads(item.text)) == rules


def test_a_straggler_is_slower_than_all_others(tmp_path: Path) -> None:
    more = "measurements: true\n"
    text = rows("fault: straggler, nodes: [9], share_left: 0.93", more=more)
    fleet = SimulatedFleet(40, "dgx-h100", 5)
    made = [json.loads(item.text) for (item,) in nodes(fleet, planted(text, tmp_path))]
    for rates in (
        [node["copy_tests"][0]["bytes_per_second"][0] for node in made],
        [node["matrix_products"][7]["flops_per_second"] for node in made],
        [node["collective_runs"][0]["bus_bytes_per_second"][-1] for node in made],
    ):
        slow = rates.pop(8)
        assert slow < 0.97 * min(rates)
        assert max(rates) < 1.05 * min(rates)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("faults: []\n", ":1: no plan of faults: write schema: speccheck-faults/1"),
        ("- 1\n", ": no plan of faults: write schema: speccheck-faults/1"),
        ("", ": nothing in it; give a file with content"),
        ("schema: [\n", ":2:1: "),
        (f"schema: {SCHEMA}\nfault: []\n", ":2: fault: no field fault: did you mean"),
        (
            rows("fault: gpu_mising, nodes: [1]"),
            ":3: faults[0].fault: no fault gpu_mising: did you mean gpu_missing?",
        ),
        (
            rows("fault: gpu_missing, node: [1]"),
            ":3: faults[0].node: no field node: did you mean nodes?",
        ),
        (
            rows("fault: ecc_off, nodes: [1]", "fault: gpu_missing"),
            ":4: faults[1]: gpu_missing: say where with one of nodes, share and count",
        ),
        (
            rows("fault: gpu_missing, nodes: [1], count: 2"),
            "gpu_missing: say where with one of nodes, share and count",
        ),
        (
            rows("fault: gpu_missing, nodes: [1, 61]"),
            ":3: faults[0].nodes[1]: node 61: the fleet has nodes 1 to 60",
        ),
        (rows("fault: gpu_missing, nodes: [0]"), "node 0: the fleet has nodes 1 to 60"),
        (
            rows("fault: gpu_missing, nodes: [1-999999999]"),
            "node 61: the fleet has nodes 1 to 60",
        ),
        (rows("fault: gpu_missing, nodes: [9-3]"), "the range 9-3 runs backwards"),
        (
            rows("fault: gpu_missing, nodes: [web01]"),
            "web01: nodes are called node0001, ...; or write 17, or 40-45",
        ),
        (
            rows("fault: gpu_missing, nodes: ['node[1']"),
            "cannot read",
        ),
        (
            rows("fault: gpu_missing, nodes: []"),
            "faults[0].nodes: list should have at least 1 item",
        ),
        (
            rows("fault: gpu_missing, share: 1.5"),
            "faults[0].share: input should be less than or equal to 1",
        ),
        (
            rows("fault: gpu_missing, share: half"),
            "faults[0].share: input should be a valid number",
        ),
        (
            rows("fault: gpu_missing, count: 61"),
            "gpu_missing wants 61 nodes, and 60 of 60 nodes have no fault yet",
        ),
        (
            rows("fault: gpu_missing, nodes: [1], code: 79"),
            ":3: faults[0].code: gpu_missing takes no code; it takes nothing",
        ),
        (
            rows("fault: xid, nodes: [1], port: 2"),
            "faults[0].port: xid takes no port; it takes gpu, code",
        ),
        (
            rows("fault: gpu_lost, nodes: [1], gpu: 8"),
            ":3: faults[0]: dgx-h100 cannot have gpu_lost so",
        ),
        (
            rows("fault: imex_down, nodes: [1]"),
            ":3: faults[0]: dgx-h100 cannot have imex_down so; oci-gb200-4 can",
        ),
        (
            rows("fault: auto_boost_off, nodes: [1]"),
            "dgx-h100 cannot have auto_boost_off so; aws-p3dn can",
        ),
        (
            rows("fault: straggler, nodes: [1]"),
            "straggler shows in measurements: write measurements: true",
        ),
        (
            rows("fault: variable, nodes: [1], name: 'a b'"),
            "faults[0].name: string should match pattern",
        ),
    ],
)
def test_what_is_wrong_with_a_plan_is_one_line(
    text: str, problem: str, tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text, "utf-8")
    out = tmp_path / "fleet"
    words = ["--nodes", "60", "--out", str(out), "--faults", str(path)]
    assert main(["simulate", *words]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert said.startswith(f"speccheck: {path}")
    assert said.count("\n") == 1
    assert not out.exists()


def test_a_plan_that_is_not_there(tmp_path: Path, capsys: Output) -> None:
    words = ["--nodes", "1", "--out", str(tmp_path / "x"), "--faults", "no-plan.yaml"]
    assert main(["simulate", *words]) == 2
    assert capsys.readouterr().err.startswith("speccheck: no-plan.yaml: ")


def test_a_plan_has_limits(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(rows(*["fault: ecc_off, nodes: [1]"] * 1001), "utf-8")
    with pytest.raises(PlanError, match="at most 1000 items"):
        load_plan(str(path))
    path.write_text(f"schema: {SCHEMA}\n# {'x' * 1_000_000}\n", "utf-8")
    with pytest.raises(PlanError, match="a plan may have 1,000,000"):
        load_plan(str(path))


def test_a_plan_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    document = {"schema": SCHEMA, "faults": [{"fault": "ecc_off", "nodes": ["2-3"]}]}
    path.write_text(json.dumps(document), "utf-8")
    found = plant(load_plan(str(path)), SimulatedFleet(3, "dgx-h100", 1))
    assert where(found) == {"ecc_off": [2, 3]}


def test_the_schema_knows_each_fault_and_each_value() -> None:
    entry: dict[str, Any] = SCHEMAS["faults"]()["$defs"]["Planted"]
    assert entry["properties"]["fault"]["enum"] == [*FAULTS]
    taken = {name for fault in FAULTS.values() for name in fault.values}
    assert taken <= entry["properties"].keys()
    own = {"fault", "nodes", "share", "count"}
    assert entry["properties"].keys() - own == taken


def test_drift_is_sound_by_itself(tmp_path: Path) -> None:
    """Nothing more is told of such a node than of its neighbours."""
    names = [name for name, item in SHOWN.items() if item.is_fleet]
    names.remove("straggler")  # which comes near to floors
    fleet = SimulatedFleet(1, "dgx-h100", 1)
    for name in names:
        text = rows(f"fault: {name}, nodes: [1]", more="measurements: true\n")
        (((ill,)),) = nodes(fleet, planted(text, tmp_path, fleet))
        (((well,)),) = nodes(fleet, Planting(has_measurements=True))
        assert ill.text != well.text, name
        assert _told(ill.text) == _told(well.text), name


def _told(text: str) -> set[tuple[str, str]]:
    """Return what a report says of a snapshot."""
    found = {(finding.rule, finding.outcome) for finding in findings(json.loads(text))}
    return {
        finding for finding in found if finding[1] not in {"pass", "not_applicable"}
    }


def test_the_tables_of_the_page_are_the_generated_ones() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text) == text, "run make generate"


def test_the_plan_of_the_page_can_be_planted(tmp_path: Path) -> None:
    _, _, rest = PAGE.read_text("utf-8").partition("```yaml\n")
    text, _, _ = rest.partition("```")
    found = where(planted(text, tmp_path, SimulatedFleet(200, "dgx-h100", 1)))
    assert [(name, len(nodes)) for name, nodes in found.items()] == [
        ("variable", 3),
        ("pcie_link_down_generation", 2),
        ("straggler", 2),
        ("driver_drift", 2),
        ("missing", 1),
    ]


def test_the_truth_does_not_come_from_the_judge() -> None:
    """What is planted where is known without any rule."""
    program = (
        "import sys\n"
        "import speccheck.validator.simulation.fleet_files\n"
        "print(*sorted(name for name in sys.modules if name.startswith('speccheck')))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = ended.stdout.split()
    assert "speccheck.validator.simulation.faults" in loaded
    judges = ("speccheck.rules", "speccheck.validator.engine.judge")
    assert not [item for item in loaded if item.startswith(judges)]

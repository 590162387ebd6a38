"""Rules on fleets, over synthetic ones: what is planted is found, nothing made up."""

from copy import deepcopy
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest

from fleet_fixtures import go
from slow_cases import few
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.reading import listing
from speccheck.validator.fleet.run import FleetWork, judge_fleet
from speccheck.validator.models.peers import distance_of, tail
from speccheck.validator.simulation.faults import FAULTS
from speccheck.validator.simulation.fleet import SimulatedFleet
from speccheck.validator.simulation.fleet_files import nodes
from speccheck.validator.simulation.planting import Plant, Planting
from speccheck.validator.simulation.shape import instances
from speccheck.validator.sources.context import Context

RULES = tuple(entry.name for entry in rule_entries() if entry.scope == "fleet")
# Faults that only a comparison finds, with all that must find them.
OF_FLEETS = {
    "driver_drift": {"driver_differs_across_nodes"},
    "nccl_drift": {"nccl_differs_across_nodes"},
    "kernel_drift": {"host_software_differs_across_nodes"},
    "environment_drift": {"variable_differs_across_nodes"},
    "vbios_drift": {"gpu_firmware_differs_across_nodes"},
    "firmware_drift": {"adapter_firmware_differs_across_nodes"},
    "hca_order": {"adapters_differ_across_nodes"},
    "memory_short": {"host_shape_differs_across_nodes"},
    "straggler": {"slower_than_the_fleet"},
    "missing": {"expected_node_missing"},
    "killed_rank": {"expected_node_missing"},
    "damaged": {"report_unread"},
    "empty": {"report_unread"},
    "newer_version": {"report_unread"},
    "twice": {"node_reported_twice"},
    "stale": {"report_out_of_date"},
}
# Faults that rules on one node find, which the other nodes show as well.
SHOWN_BY_OTHERS = {
    "gpu_missing": {"gpu_inventory_differs_across_nodes"},
    "gpu_of_other_model": {"gpu_inventory_differs_across_nodes"},
    "mig_on": {"gpu_inventory_differs_across_nodes"},
    "gpu_of_slower_bin": {"gpu_settings_differ_across_nodes"},
    "power_cap": {"power_limit_differs_across_nodes"},
    "slow_gpu": {"slower_than_the_fleet"},
    "governor": {"host_settings_differ_across_nodes"},
    "thermal": {"readings_unlike_the_fleet"},
    "adapter_missing": {"adapters_differ_across_nodes"},
    "port_rate": {"adapters_differ_across_nodes"},
    "mtu": {"mtu_differs_across_nodes"},
    "variable": {"variable_differs_across_nodes"},
    "algorithm_pinned": {"ranks_choose_otherwise_on_some_nodes"},
}
NODES = 12
ODD = (3, 7)
EVERYDAY = ("dgx-h100", "dgx-a100", "aws-p5", "dgx-gb200")


def of_fleet(
    fleet: SimulatedFleet,
    folder: Path,
    plants: tuple[Plant, ...] = (),
    *,
    is_measured: bool = False,
) -> tuple[Finding, ...]:
    """Return what the rules of fleets say of synthetic nodes, as files of a folder."""
    has_measurements = is_measured or any(item.fault.is_measured for item in plants)
    for written in nodes(fleet, Planting(plants, has_measurements)):
        for item in written:
            (folder / item.file).write_text(item.text, encoding="utf-8")
    request = Request(
        arguments=(),
        judging=Judging(context=Context(), selection=Selection(select=RULES)),
        use="preflight",
        full=True,
    )
    now = fleet.taken.timestamp() + 3600
    found = listing([str(folder)])
    run = judge_fleet(FleetWork(request, (), go), found, Expected(), now=now, cores=1)
    return run.of_fleet


def failures(found: tuple[Finding, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (finding.rule, finding.hosts)
        for finding in found
        if finding.outcome in {"fail", "error"}
    ]


def planted(name: str, *numbers: int) -> Plant:
    return Plant(name, FAULTS[name], {}, numbers)


def test_there_are_rules_on_fleets() -> None:
    assert len(RULES) >= 25
    assert {name for name, item in FAULTS.items() if item.is_fleet} == OF_FLEETS.keys()


@pytest.mark.parametrize("profile", few(instances(), {*EVERYDAY}.__contains__))
def test_a_healthy_fleet_of_any_type_has_no_failure(
    profile: str, tmp_path: Path
) -> None:
    found = of_fleet(SimulatedFleet(8, profile, 5), tmp_path)
    assert failures(found) == [], [
        finding.message for finding in found if finding.hosts
    ]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("count", "profile"),
    [
        (64, "dgx-h100"),
        *(
            pytest.param(count, profile, marks=pytest.mark.slow)
            for count, profile in [
                (300, "dgx-h100"),
                (64, "aws-p5"),
                (64, "dgx-gb200"),
            ]
        ),
    ],
)
def test_a_healthy_fleet_of_any_size_has_no_failure(
    count: int, profile: str, seed: int, tmp_path: Path
) -> None:
    found = of_fleet(SimulatedFleet(count, profile, seed), tmp_path)
    assert failures(found) == []
    unknown = {
        finding.rule or finding.clause
        for finding in found
        if finding.outcome == "unknown"
    }
    assert unknown <= {"reports_scattered"}, unknown


@pytest.mark.parametrize("profile", EVERYDAY)
def test_healthy_nodes_that_measured_are_no_outliers(
    profile: str, tmp_path: Path
) -> None:
    found = of_fleet(SimulatedFleet(40, profile, 8), tmp_path, is_measured=True)
    assert failures(found) == [], [
        finding.message for finding in found if finding.hosts
    ]
    (rates,) = (finding for finding in found if finding.rule == "slower_than_the_fleet")
    assert rates.outcome == "pass"


@pytest.mark.parametrize("name", sorted({**OF_FLEETS, **SHOWN_BY_OTHERS}))
def test_a_fault_is_found_on_exactly_its_nodes(name: str, tmp_path: Path) -> None:
    fleet = SimulatedFleet(NODES, FAULTS[name].instance, 3)
    found = failures(of_fleet(fleet, tmp_path, (planted(name, *ODD),)))
    odd = {f"node{number + 1:04d}" for number in ODD}
    expected = OF_FLEETS.get(name) or SHOWN_BY_OTHERS[name]
    assert expected <= {rule for rule, _ in found}, found
    if name in OF_FLEETS:
        assert {rule for rule, _ in found} == expected, found
    for rule in expected:
        hosts = {host for item, hosts in found if item == rule for host in hosts}
        assert hosts == odd, found


@pytest.mark.parametrize(
    "name", few(sorted(FAULTS), {*OF_FLEETS, *sorted(FAULTS)[::8]}.__contains__)
)
def test_no_fault_accuses_another_node(name: str, tmp_path: Path) -> None:
    fleet = SimulatedFleet(9, FAULTS[name].instance, 4)
    found = of_fleet(fleet, tmp_path, (planted(name, 4),))
    assert not [finding for finding in found if finding.outcome == "error"]
    accused = {host for finding in found for host in finding.hosts}
    assert accused <= {"node0005"}, failures(found)
    nobody = [
        finding.message
        for finding in found
        if finding.outcome == "fail" and not finding.hosts
    ]
    assert nobody == []


def test_many_faults_are_told_apart(tmp_path: Path) -> None:
    names = sorted(OF_FLEETS)
    plants = tuple(planted(name, 2 * number) for number, name in enumerate(names))
    found = failures(of_fleet(SimulatedFleet(64, "dgx-h100", 9), tmp_path, plants))
    for number, name in enumerate(names):
        (rule,) = OF_FLEETS[name]
        assert any(
            f"node{2 * number + 1:04d}" in hosts
            for item, hosts in found
            if item == rule
        ), name
    accused = {host for _, hosts in found for host in hosts}
    assert accused == {f"node{2 * number + 1:04d}" for number in range(len(names))}


def limits(clause: str) -> dict[str, Any]:
    numbers = load_edition().clauses[clause].numbers
    return {name: number.value for name, number in numbers.items()}


@pytest.mark.parametrize("clause", ["HW-166", "HW-167"])
def test_healthy_values_are_hardly_ever_outliers(clause: str) -> None:
    """The arithmetic that the clause states, and that the scale is the right one."""
    limit = limits(clause)
    assert tail(limit["deviations"]) * 80_000 < 0.01
    assert tail(5.2) * 80_000 < 0.01 < tail(5.1) * 80_000
    dice = Random(1)  # noqa: S311 - no secret
    values = [dice.gauss(100, 2) for _ in range(80_000)]
    found = distance_of(values, limit["deviations"], limit["scale"], 0, 0)
    assert found.deviation == pytest.approx(2, rel=0.02)
    assert not [value for value in values if abs(value - found.median) > found.most]


def test_distances_of_equal_values_are_the_floor() -> None:
    found = distance_of([5.0] * 9 + [6.0], 6, 1.4826, 0.5, 0.05)
    assert found == (5.0, 0.0, 0.5)
    assert found.is_beyond(6.0, is_high_worse=True)
    assert not found.is_beyond(4.0, is_high_worse=True)


def test_the_middle_is_that_of_the_standard_library() -> None:
    dice = Random(2)  # noqa: S311 - no secret
    for count in range(1, 40):
        values = [dice.choice([1.0, 2.0, 3.5, 9.0]) for _ in range(count)]
        found = distance_of(values, 1, 1, 0, 0)
        assert found.median == median(values)
        assert found.deviation == median(
            [abs(value - found.median) for value in values]
        )


def test_findings_do_not_change_what_they_read(tmp_path: Path) -> None:
    fleet = SimulatedFleet(8, "dgx-h100", 1)
    first = of_fleet(fleet, tmp_path, (planted("driver_drift", 2),))
    again = of_fleet(fleet, tmp_path, (planted("driver_drift", 2),))
    assert deepcopy(first) == again
